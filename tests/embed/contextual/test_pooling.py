"""Pooling against a naive loop: the selected sentences and the resulting means."""

from collections import Counter

import numpy as np
import pytest

from firth.corpora.common.errors import SettingError
from firth.embed.contextual import pooling
from firth.embed.contextual.pooling import PoolConfig, parse_layers, pool_words
from firth.embed.contextual.pooling_kernels import keep_lowest
from tests.embed.small_corpus import SmallCorpus, SmallView

_MASK = 2**64 - 1


class CorpusInShards(SmallCorpus):
    """A corpus in shards of a few sentences."""

    def __init__(self, text, sentences_per_shard=1000):
        super().__init__(text)
        self.sentences_per_shard = sentences_per_shard

    def view(self, *, min_count, max_vocabulary, punctuation, boundary):
        """Return a view of the sentences, with or without punctuation."""
        assert boundary == "sentence"
        chosen = super().view(min_count=min_count, max_vocabulary=None, punctuation="", boundary="")
        words = [word for word in chosen.words if punctuation == "keep" or word != "."]
        words = words[:max_vocabulary]
        return SmallView(self.units, words=words, units_per_shard=self.sentences_per_shard)


class FakeEncoder:
    """An encoder whose states can be computed by hand."""

    n_layers = 4

    def __init__(self):
        self.encoded = []

    def encode(self, sentences, layers):
        """Return [word length, position, sentence length, mean layer] per word."""
        self.encoded += [" ".join(sentence) for sentence in sentences]
        return [
            np.array(
                [
                    [len(word), place, len(words), np.mean(layers)]
                    for place, word in enumerate(words)
                ],
                dtype=np.float32,
            )
            for words in sentences
        ]

    def covers(self, words):
        """Return False for words that start with a hash."""
        return np.array([not word.startswith("#") for word in words])

    def words(self, text):
        """Split at whitespace, as the corpus does."""
        return text.split()


class FakeEncoderWithTable(FakeEncoder):
    """A fake encoder with input embeddings."""

    def input_embeddings(self, words):
        """Return [code of the first letter, word length] per word."""
        return np.array([[ord(word[0]), len(word)] for word in words], dtype=np.float32)


class FakeEncoderWithMask(FakeEncoder):
    """A fake encoder that tells a word's place, and not the word, where it is masked."""

    def __init__(self):
        super().__init__()
        self.masked = []

    def encode_masked(self, sentences, tokens, layers):
        """Return [place, length of the sentence, mean layer] for each token."""
        flat = [(words, place) for words in sentences for place in range(len(words))]
        self.masked += [flat[token][0][flat[token][1]] for token in tokens]
        return np.array(
            [[flat[token][1], len(flat[token][0]), np.mean(layers)] for token in tokens],
            dtype=np.float32,
        )


class FakeEncoderWithDefault(FakeEncoder):
    """A fake encoder that states its layers."""

    def static_layers(self):
        """Return the lowest two layers."""
        return (0, 1), "for a test"


def random_text(n_sentences=60, seed=1):
    """Return sentences with power-law word frequencies, each ending in a period."""
    rng = np.random.default_rng(seed)
    sentences = []
    for _ in range(n_sentences):
        ranks = (1 / rng.uniform(0.005, 1, size=rng.integers(1, 9))).astype(int)
        sentences.append(" ".join([f"{'w' * (rank % 7 + 1)}{rank}" for rank in ranks] + ["."]))
    return "\n".join(sentences)


def naive_key(sentence, number, counts, contexts, seed):
    """Return the key of a sentence as sentence_keys does, in Python integers."""
    levels = [
        min(max(int(np.ceil(np.log2(counts[word] / contexts))), 0), 62)
        for word in sentence
        if word in counts
    ]
    bits = ((seed << 32) + (number + 1) * 0x9E3779B97F4A7C15) & _MASK
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _MASK
    bits ^= bits >> 31
    return min(levels, default=63), bits >> 6


def naive_selection(text, contexts, seed, min_count=1):
    """The definition: visit sentences by key, select each that a word still needs."""
    sentences = [line.split() for line in text.splitlines()]
    counts = Counter(word for sentence in sentences for word in sentence if word != ".")
    counts = {word: count for word, count in counts.items() if count >= min_count}
    keys = [naive_key(s, n, counts, contexts, seed) for n, s in enumerate(sentences)]
    have = Counter()
    taken = set()
    for number in sorted(range(len(sentences)), key=keys.__getitem__):
        if any(word in counts and have[word] < contexts for word in sentences[number]):
            taken.add(number)
            have.update(sentences[number])
    return [sentences[number] for number in sorted(taken)], counts


def naive_means(chosen, counts, layers):
    """Return the mean state of each word over the selected sentences."""
    states = {word: [] for word in counts}
    for sentence, of_words in zip(chosen, FakeEncoder().encode(chosen, layers), strict=True):
        for word, state in zip(sentence, of_words, strict=True):
            if word in states:
                states[word].append(state)
    return {word: np.mean(found, axis=0) for word, found in states.items()}


@pytest.mark.parametrize("contexts", [1, 3, 1000])
@pytest.mark.parametrize("sentences_per_shard", [7, 1000])
def test_vectors_are_means_over_the_sentences_of_the_naive_selection(contexts, sentences_per_shard):
    text, encoder = random_text(), FakeEncoder()
    config = PoolConfig(contexts_per_word=contexts, min_count=1, layers="1,3", seed=5)

    pooled = pool_words(encoder, CorpusInShards(text, sentences_per_shard), config)

    selected, counts = naive_selection(text, contexts, seed=5)
    means = naive_means(selected, counts, (1, 3))
    assert encoder.encoded == [" ".join(sentence) for sentence in selected]
    assert sorted(pooled.vectors.vocabulary) == sorted(counts)
    for row, word in enumerate(pooled.vectors.vocabulary):
        np.testing.assert_allclose(pooled.vectors.matrix[row], means[word], rtol=1e-6)
    assert pooled.vectors.matrix.dtype == np.float32


@pytest.mark.parametrize("contexts", [1, 2, 5])
def test_every_word_gets_enough_contexts_or_all_it_has(contexts):
    text, encoder = random_text(200), FakeEncoder()
    pool_words(encoder, CorpusInShards(text), PoolConfig(contexts_per_word=contexts, min_count=1))

    counts, got = Counter(text.split()), Counter(" ".join(encoder.encoded).split())

    assert all(got[word] >= min(count, contexts) for word, count in counts.items() if word != ".")
    assert len(encoder.encoded) < 200  # otherwise nothing was left out


def test_sentences_of_rare_words_also_serve_frequent_words():
    text = "a b\na c\na d\n" + "a\n" * 50
    encoder = FakeEncoder()
    pool_words(encoder, CorpusInShards(text), PoolConfig(contexts_per_word=3, min_count=1))
    assert encoder.encoded == ["a b", "a c", "a d"]


def test_the_seed_decides_which_sentences_are_selected():
    text = "\n".join(f"a {'x' * n}" for n in range(1, 40))
    config = {"contexts_per_word": 1, "min_count": 2}

    def encoded(seed):
        encoder = FakeEncoder()
        pool_words(encoder, CorpusInShards(text), PoolConfig(**config, seed=seed))
        return encoder.encoded

    assert encoded(1) == encoded(1)
    assert len({tuple(encoded(seed)) for seed in range(8)}) > 4  # all equal by chance: 39^-7


def test_rare_words_and_punctuation_are_encoded_but_get_no_vector():
    encoder = FakeEncoder()
    config = PoolConfig(min_count=2)
    pooled = pool_words(encoder, CorpusInShards("a b .\na c .\nd d ."), config)
    assert pooled.vectors.vocabulary == ["a", "d"]
    assert pooled.vectors.counts.tolist() == [2, 2]
    assert encoder.encoded == ["a b .", "a c .", "d d ."]
    alone = FakeEncoder()
    pool_words(alone, CorpusInShards("a a\nb .\n. ."), config)  # lines without pooled words
    assert alone.encoded == ["a a"]


def test_the_block_size_changes_nothing():
    corpus, config = CorpusInShards(random_text()), PoolConfig(contexts_per_word=2, min_count=1)
    whole = pool_words(FakeEncoder(), corpus, config)
    parts = pool_words(FakeEncoder(), corpus, config, tokens_at_once=3)  # below most sentences
    assert np.array_equal(parts.vectors.matrix, whole.vectors.matrix)


def test_progress_ends_at_the_total_number_of_tokens():
    shown = []
    config = PoolConfig(contexts_per_word=2, min_count=1, layers="0")
    encoder = FakeEncoder()

    def show(done, total=None, detail=""):
        shown.append((done, total))

    info = pool_words(encoder, CorpusInShards(random_text()), config, show).info

    tokens = len(" ".join(encoder.encoded).split())
    assert shown[-1] == (tokens, tokens)
    assert info == {
        "source": "states",
        "unknown": 0,
        "layers": [0],
        "contexts_per_word": 2,
        "sentences": len(encoder.encoded),
        "tokens": tokens,
    }


def test_input_embeddings_are_looked_up_without_reading_text():
    encoder = FakeEncoderWithTable()
    config = PoolConfig(source="input-embeddings", min_count=1)
    corpus = CorpusInShards("bb a\nbb ccc\nbb a")
    pooled = pool_words(encoder, corpus, config, words_at_once=2)
    assert pooled.vectors.vocabulary == ["bb", "a", "ccc"]
    assert pooled.vectors.matrix.tolist() == [[98, 2], [97, 1], [99, 3]]
    assert encoder.encoded == []
    assert pooled.info == {"source": "input-embeddings", "unknown": 0}


@pytest.mark.parametrize("source", ["states", "input-embeddings"])
def test_unknown_words_get_no_vector_and_a_note(source, capsys):
    encoder = FakeEncoderWithTable()
    config = PoolConfig(source=source, min_count=1, contexts_per_word=9)

    pooled = pool_words(encoder, CorpusInShards("a #x b\n#y #x\na #x #z #q"), config)

    assert pooled.vectors.vocabulary == ["a", "b"]
    assert pooled.vectors.counts.tolist() == [2, 1]
    assert pooled.vectors.matrix.shape[0] == 2
    assert pooled.info["unknown"] == 4
    assert capsys.readouterr().err == (
        "4 words unknown to the encoder get no vector, for example #x #q #y\n"
    )
    # they are read in the sentences of other words, but no sentence is selected for them
    assert encoder.encoded == (["a #x b", "a #x #z #q"] if source == "states" else [])


@pytest.mark.parametrize("contexts", [1, 3, 1000])
def test_masked_words_are_read_only_where_they_need_a_context(contexts):
    text, encoder = random_text(), FakeEncoderWithMask()
    config = PoolConfig(
        source="masked", contexts_per_word=contexts, min_count=1, layers="3,4", seed=5
    )

    pooled = pool_words(encoder, CorpusInShards(text, 7), config, tokens_at_once=20)

    selected, counts = naive_selection(text, contexts, seed=5)
    sentences = [line.split() for line in text.splitlines()]
    keys = {
        number: naive_key(words, number, counts, contexts, 5)
        for number, words in enumerate(sentences)
    }
    for row, word in enumerate(pooled.vectors.vocabulary):
        places = [  # of all its occurrences, sentence by sentence as they are visited
            [
                [place, len(sentences[n]), 3.5]
                for place, one in enumerate(sentences[n])
                if one == word
            ]
            for n in sorted(keys, key=keys.__getitem__)
            if word in sentences[n]
        ]
        needed = []
        for some in places:
            if len(needed) < contexts:
                needed += some
        np.testing.assert_allclose(pooled.vectors.matrix[row], np.mean(needed, axis=0), rtol=1e-6)
        assert encoder.masked.count(word) == len(needed)
    assert encoder.encoded == []
    assert pooled.info["sentences"] == len(selected)


def test_layers_require_states_as_source():
    with pytest.raises(SettingError) as error:
        PoolConfig(source="input-embeddings", layers="0,1")
    assert str(error.value) == "`layers=0,1`: input embeddings have none; leave it out"
    assert PoolConfig(source="input-embeddings", layers="auto").layers == "auto"
    assert parse_layers("3, 0,3", 4) == (0, 3)


NUMBERS = "expected comma-separated numbers like 0,1, or auto"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("#a #b", {}, "the encoder covers no word of the corpus; use its training corpus"),
        (
            "a b", {"source": "masked"},
            "`source=masked`: this encoder cannot mask words; use states",
        ),
        (
            "a b", {"source": "input-embeddings"},
            "`source=input-embeddings`: this encoder has none; use states",
        ),
        ("a b", {"layers": "5"}, "`layers=5`: no layer 5; the encoder has layers 0 .* to 4"),
        ("a b", {"layers": "-1"}, f"`layers=-1`: {NUMBERS}"),
        ("a b", {"layers": "0,,1"}, f"`layers=0,,1`: {NUMBERS}"),
        ("a b", {"layers": ""}, f"`layers=`: {NUMBERS}"),
        ("a b", {"layers": "last"}, f"`layers=last`: {NUMBERS}"),
    ],
)  # fmt: skip
def test_what_an_encoder_cannot_pool_is_refused_before_any_work(text, options, message):
    encoder = FakeEncoder()
    with pytest.raises(SettingError, match=f"^{message}$"):
        pool_words(encoder, CorpusInShards(text), PoolConfig(min_count=1, **options))
    assert encoder.encoded == []


@pytest.mark.parametrize(
    ("encoder", "layers", "pooled", "notes"),
    [
        (FakeEncoder, "auto", [2, 3, 4], ""),
        (FakeEncoder, "1,3", [1, 3], ""),
        (
            FakeEncoderWithDefault,
            "auto",
            [0, 1],
            "pooling layers 0,1 of 0 to 4: for a test; `layers` chooses others",
        ),
        (FakeEncoderWithDefault, "1,3", [1, 3], ""),
    ],
)
def test_an_encoder_may_state_the_layers_of_static_vectors(
    encoder, layers, pooled, notes, monkeypatch
):
    said = []
    monkeypatch.setattr(pooling, "note", said.append)
    config = PoolConfig(layers=layers, min_count=1)
    found = pool_words(encoder(), CorpusInShards("a b\nb a"), config)
    assert found.info["layers"] == pooled
    assert np.unique(found.vectors.matrix[:, 3]).tolist() == [np.mean(pooled)]
    assert said == ([notes] if notes else [])


def test_heaps_keep_the_lowest_keys():
    rng = np.random.default_rng(2)
    words = rng.integers(-1, 5, size=3000).astype(np.int32)
    offsets = np.arange(0, 3001, 3)
    keys = rng.integers(0, 2**63, size=1000, dtype=np.uint64)
    wanted = np.array([1, 2, 3, 10, 200])
    starts = np.concatenate([[0], np.cumsum(wanted)])
    lowest = np.zeros(starts[-1], dtype=np.uint64)

    keep_lowest(words, offsets, keys, starts, np.zeros(5, dtype=np.int64), lowest)

    for w in range(5):
        expected = np.sort(np.repeat(keys, 3)[words == w])[: wanted[w]]
        found = lowest[starts[w] : starts[w + 1]]
        assert np.array_equal(np.sort(found), expected)
        assert found[0] == expected[-1]
