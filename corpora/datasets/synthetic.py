"""Synthetic corpora with known structure, and the gold evaluation sets that follow from it.

``synthetic_language`` defines the words and their distributions. Each paragraph is about
one noun, each document mostly about one topic. A document depends only on the seed and its
number, so any part of a text can be generated on its own.
"""

import csv
import dataclasses
import functools
import io
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from firth.corpora.artifacts.atomic import write_cached
from firth.corpora.common.options import check, setting
from firth.corpora.common.reporting import Progress, no_progress
from firth.corpora.datasets.synthetic_language import (
    N_DOMAINS,
    PARTS_OF_SPEECH,
    TEMPLATES,
    SyntheticLanguage,
    synthetic_language,
)

VERSION = 1  # raise whenever a seed gives another text

_PARAGRAPHS = 6  # per document: 3 to 6
_SENTENCES = 6  # per paragraph: 3 to 6
_TEMPLATES = 4  # per frame
_LENGTH = 12  # words of the longest sentence
_STAYS_ON_TOPIC = 0.8  # probability that a paragraph has the topic of the first one
_DOCUMENTS_AT_ONCE = 512
_PAD, _NOUN = -1, -2
# the first columns of a paragraph's draws
_COUNT, _COUNT_WITHIN, _TOPIC, _STAYS, _SENSE, _CHOICES = range(6)
_SIMILARITY_SCALE = 10
_QUESTIONS_PER_PLURAL = 4


# of senses int64 (documents, paragraphs): the senses instead, and the nouns that are printed
Change = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class SyntheticConfig:
    """Size and seed of a synthetic text."""

    n_tokens: int = setting(
        1_000_000, "Words to generate, rounded up to whole documents.", at_least=1
    )
    seed: int = setting(0, "Seed of the synthetic text.", at_least=0)

    def __post_init__(self) -> None:
        check(self)


def documents(
    config: SyntheticConfig, change: Callable[[range], Change] | None = None
) -> Iterator[str]:
    """Yield documents until they have ``n_tokens`` words; ``change`` may change each block."""
    n_tokens = number = 0
    while n_tokens < config.n_tokens:
        numbers = range(number, number + _DOCUMENTS_AT_ONCE)
        draws = np.stack([_draws(config.seed, n) for n in numbers])
        ids, lengths = _encode_documents(draws, None if change is None else change(numbers))
        words = list(map(_word_forms().__getitem__, ids.tolist()))
        start = 0
        for length in lengths.tolist():
            yield "".join(words[start : start + length])
            start += length
            n_tokens += length
            if n_tokens >= config.n_tokens:
                return
        number += _DOCUMENTS_AT_ONCE


def write_synthetic(path: Path, config: SyntheticConfig, progress: Progress = no_progress) -> None:
    """Write a synthetic text atomically, an empty line after each document."""

    def write(new: Path) -> None:
        done = 0
        with open(new, "w", encoding="ascii", newline="\n", buffering=1 << 20) as file:
            for document in documents(config):
                file.write(document + "\n")
                done += document.count(" ") + document.count("\n")
                progress(done, config.n_tokens)

    write_cached(path, write)


def write_gold(folder: Path) -> list[Path]:
    """Write the gold evaluation sets, which hold for every size and seed."""
    language = synthetic_language()
    graded = (f"{a}\t{b}\t{_SIMILARITY_SCALE * grade:g}\n" for a, b, grade in language.graded)
    categories = [(name, word) for name, words in language.classes.items() for word in words]
    senses = [(name, word, share) for word, name, share in language.senses]
    texts = {
        "similarity.tsv": "".join(graded),
        "analogies.txt": "".join(f"{line}\n" for line in _questions(language)),
        "categories.csv": _csv(("category", "word"), categories),
        "senses.csv": _csv(("category", "word", "share"), senses),
    }
    paths = []
    for name, text in texts.items():
        paths.append(folder / f"synthetic-{name}")
        write_cached(paths[-1], functools.partial(Path.write_bytes, data=text.encode()))
    return paths


def _questions(language: SyntheticLanguage) -> Iterator[str]:
    """Yield analogy questions in sections, of every two pairs; a plural only with the next few."""
    for relation, pairs in language.relations.items():
        yield f": {relation}"
        plural = relation.startswith("gram")
        reach = _QUESTIONS_PER_PLURAL if plural else len(pairs) - 1
        # coprime to the number of pairs, so plurals of different classes are combined
        step = 7 if plural else 1
        for index, (a, b) in enumerate(pairs):
            for away in range(1, reach + 1):
                c, d = pairs[(index + away * step) % len(pairs)]
                yield f"{a} {b} {c} {d}"


def _csv(columns: tuple[str, ...], rows: list[tuple]) -> str:
    """Return rows with a leading index column, as published categorization sets have."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(("", *columns))
    writer.writerows((index, *row) for index, row in enumerate(rows))
    return file.getvalue()


def _draws(seed: int, document: int) -> np.ndarray:
    """Return all random draws of one document, uint16 (paragraphs, columns)."""
    columns = _CHOICES + _SENTENCES * (1 + _LENGTH)
    raw = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(document,))).random_raw(
        _PARAGRAPHS * columns // 4 + 1
    )
    # numpy keeps the raw stream stable across versions, but not that of its distributions
    return raw.astype("<u8").view("<u2")[: _PARAGRAPHS * columns].reshape(_PARAGRAPHS, columns)


def _below(draws: np.ndarray, limit: int | np.ndarray) -> np.ndarray:
    """Scale draws from 0..65535 to 0..limit-1."""
    return (draws.astype(np.int64) * limit) >> 16


def _encode_documents(
    draws: np.ndarray, change: Change | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the word-form indices of documents, end to end, and each document's length."""
    n_documents = len(draws)
    n_paragraphs = _PARAGRAPHS // 2 + _below(draws[:, 0, _COUNT], _PARAGRAPHS // 2 + 1)
    kept = np.arange(_PARAGRAPHS) < n_paragraphs[:, None]
    drawn = _draw_senses(draws)
    senses, nouns = (drawn, synthetic_language().nouns[drawn]) if change is None else change(drawn)
    senses, nouns = senses[kept], nouns[kept]
    paragraphs = draws[kept]
    n_sentences = _SENTENCES // 2 + _below(paragraphs[:, _COUNT_WITHIN], _SENTENCES // 2 + 1)
    kept_sentences = np.arange(_SENTENCES) < n_sentences[:, None]
    sentences = paragraphs[:, _CHOICES:].reshape(len(paragraphs), _SENTENCES, 1 + _LENGTH)
    sentences = sentences[kept_sentences]
    ids, lengths = _fill_templates(
        np.repeat(senses, n_sentences), np.repeat(nouns, n_sentences), sentences
    )
    ends = np.cumsum(lengths)
    ids[ends - 1] += len(synthetic_language().words)  # word forms with a period
    last_sentences = np.cumsum(n_sentences) - 1
    ids[ends[last_sentences] - 1] += len(synthetic_language().words)  # and a newline
    documents = np.repeat(np.repeat(np.arange(n_documents), n_paragraphs), n_sentences)
    return ids, np.bincount(documents, weights=lengths).astype(np.int64)


def _draw_senses(draws: np.ndarray) -> np.ndarray:
    """Draw the sense that each paragraph is about, int64 (documents, paragraphs)."""
    language = synthetic_language()
    shares = np.bincount(language.domains, weights=language.probabilities, minlength=N_DOMAINS)
    domain_ends = np.cumsum(shares)
    uniform = (draws[:, :, :_CHOICES] + 0.5) / (1 << 16)
    domains = np.searchsorted(domain_ends[:-1], uniform[:, :, _TOPIC], side="right")
    stays = uniform[:, :, _STAYS] < _STAYS_ON_TOPIC
    domains = np.where(stays, domains[:, :1], domains)
    within = (domain_ends - shares)[domains] + uniform[:, :, _SENSE] * shares[domains]
    return np.searchsorted(np.cumsum(language.probabilities)[:-1], within, side="right")


def _fill_templates(
    senses: np.ndarray, nouns: np.ndarray, draws: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Fill templates; return the words of the sentences end to end, and sentence lengths."""
    # senses, nouns: int64 (n_sentences,)
    language = synthetic_language()
    codes = _template_codes()[language.frames[senses], _below(draws[:, 0], _TEMPLATES)]
    sense_of = np.broadcast_to(senses[:, None], codes.shape)
    words = codes.copy()
    noun_of = np.broadcast_to(nouns[:, None], codes.shape)
    words[codes == _NOUN] = noun_of[codes == _NOUN]
    slots = _below(draws[:, 1:], language.features.shape[2])
    for part in range(len(PARTS_OF_SPEECH)):
        of_part = codes == _NOUN - 1 - part
        words[of_part] = language.features[sense_of[of_part], part, slots[of_part]]
    return words[codes != _PAD], (codes != _PAD).sum(axis=1)


@functools.cache
def _template_codes() -> np.ndarray:
    """Return templates as word indices; -1 is padding, -2 and below are slots."""
    slots = {name: _NOUN - index for index, name in enumerate(("noun", *PARTS_OF_SPEECH))}
    index = {word: i for i, word in reversed(list(enumerate(synthetic_language().words)))}
    codes = np.full((len(TEMPLATES), _TEMPLATES, _LENGTH), _PAD)
    for frame, templates in TEMPLATES.items():
        for number, template in enumerate(templates):
            words = template.split()
            codes[frame, number, : len(words)] = [
                slots[word] if word in slots else index[word] for word in words
            ]
    return codes


@functools.cache
def _word_forms() -> list[str]:
    """Return each word followed by a space, by a period, and by a period and a newline."""
    words = synthetic_language().words
    return [word + end for end in (" ", ". ", ".\n") for word in words]
