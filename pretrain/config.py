"""The options of masked-LM pretraining, and the shape of the encoder that they describe."""

import dataclasses
from dataclasses import dataclass
from typing import Any

from corpora.common.errors import SettingError
from corpora.common.options import check, setting

_SCORES = ("scaled-dot", "dot", "additive", "bilinear")
_POSITIONS = ("learned", "sinusoidal", "rotary", "none")
_NORMS = ("pre", "post")
_FEED_FORWARDS = ("relu", "gelu", "geglu")
_BUDGETS = ("steps", "epochs", "tokens", "minutes")
_EPOCHS = 10
_MAX_PIECES = 1_000_000
_MAX = {"layers": 1000, "max_length": 65_536}  # what the options allow
_MIN_MASK_RATE = 0.001  # with less, steps may have nothing to predict
_GEGLU_MULTIPLE = 64  # widths that kernels like


@dataclass(frozen=True)
class Preset:
    """Sizes that go by one name: those of Turc et al. 2019 (arXiv:1908.08962)."""

    layers: int  # of the encoder
    dim: int  # of the encoder
    heads: int  # of the encoder
    # that of mini was measured (docs/methods/mlm.md); the others follow it by custom, lower for
    # more weights
    learning_rate: float


PRESETS = {
    "tiny": Preset(2, 128, 2, 3e-3),
    "mini": Preset(4, 256, 4, 1e-3),
    "small": Preset(4, 512, 8, 7e-4),
    "medium": Preset(8, 512, 8, 5e-4),
    "base": Preset(12, 768, 12, 4e-4),
}


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """The shape of an encoder, and all that its weights do not tell."""

    n_pieces: int  # V, the special ones included
    layers: int  # blocks; heads of each; D; width of the feed-forward part
    heads: int  # blocks; heads of each; D; width of the feed-forward part
    dim: int  # blocks; heads of each; D; width of the feed-forward part
    feed_forward_dim: int  # blocks; heads of each; D; width of the feed-forward part
    max_length: int  # T, the longest segment
    attention_score: str = "scaled-dot"  # as the options of these names
    positions: str = "rotary"  # as the options of these names
    norm: str = "pre"  # as the options of these names
    feed_forward: str = "geglu"  # as the options of these names
    attention_span: int | None = None  # as the options of these names
    global_every: int | None = None  # as the options of these names
    dropout: float = 0.0  # while training
    # what mixes the positions in each block: keys of ``pretrain.model.layers.MIXERS``
    mixers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_count("layers", self.layers)
        if not self.mixers:
            object.__setattr__(self, "mixers", ("attention",) * self.layers)
        self._check_kinds()
        if self.dim % self.heads:
            raise SettingError(
                f"`dim={self.dim}` does not divide by `heads={self.heads}`; take a multiple"
            )
        if self.positions == "rotary" and self.head_dim % 2:
            raise SettingError(
                f"`positions=rotary` turns pairs of numbers, and `dim={self.dim}` by "
                f"`heads={self.heads}` is odd, {self.head_dim}; take another number of heads"
            )
        if self.positions == "sinusoidal" and self.dim % 2:
            raise SettingError(f"`positions=sinusoidal` needs an even `dim`, not {self.dim}")
        if self.attention_span is not None and self.attention_span >= self.max_length:
            raise SettingError(
                f"`attention_span={self.attention_span}` reaches beyond rows of "
                f"{self.max_length} pieces; take a smaller one or leave it out"
            )
        if self.global_every is not None and self.attention_span is None:
            raise SettingError("`global_every` goes with `attention_span`; without it all are")

    def _check_kinds(self) -> None:
        """Every field by itself: a file that describes an encoder may say anything."""
        for name, value, choices in (
            ("attention_score", self.attention_score, _SCORES),
            ("positions", self.positions, _POSITIONS),
            ("norm", self.norm, _NORMS),
            ("feed_forward", self.feed_forward, _FEED_FORWARDS),
        ):
            if value not in choices:
                raise SettingError(f"{name} {value!r} is none of {', '.join(choices)}")
        for name in ("n_pieces", "layers", "heads", "dim", "feed_forward_dim", "max_length"):
            _check_count(name, getattr(self, name))
        for name in ("attention_span", "global_every"):
            if getattr(self, name) is not None:
                _check_count(name, getattr(self, name))
        if not all(isinstance(mixer, str) for mixer in self.mixers):
            raise SettingError("mixers have names")
        if len(self.mixers) != self.layers:
            raise SettingError(f"{self.layers} layers have {len(self.mixers)} mixers")
        if not 0 <= self.dropout < 1:
            raise SettingError(f"dropout {self.dropout} is no share below 1")

    @property
    def head_dim(self) -> int:
        """Numbers that each head has of a state."""
        return self.dim // self.heads

    @property
    def biases(self) -> bool:
        """Whether linear maps and norms have biases: BERT's do, ModernBERT's do not."""
        return self.norm == "post"

    def span_of(self, layer: int) -> int | None:
        """Tell how far a layer looks."""
        if self.global_every is not None and layer % self.global_every == 0:
            return None
        return self.attention_span

    def to_json(self) -> dict[str, Any]:
        """Give the fields as JSON."""
        return {**dataclasses.asdict(self), "mixers": list(self.mixers)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "EncoderConfig":
        """Build it again."""
        return cls(**{**value, "mixers": tuple(value["mixers"])})


@dataclass(frozen=True, kw_only=True)
class MlmConfig:
    """Masked-language-model pretraining (Devlin et al. 2019, arXiv:1810.04805)."""

    preset: str = setting(
        "mini",
        "Sizes by name, layers/dim/heads: tiny 2/128/2, mini 4/256/4, small 4/512/8, "
        "medium 8/512/8, base 12/768/12.",
        choices=tuple(PRESETS),
    )
    layers: int | None = setting(None, "Blocks, over the preset.", at_least=1, at_most=1000)
    heads: int | None = setting(None, "Attention heads, over the preset.", at_least=1)
    dim: int | None = setting(
        None, "Width of the states, over the preset.", at_least=1, at_most=65_536
    )
    feed_forward_dim: int | None = setting(
        None,
        "Width of the feed-forward part; 4 x dim by default, for geglu 8/3 x dim, rounded up to "
        "a multiple of 64.",
        at_least=1,
        at_most=1 << 20,
    )
    attention_score: str = setting(
        "scaled-dot",
        "Score of a query q and a key k: q.k / sqrt(d), q.k, v.tanh(W k + U q), or k.W q.",
        choices=_SCORES,
    )
    positions: str | None = setting(
        None,
        "How positions are told; by default rotary with `norm=pre`, learned with `norm=post`.",
        choices=_POSITIONS,
    )
    attention_span: int | None = setting(
        None, "Each piece attends to so many neighbours each side; all by default.", at_least=1
    )
    global_every: int | None = setting(
        None, "With `attention_span`: every so many layers, one attends to all.", at_least=1
    )
    norm: str = setting(
        "pre",
        "Layer norm before each part of a block (ModernBERT's layout), or after (BERT's).",
        choices=_NORMS,
    )
    feed_forward: str | None = setting(
        None,
        "Feed-forward part; by default geglu with `norm=pre`, gelu with `norm=post`.",
        choices=_FEED_FORWARDS,
    )
    dropout: float = setting(0.0, "Share of activations dropped.", at_least=0, below=1)

    pieces: str = setting(
        "auto",
        "Number of subword pieces; auto: 8,000, 16,000 from 20M words, 32,000 from 200M.",
        metavar="N|auto",
    )
    piece_model: str = setting(
        "wordpiece", "How words split into pieces.", choices=("wordpiece", "bpe")
    )
    sequence_length: int = setting(
        128, "Slots of a row, [CLS] and [SEP] included.", at_least=8, at_most=65_536
    )
    boundary: str = setting(
        "document", "What no attention crosses.", choices=("sentence", "paragraph", "document")
    )
    mask_rate: str = setting(
        "0.15", "Share of the pieces to predict; 0.30:0.15 falls linearly.", metavar="RATE[:LAST]"
    )
    masking: str = setting(
        "piece",
        "What is masked as one: pieces, words, or spans.",
        choices=("piece", "word", "span"),
    )
    mask_share: float = setting(
        0.8, "Of the pieces to predict, those shown as [MASK].", at_least=0, at_most=1
    )
    random_share: float = setting(
        0.1, "Of the pieces to predict, those shown as a random piece.", at_least=0, at_most=1
    )

    steps: int | None = setting(None, "Budget: so many steps.", at_least=1, at_most=10**12)
    epochs: float | None = setting(
        None, "Budget: so many times through the text; 10 by default.", above=0, at_most=10**6
    )
    tokens: int | None = setting(None, "Budget: so many slots of rows.", at_least=1, at_most=10**15)
    minutes: float | None = setting(
        None, "Budget: so many minutes of training; does not repeat exactly.", above=0
    )
    batch: int | None = setting(
        None,
        "Rows of a step; by default 32 on a CPU and 1,024 on a GPU.",
        at_least=1,
        at_most=1 << 20,
    )
    micro_batch: int | None = setting(
        None,
        "Rows at once; a step sums their gradients. All by default.",
        at_least=1,
        at_most=1 << 20,
    )
    learning_rate: float | None = setting(
        None, "Highest learning rate of AdamW, over the preset's.", above=0
    )
    schedule: str = setting(
        "linear",
        "How the rate falls to 0: at once, as a cosine, or over the last fifth (wsd).",
        choices=("linear", "cosine", "wsd"),
    )
    warmup: float = setting(
        0.02, "Share of the budget in which the rate rises.", at_least=0, below=1
    )
    weight_decay: float = setting(0.01, "AdamW's, of matrices.", at_least=0)
    clip: float = setting(1.0, "Longest gradient, as its norm over all weights.", above=0)

    min_count: int = setting(5, "Words with fewer tokens get no vector.", at_least=1)
    max_vocabulary: int | None = setting(
        None, "Make vectors of at most this many words; all by default.", at_least=1
    )

    device: str = setting("auto", "Where to train.", choices=("auto", "cpu", "cuda"))
    dtype: str = setting(
        "auto",
        "Numbers of the large products; auto measures whether bfloat16 is faster.",
        choices=("auto", "float32", "bfloat16"),
    )
    compile: str = setting(
        "auto",
        "torch.compile; auto where it saves more than it takes.",
        choices=("auto", "on", "off"),
    )
    threads: int | None = setting(None, "CPU threads; all cores by default.", at_least=1)
    checkpoint_every: str = setting(
        "5m", "Steps, or minutes with an m, between checkpoints.", metavar="N|Nm"
    )
    keep_checkpoints: int = setting(2, "So many of the last are kept.", at_least=1)
    evaluate_every: str = setting(
        "2m", "Steps, or minutes with an m, between held-out evaluations.", metavar="N|Nm"
    )
    seed: int = setting(1, "Of all random numbers.", at_least=0, at_most=2**31 - 1)

    def __post_init__(self) -> None:
        check(self)
        given = [name for name in _BUDGETS if getattr(self, name) is not None]
        if len(given) > 1:
            raise SettingError(f"`{given[0]}` and `{given[1]}` are both budgets; give one")
        if self.mask_share + self.random_share > 1 + 1e-9:
            raise SettingError(
                f"`mask_share={self.mask_share:g}` and `random_share={self.random_share:g}` "
                "make more than 1"
            )
        if self.pieces != "auto" and not _is_number(self.pieces, _MAX_PIECES):
            raise SettingError(
                f"`pieces={self.pieces}`: is neither auto nor a number up to {_MAX_PIECES:,}"
            )
        if self.micro_batch and self.batch and self.batch % self.micro_batch:
            raise SettingError(
                f"`batch={self.batch}` does not divide by `micro_batch={self.micro_batch}`"
            )
        parse_rates(self.mask_rate)
        parse_every("checkpoint_every", self.checkpoint_every)
        parse_every("evaluate_every", self.evaluate_every)
        self.encoder(n_pieces=1)

    def resolved(self) -> "MlmConfig":
        """Fill in what follows from other options.

        Returns
        -------
        MlmConfig
            Sizes, positions, feed-forward part, learning rate and budget are not None.
        """
        preset = PRESETS[self.preset]
        shape = self.encoder(n_pieces=1)
        budget = any(getattr(self, name) is not None for name in _BUDGETS)
        return dataclasses.replace(
            self,
            layers=shape.layers,
            heads=shape.heads,
            dim=shape.dim,
            feed_forward_dim=shape.feed_forward_dim,
            positions=shape.positions,
            feed_forward=shape.feed_forward,
            learning_rate=self.learning_rate or preset.learning_rate,
            epochs=self.epochs if budget else _EPOCHS,
        )

    def encoder(self, *, n_pieces: int) -> EncoderConfig:
        """Describe the encoder.

        Parameters
        ----------
        n_pieces : int
            What the corpus gave.

        Returns
        -------
        EncoderConfig
            With the preset's sizes where no option says otherwise.

        Raises
        ------
        SettingError
            The sizes do not fit each other.
        """
        preset = PRESETS[self.preset]
        dim = self.dim or preset.dim
        kind = self.feed_forward or ("geglu" if self.norm == "pre" else "gelu")
        positions = self.positions or ("rotary" if self.norm == "pre" else "learned")
        return EncoderConfig(
            n_pieces=n_pieces,
            layers=self.layers or preset.layers,
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
        )


def _is_number(text: str, most: int) -> bool:
    """Whether a text is a whole number, and not too great a one."""
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(most))
    return digits and 0 < int(text) <= most


def _check_count(name: str, value: Any) -> None:
    """A whole number above 0, and none that only a broken file tells."""
    if type(value) is not int or value < 1:
        raise SettingError(f"{name} {value!r} is no whole number above 0")
    if value > _MAX.get(name, 1 << 24):
        raise SettingError(f"{name} {value} is more than an encoder can have")


def parse_rates(text: str) -> tuple[float, float]:
    """Read a mask rate, or the first and last of a schedule."""
    first, colon, last = text.partition(":")
    try:
        rates = float(first), float(last if colon else first)
    except ValueError:
        rates = (0.0, 0.0)
    if not all(_MIN_MASK_RATE <= rate < 1 for rate in rates):
        raise SettingError(
            f"`mask_rate={text}`: give a share from {_MIN_MASK_RATE} to below 1, or FIRST:LAST"
        )
    return rates


def parse_every(setting: str, text: str) -> tuple[int | None, float | None]:
    """Read an interval."""
    try:
        if text.endswith("m"):
            seconds = float(text[:-1]) * 60
            if 0 < seconds < float("inf"):
                return None, seconds
        elif int(text) > 0:
            return int(text), None
    except ValueError:
        pass
    raise SettingError(f"`{setting}={text}`: give steps, such as 500, or minutes, such as 10m")


def _feed_forward_dim(kind: str, dim: int) -> int:
    """About as many weights with a gate as without: 8/3 of the width, not 4."""
    if kind != "geglu":
        return 4 * dim
    return -(-8 * dim // (3 * _GEGLU_MULTIPLE)) * _GEGLU_MULTIPLE
