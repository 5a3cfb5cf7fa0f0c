/* Layout of the maps of `firth explore`: places, areas, labels, zoom, search. */
import assert from "node:assert/strict";
import test from "node:test";

import { loaded } from "./loaded.mjs";

const FILES = ["data", "map", "page"].map((name) => `embed/explore/page/${name}.js`);
const page = loaded(
  FILES,
  [
    ...["Taken", "MapView", "isWithin", "areaOf", "discOffsets", "rowsOf", "matches", "clusterNames", "wordsToTry"],
    ...["pathsByColor", "state"],
  ],
  "\nstart();",
);
const plain = (value) => JSON.parse(JSON.stringify(value));

/** Return a map of words without a document. */
function mapOf(words, places, more = {}) {
  const view = Object.create(page.MapView.prototype);
  const data = { words, counts: words.map((_, i) => words.length - i) };
  return Object.assign(view, {
    data,
    words,
    counts: data.counts,
    places: Float32Array.from(places.flat()),
    rowOf: page.rowsOf(data),
    widths: new Map(words.map((_, i) => [i, 30])),
    x: 0,
    y: 0,
    zoom: 1,
    width: 400,
    height: 300,
    hovered: -1,
    selected: -1,
    neighbors: [],
    draw() {},
    go(part) {
      Object.assign(this, part);
    },
    ...more,
  });
}

const FOUR = mapOf(
  ["a", "b", "c", "d"],
  [
    [0, 0],
    [0.5, 0],
    [0, 0.5],
    [5, 5],
  ],
);

test("the middle of a map is in the middle of the screen, and up is up", () => {
  assert.deepEqual(plain(FOUR.screen(0)), [200, 150]);
  assert.ok(FOUR.screen(1)[0] > 200 && FOUR.screen(1)[1] === 150);
  assert.ok(FOUR.screen(2)[0] === 200 && FOUR.screen(2)[1] < 150);
  assert.deepEqual(plain(FOUR.visible()), [0, 1, 2]); // d is outside
});

test("the nearest word is found within reach of the mouse", () => {
  const [left, top] = FOUR.screen(1);
  assert.equal(FOUR.at(left + 3, top - 3), 1);
  assert.equal(FOUR.at(left + 12, top), -1);
  assert.equal(FOUR.at(left + 12, top, 18), 1);
});

test("zooming keeps what is under the mouse where it is", () => {
  const view = mapOf(
    ["a", "b"],
    [
      [0, 0],
      [0.3, 0.2],
    ],
  );
  const before = plain(view.screen(1));
  view.zoomBy(2.5, ...before);
  assert.equal(view.zoom, 2.5);
  view.screen(1).forEach((value, i) => assert.ok(Math.abs(value - before[i]) < 1e-3));
  view.zoomBy(1e9);
  assert.equal(view.zoom, 3000);
});

test("a place is inside a closed line by the even-odd rule", () => {
  const notched = [
    [0, 0],
    [10, 0],
    [10, 10],
    [5, 4],
    [0, 10],
  ];
  assert.equal(page.isWithin([5, 2], notched), true);
  assert.equal(page.isWithin([5, 8], notched), false); // in the notch
  assert.equal(page.isWithin([1, 8], notched), true);
  assert.equal(page.isWithin([11, 5], notched), false);
  assert.deepEqual(
    plain(
      FOUR.within([
        [190, 140],
        [210, 140],
        [210, 160],
        [190, 160],
      ]),
    ),
    ["a"],
  );
});

test("a straight drag encloses a rectangle, any other one what it goes around", () => {
  const rectangle = [
    [10, 10],
    [110, 10],
    [110, 70],
    [10, 70],
  ];
  assert.deepEqual(
    plain(
      page.areaOf([
        [10, 10],
        [60, 45],
        [110, 70],
      ]),
    ),
    rectangle,
  );
  assert.deepEqual(
    plain(
      page.areaOf([
        [10, 10],
        [110, 70],
      ]),
    ),
    rectangle,
  );
  const round = [
    [10, 10],
    [110, 10],
    [110, 70],
    [10, 70],
    [10, 12],
  ];
  assert.deepEqual(plain(page.areaOf(round)), round);
  const bent = [
    [0, 0],
    [60, 0],
    [100, 60],
  ];
  assert.deepEqual(plain(page.areaOf(bent)), bent);
});

test("a small group has labels, and other words where there is room", () => {
  const words = Array.from({ length: 60 }, (_, i) => `w${i}`);
  const places = words.map((_, i) => [(Math.cos(i) * (i % 7)) / 10, (Math.sin(3 * i) * (i % 5)) / 10]);
  page.state.color = "group";
  page.state.group = new Set(["w58", "w59"]);
  const labels = mapOf(words, places).labels();
  page.state.color = "frequency";
  assert.deepEqual(plain(labels.slice(0, 2).map(({ row, kind }) => [row, kind])), [
    [58, "neighbor"],
    [59, "neighbor"],
  ]);
  assert.ok(labels.filter(({ kind }) => kind === "plain").length > 5);
});

test("words to try are long, in both runs and of other clusters", () => {
  const words = ["the", "of", "harbours", "lighthouse", "and", "seafarers", "2011-2012", "fishermen", "大海"];
  const place = words.map(() => [0, 0]);
  const view = mapOf(words, place);
  assert.deepEqual(plain(page.wordsToTry([view])), ["harbours", "lighthouse", "seafarers"]);
  view.data.clusters = [0, 0, 1, 1, 1, 0, 2, 2, 2];
  assert.deepEqual(plain(page.wordsToTry([view])), ["harbours", "seafarers", "fishermen"]);
  assert.deepEqual(plain(page.wordsToTry([view, mapOf(words.slice(3), place)])), [
    "lighthouse",
    "seafarers",
    "fishermen",
  ]);
});

test("labels take room that no other label has", () => {
  const taken = new page.Taken(100, 70);
  assert.equal(taken.take(7, 7, 20, 10), true);
  assert.equal(taken.take(20, 10, 20, 10), false);
  assert.equal(taken.take(60, 40, 20, 10), true);
  assert.equal(taken.take(90, 40, 20, 10), false); // outside
  assert.equal(taken.take(90, 40, 20, 10, true), true);
});

test("no two plain labels overlap, and selected words always have one", () => {
  const words = Array.from({ length: 60 }, (_, i) => `w${i}`);
  const places = words.map((_, i) => [(Math.cos(i) * (i % 7)) / 10, (Math.sin(3 * i) * (i % 5)) / 10]);
  const view = mapOf(words, places, { selected: 50, neighbors: [51, 52] });
  page.state.color = "frequency";
  const labels = view.labels();
  const rows = labels.map((each) => each.row);
  for (const row of [50, 51, 52]) assert.ok(rows.includes(row));
  assert.equal(new Set(rows).size, rows.length);
  const boxes = labels
    .filter((each) => each.kind === "plain")
    .map(({ left, top }) => [left, top - 8, left + 30, top + 8]);
  assert.ok(boxes.length > 5);
  boxes.forEach((a, i) =>
    boxes.slice(i + 1).forEach((b) => {
      assert.ok(a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1], `${a} and ${b}`);
    }),
  );
});

test("frequent words are dark, by the logarithm of counts or ranks", () => {
  const view = mapOf(
    ["a", "b", "c"],
    [
      [0, 0],
      [0, 0],
      [0, 0],
    ],
    { counts: [100, 10, 1] },
  );
  assert.deepEqual(plain([0, 1, 2].map((row) => view.frequency(row))), [1, 0.5, 0]);
  view.counts = null;
  assert.equal(view.frequency(0), 1);
  assert.ok(view.frequency(2) < view.frequency(1));
});

test("a disc is round and as wide as its side", () => {
  assert.deepEqual(plain(page.discOffsets(1, 50)), [0]);
  assert.deepEqual(plain(page.discOffsets(2, 50)), [0, 1, 50, 51]);
  assert.deepEqual(
    plain(page.discOffsets(5, 10)).filter((each) => each < 10),
    [1, 2, 3],
  );
});

test("search finds the word, then beginnings, then parts, the most frequent first", () => {
  const words = ["season", "overseas", "sea", "Seal", "sun"];
  page.state.views = [
    mapOf(
      words,
      words.map(() => [0, 0]),
    ),
  ];
  assert.deepEqual(plain(page.matches(" SEA ").map(([word]) => word)), ["sea", "season", "Seal", "overseas"]);
  assert.deepEqual(plain(page.matches("  ")), []);
});

test("clusters are named by three words, the most frequent words last", () => {
  const words = Array.from({ length: 20 }, (_, i) => `w${i}`);
  const names = page.clusterNames({ words, clusters: words.map((_, i) => i % 2) });
  assert.deepEqual(plain(names), [
    [0, "w2, w4, w6"],
    [1, "w3, w5, w7"],
  ]);
});

test("a drawing has a path for each color, frequent words last", () => {
  const view = mapOf(
    ["a", "b"],
    [
      [0, 0],
      [0.1, 0],
    ],
    { colors: Uint32Array.of(0xff030201, 0xff030201) },
  );
  const [[color, path]] = page.pathsByColor(view);
  assert.equal(color, "#010203");
  assert.match(path, /^M2\d\d\.\d 150\.0h0M200\.0 150\.0h0$/);
});
