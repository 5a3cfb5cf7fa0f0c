"""Every option of a command is stored as it was given."""

import json

import pytest

from firth.embed.compare.config import CompareConfig
from tests.calls import output

TRAIN_SVD = {
    "dim": 7, "window": 3, "window_weighting": "flat", "context_side": "left", "weighting": "ppmi",
    "subsample": 0.5, "context_smoothing": 0.9, "shift": 2.0, "singular_power": 1.0,
    "add_contexts": True, "min_count": 2, "max_vocabulary": 40,
    "boundary": "sentence", "punctuation": "keep", "seed": 3,
}  # fmt: skip
TEXT = {"keep_case": True, "strip_accents": True, "fold_digits": True, "segmenter": "whitespace"}


def typed(options):
    words = []
    for name, value in options.items():
        words += [f"--{name.replace('_', '-')}"] + ([] if value is True else [str(value)])
    return words


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A text of fifty words, its corpus, and a set of word pairs."""
    path = tmp_path_factory.mktemp("options")
    words = [f"{a}{b}{c}" for a in "bdfgk" for b in "ae" for c in "lmnrs"]
    lines = (" ".join(words[n * k % 50] for k in range(1, 12)) for n in range(1, 200))
    (path / "text.txt").write_text("".join(f"{line}\n" for line in lines))
    (path / "pairs.tsv").write_text("bal\tbam\t1\nbal\tdel\t2\nban\tfar\t3\nbas\tges\t5\n")
    output("build-corpus", path / "text.txt", "--out", path / "corpus")
    return path


def test_options_of_train_svd(folder):
    output("train-svd", folder / "corpus", "--out", folder / "svd", *typed(TRAIN_SVD))
    stored = json.loads((folder / "svd" / "config.json").read_text())

    assert {name: stored[name] for name in TRAIN_SVD} == TRAIN_SVD


def test_options_of_build_corpus(folder):
    output("build-corpus", folder / "text.txt", "--out", folder / "other", *typed(TEXT))
    stored = json.loads((folder / "other" / "manifest.json").read_text())

    assert {name: stored["text"][name] for name in TEXT} == TEXT


def test_options_of_compare(folder):
    output("train-svd", folder / "corpus", "--out", folder / "plain", "--dim", 5)
    given = [folder / "pairs.tsv", "--sections", "--bands", "--intrinsic"]
    given += ["--limit", 3, "--unknown", "mean"]
    given += ["--restrict", 9, "--seed", 4]
    output("compare", folder / "plain", *given, "--out", folder / "comparison")
    stored = json.loads((folder / "comparison" / "config.json").read_text())
    config = CompareConfig(
        sets=(f"similarity={folder / 'pairs.tsv'}",), sections=True, bands=True, intrinsic=True,
        limit=3, unknown="mean", restrict=9, seed=4,
    )  # fmt: skip

    for name in ("sections", "bands", "intrinsic", "limit", "unknown", "restrict", "seed"):
        assert stored[name] == getattr(config, name), name


def test_options_of_corpus_info(folder):
    found = json.loads(output("corpus-info", folder / "corpus", "--top", 2, "--json"))

    assert len(found["most_frequent"]) == 2
    files = [path for path in (folder / "corpus").rglob("*") if path.is_file()]
    assert sum(found["on_disk"].values()) == sum(path.stat().st_size for path in files)
    ids = sum(path.stat().st_size for path in files if path.name == "ids.npy")
    assert found["on_disk"]["ids"] == ids
