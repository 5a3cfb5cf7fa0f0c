"""The shape of an encoder: everything about it but its weights."""

import dataclasses
from dataclasses import dataclass
from typing import Any

from firth.corpora.common.errors import SettingError
from firth.corpora.common.options import check, setting
from firth.pretrain.attention_scores import SCORES
from firth.pretrain.mixers import ATTENTION, MIXERS

POSITIONS = ("learned", "sinusoidal", "rotary", "relative", "none")
NORMS = ("pre", "post")
FEED_FORWARDS = ("gelu", "geglu")
INIT_STD = 0.02  # of the first weights and embeddings
TREE = "tree"  # of ``attention_edges``
_MAX_HEADS = 65_536


def _size(help: str, *, default: Any = dataclasses.MISSING, most: int = 1 << 24) -> Any:
    """Declare a field that is a whole number from 1 to a plausible maximum."""
    return setting(default, help, at_least=1, at_most=most)


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """The shape of an encoder: everything about it but its weights."""

    n_pieces: int = _size("Pieces, including special ones: V.")
    layers: int = _size("Layers.", most=1000)
    heads: int = _size("Attention heads of a layer.")
    dim: int = _size("Width of the states: D.")
    feed_forward_dim: int = _size("Width of the feed-forward part.")
    max_length: int = _size("The longest segment: T.", most=65_536)
    # the following as the settings of these names
    attention_score: str = setting("scaled-dot", "Score.", choices=tuple(SCORES))
    positions: str = setting("rotary", "Positions.", choices=POSITIONS)
    norm: str = setting("pre", "Layout.", choices=NORMS)
    feed_forward: str = setting("geglu", "Feed-forward part.", choices=FEED_FORWARDS)
    attention_span: int | None = _size("Neighbors each side; None for all.", default=None)
    global_every: int | None = _size("Which layers attend to all.", default=None)
    dropout: float = setting(0.0, "Share of activations dropped.", at_least=0, below=1)
    # per layer, a key of ``firth.pretrain.mixers.MIXERS``; empty for attention everywhere
    mixers: tuple[str, ...] = ()
    conv_width: int | None = _size("Slots of a filter; None without filters.", default=None)
    causal: bool = setting(False, "Whether a slot sees only itself and what is before it.")
    both_ways: bool = setting(False, "Whether it may be causal, too, and slots predict the next.")
    attention_edges: str | None = setting(None, "Heads that attend along edges of trees.")
    nearby_heads: bool = setting(False, "Whether heads started at the slots nearby.")
    decoder_layers: int = setting(
        0, "Layers of a decoder; 0 without one.", at_least=0, at_most=1000
    )
    points: bool = setting(False, "Whether the decoder points at slots of the encoder.")
    # 1 if the decoder writes a target for each segment, more for spans
    sentinels: int = setting(0, "Rows of the table besides pieces.", at_least=0, at_most=65_536)

    def __post_init__(self) -> None:
        check(self)  # the shape may come from a damaged file
        if not self.mixers:
            object.__setattr__(self, "mixers", (ATTENTION,) * self.layers)
        self._check_mixers()
        if self.has_heads or self.decoder_layers:
            self._check_heads()
        if self.both_ways and (other := self.other_than(ATTENTION)):
            raise SettingError(
                f"`objective=mixed` needs attention in every layer, which can be causal or not "
                f"with the same weights, and {other}"
            )
        if self.attends:
            self._check_attention()
        if self.positions == "sinusoidal" and self.dim % 2:
            raise SettingError(f"`positions=sinusoidal` needs an even width, not {self.dim}")
        _ = self.decoder  # which raises unless its heads fit

    def _check_heads(self) -> None:
        """Raise unless heads and rotary positions fit the width."""
        if self.dim % self.heads:
            raise SettingError(
                f"a `preset` of width {self.dim} is not divisible by {self.heads} heads"
            )
        score = SCORES[self.attention_score]
        if score.splits and self.head_dim % 2:
            raise SettingError(
                f"`mixer=attention:{self.attention_score}` halves each head, and a width of "
                f"{self.dim} by {self.heads} heads is {self.head_dim}; pass another number of heads"
            )
        if self.positions == "rotary" and self.key_dim % 2:
            raise SettingError(
                f"`positions=rotary` needs keys of an even dimension, and {self.heads} heads of a "
                f"width of {self.dim} have {self.key_dim}; pass another number of heads"
            )

    def _check_attention(self) -> None:
        """Raise unless relative positions, spans and edges fit the score and the sizes."""
        score = SCORES[self.attention_score]
        if self.positions == "relative" and not score.products:
            raise SettingError(
                "`positions=relative` adds vectors to keys of products, and "
                f"`mixer=attention:{self.attention_score}` is none; pass `positions=rotary`"
            )
        if self.attention_span is not None and self.attention_span >= self.max_length:
            raise SettingError(
                f"an attention span of {self.attention_span} must be below the row length of "
                f"{self.max_length}; pass a smaller one or leave it out"
            )
        if self.attention_edges is not None:
            self._check_edges(self.attention_edges)

    def _check_edges(self, edges: str) -> None:
        """Raise unless some heads can attend along the edges of trees."""
        setting = f"`attention={edges}`"
        if parse_edges(edges, self.heads) > self.heads:
            raise SettingError(f"{setting}: a layer has {self.heads} heads; pass at most as many")
        if other := self.other_than(ATTENTION):
            raise SettingError(f"{setting} needs attention in every layer, and {other}")
        if self.causal or self.both_ways or self.decoder_layers:
            raise SettingError(
                f"{setting}: edges also lead to words that `objective=causal` or mixed predicts, "
                "or that are hidden from an encoder with a decoder; leave one of them out"
            )

    def _check_mixers(self) -> None:
        """Raise unless there is a known mixer for each layer, of a width that it can have."""
        for mixer in self.mixers:
            if not isinstance(mixer, str) or mixer not in MIXERS:
                raise SettingError(f"unknown mixer {mixer!r}; choose from {', '.join(MIXERS)}")
            if MIXERS[mixer].even and self.dim % 2 and not self.causal:
                raise SettingError(
                    f"`mixer={mixer}` reads in two directions and needs an even width, not "
                    f"{self.dim}"
                )
        if len(self.mixers) != self.layers:
            raise SettingError(f"{self.layers} layers but {len(self.mixers)} mixers")
        if self.convolves and (self.conv_width is None or self.conv_width % 2 == 0):
            raise SettingError(
                f"a width of {self.conv_width}: a filter has as many slots on each side of its "
                "own; it must be odd"
            )

    @property
    def one_way(self) -> "EncoderConfig":
        """The causal shape of the same weights, if it can be read both ways."""
        return dataclasses.replace(self, causal=True, both_ways=False) if self.both_ways else self

    @property
    def decoder(self) -> "EncoderConfig | None":
        """The shape of the decoder: the encoder's, with plain causal attention in every layer.

        That of a recurrent encoder is recurrent, with additive attention to the encoder's states.
        """
        if not self.decoder_layers:
            return None
        recurrent = all(MIXERS[mixer].even for mixer in self.mixers)
        return dataclasses.replace(
            self, layers=self.decoder_layers, decoder_layers=0, causal=True,
            mixers=self.mixers if recurrent else (),
            attention_score="additive" if recurrent else "scaled-dot",
            attention_span=None, global_every=None, conv_width=None,
        )  # fmt: skip

    @property
    def attends(self) -> bool:
        """Whether any layer has attention weights."""
        return any(MIXERS[mixer].attends for mixer in self.mixers)

    @property
    def has_heads(self) -> bool:
        """Whether any layer has heads."""
        return any(MIXERS[mixer].heads for mixer in self.mixers)

    @property
    def convolves(self) -> bool:
        """Whether any layer has filters."""
        return any(MIXERS[mixer].convolves for mixer in self.mixers)

    def other_than(self, mixer: str) -> str | None:
        """Name the first layer that has another mixer, or return None."""
        found = ((n, name) for n, name in enumerate(self.mixers) if name != mixer)
        return next((f"layer {layer} is `mixer={name}`" for layer, name in found), None)

    @property
    def head_dim(self) -> int:
        """Dimension of each head's queries, keys and values."""
        return self.dim // self.heads

    @property
    def tree_heads(self) -> int:
        """How many heads of each layer, the first ones, attend along the edges of trees."""
        return parse_edges(self.attention_edges, self.heads) if self.attention_edges else 0

    @property
    def can_look_nearby(self) -> bool:
        """Whether heads can start at the slots nearby: products, by distance, in whole segments."""
        plain = self.attention_score == "scaled-dot" and self.attention_edges is None
        return plain and self.positions == "rotary" and ATTENTION in self.mixers

    @property
    def key_dim(self) -> int:
        """Dimension of each head's keys: half if they share the state with the values."""
        return self.head_dim // 2 if SCORES[self.attention_score].splits else self.head_dim

    @property
    def fused(self) -> bool:
        """Whether torch's kernels can compute its attention."""
        kind = SCORES[self.attention_score]
        return kind.softmax_of_products and self.positions != "relative"

    @property
    def biases(self) -> bool:
        """Whether linear maps and norms have biases: BERT's do, ModernBERT's do not."""
        return self.norm == "post"

    def span_of(self, layer: int) -> int | None:
        """Return a layer's attention span: neighbors each side, None for all."""
        if self.global_every is not None and layer % self.global_every == 0:
            return None
        return self.attention_span

    def to_json(self) -> dict[str, Any]:
        """Return the fields for ``config.json``."""
        return {**dataclasses.asdict(self), "mixers": list(self.mixers)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "EncoderConfig":
        """Read what :meth:`to_json` returned."""
        return cls(**{**value, "mixers": tuple(value.get("mixers", ()))})


def parse_edges(text: str, heads: int) -> int:
    """Parse how many heads attend along edges, by default all.

    >>> parse_edges("tree", 4), parse_edges("tree:1", 4)
    (4, 1)
    """
    name, colon, number = text.partition(":")
    if name != TREE or (colon and not is_number(number, _MAX_HEADS)):
        raise SettingError(
            f"`attention={text}`: pass {TREE}, or {TREE}:N for N heads of each layer"
        )
    return int(number) if colon else heads


def is_number(text: str, most: int) -> bool:
    """Return whether a text is a whole number from 1 to ``most``."""
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(most))
    return digits and 0 < int(text) <= most
