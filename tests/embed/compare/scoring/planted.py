"""Sets of every kind over 60 words, and vectors that agree with them up to noise."""

import itertools

import numpy as np

from firth.embed.compare.config import CompareConfig
from firth.embed.vectors.word_vectors import WordVectors

WORDS = ["".join(letters) for letters in itertools.product("bdfgkl", "aeiou", "mn")]


def noisy(seed, words=WORDS, noise=1.0):
    """Vectors that share a component with those of every other seed."""
    common = np.random.default_rng(0).normal(size=(len(WORDS), 6))
    own = np.random.default_rng(seed).normal(size=(len(WORDS), 6))
    rows = (common + noise * own).astype(np.float32)
    return WordVectors(list(words), rows[[WORDS.index(word) for word in words]])


def write(path, lines):
    """Write lines to a file."""
    path.write_text("".join(f"{line}\n" for line in lines))


def planted_sets(folder):
    """Write a set of each kind that needs only a vector for each word, of some dozens of items."""
    rng = np.random.default_rng(3)
    common = noisy(0, noise=0.0).matrix
    two = [rng.choice(len(WORDS), size=2, replace=False) for _ in range(60)]
    write(
        folder / "pairs.tsv",
        (f"{WORDS[a]}\t{WORDS[b]}\t{common[a] @ common[b] + rng.normal():.3f}" for a, b in two),
    )
    write(
        folder / "questions.txt",
        (" ".join(rng.choice(WORDS, size=4, replace=False)) for _ in range(40)),
    )
    write(folder / "kinds.csv", (f"{word},{word[0]}" for word in WORDS))
    (folder / "odd").mkdir()
    for place in range(20):
        *group, outlier = rng.choice(WORDS, size=5, replace=False)
        write(folder / "odd" / f"{place:02}.txt", [*group, "", outlier])
    roles = ("targ1", "targ2", "attr1", "attr2")
    write(folder / "biases.txt", ("\t".join([r, r, *WORDS[n::4]]) for n, r in enumerate(roles)))
    sets = (
        f"similarity={folder / 'pairs.tsv'}",
        f"analogy={folder / 'questions.txt'}",
        f"categorization={folder / 'kinds.csv'}",
        f"odd-one-out={folder / 'odd'}",
        f"association={folder / 'biases.txt'}",
    )
    return CompareConfig(sets=sets, replicates=200)
