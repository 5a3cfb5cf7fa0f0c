/* The page of `firth explore`: maps of words, their neighbors, and the text behind them.
 *
 * Data come from the server's /api, or from the element #firth-data of a page that was saved as one file.
 * All text is set as text, never as HTML, and all style by classes or element.style, as the page's
 * Content-Security-Policy asks.
 */
"use strict";

const MOST_MATCHES = 12;
const NEIGHBORS = 10;
const CLUSTERS = 12;
const LINES = 50;
const CLUSTER_COLORS = [
  "#3b76c4", "#e08214", "#2f9e5b", "#cf3f3f", "#8a5fb8", "#96654f",
  "#d162a9", "#7f8790", "#a3a020", "#17a2b8", "#e58f86", "#5561d6",
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
const shorten = (text, length = 28) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

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

/** Show a line of plain English above the maps; nothing hides it. */
function report(text, isError = false) {
  const line = element("message");
  line.textContent = text;
  line.classList.toggle("error", isError);
}

/** Fill a part of the panel with what `work` returns, or with its error; only the latest call counts. */
async function fill(target, work, waiting = "Loading …") {
  const turn = (target.turn = (target.turn ?? 0) + 1);
  target.replaceChildren(make("p", { className: "note" }, waiting));
  try {
    const children = await work();
    if (target.turn === turn) target.replaceChildren(...children.filter(Boolean));
  } catch (error) {
    if (target.turn !== turn) return;
    target.replaceChildren(make("p", { className: "failed" }, error.message));
    report(error.message, true);
  }
}

// ---------------------------------------------------------------- data

/** Answers of the server. */
class ServedData {
  constructor() {
    this.token = new URLSearchParams(location.search).get("token") ?? "";
  }

  async ask(path, parameters = {}, binary = false) {
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
    return binary ? response.arrayBuffer() : response.json();
  }

  info() { return this.ask("info"); }
  words(run) { return this.ask(`words/${run}`); }
  async map(run) { return new Float32Array(await this.ask(`map/${run}`, {}, true)); }
  async clusters(run) { return (await this.ask(`clusters/${run}`, { k: CLUSTERS })).clusters; }
  neighbors(run, word) { return this.ask(`neighbors/${run}`, { word, k: NEIGHBORS }); }
  differ(a, b) { return this.ask("differ", { a, b }); }
}

/** Data of a page that was saved as one file. */
class StoredData {
  constructor(text) {
    const { runs, differ } = JSON.parse(text);
    Object.assign(this, { runs, differences: differ });
  }

  async info() {
    const runs = this.runs.map((run) => ({ words: run.words.length, ...pick(run, ["name", "method", "dim"]) }));
    return { runs, corpus: null, version: null, stored: true };
  }

  async words(run) { return this.runs[run]; }

  async map(run) {
    const whole = new Int16Array(await bytesOf(this.runs[run].map));
    return Float32Array.from(whole, (value) => value / 32767);
  }

  async neighbors(run, word) {
    const stored = this.runs[run];
    stored.rows ??= new Uint32Array(await bytesOf(stored.neighbors));
    const row = rowsOf(stored).get(word);
    if (row === undefined) throw new Error(`${stored.name} has no vector for '${word}'.`);
    const each = stored.rows.length / stored.words.length;
    const rows = Array.from(stored.rows.subarray(row * each, (row + 1) * each)).filter((n) => n < stored.words.length);
    return { word, count: stored.counts?.[row], neighbors: rows.map((n) => ({ word: stored.words[n], row: n })) };
  }

  async differ(a, b) {
    if (!this.differences || a === b) throw new Error("This file has no differences of these two runs.");
    if (a < b) return { words: differencesOf(this.differences) };
    const swapped = ({ only_a, only_b, ...rest }) => ({ ...rest, only_a: only_b, only_b: only_a });
    return { words: differencesOf(this.differences).map(swapped) };
  }
}

const differencesOf = (differ) => differ.words ?? differ;
const pick = (object, names) => Object.fromEntries(names.map((name) => [name, object[name]]));

/** Return the bytes of base64. */
async function bytesOf(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0)).buffer;
}

/** Return the row of every word, made once. */
function rowsOf(run) {
  run.rowOf ??= new Map(run.words.map((word, row) => [word, row]));
  return run.rowOf;
}

// ---------------------------------------------------------------- points: two ways to draw them

const VERTEX_SHADER = `
attribute vec2 place; attribute vec4 color;
uniform vec2 center; uniform vec2 scale; uniform float size;
varying vec4 shade;
void main() { gl_Position = vec4((place - center) * scale, 0.0, 1.0); gl_PointSize = size; shade = color; }`;
const FRAGMENT_SHADER = `
precision mediump float; varying vec4 shade; uniform float size;
void main() {
  vec2 away = gl_PointCoord - 0.5;
  if (size > 2.5 && dot(away, away) > 0.25) discard;
  gl_FragColor = shade;
}`;

/** Points drawn by the graphics card. */
class CardPoints {
  /** Return null where WebGL is missing or slow (in software). */
  static open(canvas) {
    const gl = canvas.getContext("webgl", { failIfMajorPerformanceCaveat: true, alpha: false });
    return gl ? new CardPoints(canvas, gl) : null;
  }

  constructor(canvas, gl) {
    Object.assign(this, { canvas, gl, program: gl.createProgram() });
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX_SHADER], [gl.FRAGMENT_SHADER, FRAGMENT_SHADER]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(this.program, shader);
    }
    gl.linkProgram(this.program);
    gl.useProgram(this.program);
    this.buffers = { place: gl.createBuffer(), color: gl.createBuffer() };
  }

  /** Take the points, the most frequent word first; it is drawn last, on top. */
  load(places, colors) {
    const n = colors.length;
    const reversed = new Float32Array(2 * n);
    for (let i = 0; i < n; i++) {
      reversed[2 * i] = places[2 * (n - 1 - i)];
      reversed[2 * i + 1] = places[2 * (n - 1 - i) + 1];
    }
    this.n = n;
    this.attribute("place", reversed, 2, this.gl.FLOAT, false);
    this.attribute("color", colors.slice().reverse(), 4, this.gl.UNSIGNED_BYTE, true);
  }

  attribute(name, values, size, type, normalized) {
    const { gl } = this;
    const where = gl.getAttribLocation(this.program, name);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(where);
    gl.vertexAttribPointer(where, size, type, normalized, 0, 0);
  }

  draw({ x, y, scale, size, paper }) {
    const { gl, program, canvas } = this;
    const uniform = (name) => gl.getUniformLocation(program, name);
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(...rgb(paper).map((value) => value / 255), 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform2f(uniform("center"), x, y);
    gl.uniform2f(uniform("scale"), (2 * scale) / canvas.width, (2 * scale) / canvas.height);
    gl.uniform1f(uniform("size"), size);
    gl.drawArrays(gl.POINTS, 0, this.n);
  }
}

/** Points written into the pixels of a 2D canvas, which is fast without a graphics card. */
class PixelPoints {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
  }

  load(places, colors) {
    Object.assign(this, { places, colors });
  }

  draw({ x, y, scale, size, paper }) {
    const { canvas, places, colors } = this;
    const { width, height } = canvas;
    if (this.image?.width !== width || this.image.height !== height) {
      this.image = this.context.createImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    const { pixels } = this;
    pixels.fill(packed(paper));
    const side = Math.max(1, Math.round(size));
    const offsets = discOffsets(side, width);
    const [left, top] = [width / 2 - x * scale - side / 2, height / 2 + y * scale - side / 2];
    for (let i = colors.length - 1; i >= 0; i--) {
      const column = Math.round(left + places[2 * i] * scale);
      const line = Math.round(top - places[2 * i + 1] * scale);
      if (column < 0 || line < 0 || column + side > width || line + side > height) continue;
      const start = line * width + column;
      for (let k = 0; k < offsets.length; k++) pixels[start + offsets[k]] = colors[i];
    }
    this.context.putImageData(this.image, 0, 0);
  }
}

/** Return where the pixels of a disc are in an image of this width, from its upper left corner. */
function discOffsets(side, width) {
  const offsets = [];
  const middle = (side - 1) / 2;
  for (let line = 0; line < side; line++) {
    for (let column = 0; column < side; column++) {
      if (side < 3 || (line - middle) ** 2 + (column - middle) ** 2 <= (side / 2) ** 2) offsets.push(line * width + column);
    }
  }
  return offsets;
}

// ---------------------------------------------------------------- labels

/** Which parts of the map are taken by labels, in cells of a few pixels. */
class Taken {
  constructor(width, height) {
    this.cell = 7;
    this.columns = Math.ceil(width / this.cell);
    this.lines = Math.ceil(height / this.cell);
    this.cells = new Uint8Array(this.columns * this.lines);
  }

  /** Take a box and return true, unless some of it is taken or outside. */
  take(left, top, width, height, always = false) {
    const [first, last] = [Math.floor(left / this.cell), Math.floor((left + width) / this.cell)];
    const [upper, lower] = [Math.floor(top / this.cell), Math.floor((top + height) / this.cell)];
    if (!always && (first < 0 || upper < 0 || last >= this.columns || lower >= this.lines)) return false;
    for (let pass = always ? 1 : 0; pass < 2; pass++) {
      for (let line = Math.max(0, upper); line <= Math.min(lower, this.lines - 1); line++) {
        for (let column = Math.max(0, first); column <= Math.min(last, this.columns - 1); column++) {
          const at = line * this.columns + column;
          if (pass === 0 && this.cells[at]) return false;
          if (pass === 1) this.cells[at] = 1;
        }
      }
    }
    return true;
  }
}

// ---------------------------------------------------------------- one map

/** The map of one run: points, labels, and what mouse, fingers and keys do to it. */
class MapView {
  constructor(run, info, data) {
    Object.assign(this, { run, info, x: 0, y: 0, zoom: 1, hovered: -1, selected: -1, neighbors: [], lasso: null });
    this.words = data.words;
    this.counts = data.counts;
    this.places = data.places;
    this.rowOf = rowsOf(data);
    this.widths = new Map();
    this.pointers = new Map();
    this.build();
  }

  build() {
    const { name, method, dim } = this.info;
    const about = [name, method, dim && `${dim} dimensions`, `${number(this.words.length)} words`];
    const help = "Arrow keys move, plus and minus zoom, 0 shows all.";
    this.points = make("canvas", { "aria-hidden": "true" });
    this.overlay = make("canvas", {
      className: "labels", tabIndex: 0, role: "application", "aria-label": `Map of the words of ${name}. ${help}`,
    });
    const button = (label, text, action) =>
      make("button", { type: "button", "aria-label": `${label}: ${name}`, title: label, onclick: action }, text);
    this.figure = make(
      "figure",
      {},
      make("figcaption", {}, about.filter(Boolean).join(" · ")),
      make("div", { className: "map" }, this.points, this.overlay),
      make(
        "div",
        { className: "zoom" },
        button("Zoom in", "+", () => this.zoomBy(1.6)),
        button("Zoom out", "−", () => this.zoomBy(1 / 1.6)),
        button("Show all", "⌂", () => this.reset()),
      ),
    );
    this.openPoints();
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.overlay);
  }

  openPoints() {
    this.layer = CardPoints.open(this.points) ?? new PixelPoints(this.points);
    this.points.addEventListener("webglcontextlost", () => {
      const plain = make("canvas", { "aria-hidden": "true" });
      this.points.replaceWith(plain);
      this.points = plain;
      this.layer = new PixelPoints(plain);
      this.layer.load(this.places, this.colors);
      this.resize();
    });
  }

  resize() {
    this.ratio = Math.min(2, window.devicePixelRatio || 1);
    this.width = this.overlay.clientWidth;
    this.height = this.overlay.clientHeight;
    for (const canvas of [this.points, this.overlay]) {
      canvas.width = Math.max(1, Math.round(this.width * this.ratio));
      canvas.height = Math.max(1, Math.round(this.height * this.ratio));
    }
    this.draw(true);
  }

  get scale() { return (this.zoom * Math.min(this.width, this.height)) / 2.15; }

  screen(row) {
    const { scale } = this;
    return [
      this.width / 2 + (this.places[2 * row] - this.x) * scale,
      this.height / 2 - (this.places[2 * row + 1] - this.y) * scale,
    ];
  }

  inside([left, top]) { return left >= 0 && top >= 0 && left < this.width && top < this.height; }

  /** Return the rows that are in view, the most frequent first. */
  visible() {
    const rows = [];
    for (let row = 0; row < this.words.length; row++) if (this.inside(this.screen(row))) rows.push(row);
    return rows;
  }

  /** Return the word nearest to a place on the screen, or -1. */
  at(left, top, reach = 9) {
    const { scale, places } = this;
    const [x, y] = [this.x + (left - this.width / 2) / scale, this.y - (top - this.height / 2) / scale];
    let [found, nearest] = [-1, (reach / scale) ** 2];
    for (let row = 0; row < this.words.length; row++) {
      const distance = (places[2 * row] - x) ** 2 + (places[2 * row + 1] - y) ** 2;
      if (distance < nearest) [found, nearest] = [row, distance];
    }
    return found;
  }

  // ---- moving

  zoomBy(factor, left = this.width / 2, top = this.height / 2) {
    const before = this.scale;
    this.zoom = clamp(this.zoom * factor, 0.3, 3000);
    const change = 1 / before - 1 / this.scale;
    this.x += (left - this.width / 2) * change;
    this.y -= (top - this.height / 2) * change;
    this.draw();
    rememberView();
  }

  panBy(right, down) {
    this.x -= right / this.scale;
    this.y += down / this.scale;
    this.draw();
    rememberView();
  }

  reset() {
    Object.assign(this, { x: 0, y: 0, zoom: 1 });
    this.draw();
    rememberView();
  }

  /** Move the map if the selected word is out of view. */
  bringIn() {
    if (this.selected < 0 || !this.width || this.inside(this.screen(this.selected))) return;
    [this.x, this.y] = [this.places[2 * this.selected], this.places[2 * this.selected + 1]];
    rememberView();
  }

  // ---- mouse, fingers, keys

  listen() {
    const target = this.overlay;
    const place = (event) => {
      const box = target.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    target.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      target.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, place(event));
      this.moved = this.pointers.size > 1;
      this.lasso = this.pointers.size === 1 && (event.shiftKey || state.selectingArea) ? [place(event)] : null;
    });
    target.addEventListener("pointermove", (event) => this.move(event, place(event)));
    target.addEventListener("pointerup", (event) => this.release(event, place(event)));
    target.addEventListener("pointercancel", (event) => {
      this.pointers.delete(event.pointerId);
      this.lasso = null;
    });
    target.addEventListener("pointerleave", () => this.hover(-1));
    target.addEventListener("dblclick", (event) => this.zoomBy(event.shiftKey ? 0.5 : 2, ...place(event)));
    target.addEventListener("wheel", (event) => {
      event.preventDefault();
      const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : 1);
      this.zoomBy(Math.exp(-clamp(pixels, -300, 300) * 0.002), ...place(event));
    }, { passive: false });
    target.addEventListener("keydown", (event) => {
      const step = 60;
      const keys = {
        ArrowLeft: () => this.panBy(step, 0), ArrowRight: () => this.panBy(-step, 0),
        ArrowUp: () => this.panBy(0, step), ArrowDown: () => this.panBy(0, -step),
        "+": () => this.zoomBy(1.4), "=": () => this.zoomBy(1.4), "-": () => this.zoomBy(1 / 1.4), 0: () => this.reset(),
      };
      if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      keys[event.key]();
    });
  }

  move(event, here) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return this.hover(this.at(...here));
    if (this.lasso) {
      this.lasso.push(here);
      return this.draw();
    }
    if (this.pointers.size > 1) {
      const [other] = [...this.pointers].find(([id]) => id !== event.pointerId).slice(1);
      const apart = (place) => Math.hypot(place[0] - other[0], place[1] - other[1]);
      this.zoomBy(clamp(apart(here) / Math.max(1, apart(before)), 0.5, 2), (here[0] + other[0]) / 2, (here[1] + other[1]) / 2);
    } else {
      if (!this.moved && Math.hypot(here[0] - before[0], here[1] - before[1]) < 4) return undefined;
      this.moved = true;
      this.panBy(here[0] - before[0], here[1] - before[1]);
    }
    this.pointers.set(event.pointerId, here);
    return undefined;
  }

  release(event, here) {
    if (!this.pointers.delete(event.pointerId)) return;
    const { lasso } = this;
    this.lasso = null;
    if (lasso) {
      if (lasso.length > 2) chooseGroup(this.within(lasso));
      this.draw();
    } else if (!this.moved && this.pointers.size === 0) {
      const row = this.at(...here, event.pointerType === "touch" ? 18 : 9);
      if (row >= 0) select(this.words[row]);
    }
  }

  hover(row) {
    if (row === this.hovered) return;
    this.hovered = row;
    this.draw();
  }

  /** Return the words inside a closed line of places on the screen. */
  within(line) {
    return this.visible().filter((row) => isWithin(this.screen(row), line)).map((row) => this.words[row]);
  }

  // ---- drawing

  /** Give every point its color. */
  paint() {
    const { rare, frequent, other } = palette();
    const n = this.words.length;
    if (state.color === "cluster" && this.clusters) {
      const colors = CLUSTER_COLORS.map(packed);
      this.colors = Uint32Array.from(this.clusters, (cluster) => colors[cluster % colors.length]);
    } else if (state.color === "group") {
      const [inside, outside] = [packed(palette().mark), packed(other)];
      this.colors = Uint32Array.from(this.words, (word) => (state.group.has(word) ? inside : outside));
    } else {
      const shades = Array.from({ length: 64 }, (_, i) => packed(between(rare, frequent, i / 63)));
      this.colors = new Uint32Array(n);
      for (let row = 0; row < n; row++) this.colors[row] = shades[Math.round(63 * this.frequency(row))];
    }
    this.layer.load(this.places, this.colors);
    this.draw();
  }

  /** Return 0 for the rarest words and 1 for the most frequent, by the logarithm of count or rank. */
  frequency(row) {
    const n = this.words.length;
    if (!this.counts) return 1 - Math.log(1 + row) / Math.log(1 + n);
    const [most, least] = [Math.log(this.counts[0] || 1), Math.log(this.counts[n - 1] || 1)];
    return most > least ? clamp((Math.log(this.counts[row] || 1) - least) / (most - least), 0, 1) : 1;
  }

  /** Draw in the next frame, or now. */
  draw(now = false) {
    if (!now) {
      this.frame ??= requestAnimationFrame(() => this.draw(true));
      return;
    }
    if (this.frame) cancelAnimationFrame(this.frame);
    this.frame = null;
    if (!this.width || !this.height || !this.colors) return;
    this.layer.draw({
      x: this.x, y: this.y, scale: this.scale * this.ratio, size: this.pointSize() * this.ratio, paper: palette().paper,
    });
    this.drawOverlay();
  }

  pointSize() {
    const room = Math.sqrt((this.width * this.height) / Math.max(1, this.words.length));
    return clamp(0.28 * room * Math.sqrt(this.zoom), 1, 9);
  }

  /** Return the labels in view: selected words and neighbors always, others as far as there is room. */
  labels() {
    const taken = new Taken(this.width, this.height);
    const marked = [this.selected, this.hovered, ...this.neighbors].filter((row) => row >= 0);
    const placed = [...new Set(marked)].map((row) => this.markedLabel(row, taken)).filter(Boolean);
    const rows = new Set(marked);
    const most = placed.length + (this.width * this.height) / 5000;
    for (let row = 0, tried = 0; row < this.words.length && placed.length < most && tried < 5000; row++) {
      const [left, top] = this.screen(row);
      if (left < 0 || top < 0 || left >= this.width || top >= this.height || rows.has(row)) continue;
      tried++;
      if (state.color === "group" && state.group.size && !state.group.has(this.words[row])) continue;
      const width = this.labelWidth(row);
      const start = left + 5 + width < this.width ? left + 5 : left - 5 - width;
      if (taken.take(start - 3, top - 8, width + 8, 16)) placed.push({ row, left: start, top, kind: "plain" });
    }
    return placed;
  }

  /** Return a label that finds room near its point, with a line to it if it is moved up or down. */
  markedLabel(row, taken) {
    const [left, top] = this.screen(row);
    if (!this.inside([left, top])) return null;
    const kind = row === this.selected ? "selected" : row === this.hovered ? "hovered" : "neighbor";
    const width = this.labelWidth(row) * 1.12;
    const sides = [left + 9, left - 9 - width].filter((start) => start > 0 && start + width < this.width);
    for (let step = 0; step < 24; step++) {
      const down = (step % 2 ? 1 : -1) * Math.ceil(step / 2) * 16;
      for (const start of sides) {
        if (taken.take(start - 2, top + down - 9, width + 4, 17)) return { row, left: start, top: top + down, kind, down };
      }
    }
    const start = clamp(left + 9, 2, Math.max(2, this.width - width));
    taken.take(start, top - 9, width, 17, true);
    return { row, left: start, top, kind, down: 0 };
  }

  labelWidth(row) {
    if (!this.widths.has(row)) {
      const pen = this.overlay.getContext("2d");
      pen.font = LABEL_FONT;
      this.widths.set(row, pen.measureText(shorten(this.words[row])).width);
    }
    return this.widths.get(row);
  }

  drawOverlay() {
    const pen = this.overlay.getContext("2d");
    const { paper, ink, mark } = palette();
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.clearRect(0, 0, this.width, this.height);
    const shown = this.labels();
    const ring = (row, radius, color) => {
      pen.beginPath();
      pen.arc(...this.screen(row), radius, 0, 2 * Math.PI);
      pen.strokeStyle = color;
      pen.lineWidth = 2;
      pen.stroke();
    };
    for (const row of this.neighbors) ring(row, 4, mark);
    if (this.selected >= 0) ring(this.selected, 7, mark);
    if (this.hovered >= 0) ring(this.hovered, 5, ink);
    Object.assign(pen, { textBaseline: "middle", lineJoin: "round", strokeStyle: paper });
    for (const { row, left, top, kind, down } of shown.reverse()) {
      const marked = kind !== "plain";
      if (down) {
        const [x, y] = this.screen(row);
        pen.beginPath();
        pen.moveTo(x, y);
        pen.lineTo(left > x ? left - 2 : left + this.labelWidth(row) * 1.12 + 2, top);
        Object.assign(pen, { lineWidth: 1, strokeStyle: mark });
        pen.stroke();
      }
      pen.font = kind === "plain" ? LABEL_FONT : MARKED_FONT;
      Object.assign(pen, { lineWidth: 3, strokeStyle: paper, fillStyle: marked && kind !== "hovered" ? mark : ink });
      pen.strokeText(shorten(this.words[row]), left, top);
      pen.fillText(shorten(this.words[row]), left, top);
    }
    if (this.lasso) {
      pen.beginPath();
      this.lasso.forEach((place) => pen.lineTo(...place));
      pen.closePath();
      Object.assign(pen, { lineWidth: 1.5, strokeStyle: mark, fillStyle: `${mark}22` });
      pen.fill();
      pen.stroke();
    }
  }
}

const LABEL_FONT = "12px system-ui, sans-serif";
const MARKED_FONT = "bold 12px system-ui, sans-serif";

/** Return whether a place is inside a closed line (the even-odd rule). */
function isWithin([x, y], line) {
  let odd = false;
  for (let i = 0, j = line.length - 1; i < line.length; j = i++) {
    const [[ax, ay], [bx, by]] = [line[i], line[j]];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) odd = !odd;
  }
  return odd;
}

// ---------------------------------------------------------------- what is shown

const state = {
  source: null, // ServedData or StoredData
  info: null,
  views: [], // one or two MapViews
  word: null,
  color: "frequency",
  group: new Set(),
  tab: "near",
  selectingArea: false,
  turn: 0,
  loaded: new Map(), // run -> its words, counts and places
};

/** Load a run's words and map once. */
async function loadRun(run) {
  if (!state.loaded.has(run)) {
    report(`Loading the map of ${state.info.runs[run].name} …`);
    const [{ words, counts }, places] = await Promise.all([state.source.words(run), state.source.map(run)]);
    const shown = Math.min(words.length, places.length / 2);
    state.loaded.set(run, { words: words.slice(0, shown), counts, places });
  }
  return state.loaded.get(run);
}

/** Show the maps of the runs that are chosen; `places` are [zoom, x, y] of each. */
async function showRuns(places = []) {
  const turn = ++state.turn;
  const other = element("other").value;
  const runs = [Number(element("run").value), ...(other === "" ? [] : [Number(other)])];
  try {
    const data = [];
    for (const run of runs) data.push(await loadRun(run));
    if (turn !== state.turn) return;
    const kept = new Map(state.views.map((view) => [view.run, [view.zoom, view.x, view.y]]));
    state.views = runs.map((run, i) => new MapView(run, state.info.runs[run], data[i]));
    state.views.forEach((view, i) => {
      const [zoom, x, y] = places[i] ?? kept.get(view.run) ?? [1, 0, 0];
      Object.assign(view, { zoom, x, y });
    });
    element("maps").replaceChildren(...state.views.map((view) => view.figure));
    report("");
    fillWhyRuns();
    await recolor();
    if (state.tab === "differ") showDifferences();
  } catch (error) {
    report(error.message, true);
  }
  rememberView();
}

/** Select a word in all maps and tell about it in the panel. */
async function select(word) {
  state.word = word;
  for (const view of state.views) {
    view.selected = view.rowOf.get(word) ?? -1;
    view.neighbors = [];
    view.bringIn();
    view.draw();
  }
  element("search").value = word;
  element("why-a").value = word;
  element("query").value = word;
  state.textOf = null;
  rememberView();
  if (state.tab !== "text" || !state.info.corpus) showTab("near");
  else showText(word);
  await showNeighbors(word);
}

/** Color all maps anew. */
async function recolor() {
  if (state.color === "cluster") {
    for (const view of state.views) {
      const data = state.loaded.get(view.run);
      try {
        data.clusters ??= await state.source.clusters(view.run);
      } catch (error) {
        report(error.message, true);
      }
      view.clusters = data.clusters;
    }
  }
  for (const view of state.views) view.paint();
  showLegend();
}

/** Make words the user's group and color by it. */
function chooseGroup(words) {
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

const TABS = ["near", "why", "text", "differ", "sentence", "group"];

function showTab(name) {
  if (element(`tab-${name}`).hidden) name = "near";
  state.tab = name;
  for (const each of TABS) {
    element(each).hidden = each !== name;
    element(`tab-${each}`).setAttribute("aria-selected", String(each === name));
    element(`tab-${each}`).tabIndex = each === name ? 0 : -1;
  }
  if (name === "text" && state.word && state.textOf !== state.word) showText(state.word);
  if (name === "differ") showDifferences();
  rememberView();
}

function showGroup() {
  const words = [...state.group];
  const shown = words.slice(0, 200).map((word) => make("li", {}, wordButton(word)));
  const many = words.length === 1 ? "1 word" : `${number(words.length)} words`;
  element("group-answer").replaceChildren(
    make("p", { className: "note" }, `${many}${words.length > 200 ? ", of which 200 are listed" : ""}`),
    make("ul", { className: "both" }, ...shown),
  );
}

/** List the neighbors of a word in every run that is shown. */
function showNeighbors(word) {
  const { views } = state;
  return fill(element("near"), async () => {
    const answers = await Promise.all(
      views.map((view) => state.source.neighbors(view.run, word).catch((error) => ({ error }))),
    );
    if (answers.every((answer) => answer.error)) throw answers[0].error;
    if (state.word === word) markNeighbors(views, answers);
    element("selected").textContent = spoken(word, views, answers);
    return [
      make("h2", {}, make("bdi", {}, word)),
      make("p", { className: "hint" }, countsOf(views, answers)),
      make("div", { className: "both" }, ...answers.map((answer, i) => neighborList(word, views[i], answer))),
    ];
  });
}

function markNeighbors(views, answers) {
  views.forEach((view, i) => {
    const rows = (answers[i].neighbors ?? []).map((each) => view.rowOf.get(each.word) ?? -1);
    view.neighbors = rows.filter((row) => row >= 0);
    if (answers[i].word && view.selected < 0) view.selected = view.rowOf.get(answers[i].word) ?? -1;
    view.bringIn();
    view.draw();
  });
}

/** Return the counts of a word, by run if there are two that differ. */
function countsOf(views, answers) {
  const counts = answers.map((answer, i) => [answer.count, views[i].info.name]).filter(([count]) => Number.isFinite(count));
  if (new Set(counts.map(([count]) => count)).size < 2) return counts.length ? `${number(counts[0][0])} occurrences` : "";
  return `${counts.map(([count, name]) => `${number(count)} in ${name}`).join(", ")}`;
}

/** Return what a screen reader says about the selected word. */
function spoken(word, views, answers) {
  const lists = answers.filter((answer) => answer.neighbors).map((answer) => answer.neighbors.slice(0, 3));
  return `${word}. ${countsOf(views, answers)}. Near: ${lists.map((list) => list.map((each) => each.word).join(", ")).join("; ")}`;
}

function neighborList(word, view, answer) {
  const title = make("h3", {}, state.views.length > 1 ? view.info.name : "Nearest words, by cosine");
  if (answer.error) return make("div", {}, title, make("p", { className: "note" }, answer.error.message));
  const items = answer.neighbors.map((each) =>
    make(
      "li",
      {},
      wordButton(each.word),
      make("span", { className: "cosine" }, fixed(each.cosine)),
      state.info.stored ? null : whyButton(answer.word, each.word, view.run),
    ),
  );
  return make("div", {}, title, make("ol", { className: "words" }, ...items));
}

function whyButton(a, b, run) {
  const ask = () => {
    element("why-a").value = a;
    element("why-b").value = b;
    element("why-run").value = String(run);
    showTab("why");
    showWhy(run, a, b);
    element("tab-why").focus();
  };
  const label = { type: "button", className: "small", "aria-label": `Why is ${b} near ${a}?`, onclick: ask };
  return make("button", label, state.views.length > 1 ? "why?" : "why near?");
}

/** Show the contexts that make two words near, with a line of text for each word. */
function showWhy(run, a, b) {
  return fill(element("why-answer"), async () => {
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
      return make("li", { className: "context" }, share, ...each.lines.map(quote));
    });
    const sum = found.contexts.reduce((total, each) => total + each.share, 0);
    return [
      make("h2", {}, make("bdi", {}, found.words[0]), " and ", make("bdi", {}, found.words[1])),
      make("p", { className: "hint" }, `Cosine of the vectors ${fixed(found.cosine)}; by contexts alone ${fixed(found.by_contexts)}, `
        + `of which these make ${fixed(100 * sum, 1)}%.`),
      make("h3", {}, `Contexts and their shares (${found.measure})`),
      items.length ? make("ol", {}, ...items) : make("p", { className: "note" }, "They share no contexts."),
    ];
  }, "Counting contexts …");
}

/** Return a line of text with what was found in it. */
function quote(line) {
  return line && make("p", { className: "quote" }, `${line.left} `, make("b", {}, line.found), ` ${line.right}`);
}

/** Show lines of the corpus and words that stand near. */
function showText(query) {
  state.textOf = query;
  const sort = element("sort").value;
  fill(element("lines"), async () => {
    const found = await state.source.ask("concordance", { query, sort, n: LINES });
    const shown = found.found > found.lines.length ? `, ${found.lines.length} shown` : "";
    return [
      make("h3", {}, `${number(found.found)} occurrences${shown}`),
      make("ul", {}, ...found.lines.map((line) => make("li", {}, concordanceLine(line)))),
    ];
  }, "Searching the text …");
  fill(element("collocates"), async () => {
    const found = await state.source.ask("collocates", { query, n: 20 });
    const rows = found.rows.map((each) =>
      make(
        "tr",
        {},
        make("td", {}, wordButton(each.word)),
        ...[number(each.near), number(each.other), fixed(each.score, 2)].map((text) => make("td", {}, text)),
        make("td", { className: "range" }, each.low == null ? "" : `${fixed(each.low, 2)} to ${fixed(each.high, 2)}`),
      ),
    );
    const heads = ["Word", "Near", "Elsewhere", found.measure ?? "Score", "95 %"].map((text) => make("th", { scope: "col" }, text));
    return [
      make("h3", {}, "Words that stand near"),
      make("table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows)),
    ];
  }, "Counting words nearby …");
}

/** Return a line that opens to show all of it and where it is from. */
function concordanceLine(line) {
  const fields = Object.entries(line.fields ?? {}).map(([name, value]) => `${name}: ${value}`);
  const where = [`document ${line.document}`, line.source && `${line.source}${line.record == null ? "" : `:${line.record}`}`, ...fields];
  return make(
    "details",
    {},
    make(
      "summary",
      {},
      make("span", {}, make("bdi", {}, line.left)),
      make("b", {}, line.found),
      make("span", {}, make("bdi", {}, line.right)),
    ),
    quote(line),
    make("p", { className: "note" }, where.filter(Boolean).join(" · ")),
  );
}

/** List the words whose neighbors differ most between the two runs. */
function showDifferences() {
  const target = element("differ-answer");
  if (state.views.length < 2) {
    state.differOf = null;
    target.replaceChildren(make("p", { className: "note" }, "Choose a second run above to compare two."));
    return;
  }
  const [a, b] = state.views;
  const pair = `${a.run} ${b.run}`;
  if (state.differOf === pair) return;
  state.differOf = pair;
  fill(target, async () => {
    const found = await state.source.differ(a.run, b.run).catch((error) => {
      state.differOf = null;
      throw error;
    });
    const items = found.words.map((each) =>
      make(
        "li",
        { className: "difference" },
        make("div", { className: "words" }, make("li", {}, wordButton(each.word), make("span", { className: "cosine" }, fixed(each.distance)))),
        onlyIn(a, each.only_a),
        onlyIn(b, each.only_b),
      ),
    );
    return [
      make("h3", {}, "Words with the most different neighbors"),
      make("p", { className: "hint" }, "By 1 − cosine of both neighborhoods. Rare words come first by chance; "
        + "firth differ says what chance does."),
      make("ol", {}, ...items),
    ];
  }, "Comparing neighborhoods …");
}

function onlyIn(view, words) {
  return make("p", {}, make("span", { className: "hint" }, `only near in ${view.info.name}: `), (words ?? []).slice(0, 6).join(", ") || "–");
}

/** Show what an encoder makes of a sentence: nearest words or fill-ins, and attention. */
function showSentence(run, text) {
  const masked = text.includes("[MASK]");
  fill(element("sentence-answer"), async () => {
    if (masked) {
      const found = await state.source.ask(`fill/${run}`, { text });
      return found.map((pieces, i) => fillIns(pieces, found.length > 1 ? `Mask ${i + 1}` : "In place of [MASK]"));
    }
    if (!/\[[^\]]+\]/.test(text)) return [];
    const found = await state.source.ask(`context/${run}`, { text });
    return found.map((each) => scored(`Near “${each.word}” in this sentence`, each.neighbors.map((near) => ({ score: near.score ?? near.cosine, ...near }))));
  });
  fill(element("attention"), async () => {
    const plain = masked ? text : text.replace(/\[([^\]]+)\]/g, "$1");
    return attentionTable(await state.source.ask(`attention/${run}`, { text: plain }));
  });
}

function fillIns(pieces, title) {
  return scored(title, pieces.map(({ piece, probability }) => ({ word: piece, score: probability })));
}

/** Return a list of words with their scores. */
function scored(title, words) {
  const items = words.map((each) => make("li", {}, wordButton(each.word), make("span", { className: "cosine" }, fixed(each.score))));
  return make("div", {}, make("h3", {}, title), make("ol", { className: "words" }, ...items));
}

/** Return a table of attention, with selects for layer and head. */
function attentionTable({ pieces, weights }) {
  const choices = (label, n) => {
    const options = Array.from({ length: n }, (_, i) => make("option", { value: i }, String(i + 1)));
    const select = make("select", { id: `attention-${label}`, onchange: () => draw() }, ...options);
    return [select, make("div", { className: "control" }, make("label", { htmlFor: select.id }, label), select)];
  };
  const [layer, layerControl] = choices("Layer", weights.length);
  const [head, headControl] = choices("Head", weights[0].length);
  const table = make("table", { className: "attention" });
  const draw = () => {
    const matrix = weights[layer.value][head.value];
    const rows = matrix.map((line, i) =>
      make("tr", {}, make("th", { scope: "row" }, pieces[i]), ...line.map((weight, j) => {
        const cell = make("td", { title: `${pieces[i]} → ${pieces[j]}: ${fixed(weight)}` }, String(Math.round(100 * weight)));
        cell.style.backgroundColor = `rgb(90 150 230 / ${clamp(weight, 0, 1) * 0.85})`;
        return cell;
      })),
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

/** Return words that begin with the text, then words that have it inside, the most frequent first. */
function matches(text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const found = new Map();
  for (const isMatch of [(word) => word.startsWith(wanted), (word) => word.includes(wanted)]) {
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
    list.replaceChildren(...found.map(([word, count], i) =>
      make(
        "li",
        { id: `match-${i}`, role: "option", onmousedown: (event) => { event.preventDefault(); choose(word); } },
        make("bdi", {}, word),
        count ? make("span", {}, number(count)) : null,
      )));
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
    const names = new Map();
    for (let row = 0; row < view.words.length; row++) {
      const name = names.get(view.clusters[row]) ?? names.set(view.clusters[row], []).get(view.clusters[row]);
      if (name.length < 3) name.push(shorten(view.words[row], 16));
    }
    items = [...names].sort(([a], [b]) => a - b).map(([n, name]) => [CLUSTER_COLORS[n % CLUSTER_COLORS.length], name.join(", ")]);
    if (state.views.length > 1) items.push([null, `(words of ${view.info.name}; clusters of the other run are its own)`]);
  } else if (state.color === "group") {
    items = [[mark, `my group (${number(state.group.size)})`], [other, "other words"]];
  } else {
    const [most, least] = view.counts ? [view.counts[0], view.counts[view.words.length - 1]] : [1, view.words.length];
    items = [0, 0.25, 0.5, 0.75, 1].map((share) => {
      const count = Math.round(Math.exp(Math.log(least) + share * (Math.log(most) - Math.log(least))));
      return [between(rare, frequent, share), view.counts ? number(count) : `rank ${number(count)}`];
    });
    items.push([null, view.counts ? "occurrences" : ""]);
  }
  element("legend").replaceChildren(...items.map(([color, text]) => {
    const dot = make("i", { "aria-hidden": "true" });
    if (color) dot.style.backgroundColor = color;
    return make("li", {}, color ? dot : null, make("span", { title: text }, text));
  }));
}

function download(name, type, text) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const fileName = (end) => `firth-${state.views.map((view) => view.info.name).join("-").replace(/[^\w.-]+/g, "_")}.${end}`;

/** Save words with their counts and places as a table. */
function saveCsv() {
  const cell = (value) => (/[",\r\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
  const lines = ["run,word,count,x,y,cluster"];
  for (const view of state.views) {
    const inGroup = (row) => state.group.has(view.words[row]);
    const rows = element("scope").value === "group" ? [...view.words.keys()].filter(inGroup) : view.visible();
    for (const row of rows) {
      const place = [view.places[2 * row], view.places[2 * row + 1]].map((value) => value.toFixed(5));
      const cells = [view.info.name, view.words[row], view.counts?.[row] ?? "", ...place, view.clusters?.[row] ?? ""];
      lines.push(cells.map(cell).join(","));
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
    // eslint-disable-next-line no-control-regex
    if (text) made.textContent = text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
    return parent.appendChild(made);
  };
  const { paper, ink, mark } = palette();
  const width = state.views.reduce((sum, view) => sum + view.width, 0);
  const height = Math.max(...state.views.map((view) => view.height));
  const root = drawing.documentElement;
  for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) root.setAttribute(name, value);
  node(root, "rect", { width, height, fill: paper });
  let start = 0;
  for (const view of state.views) {
    const part = node(root, "svg", { x: start, width: view.width, height: view.height });
    start += view.width;
    for (const [color, path] of pathsByColor(view)) {
      node(part, "path", { d: path, stroke: color, "stroke-width": view.pointSize().toFixed(1), "stroke-linecap": "round" });
    }
    const font = { "font-family": "system-ui, sans-serif", "font-size": 12, "dominant-baseline": "central" };
    const outline = { stroke: paper, "stroke-width": 3, "stroke-linejoin": "round", "paint-order": "stroke" };
    for (const { row, left, top, kind } of view.labels()) {
      const weight = kind === "plain" ? { fill: ink } : { fill: mark, "font-weight": "bold" };
      node(part, "text", { x: left.toFixed(1), y: top.toFixed(1), ...font, ...outline, ...weight }, shorten(view.words[row]));
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
    const view = new URLSearchParams({ run: element("run").value, other: element("other").value, color: state.color, tab: state.tab });
    if (state.word) view.set("word", state.word);
    state.views.forEach((each, i) => view.set(`view${i + 1}`, [each.zoom, each.x, each.y].map((value) => Number(value.toPrecision(6))).join(",")));
    if (state.group.size && state.group.size <= 100) view.set("group", [...state.group].join(" "));
    const hash = `#${view}`;
    if (hash !== location.hash) history.replaceState(null, "", hash);
  }, 300);
}

/** Show what the address says. */
async function restoreView() {
  const view = new URLSearchParams(location.hash.slice(1));
  const choose = (id, value) => {
    if ([...element(id).options].some((option) => option.value === value && !option.disabled)) element(id).value = value;
  };
  choose("run", view.get("run"));
  choose("other", view.get("other"));
  choose("color", view.get("color"));
  state.color = element("color").value;
  state.group = new Set((view.get("group") ?? "").split(" ").filter(Boolean));
  element("group-words").value = [...state.group].join(" ");
  showGroup();
  const places = ["view1", "view2"].map((name) => view.get(name)?.split(",").map(Number));
  const [word, tab] = [view.get("word"), view.get("tab")];
  await showRuns(places.map((place) => (place?.length === 3 && place.every(Number.isFinite) ? place : undefined)));
  if (word && state.views.length) await select(word);
  if (TABS.includes(tab)) showTab(tab);
}

// ---------------------------------------------------------------- start

function fillRuns() {
  const { runs, corpus, stored } = state.info;
  const option = (run, n) => make("option", { value: n }, run.name);
  element("run").replaceChildren(...runs.map(option));
  element("other").replaceChildren(make("option", { value: "" }, "nothing"), ...runs.map(option));
  element("other-control").hidden = element("tab-differ").hidden = runs.length < 2;
  element("tab-why").hidden = Boolean(stored);
  element("tab-text").hidden = !corpus;
  const encoders = runs.map((run, n) => [run, n]).filter(([run]) => run.encoder);
  element("tab-sentence").hidden = !encoders.length;
  element("sentence-run").replaceChildren(...encoders.map(([run, n]) => option(run, n)));
  element("color").querySelector("[value=cluster]").disabled = Boolean(stored);
}

function fillWhyRuns() {
  const chosen = element("why-run").value;
  element("why-run").replaceChildren(...state.info.runs.map((run, n) => make("option", { value: n }, run.name)));
  const shown = state.views.map((view) => String(view.run));
  element("why-run").value = shown.includes(chosen) ? chosen : shown[0];
}

function listenToControls() {
  const on = (id, event, action) => element(id).addEventListener(event, action);
  const submit = (id, action) => on(id, "submit", (event) => { event.preventDefault(); action(); });
  const again = async () => {
    await showRuns();
    if (state.word) await select(state.word);
  };
  on("run", "change", again);
  on("other", "change", again);
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
  on("sort", "change", () => element("query").value.trim() && showText(element("query").value.trim()));
  submit("why-form", () => showWhy(element("why-run").value, element("why-a").value.trim(), element("why-b").value.trim()));
  submit("text-form", () => showText(element("query").value.trim()));
  submit("sentence-form", () => showSentence(element("sentence-run").value, element("sentence-text").value.trim()));
  submit("group-form", () => chooseGroup(element("group-words").value.split(/[\s,]+/).filter(Boolean)));
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
  window.addEventListener("hashchange", restoreView);
}

async function start() {
  const stored = element("firth-data");
  try {
    state.source = stored ? new StoredData(stored.textContent) : new ServedData();
    report("Loading …");
    state.info = await state.source.info();
    document.title = `${state.info.runs.map((run) => run.name).join(", ")} – firth explore`;
    fillRuns();
    listenToControls();
    showTab("near");
    await restoreView();
  } catch (error) {
    report(error.message, true);
  }
}

start();
