"""The objectives by name: what a model learns to predict, and each one's own settings."""

import dataclasses
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from firth.corpora.common.errors import SettingError
from firth.corpora.common.options import check, setting, split_list


@dataclass(frozen=True)
class ObjectiveKind:
    """Where an objective is, and what it needs of the code around it."""

    # ``module:class``, a :class:`firth.pretrain.data.objectives.targets.Objective`
    path: str
    help: str  # what is predicted
    masks: bool = True  # whether pieces are hidden, at a rate and in units
    causal: bool = False  # whether a slot sees only itself and those before it
    mixed: bool = False  # whether it does so in some rows, and predicts the next piece in all
    # whether a decoder predicts; the class is then given the pieces, and its keys for held-out text
    decodes: bool = False
    whole: bool = False  # whether units of text stay whole in a row
    points: bool = False  # whether what it predicts is a slot of the encoder's
    # how many rows the table has besides pieces, by keys and length of a row
    sentinels: Callable[[dict[str, Any], int], int] = lambda keys, length: 0
    # keys by name, declared by :func:`firth.corpora.common.options.setting`; the type of a
    # value is that of its default
    keys: dict[str, Any] = dataclasses.field(default_factory=dict)

    def load(self) -> Any:
        """Import the class."""
        return pkgutil.resolve_name(self.path)


def rebuilds_text(keys: Mapping[str, Any]) -> bool:
    """Return whether a decoder predicts the text, as it must if some of it has no mark."""
    return bool(keys["permute"] or keys["delete"])


MASKED, CAUSAL = "masked", "causal"
OBJECTIVES = {
    MASKED: ObjectiveKind(
        "firth.pretrain.data.objectives.masked:MaskedPieces", "hidden pieces from both sides"
    ),
    CAUSAL: ObjectiveKind(
        "firth.pretrain.data.objectives.causal:NextPiece",
        "each piece from those before it",
        masks=False,
        causal=True,
    ),
    "mixed": ObjectiveKind(
        "firth.pretrain.data.objectives.mixed:MixedRows",
        "masked and causal rows for one model",
        mixed=True,
        keys={"causal_share": setting(0.5, "of the rows", above=0, below=1)},
    ),
    "denoise": ObjectiveKind(
        "firth.pretrain.data.objectives.denoise:Denoising",
        "hidden spans, by a decoder",
        masks=False,
        decodes=True,
        # the most spans of a segment, which are one piece apart
        sentinels=lambda keys, length: 0 if rebuilds_text(keys) else (length - 1) // 2,
        keys={
            "share": setting(0.15, "of the pieces, in spans", at_least=0.01, at_most=0.9),
            "span": setting(3.0, "pieces of a span, on average at most", at_least=1, at_most=100),
            "permute": setting(0.0, "of texts, with shuffled sentences", at_least=0, at_most=1),
            "delete": setting(
                0.0, "of pieces; with either, the text is predicted", at_least=0, at_most=0.9
            ),
        },
    ),
    "transduce": ObjectiveKind(
        "firth.pretrain.data.objectives.transduce:Transduction",
        "the targets of pairs, by a decoder",
        masks=False,
        decodes=True,
        whole=True,
        sentinels=lambda keys, length: 1,
        # pairs are few
        keys={"dropout": setting(0.2, "of the activations dropped", at_least=0, below=1)},
    ),
    "point": ObjectiveKind(
        "firth.pretrain.data.objectives.point:ShuffledWords",
        "the order of shuffled words, by a decoder",
        masks=False,
        decodes=True,
        points=True,
        whole=True,
    ),
}


def objective_help() -> str:
    """Describe the objectives and their keys."""
    texts = []
    for name, kind in OBJECTIVES.items():
        keys = (
            f"{key}={field.default} {field.metadata['help']}" for key, field in kind.keys.items()
        )
        texts.append(", ".join([f"{name}: {kind.help}", *keys]))
    return f"What is predicted. {'; '.join(texts)}."


def parse_objective(text: str) -> tuple[ObjectiveKind, dict[str, Any]]:
    """Return the kind of objective, and all of its keys with their values.

    >>> parse_objective("causal")[1]
    {}
    """
    name, colon, rest = text.partition(":")
    if name not in OBJECTIVES:
        raise SettingError(f"`objective={text}`: choose from {', '.join(OBJECTIVES)}")
    kind = OBJECTIVES[name]
    fields = [(key, type(field.default), field) for key, field in kind.keys.items()]
    keys, values = dataclasses.make_dataclass(name, fields, frozen=True), {}
    for part in split_list(rest) or [""] * bool(colon):
        key, _, value = part.partition("=")
        try:
            if key in values:
                raise ValueError
            values[key] = type(kind.keys[key].default)(value)
        except (KeyError, ValueError):
            forms = (f"{key}={value_type.__name__.upper()}" for key, value_type, _ in fields)
            expected = f"one each of {', '.join(forms)}" if fields else "nothing"
            raise SettingError(
                f"`objective={text}`: got {part!r} after {name} and a colon, expected {expected}"
            ) from None
    chosen = keys(**values)
    try:
        check(chosen)
    except SettingError as error:
        # "mixed.share must be" becomes "share must be"
        raise SettingError(f"`objective={text}`: {str(error).partition('.')[2]}") from None
    return kind, dataclasses.asdict(chosen)
