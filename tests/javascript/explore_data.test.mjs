/* Helpers and stored data of the page of `firth explore`. */
import assert from "node:assert/strict";
import test from "node:test";
import zlib from "node:zlib";

import { loaded } from "./loaded.mjs";

const page = loaded(
  ["embed/explore/page/data.js"],
  [
    "shorten",
    "rgb",
    "between",
    "packed",
    "clamp",
    "fixed",
    "number",
    "StoredData",
    "rowsOf",
    "rowOf",
    "csvCell",
    "wordsIn",
  ],
);
const plain = (value) => JSON.parse(JSON.stringify(value));

test("a text is shortened, and not in the middle of a character", () => {
  assert.equal(page.shorten("short", 5), "short");
  assert.equal(page.shorten("longer", 5), "long…");
  assert.equal(page.shorten("abc😀def", 5), "abc…");
});

test("colors are parsed, mixed and packed", () => {
  assert.deepEqual(plain(page.rgb("#0a80ff")), [10, 128, 255]);
  assert.equal(page.between("#000000", "#ffffff", 0), "#000000");
  assert.equal(page.between("#000000", "#ffffff", 0.5), "#808080");
  assert.equal(page.packed("#010203"), 0xff030201);
});

test("numbers are shown for people", () => {
  assert.equal(page.number(1234567), "1,234,567");
  assert.equal(page.number(undefined), "0");
  assert.equal(page.fixed(0.12345), "0.123");
  assert.equal(page.fixed(NaN), "");
  assert.deepEqual(
    [-1, 0.5, 9].map((value) => page.clamp(value, 0, 1)),
    [0, 0.5, 1],
  );
});

test("cells of a table are quoted where they must be", () => {
  assert.equal(page.csvCell("plain"), "plain");
  assert.equal(page.csvCell(3), "3");
  assert.equal(page.csvCell('a "b", c'), '"a ""b"", c"');
  assert.equal(page.csvCell("two\nlines"), '"two\nlines"');
});

test("words of a group are separated by spaces, commas or lines", () => {
  assert.deepEqual(plain(page.wordsIn(" sea, sun\nsand,  wind,")), ["sea", "sun", "sand", "wind"]);
  assert.deepEqual(plain(page.wordsIn("1,000 km")), ["1,000", "km"]);
  assert.deepEqual(plain(page.wordsIn("  ")), []);
});

/** Return the text of a saved page's data. */
function stored(runs, differ = null) {
  return zlib.deflateRawSync(JSON.stringify({ version: 1, runs, differ })).toString("base64");
}

const base64 = (array) => Buffer.from(array.buffer).toString("base64");
const RUN = {
  name: "svd",
  method: "svd",
  noun: "word",
  dim: 2,
  words: ["sea", "sun", "sand"],
  counts: [9, 5, 1],
  k: 2,
  row_bytes: 2,
  map: base64(Int16Array.of(0, 10000, -5000, 2500, 30000, -30000)),
  neighbors: base64(Uint16Array.of(1, 2, 0, 2, 1, 0)),
  cosines: "5@120:",
  clusters: "021",
};

test("a saved page gives what was stored", async () => {
  const data = new page.StoredData(` ${stored([RUN])}\n`);
  const info = plain(await data.info());
  const [{ name, method, dim, words }] = info.runs;
  assert.deepEqual([name, method, dim, words], ["svd", "svd", 2, 3]);
  assert.equal(info.stored, true);
  assert.deepEqual(
    [...(await data.map(0))].map((each) => Number(each.toFixed(4))),
    [0, 1, -0.5, 0.25, 3, -3],
  );
  assert.deepEqual([...(await data.clusters(0))], [0, 2, 1]);
  const found = plain(await data.neighbors(0, "Sea"));
  assert.deepEqual(found, {
    word: "sea",
    count: 9,
    neighbors: [
      { word: "sun", cosine: 0.95 },
      { word: "sand", cosine: 0.79 },
    ],
  });
  await assert.rejects(data.neighbors(0, "moon"), /^Error: 'moon' is not one of the \d words of svd in this file\.$/);
  await assert.rejects(data.differ(0, 1), /no differences/);
});

test("a word is found in any case and normal form, as it is written first", () => {
  const run = { words: ["Essen", "essen", "Café", "essEN"] };
  assert.deepEqual(
    ["essen", "Essen", "ESSEN", "cafe\u0301", "moon"].map((word) => page.rowOf(run, word)),
    [1, 0, 0, 2, undefined],
  );
});

test("rows of more than 65,536 words are stored in four bytes", async () => {
  const data = new page.StoredData(
    stored([{ ...RUN, row_bytes: 4, neighbors: base64(Uint32Array.of(1, 2, 0, 2, 1, 0)) }]),
  );
  await data.info();
  const { neighbors } = await data.neighbors(0, "sand");
  assert.deepEqual(plain(neighbors.map((each) => each.word)), ["sun", "sea"]);
});
