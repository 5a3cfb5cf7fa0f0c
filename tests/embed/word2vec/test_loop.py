"""A whole training: against the naive twin, at any number of threads, interrupted anywhere."""

import dataclasses
import itertools
import json
import math
import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from firth.corpora.common.errors import FirthError
from firth.corpora.common.reporting import reporting_to
from firth.embed.word2vec.config import TUNING, CbowConfig, SkipGramConfig, Tuning
from firth.embed.word2vec.kernels.rounds import DRAWN
from firth.embed.word2vec.loop import held_out_batch, train_tables
from firth.embed.word2vec.schedule import batches, held_out_state, learning_rate, random_state
from firth.embed.word2vec.text_session import LossSum, TextSession
from firth.embed.word2vec.trainer import build_trainer
from firth.embed.word2vec.workers import Workers
from tests.embed.small_corpus import SmallView
from tests.embed.word2vec.naive_word2vec import Stream, lockstep_round, rounds
from tests.embed.word2vec.word2vec_cases import (
    LOSS_SHARE,
    ViewedCorpus,
    as_float64,
    rounding,
    twin_learner,
    twin_windows,
    zipf_units,
)
from tests.reporters import Killed, Recorder, stopping

OPTIONS = {"dim": 12, "window": 3, "subsample": 0.05, "learning_rate": 0.02, "epochs": 2}


# small chunks, batches and rounds, so that there are many
STEPS = Tuning(chunk_tokens=60, batch_chunks=4, round_words=20, max_expected_count=1e9)
OFTEN = dataclasses.replace(STEPS, metrics_seconds=-1, checkpoint_seconds=-1)
METHODS = {"skipgram": SkipGramConfig, "cbow": CbowConfig}
NGRAMS = {"subwords": "2-3", "buckets": 50}


def corpus_of(n_units=150, *, held_out=0, seed=3):
    """Return a text of Zipf-distributed words in three shards."""
    lengths = np.random.default_rng(seed).integers(1, 25, n_units + held_out)
    units = [[f"w{w}" for w in unit] for unit in zipf_units(seed, lengths)]
    return ViewedCorpus(
        SmallView(units[:n_units], units_per_shard=n_units // 3 + 1, held_out=units[n_units:])
    )


CORPUS = corpus_of()
TEXT = build_trainer(CORPUS, SkipGramConfig(**OPTIONS)).text


class Training:
    """A trainer with a folder, and its results."""

    def __init__(self, directory, corpus=CORPUS, *, tuning=STEPS, method="skipgram", **options):
        self.directory = directory
        config = METHODS[method](**{**OPTIONS, "threads": 1, **options})
        self.trainer = build_trainer(corpus, config, tuning)
        self.config, self.plan, self.text = config, self.trainer.plan, self.trainer.text
        self.tables = self.trainer.tables

    def run(self):
        """Train; return self."""
        self.directory.mkdir(exist_ok=True)
        train_tables(self.trainer, self.directory)
        return self

    def stop(self, at, error=KeyboardInterrupt):
        """Train up to this progress, where an error is raised."""
        with pytest.raises(error), stopping(at, error):
            self.run()

    @property
    def bytes(self):
        """Bytes of both tables with padding, without work rows."""
        inputs, outputs = self.tables.inputs, self.tables.outputs
        parts = (inputs, outputs[: self.tables.n_words], outputs[-1])
        return [part.tobytes() for part in parts]

    @property
    def lines(self):
        """Lines of the metrics."""
        text = (self.directory / "metrics.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    @property
    def epochs(self):
        """Lines of the metrics that end an epoch, without the speed."""
        ends = (line for line in self.lines if "epoch_loss" in line)
        return [{key: line[key] for key in line if key != "tokens_per_second"} for line in ends]


def all_batches(text, epochs, size):
    """Return the batches of a whole training."""
    for epoch in range(epochs):
        yield from batches(text, epoch, size, 0, STEPS.chunk_tokens)


def twin_of_fast(training, tables):
    """Train by the definition of the fast mode, one thread; return losses by epoch, and windows."""
    config, plan, text = training.config, training.plan, training.text
    total = config.epochs * text.n_tokens
    losses_by_epoch, windows = [LossSum(0.0, 0)] * config.epochs, []
    for batch in all_batches(text, config.epochs, 1):
        first, last = (
            learning_rate(config.learning_rate, config.final_rate, batch.tokens_before(p), total)
            for p in (0, 1)
        )
        stream = Stream(random_state(config.seed, batch.epoch, batch.number)[0])
        found = twin_windows(units_of(batch, 0), plan, stream, empty=True)
        windows += found
        for number, chunk in enumerate(rounds(found, DRAWN)):
            rate = first + (last - first) * number * DRAWN / len(found)
            losses_by_epoch[batch.epoch] += LossSum(*twin_learner(plan, rate)(*tables, chunk))
    return losses_by_epoch, windows


def twin_of_deterministic(training, tables):
    """Train by the definition of the deterministic mode; return losses by epoch, and windows."""
    config, plan, text = training.config, training.plan, training.text
    total = config.epochs * text.n_tokens
    losses_by_epoch, windows = [LossSum(0.0, 0)] * config.epochs, []
    alone = [[w] for w in range(len(text.words))]
    for batch in all_batches(text, config.epochs, 8):
        first, last = (
            learning_rate(config.learning_rate, config.final_rate, batch.tokens_before(p), total)
            for p in (0, len(batch))
        )
        all_rounds = [
            rounds(
                twin_windows(
                    units_of(batch, p), plan,
                    Stream(random_state(config.seed, batch.epoch, batch.number + p)[0]),
                    empty=True,
                ),
                20,
            )
            for p in range(len(batch))
        ]  # fmt: skip
        n_rounds = max(map(len, all_rounds))
        for r in range(n_rounds):
            chunks = [chunks[r] if r < len(chunks) else [] for chunks in all_rounds]
            windows += itertools.chain(*chunks)
            rate = first + (last - first) * r / n_rounds
            losses, pairs = lockstep_round(*tables, alone, chunks, twin_learner(plan, rate))
            losses_by_epoch[batch.epoch] += LossSum(losses.sum(), pairs.sum())
    return losses_by_epoch, windows


def units_of(batch, p):
    """Return the units of a chunk as lists."""
    rows, offsets = batch.chunk(p)
    return [part.tolist() for part in np.split(rows, offsets[1:-1] - offsets[0])]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["skipgram", "cbow"])
@pytest.mark.parametrize("twin", [twin_of_fast, twin_of_deterministic])
def test_vectors_and_loss_match_the_definition(twin, method, tmp_path):
    deterministic = twin is twin_of_deterministic
    training = Training(tmp_path, method=method, deterministic=deterministic)
    tables = [training.tables.inputs, training.tables.outputs]
    expected = as_float64(tables, 12, training.tables.n_words)
    losses_by_epoch, windows = twin(training, expected)

    training.run()

    assert [line["pairs"] for line in training.epochs] == [loss.pairs for loss in losses_by_epoch]
    losses = [line["epoch_loss"] for line in training.epochs]
    assert losses == pytest.approx([loss.mean for loss in losses_by_epoch], rel=LOSS_SHARE)
    assert losses[1] < losses[0]
    for table, wanted in zip(training.tables.arrays().values(), expected, strict=True):
        tolerance = rounding(expected, windows)
        np.testing.assert_allclose(table, wanted, rtol=0, atol=tolerance)
        assert tolerance < 1e-3
        assert np.abs(wanted).max() > 0.1


@pytest.mark.parametrize("threads", [2, 3])
def test_several_threads_reach_the_loss_of_one(threads, tmp_path):
    # windows and negatives are the same; only the order of updates differs
    one, several = (Training(tmp_path / str(t), threads=t).run() for t in (1, threads))
    for line, other in zip(one.epochs, several.epochs, strict=True):
        assert line["pairs"] == other["pairs"]
        assert line["epoch_loss"] == pytest.approx(other["epoch_loss"], rel=0.02)


@pytest.mark.parametrize(
    "options",
    [{}, NGRAMS, {"window": "all", "learning_rate": 5e-3}],
    ids=["words", "subwords", "sets"],
)
@pytest.mark.parametrize("method", ["skipgram", "cbow"])
def test_deterministic_bytes_do_not_depend_on_the_threads(method, options, tmp_path):
    first, *others = (
        Training(tmp_path / str(n), method=method, threads=t, deterministic=True, **options)
        .run()
        for n, t in enumerate((1, 2, 3, 12))
    )  # fmt: skip
    for other in others:
        assert other.bytes == first.bytes
        assert other.epochs == first.epochs


@pytest.mark.parametrize("ngrams", [{}, NGRAMS], ids=["words", "subwords"])
def test_one_thread_is_deterministic_given_the_seed(ngrams, tmp_path):
    one, again, other = (
        Training(tmp_path / str(n), seed=seed, **ngrams).run() for n, seed in enumerate((1, 1, 2))
    )
    assert again.bytes == one.bytes
    assert other.bytes != one.bytes


def held_out_of(training):
    """Measure the held-out losses of all units."""
    with training.trainer.workers() as workers:
        return workers.losses_of(held_out_batch(training.text, STEPS))


@pytest.mark.parametrize("ngrams", [{}, NGRAMS], ids=["words", "subwords"])
def test_held_out_loss_does_not_depend_on_threads_mode_or_seed(ngrams, tmp_path):
    corpus = corpus_of(held_out=40)
    training = Training(tmp_path, corpus, **ngrams).run()
    before = training.bytes
    found = []
    for options in ({}, {"threads": 2}, {"deterministic": True, "threads": 3}, {"seed": 9}):
        again = Training(tmp_path, corpus, **ngrams, **options)
        for name, table in again.tables.arrays().items():
            table[:] = training.tables.arrays()[name]
        found.append(held_out_of(again))
    assert found == found[:1] * 4
    assert training.bytes == before
    total = sum(found[0], start=LossSum(0.0, 0))
    assert total.pairs > 100
    # sums of 40 numbers in two orders
    assert training.epochs[-1]["held_out_loss"] == pytest.approx(total.mean, rel=1e-14)
    assert training.epochs[-1]["held_out_pairs"] == total.pairs


def test_held_out_loss_and_its_error_match_the_twin(tmp_path):
    corpus = corpus_of(held_out=40)
    for most in (10**6, 300):
        tuning = dataclasses.replace(STEPS, held_out_tokens=most)
        training = Training(tmp_path, corpus, tuning=tuning).run()
        batch = held_out_batch(training.text, tuning)
        by_unit = []
        tables = as_float64([training.tables.inputs, training.tables.outputs], 12)
        for p in range(len(batch)):
            found = twin_windows(units_of(batch, p), training.plan, Stream(held_out_state(p)[0]))
            by_unit.append(LossSum(*twin_learner(training.plan, 0.0)(*tables, found)))
        expected, line = sum(by_unit, start=LossSum(0.0, 0)), training.epochs[-1]
        assert line["held_out_pairs"] == expected.pairs
        assert line["held_out_loss"] == pytest.approx(expected.mean, rel=LOSS_SHARE)
        used = [unit for unit in by_unit if unit.pairs]
        scatter = sum((unit.loss - expected.mean * unit.pairs) ** 2 for unit in used)
        n = line["held_out_units"]
        error = math.sqrt(n / (n - 1) * scatter) / expected.pairs
        assert n == len(used) > 5
        # a relative error of LOSS_SHARE in each loss is at most as large a share of the loss
        assert line["held_out_standard_error"] == pytest.approx(
            error, abs=2 * LOSS_SHARE * expected.mean
        )


@pytest.mark.parametrize("per_cluster", [1, 4])
@pytest.mark.parametrize("most", [10**6, 300])
def test_a_chunk_of_held_out_text_is_a_unit_and_all_units_are_measured(per_cluster, most):
    lengths = np.random.default_rng(5).integers(1, 25, 190)
    units = [[f"w{w}" for w in unit] for unit in zipf_units(5, lengths)]
    view = SmallView(units[:150], units_per_shard=16, held_out=units[150:], per_cluster=per_cluster)
    text = build_trainer(ViewedCorpus(view), SkipGramConfig(**OPTIONS), STEPS).text
    tuning = dataclasses.replace(STEPS, held_out_tokens=most)

    batch = held_out_batch(text, tuning)

    step = -(-text.n_held_out_tokens // most)
    rows = [unit for shard, offsets, _ in text.held_out_shards()
            for unit in (shard[a:b].tolist() for a, b in itertools.pairwise(offsets))]  # fmt: skip
    # 40 units in shards of 16: clusters of four never cross a shard
    expected = [
        measured
        for first in range(0, 40, per_cluster)
        if (measured := [rows[u] for u in range(first, first + per_cluster) if u % step == 0])
    ]
    found = []
    for c in range(len(batch)):
        words, offsets = batch.chunk(c)
        bounds = itertools.pairwise(offsets - offsets[0])
        found.append([words[a:b].tolist() for a, b in bounds])
    assert found == expected
    assert step == 1 or batch.n_tokens < 1.5 * most


def test_metrics_have_a_line_per_batch_and_one_per_epoch(tmp_path):
    training = Training(tmp_path, corpus_of(held_out=9), tuning=OFTEN)
    recorder = Recorder()
    with reporting_to(recorder):
        training.run()
    calls = recorder.calls

    marks = [g.before + g.n_tokens for g in all_batches(training.text, 2, 8)]
    total = 2 * training.text.n_tokens
    steps = [line for line in training.lines if "loss" in line]
    assert len(marks) > 6
    assert [line["tokens"] for line in steps] == marks
    assert [done for done, *_ in calls] == marks
    assert {announced for _, announced, _ in calls} == {total}
    assert re.fullmatch(r"loss \d\.\d{4}  rate \d\.\d{4}", calls[0][2])
    for line in steps:
        assert list(line) == [
            "tokens", "epoch", "loss", "rate", "tokens_per_second", "eta_seconds",
        ]  # fmt: skip
        assert line["epoch"] == 1 + (line["tokens"] > total // 2)
        assert line["rate"] == pytest.approx(max(1e-4, 0.02 * (1 - line["tokens"] / total)))
        assert line["tokens_per_second"] > 0
        assert line["eta_seconds"] >= 0
        assert 0 < line["loss"] < 6 * math.log(2) * 1.1
    assert steps[-1]["eta_seconds"] == 0
    assert [(line["tokens"], line["epoch"]) for line in training.epochs] == [
        (total // 2, 1), (total, 2),
    ]  # fmt: skip
    assert list(training.epochs[0]) == [
        "tokens", "epoch", "epoch_loss", "pairs", "held_out_loss", "held_out_standard_error",
        "held_out_units", "held_out_pairs",
    ]  # fmt: skip


def seconds_of(lines, before=0):
    """Return the seconds of training that lines of metrics add up to; each has its own speed."""
    marks = [before, *(line["tokens"] for line in lines)]
    return sum(
        (end - start) / line["tokens_per_second"]
        for line, (start, end) in zip(lines, itertools.pairwise(marks), strict=True)
    )


def test_the_speed_at_the_end_of_an_epoch_is_that_since_the_first_step_which_compiles(tmp_path):
    Training(tmp_path, tuning=OFTEN).stop(2)
    training = Training(tmp_path, tuning=OFTEN).run()
    steps = [line for line in training.lines if "loss" in line]
    compiled_at = steps[2]["tokens"]
    for end in [line for line in training.lines if "epoch_loss" in line]:
        lines = [line for line in steps if compiled_at < line["tokens"] <= end["tokens"]]
        tokens = end["tokens"] - compiled_at
        # speeds are rounded to tokens per second, of which there are thousands at least
        assert tokens / end["tokens_per_second"] == pytest.approx(
            seconds_of(lines, compiled_at), rel=1e-2
        )


DIVERGED = re.compile(
    r"training diverged in epoch \d, after [\d,]+ tokens: the loss is (\S+); "
    r"pass `learning_rate=(\S+)` or less"
)


@pytest.mark.parametrize("method", ["skipgram", "cbow"])
@pytest.mark.parametrize("deterministic", [False, True])
def test_divergence_is_a_one_line_error(method, deterministic, tmp_path):
    options = {"method": method, "learning_rate": 50, "deterministic": deterministic}
    training = Training(tmp_path, tuning=OFTEN, **options)
    with pytest.raises(FirthError) as refusal:
        training.run()
    loss, advice = DIVERGED.fullmatch(str(refusal.value)).groups()
    assert not float(loss) < 24 * math.log(2)
    assert advice == "12"
    assert not (tmp_path / "checkpoints").exists()


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("table", ["inputs", "outputs"])
def test_a_nan_ends_the_training(table, deterministic, tmp_path):
    training = Training(tmp_path, deterministic=deterministic)
    training.tables.arrays()[table][2, 5] = np.nan
    with pytest.raises(FirthError) as refusal:
        training.run()
    assert DIVERGED.fullmatch(str(refusal.value))[1] == "nan"


# Interruptions: the result is always the same.

MODES = {
    "one thread": {},
    "deterministic": {"deterministic": True, "threads": 2},
    "cbow": {"method": "cbow"},
    "subwords": NGRAMS,
    "deterministic subwords": {**NGRAMS, "deterministic": True, "threads": 2},
}  # fmt: skip


def assert_same_end(training, whole):
    """Compare tables and epochs, but not speeds."""
    assert training.bytes == whole.bytes
    assert training.epochs == whole.epochs


@pytest.mark.slow
@pytest.mark.parametrize("error", [KeyboardInterrupt, Killed])
@pytest.mark.parametrize("mode", MODES)
def test_a_training_stopped_after_any_batch_resumes_to_the_same_bytes(mode, error, tmp_path):
    options = {"tuning": OFTEN, **MODES[mode]}
    whole = Training(tmp_path / "whole", **options).run()
    n_batches = len(list(all_batches(TEXT, 2, 8)))
    assert n_batches > 7
    for stops in ([1], [2, 2, 2], [n_batches // 2], [n_batches]):
        folder = tmp_path / str(stops[0])
        for stop in stops:
            Training(folder, **options).stop(stop, error)
        # a kill comes before the checkpoint of the batch
        has_checkpoint = any((folder / "checkpoints").iterdir())
        assert has_checkpoint == (stops != [1] or error is KeyboardInterrupt)
        again = Training(folder, **options)
        if has_checkpoint:
            again.tables.arrays()["inputs"][:] = np.nan  # replaced by the checkpoint
        assert_same_end(again.run(), whole)
        assert [line["tokens"] for line in again.lines] == [line["tokens"] for line in whole.lines]


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 3, 9])
@pytest.mark.parametrize(("before", "now"), [(1, 2), (2, 1), (3, 12)])
@pytest.mark.parametrize("ngrams", [{}, NGRAMS], ids=["words", "subwords"])
def test_deterministic_training_resumes_with_other_threads_to_the_same_bytes(
    n, before, now, ngrams, tmp_path
):
    mode = {"deterministic": True, **ngrams}
    whole = Training(tmp_path / "whole", threads=2, **mode).run()
    Training(tmp_path / "cut", threads=before, **mode).stop(n)
    assert_same_end(Training(tmp_path / "cut", threads=now, **mode).run(), whole)


def marks_of(threads):
    """Return the tokens done after each batch of the fast mode."""
    return [g.before + g.n_tokens for g in all_batches(TEXT, 2, 8 * threads)]


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(("before", "now"), [(1, 2), (3, 1)])
def test_fast_training_resumes_with_other_threads_on_all_remaining_text(n, before, now, tmp_path):
    # windows and negatives are those of one thread, although batches are larger
    whole = Training(tmp_path / "whole").run()
    Training(tmp_path / "cut", threads=before).stop(n)
    again, recorder = Training(tmp_path / "cut", threads=now), Recorder()
    with reporting_to(recorder):
        again.run()
    assert recorder.calls[-1][:2] == (2 * TEXT.n_tokens,) * 2
    assert recorder.calls[0][0] > marks_of(before)[n - 1]
    for line, other in zip(again.epochs, whole.epochs, strict=True):
        assert (line["tokens"], line["pairs"]) == (other["tokens"], other["pairs"])
        assert line["epoch_loss"] == pytest.approx(other["epoch_loss"], rel=0.02)


@pytest.mark.parametrize("n", [1, 3, 11, 20, 29])
def test_an_interrupt_within_a_batch_takes_effect_after_it(n, tmp_path, monkeypatch):
    whole = Training(tmp_path / "whole").run()
    train_chunk = Workers._train_chunk
    chunks = iter(range(1, n))

    def interrupted(*about):
        if next(chunks, None) is None:
            os.kill(os.getpid(), signal.SIGINT)  # to the main thread, which waits for this one
        return train_chunk(*about)

    recorder = Recorder()
    with monkeypatch.context() as patch, reporting_to(recorder):
        patch.setattr(Workers, "_train_chunk", interrupted)
        with pytest.raises(KeyboardInterrupt):
            Training(tmp_path / "cut").run()
    # the batch is finished before the interrupt is raised, and no other is started
    ends = np.cumsum([len(g) for g in all_batches(TEXT, 2, 8)])
    assert [done for done, *_ in recorder.calls] == marks_of(1)[: 1 + int(np.searchsorted(ends, n))]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert_same_end(Training(tmp_path / "cut").run(), whole)


def test_training_outside_the_main_thread_leaves_signals_alone(tmp_path):
    whole = Training(tmp_path / "whole").run()
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(Training(tmp_path / "other").run).result()
    assert_same_end(other, whole)


def test_an_interrupt_after_the_last_epoch_adds_no_epoch(tmp_path, monkeypatch):
    whole = Training(tmp_path / "whole").run()
    end_epoch = TextSession.end_epoch

    def interrupted(session, held_out):
        end_epoch(session, held_out)
        if session.position.epoch == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(TextSession, "end_epoch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            Training(tmp_path / "cut").run()
    assert_same_end(Training(tmp_path / "cut").run(), whole)


def test_a_divergence_during_an_interrupt_is_raised_and_leaves_no_checkpoint(tmp_path, monkeypatch):
    train_chunk = Workers._train_chunk

    def interrupted(*about):
        os.kill(os.getpid(), signal.SIGINT)
        return train_chunk(*about)

    monkeypatch.setattr(Workers, "_train_chunk", interrupted)

    with pytest.raises(FirthError, match="training diverged"):
        Training(tmp_path, learning_rate=5000).run()

    assert not (tmp_path / "checkpoints").exists()


@pytest.mark.slow
@pytest.mark.parametrize("n_words", [2, 27, 300, 30_000])
@pytest.mark.parametrize("subsample", [0.0, 1e-4])
def test_deterministic_mode_learns_as_well_if_one_word_dominates_the_text(
    n_words, subsample, tmp_path
):
    shares = 1 / np.arange(1, n_words + 1)
    tokens = np.random.default_rng(1).choice(n_words, 160_000, p=shares / shares.sum())
    units = [[f"w{word}" for word in unit] for unit in tokens.reshape(-1, 20).tolist()]
    corpus = ViewedCorpus(SmallView(units))
    options = {"subsample": subsample, "window": 5, "learning_rate": 0.025, "epochs": 2}
    losses = []
    for name, deterministic in (("fast", False), ("deterministic", True)):
        folder = tmp_path / name
        Training(folder, corpus, tuning=TUNING, deterministic=deterministic, **options).run()
        lines = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
        losses.append([line["epoch_loss"] for line in lines if "epoch_loss" in line][-1])
    assert losses[1] < 1.02 * losses[0]
