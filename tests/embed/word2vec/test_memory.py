"""Memory of skip-gram and CBOW: what is counted, and the refusal of what does not fit."""

import dataclasses

import pytest

from firth.corpora.common.errors import SettingError
from firth.embed.vectors.subwords import ngram_buckets
from firth.embed.word2vec import memory
from firth.embed.word2vec.config import CbowConfig, Ngrams, SkipGramConfig
from firth.embed.word2vec.memory import TrainingSize, count_ngrams, memory_needed, training_size
from firth.embed.word2vec.tables import make_tables
from firth.embed.word2vec.train import make_run, train_skipgram
from firth.embed.word2vec.trainer import build_trainer
from tests.embed.word2vec.test_train import corpus_of, skewed_lines

SIZE = TrainingSize(words=1_000_000, types=1, tokens=0, units=0)
OPTIONS = {"dim": 20, "epochs": 1, "min_count": 1, "threads": 2}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A corpus of some lines."""
    return corpus_of(tmp_path_factory.mktemp("corpus"), skewed_lines(), held_out=0.2)


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_ngrams_and_their_buckets_are_counted_as_the_naive_ones(block, monkeypatch):
    monkeypatch.setattr(memory, "_WORDS_AT_ONCE", block)
    ngrams = Ngrams(3, 5, 90)
    words = ["the", "kings", "king", "</s>", "図書館", "a", "naïve", "queens", "queen"]
    found = [bucket for word in words for bucket in ngram_buckets(word, *ngrams)]
    assert count_ngrams(words, ngrams) == (len(found), len(set(found)))


@pytest.mark.parametrize("dim", [16, 100])
@pytest.mark.parametrize("buckets", [0, 300_000])
def test_a_million_words_take_at_least_their_tables(dim, buckets):
    """A row of each table for each word, and one for each bucket, in whole SIMD vectors."""
    size = dataclasses.replace(SIZE, buckets=buckets)
    tables = 4 * (16 if dim == 16 else 112) * (2_000_000 + buckets)
    needed = memory_needed(size, SkipGramConfig(dim=dim, subwords="3-6" if buckets else None))
    assert tables + 150e6 < needed < tables + 400e6


def test_sizes_of_a_text_are_those_of_its_tables(corpus):
    config = SkipGramConfig(subwords="2-4", buckets=5000, **OPTIONS)
    trainer = build_trainer(corpus, config)
    size = training_size(trainer.text, trainer.config)
    tables = make_tables(trainer.text.words, 20, 1, None, config.ngrams)
    assert size.buckets == len(tables.buckets)
    assert size.ngrams == len(tables.parts) - size.words
    assert (size.words, size.types) == (len(trainer.text.words), len(corpus.vocabulary))
    assert size.tokens == sum(len(shard.ids) for shard in corpus.shards)


def test_two_neighboring_shards_are_in_memory():
    assert memory._most_of_two([3], again=False) == 3
    assert memory._most_of_two([5, 3, 4, 4, 1], again=False) == 8


def test_the_next_epoch_prepares_its_first_shard_while_the_last_one_is_in_memory():
    assert memory._most_of_two([3], again=True) == 6
    assert memory._most_of_two([5, 1, 2, 4], again=True) == 9


@pytest.mark.parametrize("engine", ["firth", "gensim"])
def test_less_memory_than_needed_is_refused_before_any_work(engine, corpus, tmp_path):
    config = CbowConfig(engine=engine, memory="20M", **OPTIONS)
    trainer = build_trainer(corpus, config)
    needed = -(-memory_needed(training_size(trainer.text, config), config) >> 20)
    with pytest.raises(SettingError) as refusal:
        make_run(trainer, tmp_path / "run", force=False)
    assert str(refusal.value) == (
        f"`memory=20M`: {len(trainer.text.words)} words of 20 dimensions take at least "
        f"`memory={needed}M`; pass that, a smaller `max_vocabulary`, a larger `min_count` or a "
        "smaller `dim`"
    )
    assert not list(tmp_path.iterdir())


def test_the_least_that_a_refusal_names_is_enough_and_changes_no_byte(corpus, tmp_path):
    config = SkipGramConfig(**OPTIONS, deterministic=True)
    trainer = build_trainer(corpus, config)
    needed = -(-memory_needed(training_size(trainer.text, config), config) >> 20)
    bounded = train_skipgram(corpus, dataclasses.replace(config, memory=f"{needed}M"))
    assert (bounded.matrix == train_skipgram(corpus, config).matrix).all()


def test_without_a_bound_the_memory_of_the_machine_is_the_bound(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "machine_memory", lambda: 64 << 20)
    with pytest.raises(SettingError, match=r"^this machine has 64 MB: \d+ words of 20 dimensions"):
        train_skipgram(corpus, SkipGramConfig(**OPTIONS), tmp_path / "run")


def test_vectors_to_start_from_are_counted(corpus, tmp_path):
    """Their words, and the whole matrix unless it is mapped from a run."""
    run = train_skipgram(corpus, SkipGramConfig(**OPTIONS), tmp_path / "run")
    words = len(run.vocabulary)
    mapped, held = memory._of_initial(run), memory._of_initial(run.in_memory())
    assert held - mapped == 4 * 20 * words
    assert mapped > 0
    assert memory._of_initial(None) == 0
