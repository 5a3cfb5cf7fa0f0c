"""The options of phrases: words such as ``new_york`` in the place of their parts."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firth.corpora.artifacts.artifact import fingerprint
from firth.corpora.common.errors import SettingError, SourceError
from firth.corpora.common.options import check, describe_settings, rare_setting, setting

RATIO, NPMI = "ratio", "npmi"
_THRESHOLDS = {RATIO: 10.0, NPMI: 0.5}


@describe_settings
@dataclass(frozen=True, kw_only=True)
class PhraseOptions:
    """Which phrases become one word of the corpus, such as ``new_york``; by default none.

    Mikolov et al. (2013), arXiv:1310.4546, section 4; Bouma (2009) for ``npmi``.

    Examples
    --------
    >>> PhraseOptions(phrases="npmi").threshold
    0.5
    """

    phrases: str | None = setting(
        None,
        "Join pairs of words that occur together more often than apart (new_york), by the ratio "
        "of counts of Mikolov et al. (2013), or by normalized PMI.",
        choices=(RATIO, NPMI),
        heading="Phrases",
    )
    phrases_from: str | None = rare_setting(
        None,
        "Join the phrases listed in a file instead, one per line, of two words or more.",
        metavar="FILE",
    )
    phrase_threshold: float | None = rare_setting(
        None, "Scores above this make a phrase (default: 10 for ratio, 0.5 for npmi)."
    )
    phrase_min_count: int = rare_setting(
        5, "Pairs with fewer occurrences are not joined; ratio also subtracts it.", at_least=1
    )
    phrase_passes: int = rare_setting(
        1, "2 also joins phrases with their neighbors: new_york_city.", at_least=1
    )
    phrase_stop_words: str | None = rare_setting(
        None, "Words that are in no phrase, from a file, one per line.", metavar="FILE"
    )

    def __post_init__(self) -> None:
        check(self)
        if self.phrases is None:
            for field in dataclasses.fields(self)[2:]:
                if getattr(self, field.name) != field.default:
                    raise SettingError(
                        f"`{field.name}` needs `phrases=ratio` or `phrases=npmi`; pass one of them"
                    )
        elif self.phrases_from is not None:
            raise SettingError("`phrases` or `phrases_from`, not both; drop one of them")
        elif not (self.threshold > 0 if self.phrases == RATIO else -1 <= self.threshold <= 1):
            allowed = "above 0" if self.phrases == RATIO else "from -1 to 1"
            raise SettingError(
                f"`phrase_threshold` must be {allowed} for `phrases={self.phrases}`, "
                f"got {self.phrase_threshold}"
            )

    @property
    def threshold(self) -> float:
        """The score that phrases exceed."""
        if self.phrase_threshold is None:
            return _THRESHOLDS[self.phrases or RATIO]
        return float(self.phrase_threshold)


@dataclass(frozen=True)
class PhraseRules:
    """Options of phrases with the contents of their files."""

    options: PhraseOptions
    listed: tuple[str, ...] = ()
    stop_words: tuple[str, ...] = ()

    def settings(self) -> dict[str, Any]:
        """Return what determines the phrases, as JSON, with hashes of the files' contents."""
        if self.options.phrases is None:
            return {"listed": fingerprint(self.listed)}
        return {
            "formula": self.options.phrases,
            "threshold": self.options.threshold,
            "min_count": self.options.phrase_min_count,
            "passes": self.options.phrase_passes,
            "stop_words": fingerprint(self.stop_words) if self.stop_words else None,
        }


def read_rules(options: PhraseOptions) -> PhraseRules | None:
    """Read the files of the options; None if no phrases are asked for."""
    if options.phrases is not None:
        return PhraseRules(options, stop_words=_read_lines(options.phrase_stop_words))
    if options.phrases_from is not None:
        return PhraseRules(options, listed=_read_lines(options.phrases_from))
    return None


def _read_lines(path: str | None) -> tuple[str, ...]:
    """Return the lines of a list that are not blank, with spaces for underscores."""
    if path is None:
        return ()
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error.strerror}); correct the path") from None
    except UnicodeDecodeError:
        raise SourceError(f"{path}: is not UTF-8; convert it to UTF-8") from None
    lines = tuple(line for line in text.replace("_", " ").split("\n") if line.strip())
    if not lines:
        raise SourceError(f"{path}: is empty; expected one entry per line")
    return lines
