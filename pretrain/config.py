"""Settings of pretraining, and the encoder shape that follows from them."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from firth.corpora.common.device import DEVICES, WHICH
from firth.corpora.common.errors import SettingError
from firth.corpora.common.options import (
    check,
    describe_settings,
    rare_setting,
    refuse_unused,
    setting,
    split_list,
)
from firth.embed.registry import MIN_COUNT_HELP, Chosen
from firth.pretrain.attention_scores import SCORES
from firth.pretrain.mixers import ATTENTION, MIXERS
from firth.pretrain.objectives import MASKED, ObjectiveKind, objective_help, parse_objective
from firth.pretrain.shape import NORMS, POSITIONS, TREE, EncoderConfig, is_number

_OF_MASKS = ("mask_rate", "masking")  # settings
BUDGETS = ("steps", "epochs", "minutes")
_EPOCHS = 10
_MUON_RATE = 0.02
_SCORE = "scaled-dot"
_MAX_SPAN = _MAX_SIZE = 65_536
_MAX_PIECES = 1_000_000
_MIN_MASK_RATE = 0.001  # with a lower rate, a step may have nothing to predict
_GEGLU_MULTIPLE = 64  # kernels are fast at multiples of this width
_CONV_WIDTH = 7  # the widest for which torch has a fast kernel on a CPU
_OF_KEYS = ("rotary", "relative")  # positions that only attention sees


@dataclass(frozen=True)
class Preset:
    """A named encoder size, from Turc et al. 2019 (arXiv:1908.08962) except micro."""

    layers: int
    dim: int
    heads: int
    # of AdamW alone and beside Muon, tuned for mini, the latter for tiny too (docs/methods/mlm.md);
    # usually lower for larger models, and those of micro in between
    learning_rate: float
    rate_beside_muon: float


PRESETS = {
    "tiny": Preset(2, 128, 2, 3e-3, 3e-3),
    "micro": Preset(3, 192, 3, 2e-3, 2.5e-3),
    "mini": Preset(4, 256, 4, 1e-3, 2e-3),
    "small": Preset(4, 512, 8, 7e-4, 1.4e-3),
    "medium": Preset(8, 512, 8, 5e-4, 1e-3),
    "base": Preset(12, 768, 12, 4e-4, 8e-4),
}


@describe_settings
@dataclass(frozen=True, kw_only=True)
class MlmConfig:
    """Masked-language-model pretraining (Devlin et al. 2019, arXiv:1810.04805)."""

    chosen = Chosen(
        sets=("MTurk-287", "RG-65", "MSR analogies", "AP"),
        settings=(),  # what was chosen is how vectors are pooled, not how the model is trained
        date="2026-11-22",
    )
    # besides text and pieces; losses of runs that differ in them are not comparable
    loss_settings = ("boundary", "sequence_length")
    preset: str = setting(
        "mini",
        "Size by name or as layers/dim/heads: tiny 2/128/2, micro 3/192/3, mini 4/256/4, "
        "small 4/512/8, medium 8/512/8, base 12/768/12.",
        metavar="NAME|L/D/H",
        heading="Model",
    )
    mixer: str = rare_setting(
        ATTENTION,
        f"What lets pieces see each other, in all layers or one name for each: "
        f"{', '.join(MIXERS)}. Attention may have a score of a query q and a key k, as in "
        "attention:dot: scaled-dot, q.k / sqrt(d); dot, q.k; additive, v.tanh(W k + U q); "
        "bilinear, k.W q; key-value, additive on halves of the state; and of q.k / sqrt(d) "
        "instead of a softmax relu, over the number of keys; sparsemax, which leaves keys out; "
        "hard, the best key alone, drawn in training; hard-best, never drawn. "
        f"Filters may have a width, as in conv:{_CONV_WIDTH}.",
        metavar="NAME[:SCORE|:WIDTH],...",
    )
    positions: str | None = rare_setting(
        None,
        "Position encoding; by default rotary with `norm=pre`, learned with `norm=post`, none "
        "in other mixers than attention, linear and conformer.",
        choices=POSITIONS,
    )
    attention: str | None = rare_setting(
        None,
        "What each piece attends to, all by default: N neighbors each side; with N:K, all in every "
        "Kth layer, from the first; with tree, along the edges of the dependency trees of a "
        "CoNLL-U corpus, from a word to its head, its children and itself; with tree:N, so in the "
        "first N heads of each layer.",
        metavar="N[:K]|tree[:N]",
    )
    norm: str = rare_setting(
        "pre",
        "Layer norm before each part of a layer and geglu (ModernBERT's layout), or after and gelu "
        "(BERT's).",
        choices=NORMS,
    )
    dropout: float = rare_setting(0.0, "Share of activations dropped.", at_least=0, below=1)

    pieces: str = setting(
        "auto",
        "Number of subword pieces; auto: 8,000, 16,000 from 20M words, 32,000 from 200M.",
        metavar="N|auto",
        heading="Text",
    )
    sequence_length: int = setting(
        128, "Pieces per row, including [CLS] and [SEP].", at_least=8, at_most=65_536
    )
    boundary: str = rare_setting(
        "document",
        "Attention stays within this unit.",
        choices=("sentence", "paragraph", "document"),
    )
    objective: str = setting(
        MASKED,
        objective_help(),
        metavar="NAME[:KEY=VALUE,...]",
        heading="Objective",
    )
    mask_rate: str = rare_setting(
        "0.40:0.15",
        "Share of the pieces to predict, or the first and the last, between which it falls "
        "linearly.",
        metavar="RATE[:LAST]",
    )
    masking: str = rare_setting(
        "piece",
        "Unit of masking: single pieces, whole words, or spans of words.",
        choices=("piece", "word", "span"),
    )

    init: str = rare_setting(
        "auto",
        "First vectors of the pieces: auto from counts of the text (SVD), none for random ones, or "
        "from a run of word vectors; `continue_` takes all weights.",
        metavar="auto|none|RUN",
        heading="Training",
    )
    continue_: str | None = setting(
        None,
        "Go on from the weights of a run of `train_mlm()` or of a Hugging Face folder (BERT, "
        "ModernBERT), which have the model, the pieces and the objective, too.",
        metavar="RUN|FOLDER",
    )
    steps: int | None = setting(None, "Budget: number of steps.", at_least=1, at_most=10**12)
    epochs: float | None = setting(
        None, "Budget: passes over the text; 10 by default.", above=0, at_most=10**6
    )
    minutes: float | None = setting(
        None, "Budget: minutes of training; not exactly reproducible.", above=0
    )
    batch: int | None = setting(
        None,
        "Rows per step; by default 32 on a CPU and 1,024 on a GPU.",
        at_least=1,
        at_most=1 << 20,
    )
    optimizer: str = rare_setting(
        "muon",
        "Muon for the matrices of the layers and AdamW for the rest, or AdamW for all.",
        choices=("muon", "adamw"),
    )
    learning_rate: float | None = setting(
        None,
        "Highest learning rate of AdamW; by default the preset's, which is higher beside Muon. "
        "Muon's rate, 0.02 by default, changes in proportion.",
        above=0,
    )

    min_count: int | None = rare_setting(None, MIN_COUNT_HELP, at_least=1, heading="Word vectors")

    max_vocabulary: int | None = rare_setting(
        None, "Make vectors of at most this many words; all by default.", at_least=1
    )

    device: str = rare_setting(
        "auto", f"Where to train; {WHICH}", choices=DEVICES, heading="Seeds and machine"
    )
    dtype: str = rare_setting(
        "auto",
        "Precision of large matrix products; auto measures whether bfloat16 is faster.",
        choices=("auto", "float32", "bfloat16"),
    )
    compile: str = rare_setting(
        "auto",
        "Use torch.compile; auto if it saves more time than it takes.",
        choices=("auto", "on", "off"),
    )
    threads: int | None = setting(None, "CPU threads; all cores by default.", at_least=1)
    seed: int = setting(1, "Random seed.", at_least=0, at_most=2**31 - 1)

    def __post_init__(self) -> None:
        check(self)
        given = [name for name in BUDGETS if getattr(self, name) is not None]
        if len(given) > 1:
            raise SettingError(f"`{given[0]}` and `{given[1]}` are both budgets; pass one of them")
        if self.pieces != "auto" and not is_number(self.pieces, _MAX_PIECES):
            raise SettingError(
                f"`pieces={self.pieces}`: expected auto or a number up to {_MAX_PIECES:,}"
            )
        parse_rates(self.mask_rate)
        shape = self.shape(n_pieces=1)
        self._check_unused(shape)

    def _check_unused(self, shape: EncoderConfig) -> None:
        """Raise if a setting is given that does nothing with these mixers or this objective."""
        if not shape.attends:
            of_keys = self.positions in (_OF_KEYS if not shape.has_heads else ("relative",))
            names = ("attention", "positions") if of_keys else ("attention",)
            refuse_unused(self, names, f"no layer has attention with `mixer={self.mixer}`")
        if not self.objective_kind.masks:
            refuse_unused(self, _OF_MASKS, f"nothing is masked with `objective={self.objective}`")
        if "dropout" in self.objective_kind.keys:
            reason = f"`objective={self.objective}` has a dropout of its own"
            refuse_unused(self, ("dropout",), reason)
        if shape.attention_span is not None:
            self._check_span(shape)

    def _check_span(self, shape: EncoderConfig) -> None:
        """Raise unless some layer has the attention span, and another not if it says so."""
        spans = {
            shape.span_of(layer)
            for layer, mixer in enumerate(shape.mixers)
            if MIXERS[mixer].attends
        }
        if spans == {None}:
            raise SettingError(
                f"`attention={self.attention}`: no layer has it with "
                f"`mixer={self.mixer}`; leave it out"
            )
        if shape.global_every is not None and None not in spans:
            raise SettingError(
                f"`attention={self.attention}`: no layer that it makes global has "
                f"attention with `mixer={self.mixer}`; pass `attention={shape.attention_span}`"
            )

    def resolved(self) -> "MlmConfig":
        """Fill in the settings that follow from others.

        Returns
        -------
        MlmConfig
            With positions, learning rate and budget set.

        Examples
        --------
        >>> MlmConfig(preset="tiny").resolved().epochs
        10
        """
        shape = self.shape(n_pieces=1)
        budget = any(getattr(self, name) is not None for name in BUDGETS)
        size = self.size
        rate = size.learning_rate if self.optimizer == "adamw" else size.rate_beside_muon
        return dataclasses.replace(
            self,
            positions=shape.positions,
            learning_rate=self.learning_rate or rate,
            epochs=self.epochs if budget else _EPOCHS,
        )

    @property
    def size(self) -> Preset:
        """Layers, width and heads, and the rates for them."""
        return parse_preset(self.preset)

    @property
    def reads_trees(self) -> bool:
        """Whether attention follows the dependency trees of the text."""
        return (self.attention or "").startswith(TREE)

    @property
    def objective_kind(self) -> ObjectiveKind:
        """What the objective needs of the code around it."""
        return parse_objective(self.objective)[0]

    @property
    def objective_keys(self) -> dict[str, Any]:
        """The objective's own settings, with defaults."""
        return parse_objective(self.objective)[1]

    @property
    def mask_rates(self) -> tuple[float, float]:
        """The first and the last share of pieces to mask; NaN if none are."""
        masks = self.objective_kind.masks
        return parse_rates(self.mask_rate) if masks else (math.nan, math.nan)

    @property
    def mean_mask_rate(self) -> float:
        """The share of pieces to mask on average; NaN if none are."""
        return sum(self.mask_rates) / 2

    @property
    def muon_share(self) -> float:
        """Rate of Muon as a share of AdamW's; 0 without Muon."""
        return 0.0 if self.optimizer == "adamw" else _MUON_RATE / self.size.rate_beside_muon

    def shape(self, *, n_pieces: int) -> EncoderConfig:
        """Return the encoder shape that the settings describe.

        Parameters
        ----------
        n_pieces : int
            Number of pieces of the tokenizer, V.

        Returns
        -------
        EncoderConfig
        Raises
        ------
        SettingError
            The sizes do not fit together.
        """
        size = self.size
        kind = "geglu" if self.norm == "pre" else "gelu"
        edges = self.attention if self.reads_trees else None
        span, global_every = parse_span(None if edges else self.attention)
        mixers, score, width = parse_mixers(self.mixer, size.layers)
        positions = "rotary" if self.norm == "pre" else "learned"
        has_heads = any(MIXERS[mixer].heads for mixer in mixers)
        positions = self.positions or (positions if has_heads else "none")
        shape = EncoderConfig(
            n_pieces=n_pieces,
            layers=size.layers,
            heads=size.heads,
            dim=size.dim,
            feed_forward_dim=_feed_forward_dim(kind, size.dim),
            max_length=self.sequence_length,
            attention_score=score,
            positions=positions,
            norm=self.norm,
            feed_forward=kind,
            attention_span=span,
            global_every=global_every,
            dropout=self.objective_keys.get("dropout", self.dropout),
            causal=self.objective_kind.causal,
            both_ways=self.objective_kind.mixed,
            attention_edges=edges,
            mixers=mixers,
            conv_width=width,
            decoder_layers=size.layers if self.objective_kind.decodes else 0,
            points=self.objective_kind.points,
            sentinels=self.objective_kind.sentinels(self.objective_keys, self.sequence_length),
        )
        return dataclasses.replace(shape, nearby_heads=shape.can_look_nearby)


def parse_preset(text: str) -> Preset:
    """Return the sizes of a preset, or those given as layers/dim/heads.

    These have the rates of the widest preset that is no wider.

    >>> parse_preset("12/384/6")
    Preset(layers=12, dim=384, heads=6, learning_rate=0.001, rate_beside_muon=0.002)
    """
    if text in PRESETS:
        return PRESETS[text]
    parts = text.split("/")
    if len(parts) != 3 or not all(is_number(part, _MAX_SIZE) for part in parts):
        raise SettingError(
            f"`preset={text}`: pass one of {', '.join(PRESETS)}, or LAYERS/DIM/HEADS"
        )
    layers, dim, heads = map(int, parts)
    narrower = [preset for preset in PRESETS.values() if preset.dim <= dim]
    known = max(narrower or [PRESETS["tiny"]], key=lambda preset: preset.dim)
    return dataclasses.replace(known, layers=layers, dim=dim, heads=heads)


def parse_mixers(text: str, layers: int) -> tuple[tuple[str, ...], str, int | None]:
    """Parse the mixer of each layer, or one for all; the score of those that attend; the width.

    >>> parse_mixers("lstm", 2), parse_mixers("conv:3,attention:dot", 2)
    ((('lstm', 'lstm'), 'scaled-dot', None), (('conv', 'attention'), 'dot', 3))
    """
    parts = [part.partition(":") for part in split_list(text)]
    names = tuple(name for name, _, _ in parts)
    scores, widths = set(), set()
    for name, colon, value in parts:
        if name not in MIXERS:
            raise SettingError(f"`mixer={name}`: choose from {', '.join(MIXERS)}")
        kind = MIXERS[name]
        is_width = kind.convolves and is_number(value, _MAX_SIZE)
        if colon and not is_width and not (kind.attends and value in SCORES):
            raise SettingError(
                f"`mixer={name}:{value}`: pass a score after attention and conformer, one of "
                f"{', '.join(SCORES)}; and a width after conv and conformer"
            )
        if kind.attends:
            scores.add(_SCORE if is_width or not colon else value)
        if kind.convolves:
            widths.add(int(value) if is_width else _CONV_WIDTH)
    if len(names) not in (1, layers):
        raise SettingError(
            f"`mixer={text}`: has {len(names)} names for {layers} layers; pass one, or one for each"
        )
    if len(scores) > 1 or len(widths) > 1:
        raise SettingError(f"`mixer={text}`: all layers must have the same score and width")
    score = scores.pop() if scores else _SCORE
    return names * (layers // len(names)), score, widths.pop() if widths else None


def parse_span(text: str | None) -> tuple[int | None, int | None]:
    """Parse an attention span: neighbors each side, and every how many layers there is none.

    >>> parse_span("64"), parse_span("64:3"), parse_span(None)
    ((64, None), (64, 3), (None, None))
    """
    if text is None:
        return None, None
    span, colon, every = text.partition(":")
    if not is_number(span, _MAX_SPAN) or (colon and not is_number(every, _MAX_SPAN)):
        raise SettingError(f"`attention={text}`: pass neighbors each side, N:K, {TREE} or {TREE}:N")
    return int(span), int(every) if colon else None


def _feed_forward_dim(kind: str, dim: int) -> int:
    """Return the width: for geglu 8/3 x dim, which gives as many weights as 4 x dim."""
    if kind != "geglu":
        return 4 * dim
    return -(-8 * dim // (3 * _GEGLU_MULTIPLE)) * _GEGLU_MULTIPLE


def parse_rates(text: str) -> tuple[float, float]:
    """Parse a mask rate, or the first and last rate of a schedule.

    >>> parse_rates("0.30:0.15"), parse_rates("0.2")
    ((0.3, 0.15), (0.2, 0.2))
    """
    first, colon, last = text.partition(":")
    try:
        rates = float(first), float(last if colon else first)
    except ValueError:
        rates = (0.0, 0.0)
    if not all(_MIN_MASK_RATE <= rate < 1 for rate in rates):
        raise SettingError(
            f"`mask_rate={text}`: pass a share from {_MIN_MASK_RATE} to below 1, or FIRST:LAST"
        )
    return rates


@dataclass(frozen=True, kw_only=True)
class MlmTuning:
    """Intervals that are not options; tests use smaller ones."""

    checkpoint_seconds: float = 300.0  # between checkpoints
    evaluations: int = 20  # on a part of the held-out text, over the budget


TUNING = MlmTuning()
