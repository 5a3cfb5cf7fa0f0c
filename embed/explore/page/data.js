/* What the page of `firth explore` shares: helpers, and data from the server or from the page itself.
 *
 * The scripts are data.js, map.js and page.js, in this order. Data come from the server's /api, or from
 * the element #firth-data of a page that was saved as one file. All text is set as text, never as HTML,
 * and all style by classes or element.style, as the policy of the server asks.
 */
"use strict";

const MOST_MATCHES = 12;
const NEIGHBORS = 10;
const MORE_NEIGHBORS = 50;
const CLUSTERS = 12;
const MANY_TOKENS = 50_000_000; // of a corpus, which are prepared for intervals only when somebody asks
const LINES = 20;
const MORE_LINES = 500;
const DIFFERENCES = 200;
const CLUSTER_COLORS = [
  "#3b76c4",
  "#e08214",
  "#2f9e5b",
  "#cf3f3f",
  "#8a5fb8",
  "#96654f",
  "#d162a9",
  "#7f8790",
  "#a3a020",
  "#17a2b8",
  "#e58f86",
  "#5561d6",
];
const darkScheme = matchMedia("(prefers-color-scheme: dark)");

/** Return the colors of the maps in light or dark. */
function palette() {
  return darkScheme.matches
    ? { paper: "#11161d", ink: "#e4eaf2", rare: "#34506f", frequent: "#eaf3ff", other: "#3a4552", mark: "#ffae5c" }
    : { paper: "#ffffff", ink: "#1b2430", rare: "#b4c6dc", frequent: "#0c2f5c", other: "#cdd4dc", mark: "#b3400e" };
}

// ---------------------------------------------------------------- small helpers

const element = (id) => document.getElementById(id);

/** Return a new element with properties and children; strings become text. */
function make(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** Return a button that selects a word. */
function wordButton(word) {
  return make("button", { type: "button", className: "word", title: word, onclick: () => select(word) }, word);
}

const number = (value) => (value ?? 0).toLocaleString("en-US");
const fixed = (value, digits = 3) => (Number.isFinite(value) ? value.toFixed(digits) : "");
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

/** Return a text that is at most so long; it does not end in half a character. */
function shorten(text, length = 28) {
  return text.length > length ? `${text.slice(0, length - 1).replace(/[\ud800-\udbff]$/, "")}…` : text;
}

/** Return [red, green, blue] of "#rrggbb". */
function rgb(color) {
  const value = parseInt(color.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** Return a color between two, as "#rrggbb"; 0 is the first. */
function between(first, second, share) {
  const [a, b] = [rgb(first), rgb(second)];
  const mixed = a.map((value, i) => Math.round(value + (b[i] - value) * share));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

/** Return "#rrggbb" as the bytes r, g, b, 255 of a little-endian integer. */
function packed(color) {
  const [red, green, blue] = rgb(color);
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** Show a line of plain English over the maps; nothing hides it. */
function report(text, isError = false) {
  const line = element("message");
  line.textContent = text;
  line.classList.toggle("error", isError);
}

/** Show children in a part of the panel instead of all that it has; what it waits for is forgotten. */
function show(target, ...children) {
  target.turn = (target.turn ?? 0) + 1;
  if (target.contains(document.activeElement)) {
    // which goes away: the next Tab starts here
    target.tabIndex = -1;
    target.focus({ preventScroll: true });
  }
  target.replaceChildren(...children);
  return target.turn;
}

/**
 * Fill a part of the panel with what `work` returns, or with its error; only the latest call counts.
 * It waits for the call before, so that the server is not asked for what nobody wants any more.
 */
async function fill(target, work, waiting = "Loading …") {
  const turn = show(target, make("p", { className: "note" }, waiting));
  const isCurrent = () => target.turn === turn;
  if (element("message").classList.contains("error")) report("");
  await target.working;
  if (!isCurrent()) return;
  try {
    const working = work(isCurrent);
    target.working = working.catch(() => null);
    const children = await working;
    if (isCurrent()) target.replaceChildren(...children.filter(Boolean));
  } catch (error) {
    if (!isCurrent()) return;
    target.replaceChildren(failure(error.message, target));
    report(error.message, true);
  }
}

/** Return an error, in which the spellings that it suggests can be clicked. */
function failure(message, target) {
  const [told, offer = ""] = message.split(/(?=did you mean )/);
  const wrong = told.match(/['"]([^'"]*)['"]/)?.[1].toLowerCase();
  const correct = (word) => {
    const form = target.closest("[role=tabpanel]").querySelector("form");
    const placeOf = (field) => (field.setRangeText ? field.value.toLowerCase().indexOf(wrong) : -1);
    const field = [...(form?.elements ?? [])].find((each) => placeOf(each) >= 0);
    if (!field) return select(word);
    field.setRangeText(word, placeOf(field), placeOf(field) + wrong.length);
    return form.requestSubmit();
  };
  const parts = offer.split(/('[^']+'|"[^"]+")/).map((part) => {
    const word = part.slice(1, -1);
    return /^['"]/.test(part) ? make("button", { type: "button", onclick: () => correct(word) }, word) : part;
  });
  return make("p", { className: "failed" }, told, ...parts);
}

// ---------------------------------------------------------------- data

/** Answers of the server. */
class ServedData {
  constructor() {
    this.token = new URLSearchParams(location.search).get("token") ?? "";
  }

  async ask(path, parameters = {}) {
    const query = new URLSearchParams(parameters).toString();
    let response;
    try {
      response = await fetch(`/api/${path}${query && "?"}${query}`, { headers: { "X-Firth-Token": this.token } });
    } catch {
      throw new Error("The server does not answer; is firth explore still running?");
    }
    if (!response.ok) {
      const answer = await response.json().catch(() => ({}));
      throw new Error(answer.error ?? `The server answered with status ${response.status}.`);
    }
    const isBinary = response.headers.get("Content-Type") === "application/octet-stream";
    return isBinary ? response.arrayBuffer() : response.json();
  }

  info() {
    return this.ask("info");
  }
  words(run) {
    return this.ask(`words/${run}`);
  }
  /** Return an answer when it is made; `tell` receives the percent until then. */
  async finished(path, parameters, tell) {
    for (;;) {
      const answer = await this.ask(path, parameters);
      if (answer.percent === undefined) return answer;
      tell(answer.percent);
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
  }

  /** Return the places of all words. */
  async map(run, method, tell) {
    return new Float32Array(await this.finished(`map/${run}`, { method }, tell));
  }

  async clusters(run) {
    return (await this.ask(`clusters/${run}`, { k: CLUSTERS })).clusters;
  }
  neighbors(run, word, k) {
    return this.ask(`neighbors/${run}`, { word, k });
  }
  /** Return neighbors with intervals when the text of the run is prepared; as long as they are wanted. */
  async intervals(run, word, k, isWanted) {
    let answer = {};
    while (!Object.keys(answer).length) {
      await this.resampling;
      if (!isWanted()) break;
      const asked = this.ask(`intervals/${run}`, { word, k });
      this.resampling = asked.catch(() => null).then(() => new Promise((resolve) => setTimeout(resolve, 100)));
      answer = await asked;
    }
    return answer;
  }
  /** Return the words that differ; with `tell` what chance does, too. */
  differ(a, b, word, tell) {
    return this.finished("differ", { a, b, word: word ?? "", ...(tell && { chance: 1 }) }, tell);
  }
}

/** Data of a page that was saved as one file: base64 of deflated JSON, as embed/explore/static_page.py says. */
class StoredData {
  constructor(text) {
    this.text = text;
  }

  async info() {
    const deflated = new Blob([bytesOf(this.text.trim())]).stream();
    const whole = new Response(deflated.pipeThrough(new DecompressionStream("deflate-raw")));
    const { runs, differ } = await whole.json();
    Object.assign(this, { runs, differences: differ });
    const about = runs.map((run) => ({ ...run, words: run.words.length }));
    return { runs: about, corpus: null, stored: true };
  }

  async words(run) {
    return this.runs[run];
  }

  async map(run) {
    return Float32Array.from(new Int16Array(bytesOf(this.runs[run].map)), (value) => value / 10000);
  }

  async neighbors(run, word) {
    const stored = this.runs[run];
    const row = rowOf(stored, word);
    if (row === undefined) {
      const n = stored.words.length.toLocaleString("en");
      throw new Error(`'${word}' is not one of the ${n} ${stored.noun}s of ${stored.name} in this file.`);
    }
    const Rows = stored.row_bytes === 2 ? Uint16Array : Uint32Array;
    stored.rows ??= new Rows(bytesOf(stored.neighbors));
    const near = Array.from(stored.rows.subarray(row * stored.k, (row + 1) * stored.k));
    let hundredths = 100;
    const neighbors = near.map((each, i) => {
      hundredths -= numberAt(stored.cosines, row * stored.k + i);
      return { word: stored.words[each], cosine: hundredths / 100 };
    });
    return { word: stored.words[row], count: stored.counts?.[row], neighbors };
  }

  async clusters(run) {
    return Uint8Array.from(this.runs[run].clusters, (each) => numberAt(each, 0));
  }

  async differ(a, b) {
    if (!this.differences || a !== 0 || b !== 1) throw new Error("This file has no differences of these two runs.");
    return { words: this.differences };
  }
}

/** Return a value as a cell of a CSV file. */
const csvCell = (value) => (/[",\r\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value));

/** Return the words of a text that are separated by spaces, commas or lines. */
const wordsIn = (text) => text.split(/,?\s+|,$/).filter(Boolean);

/** Return the bytes of base64. */
const bytesOf = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0)).buffer;

/** Return a number that is stored as a character. */
const numberAt = (text, i) => text.charCodeAt(i) - 48;

/** Return the row of a word, or of the most frequent one that differs in case only. */
function rowOf(run, word) {
  const folded = (text) => text.normalize().toLowerCase();
  run.foldedRows ??= new Map(run.words.map((each, row) => [folded(each), row]).reverse());
  return rowsOf(run).get(word) ?? run.foldedRows.get(folded(word));
}

/** Return the row of every word, made once. */
function rowsOf(run) {
  run.rowOf ??= new Map(run.words.map((word, row) => [word, row]));
  return run.rowOf;
}
