"""Trees of parts of words, and of tokens of several words."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from firth.corpora.text.trees import SentenceTree, part_heads
from tests.pretrain.small_training import random_heads

SEEDS = st.integers(0, 10_000)


def naive_part_heads(heads, n_parts):
    """The definition: list all parts, then look each head up."""
    parts = [(word, nth) for word, n in enumerate(n_parts) for nth in range(n)]
    found = []
    for place, (word, nth) in enumerate(parts):
        head = (word + heads[word], 0) if nth == 0 else (word, 0)
        found.append(parts.index(head) - place if head in parts else 0)
    return found


@given(seed=SEEDS)
def test_parts_have_the_heads_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    numbers = np.array(random_heads(9, rng))
    heads = np.where(numbers > 0, numbers - 1 - np.arange(9), 0)
    n_parts = rng.integers(0, 4, 9)

    assert part_heads(heads, n_parts).tolist() == naive_part_heads(heads, n_parts.tolist())


@given(seed=SEEDS)
def test_tokens_of_several_words_are_a_tree_over_edges_between_their_words(seed):
    rng = np.random.default_rng(seed)
    heads = random_heads(12, rng)
    tokens = np.cumsum(rng.integers(0, 2, 12)).tolist()  # neighbors may share one
    tokens = [token - tokens[0] for token in tokens]
    tree = SentenceTree()
    for word, (head, token) in enumerate(zip(heads, tokens, strict=True), 1):
        tree.add(word, str(head), token)

    distances = tree.distances(tokens[-1] + 1)

    edges = {(tokens[n], tokens[head - 1]) for n, head in enumerate(heads) if head}
    root = tokens[heads.index(0)]
    for token, distance in enumerate(distances):
        assert (distance == 0) == (token == root)
        assert token == root or (token, token + distance) in edges
        seen = set()
        while token != root:  # no cycle
            assert token not in seen
            seen.add(token)
            token += distances[token]
