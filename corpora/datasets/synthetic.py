"""A generated corpus of which everything is known: for tests, for teaching, for doubt.

``synthetic_world`` says what the words are and what each goes with; here that
becomes text, and the evaluation sets that follow from it. Each paragraph is
about one noun, each document mostly about one topic. A document depends on
the seed and its number alone, so text can be made in any order and of any length.
"""

import csv
import dataclasses
import functools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from corpora.artifacts.atomic import write_cached
from corpora.common.console import Progress, no_progress
from corpora.common.options import check, setting
from corpora.datasets.synthetic_world import N_DOMAINS, PARTS_OF_SPEECH, TEMPLATES, World, world

VERSION = 1  # of the text that a seed gives; raise it whenever that changes

_PARAGRAPHS = 6  # at most, at least half as many
_SENTENCES = 6
_TEMPLATES = 4
_LENGTH = 12  # words of the longest sentence
_STAYS_ON_TOPIC = 0.8
_DOCUMENTS_AT_ONCE = 512
_PAD, _NOUN = -1, -2
# what the first columns of a paragraph's draws decide
_COUNT, _COUNT_WITHIN, _TOPIC, _STAYS, _SENSE, _CHOICES = range(6)
_SIMILARITY_SCALE = 10
_QUESTIONS_PER_PLURAL = 4


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlantedConfig:
    """How much planted text, and which."""

    n_tokens: int = setting(
        1_000_000, "Words of planted text; the last document is finished.", at_least=1
    )
    seed: int = setting(0, "Seed of planted text.", at_least=0)

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        check(self)


def documents(config: PlantedConfig) -> Iterator[str]:
    """Make planted documents, one after the other."""
    n_tokens = number = 0
    while n_tokens < config.n_tokens:
        numbers = range(number, number + _DOCUMENTS_AT_ONCE)
        ids, lengths = _encoded(np.stack([_draws(config.seed, n) for n in numbers]))
        words = list(map(_spellings().__getitem__, ids.tolist()))
        at = 0
        for length in lengths.tolist():
            yield "".join(words[at : at + length])
            at += length
            n_tokens += length
            if n_tokens >= config.n_tokens:
                return
        number += _DOCUMENTS_AT_ONCE


def write_planted(path: Path, config: PlantedConfig, progress: Progress = no_progress) -> None:
    """Write planted text, an empty line after each document; whole or not at all."""

    def write(new: Path) -> None:
        done = 0
        with open(new, "w", encoding="ascii", newline="\n", buffering=1 << 20) as file:
            for document in documents(config):
                file.write(document + "\n")
                done += document.count(" ") + document.count("\n")
                progress(done, config.n_tokens)

    write_cached(path, write)


def write_gold(folder: Path) -> list[Path]:
    """Write the evaluation sets that hold for every planted text."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [
        folder / f"planted-{name}"
        for name in ("similarity.tsv", "analogies.txt", "categories.csv", "senses.csv")
    ]
    known = world()
    paths[0].write_text(
        "".join(f"{a}\t{b}\t{_SIMILARITY_SCALE * grade:g}\n" for a, b, grade in known.graded)
    )
    paths[1].write_text("".join(f"{line}\n" for line in _questions(known)))
    categories = [(name, word) for name, words in known.classes.items() for word in words]
    _write_csv(paths[2], ("category", "word"), categories)
    senses = [(name, word, share) for word, name, share in known.senses]
    _write_csv(paths[3], ("category", "word", "share"), senses)
    return paths


def _questions(known: World) -> Iterator[str]:
    """Analogies in sections: every pair with every other, plurals with the next few."""
    for relation, pairs in known.relations.items():
        yield f": {relation}"
        plural = relation.startswith("gram")
        reach = _QUESTIONS_PER_PLURAL if plural else len(pairs) - 1
        # a step that is prime to the number of pairs leads from class to class
        step = 7 if plural else 1
        for index, (a, b) in enumerate(pairs):
            for away in range(1, reach + 1):
                c, d = pairs[(index + away * step) % len(pairs)]
                yield f"{a} {b} {c} {d}"


def _write_csv(path: Path, columns: tuple[str, ...], rows: list[tuple]) -> None:
    """Rows with their index in front, as the published sets of categories have them."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("", *columns))
        writer.writerows((index, *row) for index, row in enumerate(rows))


def _draws(seed: int, document: int) -> np.ndarray:
    """All the chance in one document, uint16 (paragraphs, columns)."""
    columns = _CHOICES + _SENTENCES * (1 + _LENGTH)
    raw = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(document,))).random_raw(
        _PARAGRAPHS * columns // 4 + 1
    )
    # raw words, cut by hand: numpy promises their stream, not that of its distributions
    return raw.astype("<u8").view("<u2")[: _PARAGRAPHS * columns].reshape(_PARAGRAPHS, columns)


def _below(draws: np.ndarray, limit: int | np.ndarray) -> np.ndarray:
    """Draws from 0..65535 as draws from 0..limit-1."""
    return (draws.astype(np.int64) * limit) >> 16


def _encoded(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Documents as indexes of spellings, end to end, and the words in each."""
    n_documents = len(draws)
    n_paragraphs = _PARAGRAPHS // 2 + _below(draws[:, 0, _COUNT], _PARAGRAPHS // 2 + 1)
    kept = np.arange(_PARAGRAPHS) < n_paragraphs[:, None]
    senses = _chosen_senses(draws)[kept]
    paragraphs = draws[kept]
    n_sentences = _SENTENCES // 2 + _below(paragraphs[:, _COUNT_WITHIN], _SENTENCES // 2 + 1)
    told = np.arange(_SENTENCES) < n_sentences[:, None]
    sentences = paragraphs[:, _CHOICES:].reshape(len(paragraphs), _SENTENCES, 1 + _LENGTH)[told]
    ids, lengths = _worded(np.repeat(senses, n_sentences), sentences)
    ends = np.cumsum(lengths)
    ids[ends - 1] += len(world().words)  # with a full stop
    last_sentences = np.cumsum(n_sentences) - 1
    ids[ends[last_sentences] - 1] += len(world().words)  # and a line end
    documents = np.repeat(np.repeat(np.arange(n_documents), n_paragraphs), n_sentences)
    return ids, np.bincount(documents, weights=lengths).astype(np.int64)


def _chosen_senses(draws: np.ndarray) -> np.ndarray:
    """What each paragraph is about, int64 (documents, paragraphs)."""
    known = world()
    shares = np.bincount(known.domains, weights=known.probabilities, minlength=N_DOMAINS)
    domain_ends = np.cumsum(shares)
    uniform = (draws[:, :, :_CHOICES] + 0.5) / (1 << 16)
    domains = np.searchsorted(domain_ends[:-1], uniform[:, :, _TOPIC], side="right")
    stays = uniform[:, :, _STAYS] < _STAYS_ON_TOPIC
    domains = np.where(stays, domains[:, :1], domains)
    within = (domain_ends - shares)[domains] + uniform[:, :, _SENSE] * shares[domains]
    return np.searchsorted(np.cumsum(known.probabilities)[:-1], within, side="right")


def _worded(senses: np.ndarray, draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Words of sentences end to end, and how many each has."""
    known = world()
    codes = _codes()[known.frames[senses], _below(draws[:, 0], _TEMPLATES)]
    of = np.broadcast_to(senses[:, None], codes.shape)
    words = codes.copy()
    words[codes == _NOUN] = known.nouns[of[codes == _NOUN]]
    slots = _below(draws[:, 1:], known.features.shape[2])
    for part in range(len(PARTS_OF_SPEECH)):
        here = codes == _NOUN - 1 - part
        words[here] = known.features[of[here], part, slots[here]]
    return words[codes != _PAD], (codes != _PAD).sum(axis=1)


@functools.cache
def _codes() -> np.ndarray:
    """Templates as indexes of words, -1 beyond the end, -2 and below for slots."""
    slots = {name: _NOUN - index for index, name in enumerate(("noun", *PARTS_OF_SPEECH))}
    index = {word: at for at, word in reversed(list(enumerate(world().words)))}
    codes = np.full((len(TEMPLATES), _TEMPLATES, _LENGTH), _PAD)
    for frame, templates in TEMPLATES.items():
        for number, template in enumerate(templates):
            words = template.split()
            codes[frame, number, : len(words)] = [
                slots[word] if word in slots else index[word] for word in words
            ]
    return codes


@functools.cache
def _spellings() -> list[str]:
    """Each word with what follows it: a space, a full stop, a full stop and a line end."""
    words = world().words
    return [word + end for end in (" ", ". ", ".\n") for word in words]
