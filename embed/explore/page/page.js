/* The page of `firth explore`: what is shown, the panel beside the maps, search, files and the address. */
"use strict";

// ---------------------------------------------------------------- what is shown

const state = {
  source: null, // ServedData or StoredData
  info: null,
  views: [], // one or two MapViews
  word: null,
  color: "cluster",
  group: new Set(),
  tab: "near",
  selectingArea: false,
  turn: 0,
  step: null, // what the address says of the latest step, without places on the maps
  measured: new Set(), // pairs of runs for which somebody asked what chance does
  chosen: {}, // values of the selects #run, #other and #method for what is shown
  loaded: new Map(), // run -> its words, counts, maps and clusters
};

/** Load a run's words and one map of them once; `tell` receives what to report. */
async function loadRun(run, method, tell) {
  const { name } = state.info.runs[run];
  if (!state.loaded.has(run)) {
    tell(`Loading the words of ${name} …`);
    const { words, counts } = await state.source.words(run);
    state.loaded.set(run, { words, counts, maps: {} });
  }
  const data = state.loaded.get(run);
  if (!data.maps[method]) {
    tell(`Loading the map of ${name} …`);
    const percent = (done) => tell(`Making the map of ${name}: ${Math.round(done)} % …`);
    data.maps[method] = await state.source.map(run, method, percent);
  }
  return { data, places: data.maps[method] };
}

/** Show the maps of the runs that are chosen, and return whether they are; `places` are [zoom, x, y] of each. */
async function showRuns(places = []) {
  const turn = ++state.turn;
  const chosen = Object.fromEntries(["run", "other", "method"].map((id) => [id, element(id).value]));
  const { run, other, method } = chosen;
  const runs = [run, other].filter((each) => each !== "").map(Number);
  const isCurrent = () => turn === state.turn;
  try {
    const loaded = [];
    for (const run of runs) loaded.push(await loadRun(run, method, (text) => isCurrent() && report(text)));
    if (!isCurrent()) return false;
    const kept = new Map(state.views.map((view) => [view.run, [view.zoom, view.x, view.y]]));
    state.views.forEach((view) => view.close());
    state.views = runs.map((run, i) => new MapView(run, state.info.runs[run], loaded[i]));
    state.views.forEach((view, i) => {
      const [zoom, x, y] = places[i] ?? kept.get(view.run) ?? [1, 0, 0];
      Object.assign(view, { zoom: clamp(zoom, ...ZOOMS), x, y });
    });
    state.chosen = chosen;
    element("maps").replaceChildren(...state.views.map((view) => view.figure));
    report("");
    for (const id of ["why-run", "direction-run"])
      if (!runs.includes(Number(element(id).value))) element(id).value = runs[0];
    recolor();
    showGroup();
    if (state.tab === "differ") showDifferences();
    rememberView();
    return true;
  } catch (error) {
    if (isCurrent()) report(error.message, true);
    if (isCurrent()) chooseRuns(state.chosen);
    return false;
  }
}

/** Set the word that is selected, also in the forms. */
function nameWord(word) {
  state.word = word;
  for (const id of ["search", "why-a", "query"]) element(id).value = word;
  rememberView();
}

/** Select a word in all maps and tell about it in the panel. */
async function select(word, keepsTab = false) {
  nameWord(word);
  for (const view of state.views) {
    view.selected = view.rowOf.get(word) ?? -1;
    view.neighbors = [];
    view.bringIn();
    view.draw();
  }
  if (!keepsTab && state.tab === "text") showText(word);
  else if (!keepsTab) showTab("near");
  await showNeighbors(word);
}

/** Color all maps anew; by frequency until their clusters are known. */
async function recolor() {
  const paint = () => {
    for (const view of state.views) view.paint();
    showLegend();
    if (!state.word) showHint();
  };
  paint();
  const waiting = state.color === "cluster" ? state.views.filter((view) => !view.clusters) : [];
  if (!waiting.length) return;
  report("Making clusters …");
  try {
    for (const { run, data } of waiting) data.clusters ??= await state.source.clusters(run);
    report("");
  } catch (error) {
    report(error.message, true);
  }
  paint();
}

/** Make words the user's group, as the runs spell them, and color by it. */
function chooseGroup(typed) {
  const spelled = (word) => state.views.map((view) => view.words[rowOf(view.data, word)]).filter(Boolean);
  const words = [...new Set(typed.flatMap((word) => (spelled(word).length ? spelled(word) : [word])))];
  report("");
  state.group = new Set(words);
  state.color = "group";
  element("color").value = "group";
  element("scope").value = words.length ? "group" : "visible";
  element("group-words").value = words.slice(0, 2000).join(" ");
  showGroup();
  showTab("group");
  recolor();
  rememberView();
}

// ---------------------------------------------------------------- panel

const TABS = ["near", "why", "text", "differ", "direction", "sentence", "group"];

function showTab(name) {
  if (element(`tab-${name}`).hidden) name = "near";
  state.tab = name;
  const hidesFocus = TABS.some((each) => each !== name && element(each).contains(document.activeElement));
  for (const each of TABS) {
    element(each).hidden = each !== name;
    element(`tab-${each}`).setAttribute("aria-selected", String(each === name));
    element(`tab-${each}`).tabIndex = each === name ? 0 : -1;
  }
  if (hidesFocus) element(`tab-${name}`).focus();
  const query = element("query").value.trim();
  if (name === "text" && query && state.textOf !== query) showText(query);
  if (name === "differ") showDifferences();
  rememberView();
}

/** Say what can be done first, with three words to try. */
function showHint() {
  const help =
    "Click a point or search for a word. Drag to move, scroll to zoom, hold Shift and drag to select an area.";
  const words = wordsToTry(state.views).map(wordButton);
  show(element("near"), make("p", { className: "hint" }, named(help)), words.length ? "For example: " : "", ...words);
}

/** Return three words of content, which are long and not too frequent, of other clusters if they are known. */
function wordsToTry([view, other = view]) {
  const found = new Map();
  for (let row = Math.min(1000, Math.floor(view.words.length / 10)); row < view.words.length; row++) {
    const [word, cluster] = [view.words[row], view.clusters?.[row] ?? row];
    const isWord = /^(\p{L}{7,}|\p{Lo}{2,})$/u.test(word) && other.rowOf.has(word);
    if (isWord && !found.has(cluster)) found.set(cluster, word);
    if (found.size === 3) break;
  }
  return [...found.values()];
}

function showGroup() {
  const words = [...state.group];
  const shown = words.slice(0, 200).map((word) => make("li", {}, wordButton(word)));
  const many = named(words.length === 1 ? "1 word" : `${number(words.length)} words`);
  const unknown = words.filter((word) => !state.views.some((view) => view.rowOf.has(word)));
  show(
    element("group-answer"),
    make("p", { className: "note" }, `${many}${words.length > 200 ? ", of which 200 are listed" : ""}`),
    unknown.length ? make("p", { className: "failed" }, `Not on the map: ${shorten(unknown.join(", "), 200)}`) : "",
    make("ul", { className: "both" }, ...shown),
  );
}

/** List the neighbors of a word in every run that is shown. */
function showNeighbors(word, k = NEIGHBORS) {
  const { views } = state;
  return fill(element("near"), async (isCurrent) => {
    const answers = await Promise.all(
      views.map((view) => state.source.neighbors(view.run, word, k).catch((error) => ({ error }))),
    );
    if (answers.every((answer) => answer.error)) throw answers[0].error;
    if (!isCurrent()) return [];
    const { word: spelled } = answers.find((answer) => answer.word); // as the run has it
    if (spelled !== word) nameWord(spelled);
    markNeighbors(views, answers);
    element("selected").textContent = spoken(spelled, views, answers);
    const lists = answers.map((answer, i) => neighborList(views[i], answer));
    answers.forEach((answer, i) => answer.neighbors && addIntervals(lists[i], views[i].run, spelled, k, isCurrent));
    return [
      make("h2", {}, make("bdi", {}, spelled)),
      make("p", { className: "hint" }, countsOf(views, answers)),
      make("div", { className: "both" }, ...lists),
      k === NEIGHBORS &&
        !state.info.stored &&
        moreButton("More neighbors", () => showNeighbors(spelled, MORE_NEIGHBORS)),
    ];
  });
}

function markNeighbors(views, answers) {
  views.forEach((view, i) => {
    const rows = (answers[i].neighbors ?? []).slice(0, NEIGHBORS).map((each) => view.rowOf.get(each.word) ?? -1);
    view.neighbors = rows.filter((row) => row >= 0);
    if (answers[i].word && view.selected < 0) view.selected = view.rowOf.get(answers[i].word) ?? -1;
    view.bringIn();
    view.draw();
  });
}

/** Return the counts of a word, by run if there are two that differ. */
function countsOf(views, answers) {
  const counts = answers
    .map((answer, i) => [answer.count, views[i].info.name])
    .filter(([count]) => Number.isFinite(count));
  if (!counts.length) return "";
  const differs = counts.some(([count]) => count !== counts[0][0]);
  const listed = differs
    ? counts.map(([count, name]) => `${number(count)} in ${name}`).join(", ")
    : number(counts[0][0]);
  return `Occurrences in training: ${listed}`;
}

/** Return what a screen reader says about the selected word. */
function spoken(word, views, answers) {
  const lists = answers.filter((answer) => answer.neighbors).map((answer) => answer.neighbors.slice(0, 3));
  return `${word}. ${countsOf(views, answers)}. Near: ${lists.map((list) => list.map((each) => each.word).join(", ")).join("; ")}`;
}

function neighborList(view, answer) {
  const title = state.views.length > 1 ? view.info.name : "Nearest words, by cosine";
  if (answer.error) return make("div", {}, make("h3", {}, title), failure(answer.error.message, element("near")));
  return scored(title, answer.neighbors, (word) => (state.info.stored ? null : whyButton(answer.word, word, view.run)));
}

/** Draw the intervals of a list of neighbors when they are known, or say why there are none. */
async function addIntervals(list, run, word, k, isCurrent) {
  const about = state.info.runs[run];
  if (state.info.stored) return;
  if (about.tokens > MANY_TOKENS && !about.resampled) {
    const ask = () => {
      about.resampled = true;
      showNeighbors(word, k);
    };
    list.append(moreButton("Intervals", ask));
    return;
  }
  const told = list.appendChild(make("p", { className: "note" }, "Resampling the text …"));
  const found = await state.source.intervals(run, word, k, isCurrent).catch((error) => ({ reason: error.message }));
  if (!isCurrent()) return;
  if (found.neighbors?.some((each) => each.low !== null)) drawIntervals(list, told, found);
  else told.textContent = `No intervals: ${found.reason ?? "the word or those near to it are too rare"}.`;
}

function drawIntervals(list, told, { neighbors, entrants, unit }) {
  const ends = neighbors.flatMap(({ score, low, high }) => [score, low ?? score, high ?? score]);
  const [least, most] = [Math.min(...ends), Math.max(...ends)];
  const place = (value) => (100 * (value - least)) / (most - least || 1);
  const items = list.querySelectorAll("li");
  neighbors.forEach((each, i) => {
    items[i].classList.toggle("stable", each.stable);
    items[i].firstChild.after(whiskers(each, place));
  });
  told.textContent =
    `Lines, all from ${fixed(least, 2)} to ${fixed(most, 2)}: 95 % intervals, where the cosine is expected in other ` +
    `texts of as many ${unit}s. Bold: stable, among the nearest ${neighbors.length} in 90 % of them.` +
    (neighbors.every(({ low }) => low !== null) ? "" : " Without a line: too rare, or too different between them.");
  const others = entrants.map(({ word, share }) => make("li", {}, wordButton(word), `${fixed(100 * share, 0)} %`));
  if (others.length)
    told.before(make("h3", {}, "Often among them, too"), make("ul", { className: "others" }, ...others));
}

/** Return a cosine as a dot, with its interval as a line. */
function whiskers({ score, low, high, share }, place) {
  const [dot, line] = [make("i", { className: "dot" }), make("i")];
  dot.style.left = `${place(score)}%`;
  if (low === null) return make("div", { className: "whiskers" }, dot);
  Object.assign(line.style, { left: `${place(low)}%`, width: `${place(high) - place(low)}%` });
  const label = `95 % interval ${fixed(low)} to ${fixed(high)}; among the nearest in ${fixed(100 * share, 0)} %`;
  return make("div", { className: "whiskers", role: "img", title: label, "aria-label": label }, line, dot);
}

/** Return a list of words with their scores, and with what `beside` returns for each. */
function scored(title, words, beside = () => null) {
  const score = ({ cosine }) => make("span", { className: "cosine" }, fixed(cosine, state.info.stored ? 2 : 3));
  const items = words.map((each) => make("li", {}, wordButton(each.word), score(each), beside(each.word, each.cosine)));
  return make("div", {}, make("h3", {}, title), make("ol", { className: "words" }, ...items));
}

function whyButton(a, b, run) {
  const ask = () => {
    element("why-a").value = a;
    element("why-b").value = b;
    element("why-run").value = String(run);
    showTab("why");
    showWhy(run, a, b);
  };
  const label = { type: "button", className: "small", "aria-label": `Why is ${b} near ${a}?`, onclick: ask };
  return make("button", label, state.views.length > 1 ? "why?" : "why near?");
}

/** Show the contexts that make two words near, with a line of text for each word. */
function showWhy(run, a, b) {
  return fill(
    element("why-answer"),
    async () => {
      const found = await state.source.ask(`why/${run}`, { a, b });
      const most = Math.max(...found.contexts.map((each) => each.share), 1e-9);
      const items = found.contexts.map((each) => {
        const bar = make("i");
        bar.style.width = `${clamp((100 * each.share) / most, 0, 100)}%`;
        const share = make(
          "div",
          { className: "share", title: `${fixed(each.first)} and ${fixed(each.second)}` },
          make("b", { title: each.context }, each.context),
          make("div", { className: "bar", "aria-hidden": "true" }, bar),
          make("span", {}, `${fixed(100 * each.share, 1)}%`),
        );
        return make("li", { className: "context" }, share, ...each.lines.map((line) => quote(line, each.context)));
      });
      const sum = found.contexts.reduce((total, each) => total + each.share, 0);
      return [
        make("h2", {}, make("bdi", {}, found.words[0]), " and ", make("bdi", {}, found.words[1])),
        make(
          "p",
          { className: "hint" },
          `Cosine of the vectors ${fixed(found.cosine)}; by contexts alone ${fixed(found.by_contexts)}, ` +
            `of which these make ${fixed(100 * sum, 1)}%.`,
        ),
        make("h3", {}, `Contexts and their shares (${found.measure})`),
        items.length ? make("ol", {}, ...items) : make("p", { className: "note" }, "They share no contexts."),
      ];
    },
    "Counting contexts …",
  );
}

/** Return a line of text with what was found in it, and the words that are a context underlined. */
function quote(line, context) {
  const isContext = (word) => word.toLowerCase() === context;
  const words = (text) => text.split(/(\s+)/).map((word) => (isContext(word) ? make("u", {}, word) : word));
  if (!line) return line;
  const source = context && line.citation ? make("span", { className: "source" }, ` (${line.citation})`) : null;
  const parts = [...words(`${line.left} `), make("b", {}, line.found), ...words(` ${line.right}`)];
  return make("p", { className: "quote" }, ...parts, source);
}

/** Show lines of the corpus and words that stand near. */
function showText(query) {
  state.textOf = query;
  showLines(query, LINES);
  const documents = element("documents").value.trim();
  fill(
    element("collocates"),
    async () => {
      const found = await state.source.ask("collocates", { query, documents, n: 20 });
      const rows = found.rows.map((each) =>
        make(
          "tr",
          {},
          make("td", {}, wordButton(each.word)),
          ...[number(each.near), number(each.other), fixed(each.score, 2), fixed(each.log_odds_ratio, 2)].map((text) =>
            make("td", {}, text),
          ),
          make("td", { className: "range" }, `${fixed(each.low, 2)} to ${fixed(each.high, 2)}`),
        ),
      );
      const heads = ["Word", "Near", "Elsewhere", found.measure, found.interval_of, "95 %"].map((text) =>
        make("th", { scope: "col" }, text),
      );
      return [
        make("h3", {}, `Words that stand near${documents ? " in these rather than other documents" : ""}`),
        make("table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows)),
      ];
    },
    "Counting words nearby …",
  );
}

/** Show lines of the corpus with a query. */
function showLines(query, n) {
  const sort = element("sort").value;
  const documents = element("documents").value.trim();
  const { name, tokens } = state.info.corpus;
  rememberView();
  return fill(
    element("lines"),
    async () => {
      const found = await state.source.ask("concordance", { query, sort, documents, n });
      const isMore = found.found > found.lines.length;
      return [
        make("h3", {}, `${number(found.found)} occurrences${isMore ? `, ${found.lines.length} shown` : ""}`),
        make(
          "p",
          { className: "hint" },
          documents
            ? `in documents of ${name} with ${documents}`
            : `${fixed((1e6 * found.found) / tokens, 1)} per million of ${number(tokens)} tokens in ${name}`,
        ),
        make("ul", {}, ...found.lines.map((line) => make("li", {}, concordanceLine(line)))),
        isMore && n < MORE_LINES && moreButton("More lines", () => showLines(query, MORE_LINES)),
      ];
    },
    "Searching the text …",
  );
}

const moreButton = (text, onclick) => make("button", { type: "button", className: "more", onclick }, text);

/** Return a line that opens to show all of it and where it is from. */
function concordanceLine(line) {
  const source = line.source && `${line.source}${line.record == null ? "" : `:${line.record}`}`;
  const filter = (name, value) => {
    element("documents").value = `${name}=${value}`;
    element("text-form").requestSubmit();
  };
  const fields = Object.entries(line.fields ?? {}).map(([name, value]) => {
    const only = {
      type: "button",
      className: "small",
      title: "Only such documents",
      onclick: () => filter(name, value),
    };
    return make("button", only, `${name}: ${value}`);
  });
  return make(
    "details",
    {},
    make(
      "summary",
      {},
      make("span", {}, make("bdi", {}, line.left)),
      make("b", {}, line.found),
      make("span", {}, make("bdi", {}, line.right)),
      line.citation && make("span", { className: "source" }, line.citation),
    ),
    quote(line),
    make("p", { className: "note" }, [`document ${line.document}`, source].filter(Boolean).join(" · "), " ", ...fields),
  );
}

/** List the words whose neighbors differ most between the two runs. */
function showDifferences() {
  const target = element("differ-answer");
  if (state.views.length < 2) {
    state.differOf = null;
    show(target, make("p", { className: "note" }, "Choose a second run above to compare two."));
    return;
  }
  const [a, b] = [...state.views].sort((first, second) => first.run - second.run); // either order is the same
  const pair = `${a.run} ${b.run}`;
  const { word } = state;
  if (state.differOf === `${pair} ${word}`) return;
  state.differOf = `${pair} ${word}`;
  fill(
    target,
    async (isCurrent) => {
      const found = await state.source.differ(a.run, b.run, word).catch((error) => {
        state.differOf = null;
        throw error;
      });
      const told = make("p", { className: "note" });
      const measure = async () => {
        state.measured.add(pair);
        const start = Date.now();
        const tell = (percent) => {
          if (!isCurrent()) throw new Error("Not shown any more.");
          const left = percent && Math.ceil(((Date.now() - start) * (100 / percent - 1)) / 60_000);
          told.textContent = `Training on other parts of the text: ${Math.round(percent)} %`;
          if (left) told.append(`, about ${left} min left`);
        };
        const failed = (error) => ({ ...found, no_chance: error.message });
        const tested = await state.source.differ(a.run, b.run, word, tell).catch(failed);
        if (isCurrent()) target.replaceChildren(...differences(tested, a, b));
      };
      if (state.measured.has(pair)) measure();
      else if (!state.info.stored)
        told.append(moreButton("What does chance do?", measure), " This trains 40 runs or more, in the background.");
      return differences(found, a, b, told);
    },
    "Comparing neighborhoods …",
  );
}

/** Return a list of words that differ, after the selected word. */
function differences({ words, no_chance: reason, n }, a, b, told = null) {
  const tested = words.some((each) => Number.isFinite(each.p));
  const item = (each) =>
    make(
      "li",
      { className: "difference" },
      make(
        "div",
        { className: "scored" },
        wordButton(each.word),
        make("span", { className: "cosine" }, fixed(each.distance)),
      ),
      make("p", { className: "hint" }, aboutDifference(each)),
      onlyIn(a, each.only_a),
      onlyIn(b, each.only_b),
    );
  const asked = words[0]?.word === state.word ? [words[0]] : [];
  const how = tested
    ? `p: of as large a distance between runs on documents that were dealt out at random, 20 times; q: for all ${number(n)} words.`
    : "1 − cosine of both neighborhoods. First are those most above what is usual for words as frequent.";
  return [
    ...(asked.length ? [make("h3", {}, named("The selected word")), make("ul", {}, ...asked.map(item))] : []),
    make("h3", {}, named("Words with the most different neighbors")),
    make("p", { className: "hint" }, how),
    reason ? make("p", { className: "hint" }, `No p: ${reason}.`) : told,
    make("ol", {}, ...words.slice(asked.length, DIFFERENCES).map(item)),
  ].filter(Boolean);
}

/** Return what a distance is compared with. */
function aboutDifference({ usual, chance, p, q, one_document: isOne }) {
  const parts = Number.isFinite(p)
    ? [`p ${p.toPrecision(2)}, q ${q.toPrecision(2)}`, `${fixed(chance)} by chance`]
    : [fixed(usual) && `${fixed(usual)} is usual`];
  return [...parts, isOne && "1 document has half of its tokens"].filter(Boolean).join(" · ");
}

function onlyIn(view, words) {
  return make(
    "p",
    {},
    make("span", { className: "hint" }, `only near in ${view.info.name}: `),
    (words ?? []).slice(0, 6).join(", ") || "–",
  );
}

/** Show the direction of pairs of words, whether pairs that are left out lie along it, and words on it. */
function showDirection(run, pairs, words) {
  fill(element("direction-answer"), async () => {
    const found = await state.source.ask(`direction/${run}`, { pairs, words: wordsIn(words).join(" ") });
    const most = Math.max(...found.words.map((each) => Math.abs(each.cosine)), 1e-9);
    const dot = (_, score) => whiskers({ score, low: null }, (value) => 50 + (50 * value) / most);
    const names = (side) => shorten(found.pairs.map((each) => each.words[side]).join(", "), 40);
    const n = found.pairs.length;
    const check =
      n === 1
        ? "One pair: there is none to leave out. More pairs show whether they agree."
        : `${found.right} of ${n} pairs that are left out fall on the right side of the axis of the others. ` +
          `Turned around at random, as many do in ${fixed(100 * found.p, 1)} % of cases.`;
    const pair = ({ words, cosine }) =>
      make("li", { className: cosine > 0 ? "" : "failed" }, `${fixed(cosine)} ${words.join(" → ")}`);
    return [
      make("h3", {}, "Do the pairs agree?"),
      make("p", { className: "hint" }, check),
      n > 1 && make("ol", {}, ...found.pairs.map(pair)),
      scored(
        `${named(words ? "Words" : "Farthest words")} on the axis, from ${names(1)} to ${names(0)}`,
        found.words,
        dot,
      ),
    ];
  });
}

/** Show what an encoder makes of a sentence: nearest words or fill-ins, and attention. */
function showSentence(run, text) {
  const masked = text.includes("[MASK]");
  fill(element("sentence-answer"), async () => {
    if (masked) {
      const found = await state.source.ask(`fill/${run}`, { text });
      const title = (i) => (found.predictions.length > 1 ? `Mask ${i + 1}` : "In place of [MASK]");
      const words = (pieces) => pieces.map(({ piece, probability }) => ({ word: piece, cosine: probability }));
      return found.predictions.map((pieces, i) => scored(title(i), words(pieces)));
    }
    if (!/\[[^\]]+\]/.test(text))
      return [make("p", { className: "note" }, "Put [brackets] around a word to see what it is near to.")];
    const found = await state.source.ask(`context/${run}`, { text });
    return found.answers.map((each) => scored(`Near “${each.word}” in this sentence`, each.neighbors));
  });
  fill(element("attention"), async () => {
    const plain = masked ? text : text.replace(/\[([^\]]+)\]/g, "$1");
    return attentionTable(await state.source.ask(`attention/${run}`, { text: plain }));
  });
}

/** Return a table of attention, with selects for layer and head. */
function attentionTable({ pieces, layers, weights }) {
  const choices = (label, numbers) => {
    const options = Array.from(numbers, (number, i) => make("option", { value: i }, String(number)));
    const select = make("select", { id: `attention-${label}`, onchange: () => draw() }, ...options);
    return [select, make("div", { className: "control" }, make("label", { htmlFor: select.id }, label), select)];
  };
  const [layer, layerControl] = choices("Layer", layers);
  const [head, headControl] = choices("Head", weights[0].keys());
  const table = make("table", { className: "attention" });
  const draw = () => {
    const matrix = weights[layer.value][head.value];
    const rows = matrix.map((line, i) =>
      make(
        "tr",
        {},
        make("th", { scope: "row" }, pieces[i]),
        ...line.map((weight, j) => {
          const cell = make(
            "td",
            { title: `${pieces[i]} → ${pieces[j]}: ${fixed(weight)}` },
            String(Math.round(100 * weight)),
          );
          cell.style.backgroundColor = `rgb(90 150 230 / ${clamp(weight, 0, 1) * 0.85})`;
          return cell;
        }),
      ),
    );
    const heads = pieces.map((piece) => make("th", { scope: "col" }, piece));
    table.replaceChildren(make("thead", {}, make("tr", {}, make("td"), ...heads)), make("tbody", {}, ...rows));
  };
  draw();
  return [
    make("h3", {}, "Attention in percent: each row looks at the columns"),
    make("form", { onsubmit: () => false }, layerControl, headControl),
    make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Attention" }, table),
  ];
}

// ---------------------------------------------------------------- search

/** Return the word itself, words that begin with it, then words that have it inside, the most frequent first. */
function matches(text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const found = new Map();
  for (const isMatch of [
    (word) => word === wanted,
    (word) => word.startsWith(wanted),
    (word) => word.includes(wanted),
  ]) {
    for (const view of state.views) {
      for (let row = 0; row < view.words.length && found.size < MOST_MATCHES; row++) {
        const word = view.words[row];
        if (!found.has(word) && isMatch(word.toLowerCase())) found.set(word, view.counts?.[row]);
      }
    }
  }
  return [...found];
}

function listenToSearch() {
  const [input, list] = [element("search"), element("matches")];
  let active = -1;
  const options = () => [...list.children];
  const close = () => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const activate = (n) => {
    active = n;
    options().forEach((option, i) => option.setAttribute("aria-selected", String(i === n)));
    if (n >= 0) input.setAttribute("aria-activedescendant", `match-${n}`);
  };
  const choose = (word) => {
    close();
    select(word);
  };
  const update = () => {
    const found = matches(input.value);
    list.replaceChildren(
      ...found.map(([word, count], i) =>
        make(
          "li",
          {
            id: `match-${i}`,
            role: "option",
            onmousedown: (event) => {
              event.preventDefault();
              choose(word);
            },
          },
          make("bdi", {}, word),
          count ? make("span", {}, number(count)) : null,
        ),
      ),
    );
    list.hidden = !found.length;
    input.setAttribute("aria-expanded", String(found.length > 0));
    activate(found.length ? 0 : -1);
  };
  input.addEventListener("input", update);
  input.addEventListener("blur", close);
  input.addEventListener("focus", () => input.select());
  input.addEventListener("keydown", (event) => {
    const n = options().length;
    if ((event.key === "ArrowDown" || event.key === "ArrowUp") && list.hidden) update();
    else if (event.key === "ArrowDown" && n) activate((active + 1) % n);
    else if (event.key === "ArrowUp" && n) activate((active + n - 1) % n);
    else if (event.key === "Escape") close();
    else if (event.key === "Enter" && input.value.trim()) {
      choose(list.hidden || active < 0 ? input.value.trim() : options()[active].querySelector("bdi").textContent);
    } else return;
    event.preventDefault();
  });
}

// ---------------------------------------------------------------- legend, files, address

function showLegend() {
  const { rare, frequent, other, mark } = palette();
  const [view] = state.views;
  let items;
  if (state.color === "cluster" && view.clusters) {
    items = clusterNames(view).map(([n, name]) => [CLUSTER_COLORS[n % CLUSTER_COLORS.length], name]);
    if (state.views.length > 1) items.push([null, `(clusters of ${view.info.name})`]);
  } else if (state.color === "group") {
    items = [
      [mark, `my group (${number(state.group.size)})`],
      [other, "other words"],
    ];
  } else {
    const [most, least] = view.counts ? [view.counts[0], view.counts[view.words.length - 1]] : [1, view.words.length];
    items = [0, 0.25, 0.5, 0.75, 1].map((share) => {
      const count = Math.round(Math.exp(Math.log(least) + share * (Math.log(most) - Math.log(least))));
      return [between(rare, frequent, share), view.counts ? number(count) : `rank ${number(count)}`];
    });
    if (view.counts) items.push([null, "occurrences"]);
  }
  element("legend").replaceChildren(
    ...items.map(([color, text]) => {
      const dot = make("i", { "aria-hidden": "true" });
      if (color) dot.style.backgroundColor = color;
      return make("li", {}, color ? dot : null, make("span", { title: text }, text));
    }),
  );
}

/** Return [number, three words] of each cluster; the words that are frequent everywhere say little. */
function clusterNames(view) {
  const names = new Map();
  const n = view.words.length;
  const first = Math.min(200, Math.floor(n / 10));
  for (const row of [...Array(n - first).keys()].map((each) => each + first).concat([...Array(first).keys()])) {
    if (!names.has(view.clusters[row])) names.set(view.clusters[row], []);
    const name = names.get(view.clusters[row]);
    if (name.length < 3) name.push(shorten(view.words[row], 16));
  }
  return [...names].sort(([a], [b]) => a - b).map(([cluster, words]) => [cluster, words.join(", ")]);
}

function download(name, type, text) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const fileName = (end) =>
  `firth-${state.views
    .map((view) => view.info.name)
    .join("-")
    .replace(/[^\w.-]+/g, "_")}.${end}`;

/** Save words with their counts and places as a table. */
function saveCsv() {
  const lines = ["run,word,count,x,y,cluster"];
  for (const view of state.views) {
    const inGroup = (row) => state.group.has(view.words[row]);
    const rows = element("scope").value === "group" ? [...view.words.keys()].filter(inGroup) : view.visible();
    for (const row of rows) {
      const place = [view.places[2 * row], view.places[2 * row + 1]].map((value) => value.toFixed(5));
      const cells = [view.info.name, view.words[row], view.counts?.[row] ?? "", ...place, view.clusters?.[row] ?? ""];
      lines.push(cells.map(csvCell).join(","));
    }
  }
  download(fileName("csv"), "text/csv;charset=utf-8", `${lines.join("\n")}\n`);
  report(`Saved ${number(lines.length - 1)} words.`);
}

/** Save the maps as they are shown, with their labels, as a drawing. */
function saveSvg() {
  const space = "http://www.w3.org/2000/svg";
  const drawing = document.implementation.createDocument(space, "svg");
  const node = (parent, tag, attributes, text) => {
    const made = drawing.createElementNS(space, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    // characters that XML does not allow
    if (text) made.textContent = text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
    return parent.appendChild(made);
  };
  const { paper, ink, mark } = palette();
  const width = state.views.reduce((sum, view) => sum + view.width, 0);
  const height = Math.max(...state.views.map((view) => view.height));
  const root = drawing.documentElement;
  for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` }))
    root.setAttribute(name, value);
  node(root, "rect", { width, height, fill: paper });
  let start = 0;
  for (const view of state.views) {
    const part = node(root, "svg", { x: start, width: view.width, height: view.height });
    start += view.width;
    for (const [color, path] of pathsByColor(view)) {
      node(part, "path", {
        d: path,
        stroke: color,
        "stroke-width": view.pointSize().toFixed(1),
        "stroke-linecap": "round",
      });
    }
    const circle = (row, r, style) => {
      const [cx, cy] = view.screen(row).map((value) => value.toFixed(1));
      node(part, "circle", { cx, cy, r, ...style });
    };
    for (const row of view.groupRows()) circle(row, GROUP_POINT / 2, { fill: mark });
    for (const [row, r] of view.rings()) circle(row, r, { fill: "none", stroke: mark, "stroke-width": 2 });
    const font = { "font-family": "system-ui, sans-serif", "font-size": 12, "dominant-baseline": "central" };
    const outline = { stroke: paper, "stroke-width": 3, "stroke-linejoin": "round", "paint-order": "stroke" };
    for (const label of view.labels()) {
      const { row, left, top, kind } = label;
      const ends = view.leader(label).map((end) => end.map((value) => value.toFixed(1)).join(" "));
      if (label.down) node(part, "path", { d: `M${ends.join("L")}`, stroke: mark });
      const weight = kind === "plain" ? { fill: ink } : { fill: mark, "font-weight": "bold" };
      node(
        part,
        "text",
        { x: left.toFixed(1), y: top.toFixed(1), ...font, ...outline, ...weight },
        shorten(view.words[row]),
      );
    }
  }
  download(fileName("svg"), "image/svg+xml", new XMLSerializer().serializeToString(drawing));
  report("Saved the maps as a drawing.");
}

/** Return one path of dots for each color, the most frequent words last. */
function pathsByColor(view) {
  const paths = new Map();
  for (const row of view.visible().reverse()) {
    const color = `#${[0, 8, 16].map((shift) => ((view.colors[row] >>> shift) & 255).toString(16).padStart(2, "0")).join("")}`;
    const [left, top] = view.screen(row);
    if (!paths.has(color)) paths.set(color, []);
    paths.get(color).push(`M${left.toFixed(1)} ${top.toFixed(1)}h0`);
  }
  return [...paths].map(([color, dots]) => [color, dots.join("")]);
}

let remembering = null;

/** Write what is shown into the address, not too often. */
function rememberView() {
  clearTimeout(remembering);
  remembering = setTimeout(() => {
    if (!state.views.length) return;
    const { run, other, method } = state.chosen;
    const view = new URLSearchParams({ run, other, map: method, color: state.color, tab: state.tab });
    if (state.word) view.set("word", state.word);
    for (const { id, value } of formFields(state.tab)) view.set(id, value);
    state.views.forEach((each, i) =>
      view.set(`view${i + 1}`, [each.zoom, each.x, each.y].map((value) => Number(value.toPrecision(6))).join(",")),
    );
    if (state.group.size <= 100) for (const word of state.group) view.append("group", word);
    const hash = `#${view}`;
    const step = hash.replace(/&view\d=[^&]*/g, "");
    const isNew = state.step !== null && state.step !== step;
    if (isNew || hash !== location.hash)
      // in a cell of a notebook a hash alone would be of the notebook's address
      history[isNew ? "pushState" : "replaceState"]({ group: [...state.group] }, "", String(new URL(hash, location)));
    state.step = step;
  }, 300);
}

/** Return the fields of a tab's form, but the group, which the address has as words. */
function formFields(tab) {
  const form = tab === "group" ? null : element(`${tab}-form`);
  return [...(form?.elements ?? [])].filter((field) => field.id);
}

/** Give a field a value; a select only one that it offers. */
function choose(id, value) {
  const { options } = element(id);
  if (!options || [...options].some((option) => option.value === value && !option.disabled)) element(id).value = value;
}

/** Choose what is shown, as far as it is offered; a run is not offered beside itself. */
function chooseRuns({ run, other, method }) {
  choose("run", run);
  const others = state.info.runs.map(runOption).filter((option) => option.value !== element("run").value);
  element("other").replaceChildren(make("option", { value: "" }, "nothing"), ...others);
  choose("other", other);
  choose("method", method);
}

/** Show what the address says. */
async function restoreView() {
  const view = new URLSearchParams(location.hash.slice(1));
  clearTimeout(remembering);
  state.step = state.word = null;
  element("search").value = "";
  const second = state.info.runs.length === 2 ? "1" : "";
  const [run, other, method] = ["run", "other", "map"].map((name) => view.get(name));
  chooseRuns({ run: run ?? "0", other: other ?? second, method: method ?? state.info.map });
  choose("color", view.get("color") ?? "cluster");
  state.color = element("color").value;
  state.group = new Set(history.state?.group ?? view.getAll("group"));
  element("group-words").value = [...state.group].join(" ");
  const places = ["view1", "view2"].map((name) => view.get(name)?.split(",").map(Number));
  const word = view.get("word");
  const tab = TABS.includes(view.get("tab")) && !element(`tab-${view.get("tab")}`).hidden ? view.get("tab") : "near";
  const isShown = await showRuns(
    places.map((place) => (place?.length === 3 && place.every(Number.isFinite) ? place : undefined)),
  );
  if (word && isShown) select(word, true);
  for (const { id } of formFields(tab)) if (view.has(id)) choose(id, view.get(id));
  state.textOf = null;
  showTab(tab);
  const form = element(`${tab}-form`);
  if (["why", "direction", "sentence"].includes(tab) && form.checkValidity()) form.requestSubmit();
}

// ---------------------------------------------------------------- start

const runOption = ({ name }, n) => make("option", { value: n }, name);

function fillRuns() {
  const { runs, corpus, stored, umap } = state.info;
  const corpora = [...new Set([...runs.map((run) => run.corpus), corpus?.name])].filter(Boolean).join(", ");
  element("corpora").textContent = element("corpora").title = corpora || runs[0].name;
  document.title = `${[corpora, ...runs.map((run) => run.name)].filter(Boolean).join(" · ")} – firth explore`;
  for (const id of ["run", "why-run", "direction-run"]) element(id).replaceChildren(...runs.map(runOption));
  element("documents-control").hidden = !corpus?.fields.length;
  element("documents").placeholder = corpus?.fields.map((name) => `${name}=…`).join(", ") ?? "";
  element("other-control").hidden = element("tab-differ").hidden = runs.length < 2;
  element("tab-why").hidden = element("tab-direction").hidden = Boolean(stored);
  element("tab-text").hidden = !corpus;
  const encoders = runs.map((run, n) => [run, n]).filter(([run]) => run.encoder);
  element("tab-sentence").hidden = !encoders.length;
  element("sentence-run").replaceChildren(...encoders.map(([run, n]) => runOption(run, n)));
  element("method-control").hidden = Boolean(stored);
  element("method").querySelector("[value=umap]").disabled = !umap;
  if (!umap) element("method").title = "UMAP needs the extra: pip install 'firth[umap]'";
}

function listenToControls() {
  const on = (id, event, action) => element(id).addEventListener(event, action);
  const submit = (id, action) =>
    on(id, "submit", (event) => {
      event.preventDefault();
      action();
      rememberView();
    });
  const again = async () => {
    const [run, other] = ["run", "other"].map((id) => element(id).value);
    chooseRuns({ run, other: other === run ? state.chosen.run : other });
    if ((await showRuns()) && state.word) select(state.word, true);
  };
  on("run", "change", again);
  on("other", "change", again);
  on("method", "change", again);
  on("color", "change", () => {
    state.color = element("color").value;
    if (state.color === "group" && !state.group.size) showTab("group");
    recolor();
    rememberView();
  });
  on("area", "click", () => {
    state.selectingArea = !state.selectingArea;
    element("area").setAttribute("aria-pressed", String(state.selectingArea));
    for (const view of state.views) view.overlay.classList.toggle("lasso", state.selectingArea);
  });
  on("save-csv", "click", saveCsv);
  on("save-svg", "click", saveSvg);
  on("group-clear", "click", () => chooseGroup([]));
  on("sort", "change", () => {
    if (element("query").value.trim() === state.textOf) showLines(state.textOf, LINES);
    else element("text-form").requestSubmit();
  });
  submit("why-form", () =>
    showWhy(element("why-run").value, element("why-a").value.trim(), element("why-b").value.trim()),
  );
  submit("text-form", () => showText(element("query").value.trim()));
  submit("direction-form", () => {
    const [run, pairs, words] = ["run", "pairs", "words"].map((name) => element(`direction-${name}`).value.trim());
    showDirection(run, pairs, words);
  });
  submit("sentence-form", () => showSentence(element("sentence-run").value, element("sentence-text").value.trim()));
  submit("group-form", () => chooseGroup(wordsIn(element("group-words").value)));
  for (const name of TABS) on(`tab-${name}`, "click", () => showTab(name));
  document.querySelector("[role=tablist]").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const shown = TABS.filter((name) => !element(`tab-${name}`).hidden);
    showTab(shown[(shown.indexOf(state.tab) + step + shown.length) % shown.length]);
    element(`tab-${state.tab}`).focus();
  });
  listenToSearch();
  darkScheme.addEventListener("change", recolor);
  window.addEventListener("popstate", restoreView); // Back, or another link
}

/** Return a text of the page with what the first run calls a type, such as a token. */
function named(text) {
  const { noun } = state.info.runs[0];
  return text.replace(/\bword(?=s?\b)/g, noun).replace(/\bWord(?=s?\b)/g, noun[0].toUpperCase() + noun.slice(1));
}

async function start() {
  const stored = element("firth-data");
  try {
    state.source = stored ? new StoredData(stored.textContent) : new ServedData();
    report("Loading …");
    state.info = await state.source.info();
    for (const each of document.querySelectorAll("label, option")) each.textContent = named(each.textContent);
    fillRuns();
    listenToControls();
    showTab("near");
    await restoreView();
  } catch (error) {
    report(error.message, true);
  }
}

start();
