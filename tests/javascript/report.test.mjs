/* Sorting of the tables of the report page. */
import assert from "node:assert/strict";
import test from "node:test";

import { loaded } from "./loaded.mjs";

const { inOrder } = loaded(["embed/compare/report/html/page.js"], ["inOrder"]);
const sorted = (values, sign) => [...values].sort((a, b) => inOrder(a, b, sign));

test("numbers are sorted by value", () => {
  assert.deepEqual(sorted([3, -1, 20, 0.5], 1), [-1, 0.5, 3, 20]);
  assert.deepEqual(sorted([3, -1, 20, 0.5], -1), [20, 3, 0.5, -1]);
});

test("values that are missing come last in either direction", () => {
  assert.deepEqual(sorted([null, 2, null, 1], 1), [1, 2, null, null]);
  assert.deepEqual(sorted([null, 2, null, 1], -1), [2, 1, null, null]);
});

test("text is sorted as people do, with numbers in it by value", () => {
  assert.deepEqual(sorted(["run10", "run9", "Äpfel", "apfel"], 1), ["apfel", "Äpfel", "run9", "run10"]);
});
