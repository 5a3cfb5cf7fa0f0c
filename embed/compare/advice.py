"""Which method and settings suit a text, by what was measured on texts like it.

The evidence, ``evidence.json``, is a file of this package. ``tests/bench/bench_evidence.py`` made
it: methods and settings trained on samples of several texts and scored on the sets of their
language.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # numba comes with it
    from corpora.corpus import Corpus

EVIDENCE = "evidence.json"
TASKS = ("similarity", "analogy")
_SURE = 1.96  # standard errors: beyond, a difference of two is no chance (p < 0.05)
_MIN_COUNT = 5  # the methods' own default
_FAR = 1.0  # factors of two in size, up to which evidence speaks for a text


@dataclass(frozen=True)
class Features:
    """What is known of a text before anything is trained on it.

    Attributes
    ----------
    tokens : int
        Tokens to train on.
    words : int
        Types that occur five times or more among them.
    unspaced : bool
        Whether most of its characters belong to scripts without spaces.
    """

    tokens: int
    words: int
    unspaced: bool


@dataclass(frozen=True)
class Choice:
    """The candidate that suits a task best.

    Attributes
    ----------
    task : str
        One of :data:`TASKS`.
    candidate : str
        A key of the evidence's ``candidates``.
    score, error : float
        Its mean over the sets of the task, and the standard error of this mean over items.
    equals : tuple of str
        Other candidates whose difference from the best may be chance, best first.
    worse : tuple of str
        All others, best first.
    """

    task: str
    candidate: str
    score: float
    error: float
    equals: tuple[str, ...]
    worse: tuple[str, ...]


@dataclass(frozen=True)
class Advice:
    """What to train, and why.

    Attributes
    ----------
    sample : mapping
        The entry of the evidence that is most like the text.
    choices : tuple of Choice
        One for each task; of the same candidate where one serves both.
    factor : float
        How many times as long as the sample the text is.
    """

    sample: Mapping[str, Any]
    choices: tuple[Choice, ...]
    factor: float

    @property
    def is_far(self) -> bool:
        """Whether the text is so much longer or shorter that the evidence says little of it."""
        return abs(math.log2(self.factor)) > _FAR


def is_unspaced(corpus: "Corpus") -> bool:
    """Tell whether most of a text is of scripts without spaces between words.

    Parameters
    ----------
    corpus : Corpus
        Any.

    Returns
    -------
    bool
        By its characters.
    """
    tally = corpus.manifest["tally"]
    return bool(tally["unspaced_characters"] * 2 > tally["characters"])


def features_of(corpus: "Corpus") -> Features:
    """Find out what the advice for a corpus goes by.

    Parameters
    ----------
    corpus : Corpus
        Its training documents are counted.

    Returns
    -------
    Features
        Of these.
    """
    view = corpus.view(min_count=1, punctuation="drop")
    words = int((view.counts >= _MIN_COUNT).sum())
    return Features(corpus.training_tokens, words, is_unspaced(corpus))


def read_evidence() -> dict[str, Any]:
    """Read what was measured.

    Returns
    -------
    dict
        ``machine``; ``candidates``: per name a method and its options; ``samples``: per sample
        its text, tokens and words, and the candidates' scores, means, differences and seconds.
    """
    text = files("embed.compare").joinpath(EVIDENCE).read_text(encoding="utf-8")
    evidence: dict[str, Any] = json.loads(text)
    return evidence


def advise(features: Features, evidence: Mapping[str, Any]) -> Advice:
    """Choose method and settings for a text.

    The sample most like the text decides: of its script, and nearest in size and in the number
    of words, each as a ratio. In it the candidate of the best mean is chosen for each task; but
    where some cannot be told from the best in either task, the one of these whose means add up
    to most is chosen for both.

    Parameters
    ----------
    features : Features
        Of the text.
    evidence : mapping
        Of :func:`read_evidence`.

    Returns
    -------
    Advice
        With a choice for each task.
    """
    sample = min(evidence["samples"], key=lambda each: _distance(features, each))
    ranked = {task: _ranked(sample, task) for task in TASKS}
    equals = {task: _equals(sample, task, names) for task, names in ranked.items()}
    chosen = {task: names[0] for task, names in ranked.items()}
    if both := [name for name in equals["similarity"] if name in equals["analogy"]]:
        total = {name: sum(_mean(sample, task, name)["score"] for task in TASKS) for name in both}
        chosen = dict.fromkeys(TASKS, max(both, key=total.__getitem__))
    choices = tuple(
        _choice(sample, task, chosen[task], ranked[task], equals[task]) for task in TASKS
    )
    return Advice(sample, choices, features.tokens / sample["tokens"])


def _distance(features: Features, sample: Mapping[str, Any]) -> tuple[bool, float]:
    """How unlike a text a sample is: in script first, then in size and words, as ratios."""
    words = max(sample["words"].values())
    apart = abs(math.log(features.tokens / sample["tokens"])) + abs(
        math.log(max(features.words, 1) / words)
    )
    return features.unspaced != sample["unspaced"], apart


def _ranked(sample: Mapping[str, Any], task: str) -> list[str]:
    """Candidates by their means, best first."""
    means = [mean for mean in sample["means"] if mean["task"] == task]
    return [mean["run"] for mean in sorted(means, key=lambda mean: -mean["score"])]


def _equals(sample: Mapping[str, Any], task: str, ranked: Sequence[str]) -> list[str]:
    """The best candidate, and those whose difference from it may be chance."""
    unsure = [
        {each["a"], each["b"]}
        for each in sample["differences"]
        if each["task"] == task and abs(each["difference"]) <= _SURE * each["error"]
    ]
    return [name for name in ranked if name == ranked[0] or {name, ranked[0]} in unsure]


def _mean(sample: Mapping[str, Any], task: str, name: str) -> Mapping[str, Any]:
    """The mean of a candidate over the sets of a task."""
    return next(mean for mean in sample["means"] if (mean["task"], mean["run"]) == (task, name))


def _choice(
    sample: Mapping[str, Any], task: str, name: str, ranked: Sequence[str], equals: Sequence[str]
) -> Choice:
    """A candidate among the others."""
    mean = _mean(sample, task, name)
    return Choice(
        task,
        name,
        mean["score"],
        mean["error"],
        tuple(other for other in equals if other != name),
        tuple(other for other in ranked if other not in equals),
    )
