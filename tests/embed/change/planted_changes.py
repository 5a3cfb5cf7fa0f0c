"""Synthetic text of two periods, in which the company of some words changes by a known share.

The words are those of the graded pairs that share no features. Of half of these pairs, the later
period exchanges the two words in a share of their paragraphs, so that both change their company
and keep their frequency. Of the other half, paragraphs of the first word become paragraphs of the
second one, so that both keep their company and change their frequency.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from firth.corpora.artifacts.atomic import write_cached
from firth.corpora.datasets.synthetic import Change, SyntheticConfig, documents
from firth.corpora.datasets.synthetic_language import synthetic_language

PERIODS = ("early", "late")  # of even and of odd documents
FREQUENCY_SHARE = 0.75  # of the paragraphs of a word that becomes rarer
_CHANGES = 1  # key of the random numbers, beside those of the documents


def company_pairs() -> list[tuple[str, str]]:
    """Return the pairs of words that exchange their company."""
    return _pairs()[::2]


def frequency_pairs() -> list[tuple[str, str]]:
    """Return the pairs of words of which the first becomes rarer and the second more frequent."""
    return _pairs()[1::2]


def _pairs() -> list[tuple[str, str]]:
    return [(one, two) for one, two, grade in synthetic_language().graded if grade == 0]


def changing_documents(
    config: SyntheticConfig, share: float | Sequence[float]
) -> Iterator[tuple[str, str]]:
    """Yield documents with their periods; ``share`` is that of the exchanged paragraphs.

    It may differ between the pairs that exchange their company.
    """
    texts = documents(config, lambda numbers: _change(numbers, config.seed, share))
    for number, text in enumerate(texts):
        yield PERIODS[number % 2], text


def write_changing(path: Path, config: SyntheticConfig, share: float) -> None:
    """Write the documents as JSON lines with ``text`` and ``period``."""

    def write(new: Path) -> None:
        with open(new, "w", encoding="ascii") as file:
            for period, text in changing_documents(config, share):
                file.write(json.dumps({"text": text, "period": period}) + "\n")

    write_cached(path, write)


def _change(numbers: range, seed: int, share: float | Sequence[float]) -> Change:
    """Return what changes in some documents."""

    def change(senses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # senses: int64 (documents, paragraphs)
        language = synthetic_language()
        place = {language.words[noun]: sense for sense, noun in enumerate(language.nouns)}
        uniform = np.stack([_uniform(seed, number, senses.shape[1]) for number in numbers])
        late = np.array(numbers)[:, None] % 2 == 1
        becomes = np.arange(len(language.nouns))
        for one, two in frequency_pairs():
            becomes[place[one]] = place[two]
        senses = np.where(late & (uniform < FREQUENCY_SHARE), becomes[senses], senses)
        printed, shares = language.nouns.copy(), np.zeros(len(language.nouns))
        pairs = company_pairs()
        for (one, two), own in zip(pairs, np.broadcast_to(share, len(pairs)), strict=True):
            printed[[place[one], place[two]]] = printed[[place[two], place[one]]]
            shares[[place[one], place[two]]] = own
        exchanged = late & (uniform < shares[senses])
        nouns = np.where(exchanged, printed[senses], language.nouns[senses])
        return senses, nouns

    return change


def _uniform(seed: int, document: int, size: int) -> np.ndarray:
    """Return uniform numbers of one document, from 0 to 1, float64 (size,)."""
    key = np.random.SeedSequence(seed, spawn_key=(document, _CHANGES))
    return (np.random.PCG64(key).random_raw(size) >> np.uint64(11)) * 2.0**-53
