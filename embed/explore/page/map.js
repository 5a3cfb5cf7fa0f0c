/* Maps of words: points by WebGL or into pixels, labels, and what mouse, fingers and keys do. */
"use strict";

// ---------------------------------------------------------------- points: two ways to draw them

const VERTEX_SHADER = `
attribute vec2 place; attribute vec4 color;
uniform vec2 center; uniform vec2 scale; uniform mediump float size;
varying vec4 shade;
void main() { gl_Position = vec4((place - center) * scale, 0.0, 1.0); gl_PointSize = size; shade = color; }`;
const FRAGMENT_SHADER = `
precision mediump float; varying vec4 shade; uniform mediump float size;
void main() {
  vec2 away = gl_PointCoord - 0.5;
  if (size > 2.5 && dot(away, away) > 0.25) discard;
  gl_FragColor = shade;
}`;

/** Points drawn by the graphics card. */
class CardPoints {
  /** Return null where WebGL is missing or in software, which is slower than PixelPoints. */
  static open(canvas) {
    const gl = canvas.getContext("webgl", { failIfMajorPerformanceCaveat: true, alpha: false });
    if (!gl) return null;
    const about = gl.getExtension("WEBGL_debug_renderer_info");
    const card = gl.getParameter(about ? about.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
    if (/swiftshader|llvmpipe|software|basic render/i.test(card)) return null;
    const layer = new CardPoints(canvas, gl);
    return gl.getProgramParameter(layer.program, gl.LINK_STATUS) ? layer : null;
  }

  constructor(canvas, gl) {
    Object.assign(this, { canvas, gl, program: gl.createProgram() });
    for (const [kind, source] of [
      [gl.VERTEX_SHADER, VERTEX_SHADER],
      [gl.FRAGMENT_SHADER, FRAGMENT_SHADER],
    ]) {
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
      if (side < 3 || (line - middle) ** 2 + (column - middle) ** 2 <= (side / 2) ** 2)
        offsets.push(line * width + column);
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
  static withoutCard = false; // whether WebGL was found missing

  constructor(run, info, { data, places }) {
    Object.assign(this, {
      run,
      info,
      data,
      x: 0,
      y: 0,
      zoom: 1,
      hovered: -1,
      selected: -1,
      neighbors: [],
      lasso: null,
    });
    this.words = data.words;
    this.counts = data.counts;
    this.places = places;
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
      className: "labels",
      tabIndex: 0,
      role: "application",
      "aria-label": `Map of the words of ${name}. ${help}`,
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
    this.overlay.classList.toggle("lasso", state.selectingArea);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.overlay);
  }

  openPoints() {
    this.layer = MapView.withoutCard ? null : CardPoints.open(this.points);
    if (this.layer) this.points.addEventListener("webglcontextlost", () => this.isClosed || this.usePixels());
    else this.usePixels();
  }

  /** Give the graphics card back; browsers allow few maps on it. */
  close() {
    this.isClosed = true;
    this.observer.disconnect();
    this.layer.gl?.getExtension("WEBGL_lose_context")?.loseContext();
  }

  /** Draw without WebGL, in a new canvas, since a canvas keeps its first kind. */
  usePixels() {
    MapView.withoutCard = true;
    const plain = make("canvas", { "aria-hidden": "true" });
    this.points.replaceWith(plain);
    this.points = plain;
    this.layer = new PixelPoints(plain);
    if (!this.colors) return;
    this.layer.load(this.places, this.colors);
    this.resize();
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

  /** The cluster of every word; undefined until they are asked for. */
  get clusters() {
    return this.data.clusters;
  }

  get scale() {
    return (this.zoom * Math.min(this.width, this.height)) / 2.15;
  }

  screen(row) {
    const { scale } = this;
    return [
      this.width / 2 + (this.places[2 * row] - this.x) * scale,
      this.height / 2 - (this.places[2 * row + 1] - this.y) * scale,
    ];
  }

  inside([left, top]) {
    return left >= 0 && top >= 0 && left < this.width && top < this.height;
  }

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

  /** Show another part: x and y of the middle, or zoom. */
  go(part) {
    Object.assign(this, part);
    this.draw();
    rememberView();
  }

  zoomBy(factor, left = this.width / 2, top = this.height / 2) {
    const before = this.scale;
    this.zoom = clamp(this.zoom * factor, ...ZOOMS);
    const change = 1 / before - 1 / this.scale;
    this.go({ x: this.x + (left - this.width / 2) * change, y: this.y - (top - this.height / 2) * change });
  }

  panBy(right, down) {
    this.go({ x: this.x - right / this.scale, y: this.y + down / this.scale });
  }

  reset() {
    this.go({ x: 0, y: 0, zoom: 1 });
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
    target.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : 1);
        this.zoomBy(Math.exp(-clamp(pixels, -300, 300) * 0.002), ...place(event));
      },
      { passive: false },
    );
    target.addEventListener("keydown", (event) => {
      const step = 60;
      const keys = {
        ArrowLeft: () => this.panBy(step, 0),
        ArrowRight: () => this.panBy(-step, 0),
        ArrowUp: () => this.panBy(0, step),
        ArrowDown: () => this.panBy(0, -step),
        "+": () => this.zoomBy(1.4),
        "=": () => this.zoomBy(1.4),
        "-": () => this.zoomBy(1 / 1.4),
        0: () => this.reset(),
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
      this.zoomBy(
        clamp(apart(here) / Math.max(1, apart(before)), 0.5, 2),
        (here[0] + other[0]) / 2,
        (here[1] + other[1]) / 2,
      );
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
      if (lasso.some(([x, y]) => Math.hypot(x - lasso[0][0], y - lasso[0][1]) > 3))
        chooseGroup(this.within(areaOf(lasso)));
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
    return this.visible()
      .filter((row) => isWithin(this.screen(row), line))
      .map((row) => this.words[row]);
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
    if (!this.width || !this.height || !this.colors || this.isClosed) return;
    this.layer.draw({
      x: this.x,
      y: this.y,
      scale: this.scale * this.ratio,
      size: this.pointSize() * this.ratio,
      paper: palette().paper,
    });
    this.drawOverlay();
  }

  pointSize() {
    const room = Math.sqrt((this.width * this.height) / Math.max(1, this.words.length));
    return clamp(0.36 * room * Math.sqrt(this.zoom), 1, 9);
  }

  /** Return the labels in view: selected words, neighbors and small groups always, others where there is room. */
  labels() {
    const taken = new Taken(this.width, this.height);
    taken.take(this.width - 50, 0, 50, 110, true); // of the buttons
    const group = this.groupRows();
    const few = group.length <= MARKED_GROUP ? group : [];
    const marked = [this.selected, this.hovered, ...this.neighbors, ...few].filter((row) => row >= 0);
    const placed = [...new Set(marked)].map((row) => this.markedLabel(row, taken)).filter(Boolean);
    const rows = new Set(marked);
    const most = placed.length + (this.width * this.height) / 5000;
    const place = (row) => {
      const [left, top] = this.screen(row);
      if (left < 0 || top < 0 || left >= this.width || top >= this.height || rows.has(row)) return;
      tried++;
      const width = this.labelWidth(row);
      const start = left + 5 + width < this.width ? left + 5 : left - 5 - width;
      if (taken.take(start - 3, top - 8, width + 8, 16)) placed.push({ row, left: start, top, kind: "plain" });
    };
    let tried = 0;
    for (const row of group) place(row);
    for (let row = 0; row < this.words.length && placed.length < most && tried < 5000; row++) place(row);
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
        if (taken.take(start - 2, top + down - 9, width + 4, 17))
          return { row, left: start, top: top + down, kind, down };
      }
    }
    const start = clamp(left + 9, 2, Math.max(2, this.width - width));
    taken.take(start, top - 9, width, 17, true);
    return { row, left: start, top, kind, down: 0 };
  }

  /** Return both ends of the line from a point to its label. */
  leader({ row, left, top }) {
    const [x, y] = this.screen(row);
    return [
      [x, y],
      [left > x ? left - 2 : left + this.labelWidth(row) * 1.12 + 2, top],
    ];
  }

  /** Return [row, radius] of the rings around the selected word and its neighbors. */
  rings() {
    const all = [...this.neighbors.map((row) => [row, 4]), [this.selected, 7]];
    return all.filter(([row]) => row >= 0 && this.inside(this.screen(row)));
  }

  /** Return the rows of the group that are in view, if the map is colored by it and they are few. */
  groupRows() {
    if (state.color !== "group" || state.group.size > 5000) return [];
    const rows = [...state.group].map((word) => this.rowOf.get(word) ?? -1);
    return rows.filter((row) => row >= 0 && this.inside(this.screen(row)));
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
    pen.fillStyle = mark;
    for (const row of this.groupRows()) {
      const [left, top] = this.screen(row);
      pen.fillRect(left - GROUP_POINT / 2, top - GROUP_POINT / 2, GROUP_POINT, GROUP_POINT);
    }
    for (const [row, radius] of this.rings()) ring(row, radius, mark);
    if (this.hovered >= 0) ring(this.hovered, 5, ink);
    Object.assign(pen, { textBaseline: "middle", lineJoin: "round", strokeStyle: paper });
    for (const label of shown.reverse()) {
      const { row, left, top, kind } = label;
      const marked = kind !== "plain";
      if (label.down) {
        pen.beginPath();
        for (const end of this.leader(label)) pen.lineTo(...end);
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
      areaOf(this.lasso).forEach((place) => pen.lineTo(...place));
      pen.closePath();
      Object.assign(pen, { lineWidth: 1.5, strokeStyle: mark, fillStyle: `${mark}22` });
      pen.fill();
      pen.stroke();
    }
  }
}

const ZOOMS = [0.3, 3000]; // the least and the most
const GROUP_POINT = 5; // pixels
const MARKED_GROUP = 40; // words of a group that always have labels
const LABEL_FONT = "12px system-ui, sans-serif";
const MARKED_FONT = "bold 12px system-ui, sans-serif";

/** Return what a drag encloses: a closed line, or the rectangle of which a straight drag is the diagonal. */
function areaOf(line) {
  const [[ax, ay], [bx, by]] = [line[0], line.at(-1)];
  const [right, down] = [bx - ax, by - ay];
  const most = 0.2 * (right ** 2 + down ** 2); // a fifth of the diagonal beside it
  const isStraight = line.every(([x, y]) => Math.abs((x - ax) * down - (y - ay) * right) <= most);
  return isStraight ? [line[0], [bx, ay], line.at(-1), [ax, by]] : line;
}

/** Return whether a place is inside a closed line (the even-odd rule). */
function isWithin([x, y], line) {
  let odd = false;
  for (let i = 0, j = line.length - 1; i < line.length; j = i++) {
    const [[ax, ay], [bx, by]] = [line[i], line[j]];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) odd = !odd;
  }
  return odd;
}
