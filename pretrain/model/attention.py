"""Multi-head self-attention with several scores, spans and masks.

Vaswani et al. 2017 (arXiv:1706.03762), section 3.2; the additive score is Bahdanau
et al. 2015 (arXiv:1409.0473), the bilinear one Luong et al. 2015 (arXiv:1508.04025), the split of
the state Daniluk et al. 2017 (arXiv:1702.04521), relu Wortsman et al. 2023 (arXiv:2309.08586).
"""

import dataclasses

import torch
import torch.nn.functional as F  # noqa: N812 - the conventional name
from torch import Tensor, nn

from firth.corpora.common.errors import SettingError
from firth.pretrain.attention_scores import SCORES
from firth.pretrain.mixers import ATTENTION
from firth.pretrain.model.hard import choose_one, sparsemax
from firth.pretrain.model.mixers.base import AttentionInputs, Mixer, n_matrix_weights, take_slots
from firth.pretrain.model.positions import rotate
from firth.pretrain.model.relative import RelativePositions
from firth.pretrain.model.trees import limit_heads
from firth.pretrain.model.varlen import varlen_attention
from firth.pretrain.shape import EncoderConfig

# On a CPU torch's fused kernel has a slow backward pass: the compiled formula took 0.4 of its time
# over 128 keys, 0.7 over 256, 1.25 over 512 (32 rows, 4 heads of 64, bfloat16, 2 cores). In half
# precision the formula rounds scores to 8 bits, which is harmless only for scaled scores.
_FEW_KEYS = 256
_MIN_BLOCK = 16  # queries; smaller blocks have too much overhead


class SelfAttention(Mixer):
    """Self-attention of one layer, by the fastest suitable implementation.

    On a CPU, up to ``few_keys`` keys use the plain formula rather than torch's fused kernel.
    """

    def __init__(self, config: EncoderConfig, layer: int, *, few_keys: int = _FEW_KEYS) -> None:
        super().__init__()
        self.few_keys, self.layer = few_keys, layer
        self.heads, self.head_dim = config.heads, config.key_dim
        self.score, self.fused = config.attention_score, config.fused
        self.span = config.span_of(layer)
        self.splits = SCORES[self.score].splits
        self.additive = not SCORES[self.score].products
        if not self.splits:
            self.qkv = nn.Linear(config.dim, 3 * config.dim, bias=config.biases)
        self.out = nn.Linear(config.dim, config.dim, bias=config.biases)
        square = (self.heads, self.head_dim, self.head_dim)
        if self.score == "bilinear" or self.additive:
            self.query_map = nn.Parameter(torch.empty(square))
        if self.additive:
            self.key_map = nn.Parameter(torch.empty(square))
            self.score_vector = nn.Parameter(torch.empty(self.heads, self.head_dim))
        is_relative = config.positions == "relative"
        self.relative = RelativePositions(self.heads, self.head_dim) if is_relative else None

    def forward(self, x: Tensor, inputs: AttentionInputs, chosen: Tensor | None = None) -> Tensor:
        """Mix the states of each row; of the ``chosen`` slots only, if given."""
        # x: float (B, T, D); chosen: int64 (B, C); returns float (B, T or C, D)
        q, k, v = self._project(x, inputs)
        left = chosen  # to take from what is mixed
        if self.span is not None and inputs.local is not None:
            mixed = self._local_attention(q, k, v, inputs)
        elif inputs.bounds is not None:
            mixed = varlen_attention(q, k, v, inputs.bounds, self._scale, self.span, inputs.causal)
        elif self.relative is not None:  # distances are laid out for all queries
            mixed = self._full_attention(q, k, v, inputs, None)
        else:
            mixed, left = self._full_attention(q, k, v, inputs, chosen), None
        mixed = take_slots(mixed, left)
        if self.splits:  # the slot's own value goes with the mean of all
            mixed = torch.cat([mixed, take_slots(v.flatten(2), chosen)], -1)
        return self.out(mixed)

    def weights(self, x: Tensor, inputs: AttentionInputs) -> Tensor:
        """Compute the attention weights by the plain formula; needs ``inputs.allowed``."""
        # x: float (B, T, D); returns float32 (B, heads, T, T)
        q, k, _ = self._project(x, inputs)
        q, k = q.transpose(1, 2).float(), k.transpose(1, 2).float()
        allowed, keyless = self._allowed(inputs)
        weights = self._weights(q, k, allowed, inputs.noise, 0)
        return weights if keyless is None else weights.masked_fill(keyless, 0.0)

    def matrices(self) -> list[tuple[Tensor, int]]:
        """Return queries, keys and values, stacked, if mapped, and the map of what is mixed."""
        mapped = [] if self.splits else [(self.qkv.weight, 3)]
        return [*mapped, (self.out.weight, 1)]

    def products(self, length: int, n_out: int) -> int:
        """Count those of all projections, and of scores and sums of the slots wanted."""
        maps = {name: w.numel() for name, w in self.named_parameters() if name.endswith("_map")}
        in_all = 0 if self.splits else n_matrix_weights(self.qkv)
        in_all += maps.pop("query_map" if self.score == "bilinear" else "key_map", 0)
        window = length if self.span is None else block_size(self.span) + 2 * self.span
        window = min(length, window)
        # times 2: scores, and the weighted sum of the values
        mixing = 2 * self.heads * self.head_dim * window + sum(maps.values())
        if self.relative is not None:
            n_queries = length if window == length else block_size(self.span or 1)
            mixing += self.relative.n_products(n_queries, window)
        n_mixed = n_out if self.relative is None else length
        return length * in_all + n_mixed * mixing + n_out * n_matrix_weights(self.out)

    def _project(self, x: Tensor, inputs: AttentionInputs) -> tuple[Tensor, Tensor, Tensor]:
        """Compute queries, keys and values (B, T, heads, head_dim), rotated by position."""
        if self.splits:
            k, v = x.unflatten(-1, (2, self.heads, self.head_dim)).unbind(2)
            q = k
        else:
            q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, self.head_dim)).unbind(2)
        if self.score == "bilinear":
            # k.W q = k.(W q): from here on a plain product; rotary positions rotate W q
            q = torch.einsum("bthd,hed->bthe", q, self.query_map.to(q.dtype))
        if inputs.rotary is not None:
            q, k = rotate(q, *inputs.rotary), rotate(k, *inputs.rotary)
        return q, k, v

    @property
    def _scale(self) -> float:
        return 1.0 if self.score in ("dot", "bilinear") else self.head_dim**-0.5

    def _allowed(self, inputs: AttentionInputs) -> tuple[Tensor, Tensor | None]:
        """Return this layer's mask (B, H, T, T), and which queries have no key, (B, H, T, 1).

        H is 1 if both are the same for all heads. Queries without a key attend to themselves in
        the mask, since a softmax over no keys is NaN.
        """
        assert inputs.allowed is not None
        allowed = inputs.allowed
        if self.span is not None:
            allowed = allowed & within_span(allowed.shape[-1], self.span, allowed.device)
        if allowed.ndim == 3:
            allowed = allowed[:, None]
        if not inputs.has_pattern:
            return allowed, None
        keyless = ~allowed.any(-1, keepdim=True)
        itself = torch.eye(allowed.shape[-1], dtype=torch.bool, device=allowed.device)
        return allowed | (keyless & itself), keyless

    def _full_attention(
        self, q: Tensor, k: Tensor, v: Tensor, inputs: AttentionInputs, chosen: Tensor | None
    ) -> Tensor:
        """Attend to all allowed keys of the row: (B, T or C, D)."""
        allowed, keyless = self._allowed(inputs)
        if chosen is not None:  # skip queries whose result would be discarded
            q = take_slots(q.flatten(2), chosen).unflatten(-1, (self.heads, self.head_dim))
            queries = chosen[:, None, :, None]
            allowed = allowed.take_along_dim(queries, 2)
            keyless = None if keyless is None else keyless.take_along_dim(queries, 2)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        mixed = self._attend(q, k, v, allowed, inputs.noise)
        if keyless is not None:
            mixed = mixed.masked_fill(keyless, 0.0)
        return mixed.transpose(1, 2).flatten(2)

    def _local_attention(self, q: Tensor, k: Tensor, v: Tensor, inputs: AttentionInputs) -> Tensor:
        """Attend by blocks of queries, each to its own keys and ``span`` each side: (B, T, D)."""
        assert self.span is not None
        assert inputs.local is not None
        length = q.shape[1]
        mixed = self._attend(
            _blocks(q, self.span),
            _windows(k, self.span),
            _windows(v, self.span),
            inputs.local,
            inputs.noise,
            -self.span,
        )
        mixed = mixed.transpose(1, 2).flatten(2)  # (B * blocks, block, D)
        return mixed.reshape(q.shape[0], -1, mixed.shape[-1])[:, :length]

    def _attend(
        self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor, noise: Tensor | None, first: int = 0
    ) -> Tensor:
        """Return the mean of ``v`` under a mask that leaves each query some key.

        Key 0 is ``first`` slots after query 0, or before it if that is below 0.
        """
        # returns float (B, heads, n_queries, head_dim)
        few = k.device.type == "cpu" and k.shape[-2] <= self.few_keys
        if self.fused and not (few and self.score == "scaled-dot"):
            return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed, scale=self._scale)
        weights = self._weights(q, k, allowed, noise, first).to(v.dtype)
        mixed = weights @ v
        return mixed if self.relative is None else mixed + self.relative.mean(weights, first)

    def _weights(
        self, q: Tensor, k: Tensor, allowed: Tensor, noise: Tensor | None, first: int
    ) -> Tensor:
        """Return weights that are exactly 0 outside the mask, float32."""
        # returns float32 (B, heads, n_queries, n_keys)
        scores = self._scores(q, k, first).float().masked_fill(~allowed, -torch.inf)
        kind = SCORES[self.score]
        match kind.activation:
            case "hard":
                return choose_one(scores, noise if kind.random else None, self.layer)
            case "sparsemax":
                return sparsemax(scores)
            case "relu":  # a mean over as many keys as may be read
                return scores.relu() / allowed.sum(-1, keepdim=True)
        return torch.softmax(scores, -1)

    def _scores(self, q: Tensor, k: Tensor, first: int) -> Tensor:
        """Score every query and key, (B, heads, n_queries, n_keys)."""
        if not self.additive:
            products = q @ k.transpose(-1, -2)
            if self.relative is not None:
                products = products + self.relative.products(q, k.shape[-2], first)
            return products * self._scale
        mapped_q = q @ self.query_map.transpose(-1, -2).to(q.dtype)
        mapped_k = k @ self.key_map.transpose(-1, -2).to(k.dtype)
        sums = torch.tanh(mapped_q[..., :, None, :] + mapped_k[..., None, :, :])
        return torch.einsum("bhqkd,hd->bhqk", sums, self.score_vector.to(sums.dtype))


def build_attention_inputs(
    config: EncoderConfig,
    segments: Tensor,
    rotary: tuple[Tensor, Tensor] | None,
    *,
    pattern: Tensor | None = None,
    bounds: Tensor | None = None,
    tree: Tensor | None = None,
    noise: Tensor | None = None,
    causal: bool | None = None,
) -> AttentionInputs:
    """Make the masks that the layers need, once for all of them.

    ``pattern`` limits attention to the edges of a graph; a query without edges gets 0. ``bounds``
    selects the varlen kernel, and is ignored where a mask is needed. ``tree`` limits the heads that
    attend along edges, see :func:`firth.pretrain.model.trees.tree_edges`; others ignore it.
    ``causal`` is None for what the shape says.
    """
    # segments: int64 (B, T); pattern: bool (B or 1, T, T); bounds: int32 (n + 1,)
    # tree: int (B, 2, T); noise: int64 (B,)
    if pattern is not None and (other := config.other_than(ATTENTION)):
        raise SettingError(f"`pattern` limits attention, and {other}")
    causal = config.causal if causal is None else causal
    inputs = AttentionInputs(segments, rotary, noise=noise, causal=causal)
    if not config.attends:
        return inputs
    span = config.attention_span
    masked = pattern is not None or config.attention_edges is not None
    if bounds is not None and not masked and config.fused:
        return dataclasses.replace(inputs, bounds=bounds)
    local = None
    if span is not None and pattern is None and block_size(span) + 2 * span < segments.shape[1]:
        local = _local_mask(segments, span, causal)
    if local is not None and config.global_every is None:
        return dataclasses.replace(inputs, local=local)
    allowed = visible(segments, causal)
    if pattern is not None:
        allowed = allowed & pattern
    if config.attention_edges is not None:
        allowed = limit_heads(allowed, tree, config)
    return dataclasses.replace(
        inputs, allowed=allowed, local=local, has_pattern=pattern is not None
    )


def visible(segments: Tensor, causal: bool) -> Tensor:
    """Return which keys each query may attend to without a span, bool (B, T, T)."""
    same: Tensor = segments[:, :, None] == segments[:, None, :]
    return same.tril() if causal else same


def block_size(span: int) -> int:
    """Return how many queries share ``block_size + 2 * span`` keys in local attention."""
    return max(span, _MIN_BLOCK)


def within_span(length: int, span: int, device: torch.device) -> Tensor:
    """Return the mask of slots at most ``span`` apart, bool (T, T)."""
    slots = torch.arange(length, device=device)
    return (slots[:, None] - slots).abs() <= span


def _blocks(x: Tensor, span: int) -> Tensor:
    """Cut (B, T, heads, d) into (B * blocks, heads, block, d), padding the last block."""
    block = block_size(span)
    x = F.pad(x, (0, 0, 0, 0, 0, -x.shape[1] % block))
    return x.unflatten(1, (-1, block)).flatten(0, 1).transpose(1, 2)


def _windows(x: Tensor, span: int) -> Tensor:
    """Cut (B, T, heads, d) into overlapping windows (B * blocks, heads, block + 2 * span, d)."""
    block = block_size(span)
    x = F.pad(x, (0, 0, 0, 0, span, span + -x.shape[1] % block))
    return x.unfold(1, block + 2 * span, block).flatten(0, 1).transpose(-1, -2)


def _local_mask(segments: Tensor, span: int, causal: bool) -> Tensor:
    """Return the mask of same segment and within the span, for blocks of local attention."""
    block = block_size(span)
    fill = -segments.shape[1] % block
    keys = F.pad(segments, (span, span + fill), value=-2).unfold(1, block + 2 * span, block)
    queries = F.pad(segments, (0, fill), value=-2).unflatten(1, (-1, block))
    at_query = torch.arange(block, device=segments.device) + span
    at_key = torch.arange(block + 2 * span, device=segments.device)
    distance = at_query[:, None] - at_key
    close = (distance.abs() <= span) & (distance >= 0) if causal else distance.abs() <= span
    allowed = (queries[..., :, None] == keys[..., None, :]) & close
    return allowed.flatten(0, 1)[:, None]
