"use strict";
const collator = new Intl.Collator(undefined, { numeric: true });

/** Numbers before text, and missing values last, in either direction. */
function inOrder(a, b, sign) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === "number" && typeof b === "number") return sign * (a - b);
  return sign * collator.compare(a, b);
}

(() => {
  const make = (name, text, attributes) => {
    const element = document.createElement(name);
    element.textContent = text;
    for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
    return element;
  };

  const key = (row, column, numeric) => {
    const cell = row.cells[column];
    if (numeric) return "value" in cell.dataset ? Number(cell.dataset.value) : null;
    return cell.textContent;
  };

  const sortBy = (table, column, head) => {
    const heads = [...table.tHead.rows[0].cells];
    const rows = [...table.tBodies[0].rows];
    const numeric = rows.some((row) => "value" in row.cells[column].dataset);
    const before = head.getAttribute("aria-sort");
    const first = numeric ? "descending" : "ascending";
    const other = numeric ? "ascending" : "descending";
    const next = before === first ? other : first;
    const sign = next === "ascending" ? 1 : -1;
    heads.forEach((each) => each.hasAttribute("aria-sort") && each.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", next);
    table.classList.add("sorted");
    rows
      .map((row) => [key(row, column, numeric), row])
      .sort((a, b) => inOrder(a[0], b[0], sign))
      .forEach(([, row]) => table.tBodies[0].append(row));
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = make("button", "", { type: "button" });
      button.append(...head.childNodes);
      head.append(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => sortBy(table, column, head));
    });
  }

  let made = 0;
  const chooser = (title, values, changed) => {
    const id = `filter-${++made}`;
    const select = make("select", "", { id });
    for (const value of ["", ...values]) select.append(make("option", value || "all", { value }));
    select.addEventListener("change", changed);
    const label = make("label", `${title} `, { for: id });
    const both = make("span", "");
    both.append(label, select);
    return [both, select];
  };

  for (const table of document.querySelectorAll("table.filterable")) {
    const rows = [...table.tBodies[0].rows];
    const controls = make("div", "", { class: "controls" });
    const count = make("span", "", { role: "status", class: "note" });
    const chosen = [];
    const show = () => {
      for (const row of rows)
        row.hidden = chosen.some(([name, select]) => select.value && row.dataset[name] !== select.value);
      count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
    };
    for (const [name, title] of [
      ["set", "Set"],
      ["metric", "Metric"],
    ]) {
      const values = [...new Set(rows.map((row) => row.dataset[name]))];
      if (values.length < 2) continue;
      const [both, select] = chooser(title, values, show);
      chosen.push([name, select]);
      controls.append(both);
    }
    if (chosen.length) {
      controls.append(count);
      table.closest(".box").before(controls);
      show();
    }
  }

  // Find words among the words of the page and their neighbors, and highlight them on all maps.
  const places = [...document.querySelectorAll(".map [data-word]")];
  const light = (matches) => {
    for (const place of places) place.classList.toggle("hit", matches(place.dataset.word));
  };
  const box = document.getElementById("lookup");
  const query = () => (box ? box.value.trim().toLowerCase() : "");
  const matching = (word) => query() !== "" && word.toLowerCase().includes(query());
  for (const place of places) {
    place.addEventListener("pointerenter", () => light((word) => word === place.dataset.word));
    place.addEventListener("pointerleave", () => light(matching));
  }
  if (box) {
    const words = [...document.querySelectorAll(".word")];
    let open = null; // what the reader had open before the search
    box.addEventListener("input", () => {
      const text = query();
      open ??= words.map((word) => word.firstElementChild.open);
      let own = 0;
      let among = 0;
      words.forEach((word, index) => {
        const details = word.firstElementChild;
        const hit = matching(word.dataset.word);
        let near = false;
        for (const cell of word.querySelectorAll(".near")) {
          const found = matching(cell.dataset.word);
          cell.classList.toggle("hit", found);
          near = near || found;
        }
        word.classList.toggle("hit", hit);
        word.hidden = text !== "" && !hit && !near;
        details.open = text === "" ? open[index] : hit || near;
        own += hit;
        among += near && !hit;
      });
      if (text === "") open = null;
      light(matching);
      document.getElementById("found").textContent =
        text === ""
          ? ""
          : own + among === 0
            ? `“${box.value.trim()}” is not on this page.`
            : `Found: ${own} of ${words.length} words, and neighbors of ${among} others.`;
    });
  }

  const details = [...document.querySelectorAll("details")];
  let before = [];
  window.addEventListener("beforeprint", () => {
    before = details.map((each) => each.open);
    for (const each of details) each.open = true;
  });
  window.addEventListener("afterprint", () =>
    details.forEach((each, n) => {
      each.open = before[n];
    }),
  );
})();
