"""Nested samples: subsets of each other, of the requested size, and the only text methods see."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.corpora.common.errors import SettingError
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.sampling import default_sizes, nested_sample, parse_sizes, size_name
from firth.embed.svd.train import SvdConfig, make_svd_run
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.word2vec.config import SkipGramConfig
from firth.embed.word2vec.train import train_skipgram
from tests.corpora.small_corpora import build, naive_mixed, parts_of

RANDOM = np.random.default_rng(5)
# documents of 1 to 60 tokens; each contains its own number
LINES = [
    " ".join([f"document{n}", *(f"w{w}" for w in RANDOM.zipf(1.4, size=size) % 40)])
    for n, size in enumerate(RANDOM.integers(0, 60, size=300))
]
SIZES = (1, 100, 500, 2_000, 5_000)


def build_corpus(folder, lines, sizes=None, **options) -> Corpus:
    """Build a corpus with one document per line."""
    return build(folder, "\n".join(lines), "a", sizes, documents="line", threads=1, **options)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Corpus:
    """Return a corpus of 300 documents in several shards, some held out."""
    sizes = {"shard_tokens": 400, "block_bytes": 1_000}
    corpus = build_corpus(tmp_path_factory.mktemp("nested"), LINES, sizes, held_out=0.1)
    assert len(corpus.shards) > 10
    return corpus


@pytest.fixture(scope="module")
def one_shard(tmp_path_factory) -> Corpus:
    """Return the same corpus in one shard."""
    return build_corpus(tmp_path_factory.mktemp("one"), LINES, held_out=0.1)


def documents_of(corpus: Corpus, documents: str = "train") -> list[str]:
    """Return the documents that methods see, as text, in corpus order."""
    view = corpus.view(boundary="document", documents=documents)
    return [" ".join(part) for part in parts_of(view)]


def test_a_smaller_sample_is_contained_in_every_larger_one(corpus):
    samples = [set(documents_of(corpus.sample(size))) for size in SIZES]
    assert all(small < large for small, large in itertools.pairwise(samples))
    assert samples[-1] < set(documents_of(corpus)) == set(documents_of(corpus.sample(10**9)))


@pytest.mark.parametrize("size", SIZES)
def test_a_sample_has_the_requested_tokens_and_no_spare_document(corpus, size):
    sample = corpus.sample(size)
    lengths = [len(text.split()) for text in documents_of(sample)]

    assert sum(lengths) == sample.training_tokens >= size
    assert sum(lengths) - max(lengths) < size
    assert len(lengths) == sample.training_documents
    assert sample.n_tokens == sample.training_tokens + corpus.manifest["held_out_tokens"]


def naive_sample(lengths: list[int], eligible: list[bool], tokens: int, seed: int) -> set[int]:
    """The definition: documents in the order of their hashes until there are enough tokens."""
    keys = [
        naive_mixed((naive_mixed(seed) + n * 0x9E3779B97F4A7C15) % 2**64)
        for n in range(1, len(lengths) + 1)
    ]
    taken: set[int] = set()
    for number in sorted(range(len(lengths)), key=keys.__getitem__):
        if eligible[number] and sum(lengths[n] for n in taken) < tokens:
            taken.add(number)
    return taken


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_sampled_documents_match_the_naive_twin(seed):
    lengths, eligible = RANDOM.integers(0, 9, size=200), RANDOM.random(200) < 0.8
    for tokens in (1, 2, 100, 500, int(lengths[eligible].sum()), 10_000):
        taken = nested_sample(lengths, eligible, tokens, seed)
        expected = naive_sample(lengths.tolist(), eligible.tolist(), tokens, seed)
        if tokens >= lengths[eligible].sum():
            expected = set(np.flatnonzero(eligible))  # empty ones behind the last token, too
        assert set(np.flatnonzero(taken)) == expected


def test_the_order_of_documents_is_uniform():
    # each of 5 one-token documents is first in a fifth of 2,000 seeds: 400, deviation 18; that
    # one of five is off by five deviations happens by chance once in 350,000 changes of the hash
    one = np.ones(5, dtype=np.int64)
    first = [int(np.argmax(nested_sample(one, one > 0, 1, seed))) for seed in range(2_000)]
    assert np.abs(np.bincount(first, minlength=5) - 400).max() < 5 * 18


def test_the_held_out_slice_is_the_same_for_all_sizes_and_never_sampled(corpus):
    held_out = documents_of(corpus, "held-out")
    assert len(held_out) > 10
    for size in SIZES:
        sample = corpus.sample(size)
        assert documents_of(sample, "held-out") == held_out
        assert not set(held_out) & set(documents_of(sample))
        assert sorted(documents_of(sample, "all")) == sorted(held_out + documents_of(sample))


def test_counts_are_those_of_the_sampled_documents(corpus):
    sample = corpus.sample(500)
    for documents in ("train", "held-out", "all"):
        tokens = " ".join(documents_of(sample, documents)).split()
        view = sample.view(documents=documents)
        assert dict(zip(view.words, view.counts.tolist(), strict=True)) == {
            word: tokens.count(word) for word in set(tokens)
        }


def test_a_sample_does_not_depend_on_the_shards(corpus, one_shard):
    assert len(one_shard.shards) == 1
    for size in SIZES:
        here, there = corpus.sample(size), one_shard.sample(size)
        assert documents_of(here) == documents_of(there)
        assert here.fingerprint == there.fingerprint


def test_the_fingerprint_of_a_sample_depends_on_its_documents_not_on_the_requested_size(corpus):
    sample = corpus.sample(500)
    same, more = corpus.sample(sample.training_tokens), corpus.sample(sample.training_tokens + 1)
    n_documents = len(documents_of(sample))
    assert sample.fingerprint == f"{corpus.fingerprint}:{n_documents}-documents-of-seed-1"
    assert same.fingerprint == sample.fingerprint != more.fingerprint
    other = corpus.sample(500, seed=2)
    assert set(documents_of(other)) != set(documents_of(sample))
    assert other.fingerprint != sample.fingerprint


def test_a_sample_of_everything_is_the_corpus_itself(corpus):
    assert corpus.sample(corpus.training_tokens) is corpus
    assert corpus.sample(corpus.training_tokens - 60) is not corpus
    whole = {"path": str(corpus.path.resolve()), "fingerprint": corpus.fingerprint}
    assert corpus.reference == corpus.sample(10**12, seed=9).reference == whole


def test_a_sample_can_be_sampled(corpus):
    large = corpus.sample(2_000)
    assert documents_of(large.sample(500)) == documents_of(corpus.sample(500))
    assert set(documents_of(large.sample(500, seed=2))) < set(documents_of(large))


def test_a_sample_can_be_restored_from_its_reference(corpus):
    for sample in (corpus.sample(500), corpus.sample(2_000, seed=2).sample(500, seed=7)):
        reference = json.loads(json.dumps(sample.reference))
        again = Corpus.open(reference["path"]).restore_sample(reference["sample"])
        assert documents_of(again) == documents_of(sample)
        assert again.fingerprint == sample.fingerprint == reference["fingerprint"]


def test_a_run_records_the_sizes_of_the_sample_that_it_is_trained_on(corpus):
    whole, part = corpus.trained_on, corpus.sample(1_000).trained_on
    assert whole["corpus"] == corpus.fingerprint != part["corpus"]
    for of, about in ((corpus, whole), (corpus.sample(1_000), part)):
        assert about["text"]["tokens"] == of.training_tokens
        assert about["text"]["documents"] == of.training_documents
    assert part["text"]["tokens"] < whole["text"]["tokens"]
    names = [source["name"] for source in corpus.manifest["sources"]]
    assert whole["text"]["sources"] == names[:3]
    assert whole["text"]["n_sources"] == len(names) > 0


def test_invalid_tokens_and_seeds_are_errors(corpus):
    with pytest.raises(SettingError, match=r"^a sample must have at least 1 token, got 0$"):
        corpus.sample(0)
    message = r"^the seed of a sample must be at least 0 and below 2\^64, got -1$"
    with pytest.raises(SettingError, match=message):
        corpus.sample(1, seed=-1)


def test_a_sample_gives_the_vectors_of_a_corpus_of_its_documents(tmp_path, corpus):
    sample = corpus.sample(2_000)
    alone = build_corpus(tmp_path / "alone", documents_of(sample), held_out=0.0)
    config = SvdConfig(dim=5, min_count=20, threads=1, subsample=0.0)
    ours = WordVectors.open(make_svd_run(sample, config, tmp_path / "ours"))
    theirs = WordVectors.open(make_svd_run(alone, config, tmp_path / "theirs"))

    # equally frequent words are in the order of the whole corpus, so rows are found by word
    rows = [theirs.vocabulary.index(word) for word in ours.vocabulary]
    assert sorted(rows) == list(range(len(theirs.vocabulary)))
    assert (theirs.counts[rows] == ours.counts).all()
    ours_gram, theirs_gram = ours.matrix @ ours.matrix.T, theirs.matrix @ theirs.matrix.T
    np.testing.assert_allclose(ours_gram, theirs_gram[np.ix_(rows, rows)], atol=1e-4)


def test_methods_train_on_a_sample_absent_from_most_shards(tmp_path, corpus):
    sample = corpus.sample(150)
    run = train_skipgram(
        sample, SkipGramConfig(dim=4, min_count=1, epochs=2, threads=1), tmp_path / "run"
    )
    assert set(WordVectors.open(run).vocabulary) == set(" ".join(documents_of(sample)).split())


@given(st.integers(1, 10**18 - 1) | st.integers(1, 10**10 - 1).map(lambda n: n * 10**7))
def test_a_formatted_size_is_parsed_back_exactly(tokens):
    assert parse_sizes(size_name(tokens)) == [tokens]


def test_parsed_sizes_are_sorted_and_distinct():
    assert parse_sizes("2.5M, 500k,0.5m,3B,7,1g") == [7, 500_000, 2_500_000, 10**9, 3 * 10**9]
    assert parse_sizes("12 K, 1.5  M ,7 ") == [7, 12_000, 1_500_000]


@pytest.mark.parametrize(
    "wrong",
    ["", "0", "0.4", "-5", "1T", "1e6", "5M;2", "1 2", "1.", ".5M", "٣", "9" * 19, "9" * 5000],
)
def test_an_invalid_size_is_an_error(wrong):
    message = "`sizes` must be numbers of tokens such as 500K,1M,2.5M, got "
    message += repr(wrong if len(wrong) <= 40 else f"{wrong[:40]}...")
    for sizes in (wrong, f"1M,{wrong}", f"{wrong},1M"):
        with pytest.raises(SettingError) as refused:
            parse_sizes(sizes)
        assert str(refused.value) == message


@given(st.integers(1, 10**12))
def test_default_sizes_double_and_stay_well_below_the_whole(tokens):
    sizes = default_sizes(tokens)
    assert all(2 * small == large for small, large in itertools.pairwise(sizes))
    assert all(20_000 <= size <= tokens * 2 / 3 for size in sizes)
    if tokens >= 30_000:
        assert sizes[0] <= max(20_000, min(1_000_000, tokens / 8))
        assert 2 * sizes[-1] > tokens * 2 / 3
