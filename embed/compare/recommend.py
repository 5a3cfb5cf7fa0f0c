"""Recommend a method and settings for a text, from measurements on similar texts.

The measurements, ``evidence.json`` in this package, were made by ``benchmarks/bench_evidence.py``:
methods and settings trained on samples of several texts and scored on sets of their language.
"""

import json
import math
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from firth.corpora.common.display import TableList, html_table
from firth.corpora.common.errors import FirthError
from firth.embed.compare.datasets.word_pairs import frequent_words, looks_like
from firth.embed.registry import find_method

if TYPE_CHECKING:  # numba comes with it
    from firth.corpora.reading.in_memory import TextSource
    from firth.corpora.store.corpus import Corpus

EVIDENCE = "evidence.json"
KINDS = ("similarity", "meaning", "grammar")  # kinds of sets: word pairs, two sorts of analogies
_MIN_COUNT = 5  # default of the methods
_SCRIPTS = {False: "Latin", True: "CJK"}  # of the evidence, by whether it is unspaced
_FAR = 1.0  # log2 of the size ratio up to which evidence applies to a text


@dataclass(frozen=True)
class Features:
    """Features of a text, known before training."""

    tokens: int  # training tokens
    words: int  # types that occur at least five times among them, without punctuation
    unspaced: bool  # most characters belong to scripts without spaces
    script: str = ""  # of most letters of the frequent words, such as Cyrillic; empty if unknown
    english: bool | None = None  # whether the frequent words look English; None if unknown
    german: bool | None = None

    @property
    def languages(self) -> list[str]:
        """The languages that the text looks like, of those that can be told."""
        looks = {"English": self.english, "German": self.german}
        return [language for language, alike in looks.items() if alike]


@dataclass(frozen=True)
class Advice:
    """Recommended candidates, and the evidence for them."""

    sample: Mapping[str, Any]  # the evidence sample most similar to the text
    # candidate -> the kinds it is recommended for, together all; the choice for most kinds first
    choices: Mapping[str, tuple[str, ...]]
    # kind -> the best candidate and those not significantly worse, best first
    good: Mapping[str, tuple[str, ...]]
    factor: float  # size of the text divided by that of the sample
    is_far: bool  # the text differs too much in size or script for the evidence to apply
    differs: str  # how the text differs in script or language; empty if not as far as known
    left_out: tuple[str, ...]  # candidates with more dimensions than the text has words


@dataclass(frozen=True)
class Margin:
    """The difference between a candidate and the best other one, for a kind of sets."""

    other: str
    difference: float  # positive if the candidate is better
    error: float  # standard error over items and seeds


@dataclass(frozen=True)
class Recommendation:
    """A method and its settings, recommended for some kinds of tasks."""

    method: str  # ``svd``, ``skipgram`` or ``cbow``
    config: Any  # its config, such as SvdConfig, for ``firth.train_svd``
    kinds: tuple[str, ...]  # of "similarity", "meaning", "grammar"
    is_far: bool  # the text differs much from all measured ones; better make a learning curve
    evidence: str = ""  # the text that was measured, its language and genre
    differs: str = ""  # how yours differs from it in script or language, if that was found out


class Recommendations(TableList):
    """What is recommended for a corpus: a list shown as a table."""

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        rows = [(each.method, _changed(each.config), ", ".join(each.kinds)) for each in self]
        further = [f"the text differs: {self[0].differs}"] if self[0].differs else []
        further += ["the text differs much from all measured ones"] if self[0].is_far else []
        below = [f"evidence: {self[0].evidence}", *further]
        return html_table(("method", "settings", "recommended for"), rows, "", below)


def recommend(corpus: "Corpus | TextSource") -> Recommendations:
    """Recommend methods and settings for a corpus, from measurements on similar texts.

    Parameters
    ----------
    corpus : Corpus, path or text
        A corpus, or text in files or in memory, as :func:`firth.build_corpus` takes it.

    Returns
    -------
    Recommendations
        A list of :class:`Recommendation`, which together cover word similarity and analogies of
        meaning and of grammar; first the one that suits most of these.

    Raises
    ------
    FirthError
        If the text has fewer words than any candidate has dimensions.
    """
    from firth.corpora.encoding.build import open_or_build  # lazy: imports numba

    evidence = read_evidence()
    advice = advise(features_of(open_or_build(corpus)), evidence)
    found = Recommendations()
    for candidate, kinds in advice.choices.items():
        about = evidence["candidates"][candidate]
        config = find_method(about["method"]).config_class()(**about["options"])
        found.append(
            Recommendation(
                about["method"], config, kinds, advice.is_far,
                name_of(advice.sample), advice.differs,
            )
        )  # fmt: skip
    return found


def _changed(config: Any) -> str:
    """Return the width and the settings that are not defaults."""
    values = {each.name: (getattr(config, each.name), each.default) for each in fields(config)}
    changed = {name: v for name, (v, default) in values.items() if name == "dim" or v != default}
    return ", ".join(f"{name}={value}" for name, value in changed.items())


def name_of(sample: Mapping[str, Any]) -> str:
    """Return the name of an evidence sample with its language and genre."""
    return f"{sample['text']} ({sample['language']} {sample['kind']})"


def is_unspaced(corpus: "Corpus") -> bool:
    """Return whether most characters of a corpus belong to scripts without spaces."""
    tally = corpus.manifest["tally"]
    return bool(tally["unspaced_characters"] * 2 > tally["characters"])


def features_of(corpus: "Corpus") -> Features:
    """Return the features of a corpus."""
    frequent = corpus.stored.count_types("train") >= _MIN_COUNT
    words = int((frequent & ~corpus.vocabulary.punctuation).sum())
    common = frequent_words(corpus)
    return Features(
        corpus.training_tokens,
        words,
        is_unspaced(corpus),
        script_of(common),
        looks_like("English", common),
        looks_like("German", common),
    )


def script_of(words: Iterable[str]) -> str:
    """Return the script of most letters of some words, such as Latin; empty if there are none.

    >>> script_of(["и", "в", "the", "что"]), script_of(["的"]), script_of(["1", "."])
    ('Cyrillic', 'CJK', '')
    """
    named = (unicodedata.name(letter, "") for word in words for letter in word if letter.isalpha())
    scripts = Counter(name.split()[0] for name in named if name)
    first = max(scripts, key=lambda script: scripts[script], default="")
    return first if first == "CJK" else first.capitalize()


def read_evidence() -> dict[str, Any]:
    """Read ``evidence.json``."""
    text = files("firth.embed.compare").joinpath(EVIDENCE).read_text(encoding="utf-8")
    evidence: dict[str, Any] = json.loads(text)
    return evidence


def advise(features: Features, evidence: Mapping[str, Any]) -> Advice:
    """Recommend methods and settings for a text; raise FirthError if it is too small.

    The sample of the same script and language, nearest in size and words, decides. A candidate is
    good at a kind of sets unless another is better by more than ``factor`` standard errors (Tukey's
    studentized range); the one good at most kinds is chosen for these, then the same for the
    remaining kinds. Of two widths that are good at the same, the one that suits the size is chosen.
    """
    fit = [
        name
        for name, about in evidence["candidates"].items()
        if about["options"].get("dim", 0) <= features.words
    ]
    if not fit:
        raise FirthError(
            f"too little text for a recommendation: {features.words} words occur {_MIN_COUNT} "
            "times or more; add text"
        )
    sample = min(evidence["samples"], key=lambda each: _distance(features, each))
    good = {kind: good_candidates(sample, kind, fit, evidence["factor"]) for kind in KINDS}
    factor = features.tokens / sample["tokens"]
    scripts = ("", _SCRIPTS[sample["unspaced"]])
    same_script = features.script in scripts and features.unspaced == sample["unspaced"]
    is_far = abs(math.log2(factor)) > _FAR or not same_script
    left_out = tuple(name for name in evidence["candidates"] if name not in fit)
    choices = dict(_choices(sample, good, _fitting_widths(evidence["candidates"], features)))
    return Advice(sample, choices, good, factor, is_far, _difference(features, sample), left_out)


def _fitting_widths(
    candidates: Mapping[str, Mapping[str, Any]], features: Features
) -> dict[str, str]:
    """Return, by candidate, the one like it whose width suits the size of the text."""
    families: dict[str, dict[str, int]] = {}
    for name, about in candidates.items():
        method, options = about["method"], dict(about["options"])
        apart = abs(options.pop("dim", 0) - find_method(method).width_for(features.tokens))
        families.setdefault(f"{method} {options}", {})[name] = apart
    return {
        name: min(each, key=lambda other: (each[other], other != name))
        for each in families.values()
        for name in each
    }


def _difference(features: Features, sample: Mapping[str, Any]) -> str:
    """Return how a text differs from a sample in script or language; empty if not known to."""
    script, language = _SCRIPTS[sample["unspaced"]], sample.get("language")
    if features.script not in ("", script):
        return f"{features.script} script, not {script}"
    if language in features.languages:
        return ""
    if features.languages:
        return f"looks {features.languages[0]}, not {language}"
    return f"does not look {language}" if features.english is False and script == "Latin" else ""


def mean_of(sample: Mapping[str, Any], kind: str, candidate: str) -> Mapping[str, Any]:
    """Return the evidence entry of a candidate for a kind of sets."""
    own = (mean for mean in sample["means"] if (mean["kind"], mean["run"]) == (kind, candidate))
    return next(own)


def margin_of(
    sample: Mapping[str, Any], kind: str, candidate: str, left_out: Collection[str] = ()
) -> Margin | None:
    """Return how much a candidate is better than the best other one for a kind of sets."""
    others = [name for name in sample["words"] if name not in (candidate, *left_out)]
    best = max(others, key=lambda name: mean_of(sample, kind, name)["score"], default=None)
    return None if best is None else _margin_over(sample, kind, candidate, best)


def _margin_over(sample: Mapping[str, Any], kind: str, candidate: str, other: str) -> Margin | None:
    """Return how much a candidate is better than another; None if that was not measured."""
    for each in sample["differences"]:
        if each["kind"] == kind and {each["a"], each["b"]} == {candidate, other}:
            sign = 1 if each["a"] == candidate else -1
            return Margin(other, sign * each["difference"], each["error"])
    return None


def _distance(features: Features, sample: Mapping[str, Any]) -> tuple[bool, bool, float]:
    """Return the sort key of dissimilarity: script, language, then size and words as ratios."""
    words = max(sample["words"].values())
    apart = abs(math.log(features.tokens / sample["tokens"])) + abs(
        math.log(max(features.words, 1) / words)
    )
    other = sample.get("language") not in (features.languages or ["English"])
    return features.unspaced != sample["unspaced"], other, apart


def good_candidates(
    sample: Mapping[str, Any], kind: str, candidates: Sequence[str], factor: float
) -> tuple[str, ...]:
    """Return the candidates that no other is significantly better than, best first."""
    ranked = sorted(candidates, key=lambda name: -mean_of(sample, kind, name)["score"])
    margins = {name: [_margin_over(sample, kind, name, o) for o in ranked] for name in ranked}
    worse = {n for n in ranked for m in margins[n] if m and -m.difference > factor * m.error}
    return tuple(name for name in ranked if name not in worse)


def _choices(
    sample: Mapping[str, Any], good: Mapping[str, Sequence[str]], fitting: Mapping[str, str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield few candidates that together cover all kinds, chosen greedily, in the fitting width."""
    shares = {}  # of the best mean, since kinds have different scales
    for kind, names in good.items():
        means = [mean_of(sample, kind, name)["score"] for name in names]
        for name, mean in zip(names, means, strict=True):
            shares[kind, name] = float(mean / means[0]) if means[0] > 0 else 1.0
    left = list(good)
    while left:
        kinds = {
            name: [kind for kind in left if name in good[kind]] for k in left for name in good[k]
        }
        sums = {name: math.fsum(shares[kind, name] for kind in kinds[name]) for name in kinds}
        best = max(kinds, key=lambda name: (len(kinds[name]), sums[name]))
        best = fitting[best] if kinds.get(fitting[best]) == kinds[best] else best
        yield best, tuple(kinds[best])
        left = [kind for kind in left if kind not in kinds[best]]
