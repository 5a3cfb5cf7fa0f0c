"""What commands call types: words of text, tokens of sequences."""

import numpy as np
import pytest

from firth import TextSettings, build_corpus
from firth.embed.explore.space import Space
from firth.embed.svd.train import SvdConfig, train_svd
from tests.calls import command, output

MAPPED = "map A-svd a0 a1 b0 b1"
DIFFER, CHANGE = "differ A-svd B-svd -k 3 --permutations 0", "change A B --dim 4"
PRINTED = [
    (MAPPED, [" {n}   ", "4 {n}s; two components"]),
    ("map A-svd a0", ["a map needs at least 3 {n}s, got 1"]),
    (DIFFER, [" {n}   ", "16 shared {n}s, 3 neighbors"]),
    (f"{DIFFER} --words z", ["'z' is not one of the 16 shared {n}s"]),
    ("differ A-svd B-svd -k 99", ["share 16 {n}s with vectors: too few"]),
    ("align A-svd B-svd", ["2 held-out {n}s, searched among 16 {n}s of B"]),
    ("align A-svd B-svd --dictionary ../pairs.txt", ["no line has a {n} of "]),
    (CHANGE, [" {n}   ", "16 {n}s compared; 0 are rarer"]),
    (f"{CHANGE} --words z", ["'z' is not one of the 16 {n}s of the periods"]),
    (f"{CHANGE} --min-count 9999", ["no {n} occurs 9999 times in each of A, B; pass --min-count"]),
    ("change A B --dim 99", ["larger than the vocabulary (16 {n}s)"]),
    ("compare A-svd --similarity ../scores.tsv", ["0 of the 16 {n}s that scores and A-svd may"]),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two corpora of random lines, as tokens and as words, with a run of each."""
    folder, rng = tmp_path_factory.mktemp("nouns"), np.random.default_rng(5)
    types = [f"{letter}{number}" for letter in "ab" for number in range(8)]
    for part in "AB":
        lines = (" ".join(rng.choice(types, 12)) for _ in range(60))
        (folder / f"{part}.txt").write_text("\n\n".join(lines))
        for noun, segmenter in (("token", "tokens"), ("word", "whitespace")):
            text = TextSettings(segmenter=segmenter)
            corpus = build_corpus(folder / f"{part}.txt", folder / noun / part, words=text)
            train_svd(corpus, SvdConfig(dim=4, threads=1), out=folder / noun / f"{part}-svd")
    (folder / "pairs.txt").write_text("".join(f"u{n} v{n}\n" for n in range(20)))
    (folder / "scores.tsv").write_text("".join(f"u{n} v{n} {n}\n" for n in range(20)))
    return folder


@pytest.mark.parametrize("noun", ["token", "word"])
@pytest.mark.parametrize(("asked", "expected"), PRINTED, ids=[asked for asked, _ in PRINTED])
def test_output_says_what_a_run_is_of(folder, noun, asked, expected, monkeypatch):
    monkeypatch.chdir(folder / noun)
    found = command(*asked.split()).output
    for part in expected:
        assert part.format(n=noun) in found


def test_pages_and_pictures_say_what_a_run_is_of(folder, monkeypatch):
    monkeypatch.chdir(folder / "token")
    output(*MAPPED.split(), "--plot", "map.svg")
    assert "of the variance of 4 tokens" in (folder / "token" / "map.svg").read_text()
    assert Space(folder / "token" / "A-svd", 99).describe()["noun"] == "token"
    output(*CHANGE.split(), "--report", "change.html")
    page = (folder / "token" / "change.html").read_text()
    for part in ("<h1>How tokens change in", ">Tokens</h2>", "16 tokens compared", "Find a token"):
        assert part in page
