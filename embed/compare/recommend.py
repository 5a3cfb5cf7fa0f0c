"""Which method and settings suit a text, by what was measured on texts like it.

The evidence, ``evidence.json``, is a file of this package. ``tests/bench/bench_evidence.py`` made
it: methods and settings trained on samples of several texts and scored on the sets of their
language.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from corpora.common.errors import FirthError

if TYPE_CHECKING:  # numba comes with it
    from corpora.store.corpus import Corpus

EVIDENCE = "evidence.json"
KINDS = ("similarity", "meaning", "grammar")  # of sets: pairs; analogies of both sorts
_MIN_COUNT = 5  # the methods' own default
_FAR = 1.0  # factors of two in size, up to which evidence speaks for a text


@dataclass(frozen=True)
class Features:
    """What is known of a text before anything is trained on it."""

    tokens: int  # tokens to train on
    words: int  # types that occur five times or more among them
    unspaced: bool  # whether most of its characters belong to scripts without spaces


@dataclass(frozen=True)
class Choice:
    """The candidate that suits some kinds of sets best."""

    candidate: str  # A key of the evidence's ``candidates``
    kinds: tuple[str, ...]  # of :data:`KINDS`, at least one


@dataclass(frozen=True)
class Advice:
    """What to train, and why."""

    sample: Mapping[str, Any]  # the entry of the evidence that is most like the text
    choices: tuple[Choice, ...]  # together of all kinds, first what serves most of them
    # by kind, the best candidate and those that are not surely worse, best first
    good: Mapping[str, tuple[str, ...]]
    factor: float  # how many times as long as the sample the text is
    # whether the text is so much longer or shorter, or of another script, that the evidence says
    # little of it
    is_far: bool


def is_unspaced(corpus: "Corpus") -> bool:
    """Tell whether most of a text is of scripts without spaces between words."""
    tally = corpus.manifest["tally"]
    return bool(tally["unspaced_characters"] * 2 > tally["characters"])


def features_of(corpus: "Corpus") -> Features:
    """Find out what the advice for a corpus goes by."""
    frequent = corpus.stored.count_types("train") >= _MIN_COUNT
    words = int((frequent & ~corpus.vocabulary.punctuation).sum())
    return Features(corpus.training_tokens, words, is_unspaced(corpus))


def read_evidence() -> dict[str, Any]:
    """Read what was measured."""
    text = files("embed.compare").joinpath(EVIDENCE).read_text(encoding="utf-8")
    evidence: dict[str, Any] = json.loads(text)
    return evidence


def advise(features: Features, evidence: Mapping[str, Any]) -> Advice:
    """Choose method and settings for a text.

    The sample most like the text decides: of its script, and nearest in size and in the number
    of words, each as a ratio. A candidate is good at a kind of sets if it is the best there or
    cannot be told from the best: six candidates that are equally good differ by chance, so the
    limit is that of Tukey's range, ``factor`` standard errors. What is good at most kinds is chosen
    for these, by its means as shares of the best where there are several; then for the kinds that
    are left.
    """
    fit = [
        name
        for name, about in evidence["candidates"].items()
        if about["options"].get("dim", 0) <= features.words
    ]
    if not fit:
        raise FirthError(
            f"too little text for any advice: {features.words} words occur {_MIN_COUNT} times or "
            "more; add text"
        )
    sample = min(evidence["samples"], key=lambda each: _distance(features, each))
    good = {kind: _good(sample, kind, fit, evidence["factor"]) for kind in KINDS}
    factor = features.tokens / sample["tokens"]
    is_far = abs(math.log2(factor)) > _FAR or features.unspaced != sample["unspaced"]
    return Advice(sample, tuple(_choices(sample, good)), good, factor, is_far)


def mean_of(sample: Mapping[str, Any], kind: str, candidate: str) -> Mapping[str, Any]:
    """Look up how good a candidate is at a kind of sets."""
    own = (mean for mean in sample["means"] if (mean["kind"], mean["run"]) == (kind, candidate))
    return next(own)


def _distance(features: Features, sample: Mapping[str, Any]) -> tuple[bool, float]:
    """How unlike a text a sample is: in script first, then in size and words, as ratios."""
    words = max(sample["words"].values())
    apart = abs(math.log(features.tokens / sample["tokens"])) + abs(
        math.log(max(features.words, 1) / words)
    )
    return features.unspaced != sample["unspaced"], apart


def _good(
    sample: Mapping[str, Any], kind: str, candidates: Sequence[str], factor: float
) -> tuple[str, ...]:
    """The best candidate, and those that are not surely worse."""
    ranked = sorted(candidates, key=lambda name: -mean_of(sample, kind, name)["score"])
    worse = {
        name
        for each in sample["differences"]
        for name in (each["a"], each["b"])
        if each["kind"] == kind
        and {each["a"], each["b"]} == {name, ranked[0]}
        and abs(each["difference"]) > factor * each["error"]
    }
    return tuple(name for name in ranked if name == ranked[0] or name not in worse)


def _choices(sample: Mapping[str, Any], good: Mapping[str, Sequence[str]]) -> Iterator[Choice]:
    """As few candidates as serve all kinds, greedily."""
    left = list(good)
    while left:
        kinds = {
            name: [kind for kind in left if name in good[kind]] for k in left for name in good[k]
        }
        best = max(
            kinds,
            key=lambda name: (
                len(kinds[name]),
                math.fsum(_of_best(sample, kind, name, good) for kind in kinds[name]),
            ),
        )
        yield Choice(best, tuple(kinds[best]))
        left = [kind for kind in left if kind not in kinds[best]]


def _of_best(
    sample: Mapping[str, Any], kind: str, name: str, good: Mapping[str, Sequence[str]]
) -> float:
    """The mean of a candidate as a share of the best one's: kinds are of different scales."""
    best, own = (mean_of(sample, kind, each)["score"] for each in (good[kind][0], name))
    return float(own / best) if best > 0 else 1.0
