"""A synthetic corpus, and settings of short trainings on it."""

import numpy as np

from corpora.build.pipeline import build_corpus
from corpora.build.request import BuildOptions, make_request
from corpora.reading.text_blocks import ReadOptions

SMALL = {
    "layers": 1, "heads": 2, "dim": 16, "pieces": "60", "sequence_length": 16, "batch": 8,
    "steps": 12, "learning_rate": 1e-2, "dtype": "float32", "compile": "off", "threads": 1,
    "min_count": 1, "device": "cpu",
}  # fmt: skip


def chains(n_lines=400, n_words=40, seed=2):
    """Lines in which each word usually determines the next one."""
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(n_lines):
        words = [int(rng.integers(n_words))]
        for strays in rng.random(rng.integers(3, 20)) < 0.1:
            words.append(int(rng.integers(n_words)) if strays else (words[-1] * 7 + 3) % n_words)
        lines.append(" ".join(f"word{word}" for word in words))
    return lines


def corpus_of(folder, lines=None, *, held_out=0.1, name="chains"):
    """A corpus whose documents are lines."""
    (folder / f"{name}.txt").write_text("\n".join(lines or chains()), encoding="utf-8")
    request = make_request(
        [folder / f"{name}.txt"],
        read=ReadOptions(documents="line"),
        options=BuildOptions(held_out=held_out, threads=1),
    )
    return build_corpus(request, folder / name)


def as_words(options):
    """Return options as command-line arguments."""
    words = []
    for name, value in options.items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    return words
