"""Single-letter pieces, and text packed from them, for tests of batches."""

from string import ascii_lowercase

import numpy as np

from firth.corpora.tokenizer.pieces import SPECIAL, Pieces
from firth.pretrain.data.packing import PackedRows
from tests.embed.small_corpus import SmallView

LETTERS = Pieces([*SPECIAL, *ascii_lowercase, *(f"##{c}" for c in ascii_lowercase)])


def random_units(seed, n_units, *, longest=40):
    """Units of words of 1 to 4 letters, some unknown to the pieces."""
    rng = np.random.default_rng(seed)
    letters = np.array([*ascii_lowercase])
    return [
        [
            "".join(rng.choice(letters, rng.integers(1, 5))) if rng.random() < 0.95 else "Ω"
            for _ in range(rng.integers(1, longest))
        ]
        for _ in range(n_units)
    ]


def packed(units, length=16, **view):
    """Rows of units."""
    return PackedRows.pack(SmallView(units, **view), LETTERS, length, "cpu")


def all_ids(rows):
    """The pieces of all rows, int64 (n_rows, T)."""
    return np.concatenate([chunk.numpy() for chunk in rows.chunks()])
