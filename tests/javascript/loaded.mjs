/* Scripts of a page, loaded without a browser: their pure parts need no document. */
import fs from "node:fs";
import path from "node:path";
import vm from "node:vm";

const ROOT = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "../..");

/** Return named parts of scripts, which run in the order of a page; the last one ends before the text `end`. */
export function loaded(files, names, end = null) {
  const sources = files.map((file) => fs.readFileSync(path.join(ROOT, file), "utf-8"));
  if (end !== null) sources.push(sources.pop().split(end)[0]);
  const nothing = { matches: false, addEventListener() {} };
  const context = vm.createContext({
    matchMedia: () => nothing,
    document: { getElementById: () => null, querySelectorAll: () => [] },
    window: nothing,
    atob,
    Blob,
    Response,
    DecompressionStream,
    URLSearchParams,
    console,
  });
  return vm.runInContext(`${sources.join("\n")}\n({ ${names.join(", ")} })`, context);
}
