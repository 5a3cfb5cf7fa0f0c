"""Settings of pretraining, and the encoder shape that follows from them."""

import contextlib
import dataclasses
import math
from dataclasses import dataclass

from firth.corpora.common.device import DEVICES
from firth.corpora.common.errors import SettingError
from firth.corpora.common.options import check, describe_settings, rare_setting, setting, split_list
from firth.embed.registry import Chosen
from firth.pretrain.mixers import ATTENTION, MIXERS
from firth.pretrain.scores import SCORES
from firth.pretrain.shape import FEED_FORWARDS, NORMS, POSITIONS, EncoderConfig, is_number

MASKED, CAUSAL = OBJECTIVES = ("masked", "causal")
NEARBY, RANDOM = ATTENTION_STARTS = ("nearby", "random")
_OF_MASKS = ("mask_rate", "masking", "mask_share", "random_share")  # settings
BUDGETS = ("steps", "epochs", "tokens", "minutes")
_EPOCHS = 10
_MAX_PIECES = 1_000_000
_MIN_MASK_RATE = 0.001  # with a lower rate, a step may have nothing to predict
_GEGLU_MULTIPLE = 64  # kernels are fast at multiples of this width
_CONV_WIDTH = 7  # the widest for which torch has a fast kernel on a CPU
_OF_ATTENTION = (
    "heads", "attention_score", "attention_span", "global_every", "attention_edges",
    "attention_start",
)  # fmt: skip
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
        "Sizes by name, layers/dim/heads: tiny 2/128/2, micro 3/192/3, mini 4/256/4, "
        "small 4/512/8, medium 8/512/8, base 12/768/12.",
        choices=tuple(PRESETS),
        heading="Model",
    )
    layers: int | None = rare_setting(
        None, "Transformer layers; overrides the preset.", at_least=1, at_most=1000
    )
    heads: int | None = rare_setting(None, "Attention heads; overrides the preset.", at_least=1)
    dim: int | None = rare_setting(
        None, "Width of the states; overrides the preset.", at_least=1, at_most=65_536
    )
    feed_forward_dim: int | None = rare_setting(
        None,
        "Width of the feed-forward part; 4 x dim by default, for geglu 8/3 x dim, rounded up to "
        "a multiple of 64.",
        at_least=1,
        at_most=1 << 20,
    )
    mixer: str = rare_setting(
        ATTENTION,
        f"What lets pieces see each other, in all layers or one name for each: "
        f"{', '.join(MIXERS)}.",
        metavar="NAME[,NAME...]",
    )
    conv_width: int | None = rare_setting(
        None,
        f"Pieces that a filter of conv and conformer spans, odd; {_CONV_WIDTH} by default.",
        at_least=1,
        at_most=131_071,
    )
    attention_score: str = rare_setting(
        "scaled-dot",
        "Score of a query q and a key k: q.k / sqrt(d), q.k, v.tanh(W k + U q), or k.W q; "
        "key-value: additive, on halves of the state; hard: q.k / sqrt(d), the best key alone.",
        choices=tuple(SCORES),
    )
    positions: str | None = rare_setting(
        None,
        "Position encoding; by default rotary with `norm=pre`, learned with `norm=post`, none "
        "without attention.",
        choices=POSITIONS,
    )
    attention_span: int | None = rare_setting(
        None,
        "Local attention: each piece attends to this many neighbors each side; all by default.",
        at_least=1,
    )
    global_every: int | None = rare_setting(
        None, "With `attention_span`: every Nth layer attends to all, from the first.", at_least=1
    )
    attention_edges: str | None = rare_setting(
        None,
        "Attend only along the edges of the dependency trees of a CoNLL-U corpus, from a word to "
        "its head, its children and itself: all attention heads, or the first N of each layer.",
        metavar="tree[:N]",
    )
    attention_start: str | None = rare_setting(
        None,
        "Where attention heads look before training: those of every second layer at the pieces "
        "nearby (the default with rotary positions and scaled-dot scores), or at random.",
        choices=ATTENTION_STARTS,
    )
    norm: str = rare_setting(
        "pre",
        "Layer norm before each part of a layer (ModernBERT's layout), or after (BERT's).",
        choices=NORMS,
    )
    feed_forward: str | None = rare_setting(
        None,
        "Feed-forward part; by default geglu with `norm=pre`, gelu with `norm=post`.",
        choices=FEED_FORWARDS,
    )
    dropout: float = rare_setting(0.0, "Share of activations dropped.", at_least=0, below=1)

    pieces: str = setting(
        "auto",
        "Number of subword pieces; auto: 8,000, 16,000 from 20M words, 32,000 from 200M.",
        metavar="N|auto",
        heading="Text",
    )
    piece_model: str = rare_setting(
        "wordpiece", "How words are split into pieces.", choices=("wordpiece", "bpe")
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
        "masked",
        "What is predicted: masked pieces from both sides, or each piece from those before it.",
        choices=OBJECTIVES,
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
    mask_share: float = rare_setting(
        0.8, "Share of the pieces to predict shown as [MASK].", at_least=0, at_most=1
    )
    random_share: float = rare_setting(
        0.1, "Share of the pieces to predict shown as a random piece.", at_least=0, at_most=1
    )

    init: str = rare_setting(
        "auto",
        "First vectors of the pieces: auto from counts of the text (SVD), none for random ones, or "
        "from a run of word vectors.",
        metavar="auto|none|RUN",
        heading="Training",
    )
    steps: int | None = setting(None, "Budget: number of steps.", at_least=1, at_most=10**12)
    epochs: float | None = setting(
        None, "Budget: passes over the text; 10 by default.", above=0, at_most=10**6
    )
    tokens: int | None = rare_setting(None, "Budget: pieces in rows.", at_least=1, at_most=10**15)
    minutes: float | None = setting(
        None, "Budget: minutes of training; not exactly reproducible.", above=0
    )
    batch: int | None = setting(
        None,
        "Rows per step; by default 32 on a CPU and 1,024 on a GPU.",
        at_least=1,
        at_most=1 << 20,
    )
    micro_batch: int | None = rare_setting(
        None,
        "Rows per forward and backward pass; a step sums their gradients. All by default.",
        at_least=1,
        at_most=1 << 20,
    )
    optimizer: str = rare_setting(
        "muon",
        "Muon for the matrices of the layers and AdamW for the rest, or AdamW for all.",
        choices=("muon", "adamw"),
    )
    muon_rate: float = rare_setting(0.02, "Highest learning rate of Muon.", above=0)
    muon_momentum: float = rare_setting(0.9, "Momentum of Muon.", at_least=0, below=1)
    learning_rate: float | None = setting(
        None,
        "Highest learning rate of AdamW; by default the preset's, which is higher beside Muon.",
        above=0,
    )
    schedule: str = rare_setting(
        "linear",
        "How the learning rate falls to 0 after warm-up: linearly, as a cosine, or over the last "
        "fifth (wsd).",
        choices=("linear", "cosine", "wsd"),
    )
    warmup: float = rare_setting(
        0.02, "Share of the budget over which the learning rate rises.", at_least=0, below=1
    )
    weight_decay: float = rare_setting(0.1, "Weight decay, on matrices only.", at_least=0)
    clip: float = rare_setting(1.0, "Clip the norm of the gradient over all weights.", above=0)

    min_count: int = rare_setting(
        5, "Words with fewer tokens get no vector.", at_least=1, heading="Word vectors"
    )
    max_vocabulary: int | None = rare_setting(
        None, "Make vectors of at most this many words; all by default.", at_least=1
    )

    device: str = rare_setting(
        "auto", "Where to train.", choices=DEVICES, heading="Seeds and machine"
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
    checkpoint_every: str = rare_setting(
        "5m",
        "Share of the budget, steps, or minutes with an m, between checkpoints.",
        metavar="N%|N|Nm",
    )
    keep_checkpoints: int = rare_setting(2, "Number of checkpoints to keep.", at_least=1)
    evaluate_every: str = rare_setting(
        "5%",
        "Share of the budget, steps, or minutes with an m, between held-out evaluations; all but "
        "the last use a part of the held-out rows, by share 64.",
        metavar="N%|N|Nm",
    )
    seed: int = setting(1, "Random seed.", at_least=0, at_most=2**31 - 1)

    def __post_init__(self) -> None:
        check(self)
        given = [name for name in BUDGETS if getattr(self, name) is not None]
        if len(given) > 1:
            raise SettingError(f"`{given[0]}` and `{given[1]}` are both budgets; pass one of them")
        if self.mask_share + self.random_share > 1 + 1e-9:
            raise SettingError(
                f"`mask_share={self.mask_share:g}` and `random_share={self.random_share:g}` "
                "add up to more than 1"
            )
        if self.pieces != "auto" and not is_number(self.pieces, _MAX_PIECES):
            raise SettingError(
                f"`pieces={self.pieces}`: expected auto or a number up to {_MAX_PIECES:,}"
            )
        if self.micro_batch and self.batch and self.batch % self.micro_batch:
            raise SettingError(
                f"`batch={self.batch}` is not divisible by `micro_batch={self.micro_batch}`"
            )
        parse_rates(self.mask_rate)
        parse_every("checkpoint_every", self.checkpoint_every)
        parse_every("evaluate_every", self.evaluate_every)
        shape = self.encoder(n_pieces=1)
        self._check_unused(shape)
        if self.attention_start == NEARBY and not shape.can_look_nearby:
            raise SettingError(
                f"`attention_start={NEARBY}`: heads can start at the pieces nearby with "
                "`mixer=attention`, `positions=rotary`, `attention_score=scaled-dot` and without "
                "`attention_edges`; leave it out"
            )

    def _check_unused(self, shape: EncoderConfig) -> None:
        """Raise if a setting is given that does nothing with these mixers or this objective."""
        unused: dict[str, str] = {}
        if not shape.convolves:
            unused["conv_width"] = f"no layer has filters with `mixer={self.mixer}`"
        if not shape.attends:
            reason = f"no layer has attention with `mixer={self.mixer}`"
            unused |= dict.fromkeys(_OF_ATTENTION, reason)
            if self.positions in _OF_KEYS:
                unused["positions"] = reason
        if shape.causal:
            reason = f"nothing is masked with `objective={self.objective}`"
            unused |= dict.fromkeys(_OF_MASKS, reason)
        # as they are in a resolved config
        heads = PRESETS[self.preset].heads
        resolved = {"heads": heads, "attention_start": RANDOM}
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        for name, reason in unused.items():
            if (value := getattr(self, name)) not in (defaults[name], resolved.get(name)):
                raise SettingError(f"`{name}={value}`: {reason}; leave it out")
        if self.attention_span is not None:
            self._check_span(shape)

    def _check_span(self, shape: EncoderConfig) -> None:
        """Raise unless some layer has the attention span, and with `global_every` another not."""
        spans = {
            shape.span_of(layer)
            for layer, mixer in enumerate(shape.mixers)
            if MIXERS[mixer].attends
        }
        if spans == {None}:
            raise SettingError(
                f"`attention_span={self.attention_span}`: no layer has it with "
                f"`global_every={self.global_every}` and `mixer={self.mixer}`; leave it out"
            )
        if self.global_every is not None and None not in spans:
            raise SettingError(
                f"`global_every={self.global_every}`: no layer that it makes global has attention "
                f"with `mixer={self.mixer}`; leave it out"
            )

    def resolved(self) -> "MlmConfig":
        """Fill in the settings that follow from others.

        Returns
        -------
        MlmConfig
            With sizes, positions, feed-forward part, learning rate and budget set.

        Examples
        --------
        >>> MlmConfig(preset="tiny").resolved().layers
        2
        """
        preset = PRESETS[self.preset]
        shape = self.encoder(n_pieces=1)
        budget = any(getattr(self, name) is not None for name in BUDGETS)
        beside_muon = self.optimizer == "muon"
        rate = preset.rate_beside_muon if beside_muon else preset.learning_rate
        return dataclasses.replace(
            self,
            layers=shape.layers,
            heads=shape.heads,
            dim=shape.dim,
            feed_forward_dim=shape.feed_forward_dim,
            positions=shape.positions,
            attention_start=NEARBY if shape.nearby_heads else RANDOM,
            conv_width=shape.conv_width,
            feed_forward=shape.feed_forward,
            learning_rate=self.learning_rate or rate,
            epochs=self.epochs if budget else _EPOCHS,
        )

    @property
    def mask_rates(self) -> tuple[float, float]:
        """The first and the last share of pieces to mask; NaN if none are."""
        return parse_rates(self.mask_rate) if self.objective == "masked" else (math.nan, math.nan)

    @property
    def mean_mask_rate(self) -> float:
        """The share of pieces to mask on average; NaN if none are."""
        return sum(self.mask_rates) / 2

    @property
    def muon_share(self) -> float:
        """Rate of Muon as a share of AdamW's, in a resolved config; 0 without Muon."""
        if self.optimizer == "adamw":
            return 0.0
        assert self.learning_rate is not None
        return self.muon_rate / self.learning_rate

    def encoder(self, *, n_pieces: int) -> EncoderConfig:
        """Return the encoder shape that the settings describe.

        Parameters
        ----------
        n_pieces : int
            Number of pieces of the tokenizer, V.

        Returns
        -------
        EncoderConfig
            With the preset's sizes where they are not set.

        Raises
        ------
        SettingError
            The sizes do not fit together.
        """
        preset = PRESETS[self.preset]
        dim = self.dim or preset.dim
        kind = self.feed_forward or ("geglu" if self.norm == "pre" else "gelu")
        layers = self.layers or preset.layers
        mixers = parse_mixers(self.mixer, layers)
        positions = "rotary" if self.norm == "pre" else "learned"
        attends = any(MIXERS[mixer].attends for mixer in mixers)
        positions = self.positions or (positions if attends else "none")
        convolves = any(MIXERS[mixer].convolves for mixer in mixers)
        shape = EncoderConfig(
            n_pieces=n_pieces,
            layers=layers,
            heads=self.heads or preset.heads,
            dim=dim,
            feed_forward_dim=self.feed_forward_dim or _feed_forward_dim(kind, dim),
            max_length=self.sequence_length,
            attention_score=self.attention_score,
            positions=positions,
            norm=self.norm,
            feed_forward=kind,
            attention_span=self.attention_span,
            global_every=self.global_every,
            dropout=self.dropout,
            causal=self.objective == CAUSAL,
            attention_edges=self.attention_edges,
            mixers=mixers,
            conv_width=self.conv_width or (_CONV_WIDTH if convolves else None),
            # Vaswani et al. multiply embeddings of variance 1/D by sqrt(D) and add the sinusoids;
            # this is the same proportion without the common factor, which the norm removes
        )
        nearby = shape.can_look_nearby and self.attention_start != RANDOM
        return dataclasses.replace(shape, nearby_heads=nearby)


def parse_mixers(text: str, layers: int) -> tuple[str, ...]:
    """Parse the mixer of each layer, or one for all.

    >>> parse_mixers("lstm", 2), parse_mixers("conv,attention", 2)
    (('lstm', 'lstm'), ('conv', 'attention'))
    """
    names = split_list(text)
    for name in names:
        if name not in MIXERS:
            raise SettingError(f"`mixer={name}`: choose from {', '.join(MIXERS)}")
    if len(names) not in (1, layers):
        raise SettingError(
            f"`mixer={text}`: has {len(names)} names for {layers} layers; pass one, or one for each"
        )
    return names if len(names) == layers else names * layers


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


def parse_every(setting: str, text: str) -> tuple[int | None, float | None, float | None]:
    """Parse an interval: steps, minutes as seconds, or a share of the budget; the others are None.

    >>> parse_every("checkpoint_every", "10"), parse_every("checkpoint_every", "0.5m")
    ((10, None, None), (None, 30.0, None))
    >>> parse_every("evaluate_every", "5%")
    (None, None, 0.05)
    """
    with contextlib.suppress(ValueError):
        if text.endswith("%") and 0 < float(text[:-1]) <= 100:
            return None, None, float(text[:-1]) / 100
        if text.endswith("m") and 0 < float(text[:-1]) < math.inf:
            return None, float(text[:-1]) * 60, None
        if int(text) > 0:
            return int(text), None, None
    raise SettingError(
        f"`{setting}={text}`: pass steps, such as 500, minutes, such as 10m, or a share of the "
        "budget, such as 5%"
    )


def _feed_forward_dim(kind: str, dim: int) -> int:
    """Return the default width: for geglu 8/3 x dim, which gives as many weights as 4 x dim."""
    if kind != "geglu":
        return 4 * dim
    return -(-8 * dim // (3 * _GEGLU_MULTIPLE)) * _GEGLU_MULTIPLE
