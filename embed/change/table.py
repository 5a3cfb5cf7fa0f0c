"""All tested words of a change, as arrays and as a file."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from firth.embed.change.periods import PeriodText
from firth.embed.resampling.chance import ONE_DOCUMENT, top_counts
from firth.embed.vectors.change_table import COUNT, PAIRS
from firth.embed.vectors.wordlist import escape

SHARE = "top_share@"  # before the name of a period
STEP = "distance@"
SURE = 0.05  # q of words that come first


@dataclass(frozen=True, eq=False)
class ChangeTable:
    """A row for each tested word, sure and large changes first, or large ones if there is no p."""

    periods: list[str]
    words: list[str]
    distances: np.ndarray  # float64 (n,): 1 - cosine, first period to last
    steps: np.ndarray  # float64 (n, K - 1): from each period to the next
    counts: np.ndarray  # int64 (n, K): tokens in each period; (n, 0) if vectors are compared
    shares: np.ndarray  # float64 (n, K): of the tokens in the document that has most of them
    p: np.ndarray | None = None  # float64 (n,): svd-joint
    q: np.ndarray | None = None  # p corrected for the number of words
    chance: np.ndarray | None = None  # float64 (n,): typical distance by chance
    pairs: np.ndarray | None = None  # float64 (n,): mean distance of occurrences; contextual
    low: np.ndarray | None = None  # float64 (n,): 95 % interval; with resamples
    high: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.words)

    @property
    def one_document(self) -> np.ndarray:
        """Whether a single document has half of a word's tokens in a period, bool (n,)."""
        return np.asarray((self.shares >= ONE_DOCUMENT).any(axis=1))

    def ordered(self) -> np.ndarray:
        """Return the rows in order, int64 (n,).

        Words that changed surely, with q up to .05, come first, by how much farther they are than
        by chance: function words of many tokens change surely, but little.
        """
        if self.p is None or self.q is None or self.chance is None:
            return np.argsort(-self.distances, kind="stable")
        sure = self.q <= SURE
        excess = np.where(sure, self.distances - self.chance, 0.0)
        return np.lexsort((-self.distances, self.p, -excess, ~sure))

    def columns(self) -> dict[str, list[object]]:
        """Return the columns of the file by name."""
        found: dict[str, list[object]] = {"word": list(self.words)}
        found |= {"distance": _cells(self.distances)}
        found |= {"p": _cells(self.p, len(self)), "q": _cells(self.q, len(self))}
        for period, counts in zip(self.periods, self.counts.T, strict=False):
            found[f"{COUNT}{period}"] = counts.tolist()
        for period, shares in zip(self.periods, self.shares.T, strict=False):
            found[f"{SHARE}{period}"] = _cells(shares)
        for name in ("chance", PAIRS, "low", "high"):
            if (numbers := getattr(self, name)) is not None:
                found[name] = _cells(numbers)
        if len(self.periods) > 2:
            for number, period in enumerate(self.periods[1:]):
                found[f"{STEP}{period}"] = _cells(self.steps[:, number])
        found["one_document"] = self.one_document.astype(int).tolist()
        return found

    def write(self, path: Path) -> None:
        """Write the table with a header; an empty cell is a number that there is not."""
        columns = self.columns()
        columns["word"] = [escape(str(word)) for word in columns["word"]]
        lines = [columns.keys(), *zip(*columns.values(), strict=True)]
        path.write_bytes("".join("\t".join(map(str, line)) + "\n" for line in lines).encode())


def _cells(numbers: np.ndarray | None, n: int = 0) -> list[object]:
    """Return numbers with six digits, or empty cells."""
    if numbers is None:
        return [""] * n
    return ["" if np.isnan(number) else f"{number:.6g}" for number in numbers.tolist()]


def top_shares(text: PeriodText) -> np.ndarray:
    """Return the share of each word's tokens in the document that has most of them."""
    # returns float64 (V,); 0 for words without tokens
    documents = np.repeat(text.documents, np.diff(text.offsets))
    largest = top_counts(text.rows, documents, len(text.counts))
    return np.asarray(largest / np.maximum(text.counts, 1))
