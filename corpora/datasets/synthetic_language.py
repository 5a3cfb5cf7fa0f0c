"""The language of synthetic corpora: its words, their distributions and their relations.

Every noun has one distribution over *features* (adjectives, verbs and objects), given in
120ths. Seven tenths come from the noun's class, three tenths from two traits; traits are
shared across classes, and no two nouns of a class have the same two. A singular and its
plural differ only in the function words around them; a country and its capital, or a man
and a woman of one pair, share their traits. Words of a graded pair share a stated part of
their features and nothing else. Word vectors need about ninety dimensions for this.
"""

import dataclasses
import functools
import itertools
from collections.abc import Iterator

import numpy as np

SLOTS = 120  # equal parts of a distribution
PARTS_OF_SPEECH = ("adjective", "verb", "object")
CLASSES = ("animal", "plant", "food", "tool", "vehicle", "garment")
_NOUNS_PER_CLASS = 12
_PAIRS = {"country": ("capital", 14), "man": ("woman", 12)}
_DOMAINS = {
    "animal": 0, "plant": 0, "food": 1, "tool": 1, "garment": 1, "vehicle": 2,
    "country": 2, "capital": 2, "man": 3, "woman": 3,
}  # fmt: skip
_GRADED_DOMAIN = 4
N_DOMAINS = 5
GRADES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_PAIRS_PER_GRADE = 8
_GRADED_FEATURES = 10
_INVENTORY = 40  # features per part of speech for graded words
# Words of two classes, with the share of the first sense.
_SENSES = (
    ("animal", "tool", 0.5), ("plant", "garment", 0.5), ("food", "vehicle", 0.5),
    ("animal", "man", 0.5), ("tool", "capital", 0.5), ("plant", "vehicle", 0.7),
    ("garment", "animal", 0.7), ("food", "tool", 0.7), ("vehicle", "plant", 0.7),
    ("country", "food", 0.7),
)  # fmt: skip
_TRAITS = 7  # for common nouns, places and people each
_CLASS_PARTS = (24, 16, 12, 9, 7, 6, 5, 5)  # seven tenths: shared by the class
_TRAIT_PARTS = (18, 18)  # three tenths: two traits
_SENSE_PARTS = tuple(part * 10 // 7 for part in _CLASS_PARTS)

SINGULAR, PLURAL, PROPER, HE, SHE = range(5)
TEMPLATES = {
    SINGULAR: (
        "This adjective noun verb the object",
        "One noun was adjective and it verb an old object",
        "Every adjective noun verb near its object",
        "A noun has verb the adjective object",
    ),
    PLURAL: (
        "These adjective noun verb the object",
        "Two noun were adjective and they verb some old object",
        "Many adjective noun verb near their object",
        "All noun have verb the adjective object",
    ),
    PROPER: (
        "In noun the adjective object verb",
        "From noun came an object that verb and was adjective",
        "Once more noun verb with the adjective object",
        "Near noun the object is adjective and has verb",
    ),
    HE: (
        "The adjective noun verb his object",
        "When he verb the object the noun was adjective",
        "A noun lost his adjective object and he verb",
        "He is the noun who verb for an adjective object himself",
    ),
    SHE: (
        "The adjective noun verb her object",
        "When she verb the object the noun was adjective",
        "A noun lost her adjective object and she verb",
        "She is the noun who verb for an adjective object herself",
    ),
}

_ONSETS = ("bl", "br", "dr", "fl", "fr", "gl", "gr", "kl", "kr", "pl", "pr", "sk", "sn", "tr", "vl")
_VOWELS = ("a", "e", "i", "o", "u")
_MIDDLES = ("b", "d", "f", "g", "k", "l", "m", "n", "p", "v", "z")
_CODAS = ("n", "r", "l", "m", "k")
_STRIDE = 7919  # coprime to the number of roots; successive roots differ in sound
_REAL_WORDS = """
    bladen blazon brazen broken craven dragon drivel driven drizel flagon frozen gravel graven
    grovel klimak kraken plagen plavin promen proven prunel sliver snivel travel trivial
"""


@dataclasses.dataclass(frozen=True)
class SyntheticLanguage:
    """Words and distributions, from which texts and gold sets are generated."""

    words: list[str]  # every word, as spelled inside a sentence
    # S senses; a noun of two classes has two
    nouns: np.ndarray  # int64 (S,): index of the noun in ``words``
    frames: np.ndarray  # int64 (S,): key of TEMPLATES
    domains: np.ndarray  # int64 (S,): topic, ascending
    features: np.ndarray  # int64 (S, 3, 120): indices in ``words``, by part of speech
    probabilities: np.ndarray  # float64 (S,): share of paragraphs about a sense
    classes: dict[str, list[str]]  # class to nouns; singular forms of common nouns
    relations: dict[str, list[tuple[str, str]]]  # relation to word pairs
    graded: list[tuple[str, str, float]]  # two words and the overlap of their distributions
    senses: list[tuple[str, str, float]]  # word, one of its two classes, share of paragraphs


@functools.cache
def synthetic_language() -> SyntheticLanguage:
    """Build the language; there is only one."""
    builder = _Builder()
    builder.add_classes()
    builder.add_pairs()
    builder.add_graded()
    builder.add_senses()
    return builder.build()


def overlap(first: np.ndarray, second: np.ndarray) -> float:
    """Return the overlap of two feature distributions, the sum of min(p, q)."""
    # first, second: int64 (3, 120)
    size = int(max(first.max(), second.max())) + 1
    counts = [np.bincount(features.ravel(), minlength=size) for features in (first, second)]
    return float(np.minimum(*counts).sum() / first.size)


class _Builder:
    """Collects the words and distributions of a language."""

    def __init__(self) -> None:
        literals = sorted(
            {
                word
                for templates in TEMPLATES.values()
                for template in templates
                for word in template.split()
                if word not in (*PARTS_OF_SPEECH, "noun")
            }
        )
        self.words: list[str] = literals
        self.roots = _roots()
        self.rows: list[tuple[int, int, int, np.ndarray, float]] = []
        self.classes: dict[str, list[str]] = {}
        self.relations: dict[str, list[tuple[str, str]]] = {"gram-singular-plural": []}
        self.graded: list[tuple[str, str, float]] = []
        self.senses: list[tuple[str, str, float]] = []
        names = [*CLASSES, *itertools.chain(*((one, two[0]) for one, two in _PAIRS.items()))]
        self.pools = {name: self._pool(len(_CLASS_PARTS)) for name in names}

    def add_classes(self) -> None:
        """Add common nouns, each in the singular and in the plural."""
        traits = self._traits(_NOUNS_PER_CLASS)
        for i, name in enumerate(CLASSES):
            nouns = [next(self.roots) for _ in range(_NOUNS_PER_CLASS)]
            self.classes[name] = nouns
            for rank, noun in enumerate(nouns):
                features = self._distribution(
                    self.pools[name], traits[(5 * rank + i) % _NOUNS_PER_CLASS]
                )
                weight = 3 / (rank + 3)
                self._add(noun, SINGULAR, _DOMAINS[name], features, weight)
                self._add(noun + "s", PLURAL, _DOMAINS[name], features, 0.7 * weight)
                self.relations["gram-singular-plural"].append((noun, noun + "s"))

    def add_pairs(self) -> None:
        """Add countries with capitals and men with women."""
        for one, (two, n_pairs) in _PAIRS.items():
            pairs = [(next(self.roots), next(self.roots)) for _ in range(n_pairs)]
            if one == "country":
                pairs = [(first.capitalize(), second.capitalize()) for first, second in pairs]
            self.relations[f"{one}-{two}"] = pairs
            for name, place in ((one, 0), (two, 1)):
                self.classes[name] = [pair[place] for pair in pairs]
            for rank, (pair, own) in enumerate(zip(pairs, self._traits(n_pairs), strict=True)):
                for name, noun in zip((one, two), pair, strict=True):
                    features = self._distribution(self.pools[name], own)
                    self._add(noun, _frame(name), _DOMAINS[name], features, 4 / (rank + 3))

    def add_graded(self) -> None:
        """Add pairs that share 0, 20, ... 100 percent of their features."""
        inventory = self._pool(_INVENTORY)
        start = itertools.count(step=7)  # coprime to the inventory, for varied overlaps
        for grade in GRADES:
            for _ in range(_PAIRS_PER_GRADE):
                shared = round(grade * _GRADED_FEATURES)
                own = _GRADED_FEATURES - shared
                chosen = (next(start) * 3 + np.arange(shared + 2 * own)) % _INVENTORY
                first, second = next(self.roots), next(self.roots)
                self.graded.append((first, second, grade))
                for noun, start_of_own in ((first, shared), (second, shared + own)):
                    alone = chosen[start_of_own : start_of_own + own]
                    columns = np.concatenate([chosen[:shared], alone])
                    features = np.repeat(inventory[:, columns], SLOTS // _GRADED_FEATURES, axis=1)
                    self._add(noun, SINGULAR, _GRADED_DOMAIN, features, 0.4)

    def add_senses(self) -> None:
        """Add words of two classes."""
        for one, two, share in _SENSES:
            noun = next(self.roots)
            for name, part in ((one, share), (two, 1 - share)):
                features = np.repeat(self.pools[name], _SENSE_PARTS, axis=1)
                features = np.pad(features, ((0, 0), (0, SLOTS - features.shape[1])), mode="edge")
                self._add(noun, _frame(name), _DOMAINS[name], features, part)
                self.senses.append((noun, name, round(part, 2)))

    def build(self) -> SyntheticLanguage:
        """Return the language, its senses ordered by domain."""
        rows = sorted(self.rows, key=lambda row: row[2])  # stable
        nouns, frames, domains = (np.array([row[i] for row in rows]) for i in range(3))
        weights = np.array([row[4] for row in rows])
        return SyntheticLanguage(
            words=self.words,
            nouns=nouns,
            frames=frames,
            domains=domains,
            features=np.stack([row[3] for row in rows]),
            probabilities=weights / weights.sum(),
            classes=self.classes,
            relations=self.relations,
            graded=self.graded,
            senses=self.senses,
        )

    def _pool(self, size: int) -> np.ndarray:
        """Add ``size`` features of each part of speech; return their indices, (3, size)."""
        endings = {"adjective": "ish", "verb": "ed", "object": ""}
        start = len(self.words)
        for part in PARTS_OF_SPEECH:
            self.words += [next(self.roots) + endings[part] for _ in range(size)]
        return np.arange(start, len(self.words)).reshape(3, size)

    def _traits(self, number: int) -> list[np.ndarray]:
        """Return ``number`` distinct pairs of traits, each (3, 2)."""
        pool = self._pool(_TRAITS)
        pairs = list(itertools.combinations(range(_TRAITS), 2))
        pairs.sort(key=lambda pair: (pair[1] - pair[0], pair))  # use each trait about equally often
        return [pool[:, list(pair)] for pair in pairs[:number]]

    def _distribution(self, common: np.ndarray, traits: np.ndarray) -> np.ndarray:
        """Combine class features and traits into a distribution, (3, 120)."""
        parts = [np.repeat(common, _CLASS_PARTS, axis=1), np.repeat(traits, _TRAIT_PARTS, axis=1)]
        return np.concatenate(parts, axis=1)

    def _add(self, noun: str, frame: int, domain: int, features: np.ndarray, weight: float) -> None:
        """Add one sense of a noun."""
        second_sense = bool(self.rows) and self.words[self.rows[-1][0]] == noun
        if not second_sense:
            self.words.append(noun)
        self.rows.append((len(self.words) - 1, frame, domain, features, weight))


def _frame(name: str) -> int:
    """Return the template frame for singular nouns of a class."""
    if name in ("country", "capital"):
        return PROPER
    return {"man": HE, "woman": SHE}.get(name, SINGULAR)


def _roots() -> Iterator[str]:
    """Yield distinct pronounceable pseudowords in a fixed order."""
    real, sounds = _REAL_WORDS.split(), (_ONSETS, _VOWELS, _MIDDLES, _VOWELS, _CODAS)
    sizes = [len(kind) for kind in sounds]
    total = int(np.prod(sizes))
    for index in range(total):
        place = np.unravel_index(index * _STRIDE % total, sizes)
        root = "".join(kind[i] for kind, i in zip(sounds, place, strict=True))
        if root not in real:
            yield root
