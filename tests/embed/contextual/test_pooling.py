"""Pooling against a plain loop: which sentences are encoded, and the means that come out."""

from collections import Counter

import numpy as np
import pytest

from corpora.common.console import no_progress
from corpora.common.errors import SettingError
from embed.contextual.pooling import PoolConfig, parse_layers, pool_words
from embed.contextual.pooling_kernels import keep_lowest
from embed.vectors.word_vectors import WordVectors
from tests.embed.small_corpus import SmallCorpus, SmallView

_MASK = 2**64 - 1


class CorpusInShards(SmallCorpus):
    """A text in shards of a few sentences."""

    def __init__(self, text, sentences_per_shard=1000):
        super().__init__(text)
        self.sentences_per_shard = sentences_per_shard

    def view(self, *, min_count, max_vocabulary, punctuation, boundary):
        """Sentences, with punctuation or without it."""
        assert boundary == "sentence"
        chosen = super().view(min_count=min_count, max_vocabulary=None, punctuation="", boundary="")
        words = [word for word in chosen.words if punctuation == "keep" or word != "."]
        words = words[:max_vocabulary]
        return SmallView(self.units, words=words, units_per_shard=self.sentences_per_shard)


class StandIn:
    """States that can be worked out by hand: they tell word, place, company and layers."""

    n_layers = 4

    def __init__(self):
        self.encoded = []

    def encode(self, sentences, layers):
        """A row of [length of the word, place, words in the sentence, mean layer] per word."""
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

    def knows(self, words):
        """All but those that begin with a hash."""
        return np.array([not word.startswith("#") for word in words])

    def words(self, text):
        """As the corpus."""
        return text.split()


class StandInWithTable(StandIn):
    """Has input embeddings, too."""

    def input_embeddings(self, words):
        """The first letter's code and the length."""
        return np.array([[ord(word[0]), len(word)] for word in words], dtype=np.float32)


def random_text(n_sentences=60, seed=1):
    """Words by a power law: a few everywhere, many once; each sentence ends in a full stop."""
    rng = np.random.default_rng(seed)
    sentences = []
    for _ in range(n_sentences):
        ranks = (1 / rng.uniform(0.005, 1, size=rng.integers(1, 9))).astype(int)
        sentences.append(" ".join([f"{'w' * (rank % 7 + 1)}{rank}" for rank in ranks] + ["."]))
    return "\n".join(sentences)


def naive_key(sentence, number, counts, contexts, seed):
    """What sentence_keys does, in Python's own integers."""
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


def naive_choice(text, contexts, seed, min_count=1):
    """The definition: sentence by sentence in their order, taken if it brings something new."""
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
    """Mean state of each word over the chosen sentences."""
    states = {word: [] for word in counts}
    for sentence, of_words in zip(chosen, StandIn().encode(chosen, layers), strict=True):
        for word, state in zip(sentence, of_words, strict=True):
            if word in states:
                states[word].append(state)
    return {word: np.mean(found, axis=0) for word, found in states.items()}


@pytest.mark.parametrize("contexts", [1, 3, 1000])
@pytest.mark.parametrize("sentences_per_shard", [7, 1000])
def test_vectors_are_means_over_the_sentences_that_a_greedy_loop_takes(
    contexts, sentences_per_shard
):
    text, encoder = random_text(), StandIn()
    config = PoolConfig(contexts_per_word=contexts, min_count=1, layers="1,3", seed=5)

    pooled = pool_words(encoder, CorpusInShards(text, sentences_per_shard), config)

    chosen, counts = naive_choice(text, contexts, seed=5)
    means = naive_means(chosen, counts, (1, 3))
    assert encoder.encoded == [" ".join(sentence) for sentence in chosen]
    assert sorted(pooled.vectors.vocabulary) == sorted(counts)
    for row, word in enumerate(pooled.vectors.vocabulary):
        np.testing.assert_allclose(pooled.vectors.matrix[row], means[word], rtol=1e-6)
    assert pooled.vectors.matrix.dtype == np.float32


@pytest.mark.parametrize("contexts", [1, 2, 5])
def test_every_word_gets_the_contexts_asked_for_or_all_that_it_has(contexts):
    text, encoder = random_text(200), StandIn()
    pool_words(encoder, CorpusInShards(text), PoolConfig(contexts_per_word=contexts, min_count=1))

    counts, got = Counter(text.split()), Counter(" ".join(encoder.encoded).split())

    assert all(got[word] >= min(count, contexts) for word, count in counts.items() if word != ".")
    assert len(encoder.encoded) < 200  # or the choice would be none


def test_sentences_of_rare_words_alone_are_taken_where_they_serve_frequent_ones_too():
    text = "a b\na c\na d\n" + "a\n" * 50
    encoder = StandIn()
    pool_words(encoder, CorpusInShards(text), PoolConfig(contexts_per_word=3, min_count=1))
    assert encoder.encoded == ["a b", "a c", "a d"]


def test_another_seed_takes_other_sentences_and_the_same_seed_the_same():
    text = "\n".join(f"a {'x' * n}" for n in range(1, 40))
    config = {"contexts_per_word": 1, "min_count": 2}

    def encoded(seed):
        encoder = StandIn()
        pool_words(encoder, CorpusInShards(text), PoolConfig(**config, seed=seed))
        return encoder.encoded

    assert encoded(1) == encoded(1)
    assert len({tuple(encoded(seed)) for seed in range(8)}) > 4  # one would be 39^-7


def test_words_below_the_least_count_and_punctuation_are_encoded_but_get_no_vector():
    encoder = StandIn()
    config = PoolConfig(min_count=2)
    pooled = pool_words(encoder, CorpusInShards("a b .\na c .\nd d ."), config)
    assert pooled.vectors.vocabulary == ["a", "d"]
    assert pooled.vectors.counts.tolist() == [2, 2]
    assert encoder.encoded == ["a b .", "a c .", "d d ."]


def test_sentences_without_a_pooled_word_are_never_encoded():
    encoder = StandIn()
    pool_words(encoder, CorpusInShards("a a\nb .\n. ."), PoolConfig(min_count=2))
    assert encoder.encoded == ["a a"]


def test_the_size_of_blocks_changes_nothing():
    corpus, config = CorpusInShards(random_text()), PoolConfig(contexts_per_word=2, min_count=1)
    whole = pool_words(StandIn(), corpus, config)
    parts = pool_words(StandIn(), corpus, config, tokens_at_once=3)  # below most sentences
    assert np.array_equal(parts.vectors.matrix, whole.vectors.matrix)


def test_progress_ends_at_the_tokens_that_are_told():
    told = []
    config = PoolConfig(contexts_per_word=2, min_count=1, layers="0")
    encoder = StandIn()

    def show(done, total=None, detail=""):
        told.append((done, total))

    about = pool_words(encoder, CorpusInShards(random_text()), config, show).about

    tokens = len(" ".join(encoder.encoded).split())
    assert told[-1] == (tokens, tokens)
    assert about == {
        "source": "states",
        "unknown": 0,
        "layers": [0],
        "contexts_per_word": 2,
        "sentences": len(encoder.encoded),
        "tokens": tokens,
    }


def test_input_embeddings_are_looked_up_without_reading_text():
    encoder = StandInWithTable()
    config = PoolConfig(source="input-embeddings", min_count=1)
    corpus = CorpusInShards("bb a\nbb ccc\nbb a")
    pooled = pool_words(encoder, corpus, config, words_at_once=2)
    assert pooled.vectors.vocabulary == ["bb", "a", "ccc"]
    assert pooled.vectors.matrix.tolist() == [[98, 2], [97, 1], [99, 3]]
    assert encoder.encoded == []
    assert pooled.about == {"source": "input-embeddings", "unknown": 0}


@pytest.mark.parametrize("source", ["states", "input-embeddings"])
def test_words_that_the_encoder_cannot_tell_apart_get_no_vector_and_are_told(source, capsys):
    encoder = StandInWithTable()
    config = PoolConfig(source=source, min_count=1, contexts_per_word=9)

    pooled = pool_words(encoder, CorpusInShards("a #x b\n#y #x\na #x #z #q"), config)

    assert pooled.vectors.vocabulary == ["a", "b"]
    assert pooled.vectors.counts.tolist() == [2, 1]
    assert pooled.vectors.matrix.shape[0] == 2
    assert pooled.about["unknown"] == 4
    assert capsys.readouterr().err == (
        "words unknown to the encoder, which get no vector: 4, such as #x #q #y\n"
    )
    # as company they are read all the same, but no sentence is for their sake
    assert encoder.encoded == (["a #x b", "a #x #z #q"] if source == "states" else [])


def test_an_encoder_that_knows_every_word_tells_nothing(capsys):
    pool_words(StandIn(), CorpusInShards("a b"), PoolConfig(min_count=1))
    assert capsys.readouterr().err == ""


def test_a_corpus_without_a_known_word_is_refused_before_any_work():
    encoder = StandIn()
    with pytest.raises(SettingError) as error:
        pool_words(encoder, CorpusInShards("#a #b"), PoolConfig(min_count=1))
    assert str(error.value) == (
        "the encoder knows no word of the corpus; take the one of its training"
    )
    assert encoder.encoded == []


def test_layers_go_with_states_alone():
    with pytest.raises(SettingError) as error:
        PoolConfig(source="input-embeddings", layers="0,1")
    assert str(error.value) == "`layers=0,1`: goes with `source=states`"
    assert PoolConfig(source="input-embeddings", layers="auto").layers == "auto"


def test_an_encoder_without_a_table_is_told_so():
    config = PoolConfig(source="input-embeddings", min_count=1)
    with pytest.raises(SettingError) as error:
        pool_words(StandIn(), CorpusInShards("a b"), config, no_progress)
    assert str(error.value) == "`source=input-embeddings`: this encoder has none; take states"


def test_pooled_vectors_are_saved_as_a_run_has_them(tmp_path):
    config = PoolConfig(min_count=1, contexts_per_word=1)
    pooled = pool_words(StandIn(), CorpusInShards("a b\na c"), config)
    pooled.save(tmp_path)
    opened = WordVectors.open(tmp_path)
    assert list(opened.vocabulary) == list(pooled.vectors.vocabulary)
    assert np.array_equal(opened.matrix, pooled.vectors.matrix)
    assert opened.counts.tolist() == [2, 1, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5", "`layers=5`: there is no layer 5; the encoder has 0, the embeddings, to 4"),
        ("-1", "`layers=-1`: give numbers between commas, such as 0,1, or auto"),
        ("0,,1", "`layers=0,,1`: give numbers between commas, such as 0,1, or auto"),
        ("", "`layers=`: give numbers between commas, such as 0,1, or auto"),
        ("last", "`layers=last`: give numbers between commas, such as 0,1, or auto"),
    ],
)
def test_layers_that_are_none_are_refused_before_any_work(text, message):
    encoder = StandIn()
    with pytest.raises(SettingError) as error:
        pool_words(encoder, CorpusInShards("a b"), PoolConfig(layers=text, min_count=1))
    assert str(error.value) == message
    assert encoder.encoded == []


def test_layers_are_sorted_and_counted_once():
    assert parse_layers("3, 0,3", 4) == (0, 3)


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
