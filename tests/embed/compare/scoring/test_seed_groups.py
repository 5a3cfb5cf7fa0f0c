"""Grouping of runs that differ only in the seed."""

import json
import shutil

import pytest

from firth.corpora.artifacts.artifact import CHECKSUMS, MAKER, write_json
from firth.embed.compare.scoring.seed_groups import first_of_seeds, seed_groups
from firth.embed.contextual.pooled_run import pool_run
from firth.embed.contextual.pooling import PoolConfig
from firth.embed.svd.train import SvdConfig, make_svd_run
from firth.embed.word2vec.config import SkipGramConfig
from firth.embed.word2vec.train import train_skipgram
from firth.pretrain.config import MlmConfig
from firth.pretrain.train import make_mlm_run
from tests.pretrain.small_training import SMALL, corpus_of


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A small corpus."""
    return corpus_of(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def other_corpus(tmp_path_factory):
    """Another text."""
    return corpus_of(tmp_path_factory.mktemp("other"), ["a b c d e", "b c d e a"] * 20)


@pytest.fixture
def svd(corpus, tmp_path):
    """Make a run of SVD."""

    def make(name, text=corpus, **options):
        config = SvdConfig(**{"dim": 3, "min_count": 1, "threads": 1, **options})
        return make_svd_run(text, config, tmp_path / name)

    return make


@pytest.fixture(scope="module")
def encoders(corpus, tmp_path_factory):
    """Masked language models of two seeds, and a wider one."""
    folder = tmp_path_factory.mktemp("encoders")
    runs = {
        name: MlmConfig(**{**SMALL, "steps": 2, **options})
        for name, options in {
            "mlm-seed1": {"seed": 1},
            "mlm-seed2": {"seed": 2, "device": "auto", "threads": 2},
            "wide": {"seed": 3, "preset": "1/32/2"},
        }.items()
    }
    return {name: make_mlm_run(corpus, config, folder / name) for name, config in runs.items()}


def change(run, name, **values):
    """Write other values to a JSON file of a run."""
    path = run / name
    write_json(path, {**json.loads(path.read_text(encoding="utf-8")), **values})


def test_runs_that_differ_only_in_the_seed_form_a_group(corpus, svd, tmp_path):
    runs = {f"svd-seed{seed}": svd(f"svd-seed{seed}", seed=seed) for seed in (9, 10, 11)}
    for seed in (1, 2):
        config = SkipGramConfig(dim=3, min_count=1, epochs=1, threads=1, seed=seed)
        name = f"skipgram-seed{seed}"
        runs[name] = train_skipgram(corpus, config, tmp_path / name).path

    assert seed_groups(runs) == {
        "svd-seed*": ("svd-seed9", "svd-seed10", "svd-seed11"),
        "skipgram-seed*": ("skipgram-seed1", "skipgram-seed2"),
    }


def test_options_that_change_no_result_are_ignored(svd):
    runs = {"a-seed1": svd("a"), "a-seed2": svd("b", seed=2, threads=2, memory="1G", device="cpu")}
    assert seed_groups(runs) == {"a-seed*": ("a-seed1", "a-seed2")}


def test_different_options_or_text_separate_groups(svd, other_corpus):
    runs = {
        "one": svd("one", seed=1),
        "wider": svd("wider", seed=2, dim=4),
        "elsewhere": svd("elsewhere", other_corpus, seed=3),
        "weighed": svd("weighed", seed=4, weighting="counts"),
    }
    assert seed_groups(runs) == {}


def test_duplicate_seeds_keep_the_run_named_after_the_seed(svd, tmp_path):
    first = svd("first")
    shutil.copytree(first, tmp_path / "copy")
    runs = {"first": first, "svd-seed1": tmp_path / "copy"}
    assert seed_groups(runs) == {}
    runs |= {"svd-seed2": svd("second", seed=2), "again": svd("third", seed=2)}
    assert seed_groups(runs) == {"svd-seed*": ("svd-seed1", "svd-seed2")}


def test_group_names_are_unique(svd):
    runs = {"ab": svd("a1", seed=1), "ac": svd("a2", seed=2)}
    runs |= {"ad": svd("d1", seed=1, dim=2), "ae": svd("d2", seed=2, dim=2), "a*": svd("a", dim=1)}
    assert seed_groups(runs) == {"a* (2)": ("ab", "ac"), "a* (3)": ("ad", "ae")}


def test_a_star_replaces_whole_numbers(svd):
    made = svd("one"), svd("two", seed=2)
    for name, *names in (
        ("x-seed*", "x-seed1", "x-seed12"),  # not x-seed1*
        ("x-seed*", "x-seed10", "x-seed11"),
        ("run2019*", "run2019a", "run2019b"),
        ("*", "a/svd", "b/svd"),
    ):
        assert seed_groups(dict(zip(names, made, strict=True))) == {name: tuple(names)}


@pytest.mark.slow
def test_masked_language_models_are_grouped_for_any_pooling(encoders):
    change(encoders["mlm-seed2"], "config.json", pooling={"source": "states", "sentences": 1})
    assert seed_groups(encoders) == {"mlm-seed*": ("mlm-seed1", "mlm-seed2")}


@pytest.mark.slow
def test_a_different_automatic_batch_size_separates_groups(encoders, tmp_path):
    run = shutil.copytree(encoders["mlm-seed2"], tmp_path / "copy")
    decided = json.loads((run / "config.json").read_text())["decided"]
    change(run, "config.json", decided={**decided, "batch": 1024})
    assert seed_groups({**encoders, "mlm-seed2": run}) == {}


def test_pooled_vectors_are_grouped_by_their_encoders_seeds(encoders, corpus, tmp_path):
    pooled = {
        f"pooled-{name}": pool_run(run, PoolConfig(min_count=1), tmp_path / name)
        for name, run in encoders.items()
    }
    assert seed_groups({**encoders, **pooled}) == {
        "mlm-seed*": ("mlm-seed1", "mlm-seed2"),
        "pooled-mlm-seed*": ("pooled-mlm-seed1", "pooled-mlm-seed2"),
    }
    again = pool_run(encoders["mlm-seed1"], PoolConfig(min_count=1, seed=5), tmp_path / "again")
    gone = {"path": str(tmp_path / "gone"), "fingerprint": "0123456789abcdef"}
    for run in (pooled["pooled-mlm-seed1"], again):  # the encoder is lost, but it was the same
        change(run, "config.json", encoder_run=gone)
    assert seed_groups({**pooled, "pooled-again": again}) == {
        "pooled-*": ("pooled-mlm-seed1", "pooled-again")
    }


def test_runs_without_readable_settings_are_in_no_group(svd, tmp_path):
    runs = {f"svd-seed{seed}": svd(str(seed), seed=seed) for seed in (1, 2, 3)}
    (tmp_path / "vectors.vec").write_text("1 1\na 1\n")
    runs |= {"vectors": tmp_path / "vectors.vec", "nothing": tmp_path / "nothing"}
    for name in ("config.json", "provenance.json"):
        whole = (runs["svd-seed2"] / name).read_text()
        for text in ("{", "[]", '{"method": 3, "seed": "one"}', None):
            if text is None:
                (runs["svd-seed2"] / name).unlink()
            else:
                (runs["svd-seed2"] / name).write_text(text)
            assert seed_groups(runs) == {"svd-seed*": ("svd-seed1", "svd-seed3")}, (name, text)
        (runs["svd-seed2"] / name).write_text(whole)


def test_an_unfinished_run_is_in_no_group(svd):
    runs = {f"svd-seed{seed}": svd(str(seed), seed=seed) for seed in (1, 2)}
    (runs["svd-seed2"] / CHECKSUMS).rename(runs["svd-seed2"] / MAKER)
    assert seed_groups(runs) == {}


def test_first_of_seeds_keeps_one_run_per_group():
    runs = dict.fromkeys(("svd", "sg1", "sg2"), "vectors")
    assert list(first_of_seeds(runs, {"sg*": ("sg1", "sg2")})) == ["svd", "sg1"]
