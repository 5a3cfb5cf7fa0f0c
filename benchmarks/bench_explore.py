"""What `firth explore` answers how fast: neighbors, why near, maps, one file, and the page itself.

The words are those of ranks 1, 2, 4, 8, and so on of an SVD and a skip-gram run, which are trained
once and kept in a folder; "why near?" asks about each and the next one. The page shows 200,000
words with random vectors in headless Chromium without a graphics card, if selenium is installed.
"""

import argparse
import contextlib
import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import harness
import numpy as np
import roles

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.console import print_table
from firth.corpora.encoding.build import open_or_build
from firth.corpora.store.corpus import Corpus
from firth.embed.explore.maps import has_umap
from firth.embed.explore.space import Space
from firth.embed.explore.static_page import MOST_WORDS, write_page
from firth.embed.svd.train import SvdConfig, train_svd
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.word2vec.config import SkipGramConfig
from firth.embed.word2vec.train import train_skipgram

ROLE = roles.REPORTING
TEXT = "enwiki2015-AA"
SHOWN = 200_000  # words on the page
PAN_SECONDS = 5
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,800")
PAN = """
const [seconds, done] = arguments, view = state.views[0], start = performance.now();
let frames = 0;
const step = (now) => {
  frames++;
  view.panBy(frames % 100 < 50 ? 3 : -3, 0);
  if (now - start < 1000 * seconds) requestAnimationFrame(step);
  else done(1000 * frames / (now - start));
};
requestAnimationFrame(step);
"""


def trained(corpus: Corpus, folder: Path) -> dict[str, Path]:
    """Return the runs, trained if the folder does not have them."""
    runs = {"SVD": folder / "explore-svd", "skip-gram": folder / "explore-skipgram"}
    if not runs["SVD"].exists():
        train_svd(corpus, SvdConfig(), runs["SVD"])
    if not runs["skip-gram"].exists():
        train_skipgram(corpus, SkipGramConfig(), runs["skip-gram"])
    return runs


def seconds_of(ask: Callable[[], Any]) -> float:
    """Return how long a call takes."""
    started = time.perf_counter()
    ask()
    return time.perf_counter() - started


def summary(seconds: list[float]) -> dict[str, Any]:
    """Return median, most and all of some times."""
    return {"median": statistics.median(seconds), "most": max(seconds), "seconds": seconds}


def ask_space(name: str, space: Space) -> dict[str, Any]:
    """Return the times of questions to one run."""
    pairs = [space.words[2**n - 1 : 2**n + 1] for n in range(40) if 2**n < len(space.words)]
    space.neighbors(pairs[0][0], 10)
    first = seconds_of(lambda: space.why(*space.words[50:52]))
    near = [seconds_of(lambda pair=pair: space.neighbors(pair[0], 10)) for pair in pairs]  # type: ignore[misc]
    why = [seconds_of(lambda pair=pair: space.why(*pair)) for pair in pairs]  # type: ignore[misc]
    return {
        f"{name}: neighbors": summary(near),
        f"{name}: why near": {**summary(why), "first": first},
        f"{name}: map by PCA": summary([seconds_of(space.map)]),
    }


def write_file(spaces: list[Space], folder: Path) -> dict[str, Any]:
    """Return the time and size of one file of all runs."""
    out = folder / "page.html"
    seconds = seconds_of(lambda: write_page(spaces, out))
    return {**summary([seconds]), "bytes": out.stat().st_size}


@contextlib.contextmanager
def served(run: Path) -> Iterator[str]:
    """Start the command and yield the address."""
    command = [sys.executable, "cli.py", "explore", str(run), "--no-browser"]
    with subprocess.Popen(
        command, cwd=harness.ROOT, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(harness.ROOT)},
    ) as server:  # fmt: skip
        assert server.stdout
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def browse(folder: Path, repeats: int) -> dict[str, Any]:
    """Return first paint, the time to the map, and frames a second while panning."""
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    rng = np.random.default_rng(1)
    run = folder / "random"
    run.mkdir()
    vectors = rng.normal(size=(SHOWN, 50)).astype(np.float32)
    WordVectors([f"word{n}" for n in range(SHOWN)], vectors).write(run)
    options = Options()
    options.binary_location = shutil.which("chromium") or ""
    for flag in FLAGS:
        options.add_argument(flag)
    found: dict[str, list[float]] = {"paint": [], "map": [], "frames": []}
    with served(run) as address:
        for _ in range(repeats):
            driver = webdriver.Chrome(
                options=options, service=Service(shutil.which("chromedriver"))
            )
            driver.set_script_timeout(60)
            started = time.perf_counter()
            driver.get(address)
            while not driver.execute_script("return state.views.length"):
                time.sleep(0.02)
            found["map"].append(time.perf_counter() - started)
            script = "return performance.getEntriesByName('first-contentful-paint')[0].startTime"
            found["paint"].append(driver.execute_script(script) / 1000)
            found["frames"].append(driver.execute_async_script(PAN, PAN_SECONDS))
            driver.quit()
    return {
        "page: first paint": summary(found["paint"]),
        "page: map shown": summary(found["map"]),
        "page: frames a second": {
            "median": statistics.median(found["frames"]), "least": min(found["frames"])
        },
    }  # fmt: skip


def main() -> None:
    """Time all questions."""
    arguments = harness.parse(__doc__, repeats=3, more=_own_options)
    corpus = open_or_build(roles.open_text(arguments.text, role=ROLE))
    arguments.keep.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {}
    runs = trained(corpus, arguments.keep)
    for name, run in runs.items():
        found |= ask_space(name, Space(run, SHOWN, corpus.path))
    with tempfile.TemporaryDirectory() as folder:
        spaces = [Space(run, MOST_WORDS, corpus.path) for run in runs.values()]
        found["one file of both"] = write_file(spaces, Path(folder))
        if has_umap():
            os.environ["FIRTH_CACHE"] = folder
            found["map by UMAP"] = summary([seconds_of(lambda: spaces[0].map("umap"))])
        if importlib.util.find_spec("selenium"):
            found |= browse(Path(folder), arguments.repeats)
    print_table(
        ["", "median", "most"],
        [[name, f"{each['median']:.3f}", f"{each.get('most', 0):.3f}"]
         for name, each in found.items()],
    )  # fmt: skip
    if arguments.json:
        about = {"text": arguments.text, "tokens": corpus.n_tokens, "words": len(spaces[0].words)}
        write_json(arguments.json, {"benchmark": "explore", **about, "results": found,
                                    **harness.machine()})  # fmt: skip


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the text and the folder of the runs."""
    parser.add_argument("--text", default=TEXT)
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "firth-explore")


if __name__ == "__main__":
    main()
