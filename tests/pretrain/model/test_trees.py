"""Attention along the edges of trees: masks against loops over sentences, leaks, refusals."""

import numpy as np
import pytest
import torch

from firth.corpora.common.errors import SettingError
from firth.corpora.tokenizer.pieces import CLS, PAD, SEP
from firth.pretrain.data.batches import Rows
from firth.pretrain.data.packing import PackedRows, lay_out
from firth.pretrain.model.attention import SelfAttention, build_attention_inputs, take_slots
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.model.trees import tree_edges
from firth.pretrain.shape import EncoderConfig
from tests.embed.small_corpus import SmallView
from tests.pretrain.letters import LETTERS, random_units
from tests.pretrain.model.test_attention import (
    EVERY_KIND,
    assert_near,
    attention_and_rows,
    encoder_config,
    naive_attention,
    rotary_of,
)
from tests.pretrain.small_training import random_heads


class TreeView(SmallView):
    """A view whose units are documents of sentences with random trees."""

    def __init__(self, units, *, seed=5, **options):
        super().__init__(units, **options)
        rng = np.random.default_rng(seed)
        # of each unit the place of each word's head in the unit; of a root its own
        self.trees = []
        for unit in self.units:
            places = []
            while len(places) < len(unit):
                first = len(places)
                heads = random_heads(min(int(rng.integers(1, 9)), len(unit) - first), rng)
                places += [first + (head - 1 if head else n) for n, head in enumerate(heads)]
            self.trees.append(places)

    def heads(self):
        """Yield the signed distances of each shard."""
        for start in range(0, len(self.units), self.units_per_shard):
            trees = self.trees[start : start + self.units_per_shard]
            yield np.array([head - n for tree in trees for n, head in enumerate(tree)])


def naive_rows(view, length):
    """The definition of packed rows, each slot as (kind, unit, word, head in the unit)."""
    rows = [[]]
    pieces_of = {word: len(LETTERS.split([word])[0]) for word in view.words}
    for number, (unit, tree) in enumerate(zip(view.units, view.trees, strict=True)):
        left = [
            ("piece", number, n, head)
            for n, (word, head) in enumerate(zip(unit, tree, strict=True))
            for _ in range(pieces_of[view.words[word]])
        ]
        while left:
            if length - len(rows[-1]) < 3:
                rows[-1] += [("padding", None, None, None)] * (length - len(rows[-1]))
                rows.append([])
            room = length - len(rows[-1]) - 2
            special = ("special", number, None, None)
            rows[-1] += [special, *left[:room], special]
            left = left[room:]
    rows[-1] += [("padding", None, None, None)] * (length - len(rows[-1]))
    return rows


def may_attend(query, key):
    """Whether a word is the same, the head or a child; special pieces attend to all."""
    if query[1] != key[1]:
        return False
    if query[0] != "piece":
        return True
    return key[0] == "piece" and (key[2] in (query[2], query[3]) or query[2] == key[3])


@pytest.mark.slow
@pytest.mark.parametrize("units_per_shard", [1, 7, 1000])
def test_masks_of_packed_text_are_those_of_a_loop_over_its_sentences(units_per_shard):
    view = TreeView(random_units(4, 60), units_per_shard=units_per_shard)

    rows = PackedRows.pack(view, LETTERS, 16, "cpu", tree=True)

    numbers = torch.arange(rows.n_rows)
    segments, _ = lay_out(rows.take(numbers))
    config = encoder_config(attention_edges="tree:1", positions="none")
    inputs = build_attention_inputs(config, segments, None, tree=rows.take_tree(numbers))
    expected = naive_rows(view, 16)
    found = inputs.allowed[:, 0].tolist()
    for row, mask in zip(expected, found, strict=True):
        assert mask == [[may_attend(query, key) for key in row] for query in row]
    assert torch.equal(inputs.allowed[:, 1], segments[:, :, None] == segments[:, None, :])
    assert rows.tree.dtype == torch.int16
    assert rows.fingerprint() != PackedRows.pack(view, LETTERS, 16, "cpu").fingerprint()


def test_a_row_worked_by_hand():
    """The cat sleeps: *the* depends on *cat* and *cat*, of two pieces, on *sleeps*."""
    tree = torch.tensor([[[-1, 0, 1, 1, 2, -1], [-2, 1, 2, 2, -2, -2]]])

    assert tree_edges(tree)[0].int().tolist() == [
        [1, 1, 1, 1, 1, 1],  # [CLS]
        [0, 1, 1, 1, 0, 0],  # the
        [0, 1, 1, 1, 1, 0],  # ca
        [0, 1, 1, 1, 1, 0],  # ##t
        [0, 0, 1, 1, 1, 0],  # sleeps
        [1, 1, 1, 1, 1, 1],  # [SEP]
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("score", "positions", "few_keys"),
    [("scaled-dot", "rotary", 0), *((*kind, 256) for kind in EVERY_KIND)],
)
def test_the_first_heads_follow_edges_and_the_others_the_formula(score, positions, few_keys):
    shape = {"attention_score": score, "positions": positions}
    config = encoder_config(**shape)
    layer, x, segments = attention_and_rows(config, few_keys=few_keys)
    rotary = rotary_of(config, segments)
    layer.out = torch.nn.Identity()  # so that heads stay apart
    tree = torch.randint(-1, 9, (2, 2, 23), generator=torch.Generator().manual_seed(2))
    ties = tree_edges(tree)

    def same(b, i, j):
        return bool(segments[b, i] == segments[b, j])

    def on_edges(b, i, j):
        return same(b, i, j) and bool(ties[b, i, j])

    turned = rotary is not None
    limited, _ = naive_attention(layer, x, on_edges, rotary=turned)
    free, _ = naive_attention(layer, x, same, rotary=turned)
    for edges in ("tree", "tree:1"):
        config = encoder_config(attention_edges=edges, **shape)
        layer, _, _ = attention_and_rows(config, few_keys=few_keys)
        layer.out = torch.nn.Identity()
        n = config.key_dim * config.tree_heads  # columns
        expected = torch.cat([limited[..., :n], free[..., n:]], dim=-1).float()
        inputs = build_attention_inputs(config, segments, rotary, tree=tree)
        for chosen in (None, torch.tensor([[0, 7, 20], [3, 3, 22]])):
            assert_near(layer(x, inputs, chosen), take_slots(expected, chosen))


@pytest.mark.parametrize("layers", [1, 2])
def test_no_gradient_crosses_segments_or_more_edges_than_layers(layers):
    shape = {"layers": layers, "heads": 2, "dim": 16, "feed_forward_dim": 16, "max_length": 16}
    model = MaskedLanguageModel(EncoderConfig(n_pieces=40, attention_edges="tree", **shape))
    # 0 <- 1 <- 2 <- 3, and in the second segment 4 <- 5; 6 is alone
    ids = torch.tensor([[CLS, 7, 8, 9, 10, SEP, CLS, 7, 8, 9, SEP, PAD]])
    words = torch.tensor([-1, 0, 1, 2, 3, -1, -1, 4, 5, 6, -1, -1])
    heads = torch.tensor([-2, -2, 0, 1, 2, -2, -2, -2, 4, -2, -2, -2])
    segments, positions = lay_out(ids)
    rows = Rows(ids, segments, positions, tree=torch.stack([words, heads])[None])
    x = model.embed(rows).detach().requires_grad_()
    final = model.core(x, model.core.attention_inputs(rows))

    for slot, word in enumerate(words.tolist()[:11]):
        (gradient,) = torch.autograd.grad(final[0, slot].square().sum(), x, retain_graph=True)
        seen = gradient[0].abs().sum(1).nonzero().flatten().tolist()
        if word < 0:
            expected = [each for each in range(12) if segments[0, each] == segments[0, slot]]
        elif word == 6:
            expected = [slot]
        else:
            chain = range(1, 5) if word < 4 else range(7, 9)
            expected = [each for each in chain if abs(each - slot) <= layers]
        assert seen == expected


def test_an_encoder_with_edges_needs_trees():
    config = encoder_config(attention_edges="tree:1", positions="none")
    _, _, segments = attention_and_rows(config)
    with pytest.raises(SettingError, match="given text without trees; use it with `pool_run"):
        build_attention_inputs(config, segments, None)


def test_a_tree_changes_nothing_without_edges():
    config = encoder_config(positions="none")
    layer, x, segments = attention_and_rows(config)
    tree = torch.zeros(2, 2, 23, dtype=torch.long)
    plain = build_attention_inputs(config, segments, None)
    assert torch.equal(
        layer(x, build_attention_inputs(config, segments, None, tree=tree)), layer(x, plain)
    )
    assert isinstance(layer, SelfAttention)
