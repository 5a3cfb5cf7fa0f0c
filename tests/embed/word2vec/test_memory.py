"""Memory of skip-gram and CBOW: the refusal of what does not fit, before it is allocated."""

import dataclasses
import re

import pytest

from firth.corpora.common.errors import SettingError
from firth.embed.word2vec import tables
from firth.embed.word2vec.config import CbowConfig, SkipGramConfig
from firth.embed.word2vec.train import make_run, train_skipgram
from firth.embed.word2vec.trainer import build_trainer
from tests.embed.word2vec.test_train import skewed_lines
from tests.embed.word2vec.word2vec_cases import corpus_of

OPTIONS = {"dim": 20, "epochs": 1, "min_count": 1, "threads": 2}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A corpus of some lines."""
    return corpus_of(tmp_path_factory.mktemp("corpus"), skewed_lines(), held_out=0.2)


def least_of(corpus, config):
    """Return the least memory, in MiB, that the refusal of less names."""
    with pytest.raises(SettingError) as refusal:
        build_trainer(corpus, dataclasses.replace(config, memory="20M")).allocate()
    return int(re.findall(r"at least `memory=(\d+)M`", str(refusal.value))[0])


def test_a_row_of_each_table_takes_whole_simd_vectors(corpus):
    n_words = len(build_trainer(corpus, SkipGramConfig(**OPTIONS)).text.words)
    dims = {**OPTIONS, "dim": 32_000}, {**OPTIONS, "dim": 64_001}
    narrow, wide = (least_of(corpus, SkipGramConfig(**options)) for options in dims)
    assert wide - narrow == pytest.approx(2 * n_words * 4 * 32_016 / 2**20, abs=1)


def test_the_buckets_in_use_are_counted(corpus):
    options = {**OPTIONS, "dim": 16_000}
    config = SkipGramConfig(**options, subwords="2-4", buckets=5000)
    small = SkipGramConfig(**{**OPTIONS, "dim": 16}, subwords="2-4", buckets=5000)
    n_buckets = len(build_trainer(corpus, small).tables.buckets)
    more = least_of(corpus, config) - least_of(corpus, SkipGramConfig(**options))
    assert more == pytest.approx(n_buckets * 4 * 16_000 / 2**20, abs=2)


@pytest.mark.parametrize("engine", ["firth", "gensim"])
def test_less_memory_than_needed_is_refused_before_any_work(engine, corpus, tmp_path):
    trainer = build_trainer(corpus, CbowConfig(engine=engine, memory="20M", **OPTIONS))
    with pytest.raises(SettingError) as refusal:
        make_run(trainer, tmp_path / "run", force=False)
    assert re.fullmatch(
        f"`memory=20M`: {len(trainer.text.words)} words of 20 dimensions take at least "
        r"`memory=\d+M`; pass that, or a smaller `max_vocabulary`, a larger `min_count` or a "
        "smaller `dim`",
        str(refusal.value),
    )
    assert not list(tmp_path.iterdir())


def test_the_least_that_a_refusal_names_is_enough_and_changes_no_byte(corpus):
    config = SkipGramConfig(**OPTIONS, deterministic=True)
    bounded = dataclasses.replace(config, memory=f"{least_of(corpus, config)}M")
    assert (train_skipgram(corpus, bounded).matrix == train_skipgram(corpus, config).matrix).all()


def test_without_a_bound_the_memory_of_the_machine_is_the_bound(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "machine_memory", lambda: 64 << 20)
    with pytest.raises(SettingError, match=r"^this machine has 64 MB: \d+ words of 20 dimensions"):
        train_skipgram(corpus, SkipGramConfig(**OPTIONS), tmp_path / "run")
