"""Minimal pairs: ties, hand-worked scores, paradigms, and runs without scores."""

import json
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pytest

from firth.corpora.common.errors import ArtifactError
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.sentence_pairs import MinimalPair
from firth.embed.compare.inputs.encoder_access import WithEncoder
from firth.embed.compare.scoring.comparison import compare_vectors
from firth.embed.compare.scoring.results import Comparison
from firth.embed.compare.scoring.sets import read_tasks
from firth.embed.compare.statistics.bootstrap import draw_counts, interval, resample
from firth.embed.compare.tasks.minimal_pairs import MinimalPairTask, preferences
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.compare.measuring import ask, read_task, score
from tests.embed.compare.refusals import message_of
from tests.pretrain.small_run import small_encoder

AGREEMENT = [
    MinimalPair("agreement", "the dogs bark", "the dogs barks"),
    MinimalPair("agreement", "the old cat sleeps", "the old cat sleep"),
]
ISLANDS = [MinimalPair("islands", "who did she see", "who did see she")]
TASK = MinimalPairTask("set", [*AGREEMENT, *ISLANDS], sections=True)


@dataclass
class Scorer:
    """Scores sentences from a table, others by a constant."""

    table: dict[str, float] = field(default_factory=dict)
    constant: float = -9.0

    n_layers = 1

    def encode(self, sentences, layers):
        raise AssertionError("states are not used here")

    def covers(self, words):
        return np.ones(len(words), dtype=bool)

    def words(self, text):
        return [] if text == "?!" else text.split()

    def score(self, sentences, *, left_to_right_in_words=True):
        return np.array([words.sum() for words in self.score_words(sentences)])

    def score_words(self, sentences, *, left_to_right_in_words=True):
        totals = [self.table.get(" ".join(words), self.constant) for words in sentences]
        return [
            np.full(len(words), total / max(len(words), 1))
            for words, total in zip(sentences, totals, strict=True)
        ]


def static(words="the dogs cat see she"):
    rows = np.random.default_rng(1).normal(size=(len(words.split()), 3)).astype(np.float32)
    return WordVectors(words.split(), rows)


def with_scorer(scorer):
    return WithEncoder(static(), lambda: scorer)


def test_equal_scores_give_accuracy_one_half():
    task = MinimalPairTask("set", [*AGREEMENT, *ISLANDS, *ISLANDS], sections=True)
    for measured in ask(task, with_scorer(Scorer())):
        assert score(measured) == 0.5
        resampled = resample(measured.statistic, draw_counts(len(measured.items), 200, 1, "set"))
        assert interval(resampled) == (0.5, 0.5)


def test_a_hand_worked_set():
    scorer = Scorer({"the dogs bark": -4.0, "the old cat sleeps": -12.5})

    whole, agreement, islands = ask(TASK, with_scorer(scorer))

    assert whole.statistic.values.tolist() == [1.0, 0.0, 0.5]
    assert (whole.task, whole.metric, whole.section) == ("minimal-pairs", "accuracy", None)
    assert whole.chance == 0.5
    assert (score(whole), whole.items.tolist(), whole.items_total) == (0.5, [0, 1, 2], 3)
    assert (agreement.section, score(agreement), agreement.items_total) == ("agreement", 0.5, 2)
    assert (islands.section, score(islands), islands.items.tolist()) == ("islands", 0.5, [2])


def test_after_a_context_only_the_sentence_counts(tmp_path):
    path = tmp_path / "ewok.jsonl"
    record = {"Domain": "d", "Context1": "the saw", "Context2": "the old mill ."}
    path.write_text(json.dumps({**record, "Target1": "him", "Target2": "the river"}))
    [task] = read_tasks(CompareConfig(sets=(str(path),)))  # recognized
    encoder = small_encoder(causal=True)

    def given(context, text):
        whole, before = encoder.score([encoder.words(f"{context} {text}"), encoder.words(context)])
        return whole - before

    [measured] = ask(task, WithEncoder(static(), lambda: encoder))

    texts = [(given(*pair[:2]), given(*pair[2:])) for pair in [
        ("the saw", "him", "the old mill .", "him"),
        ("the old mill .", "the river", "the saw", "the river"),
    ]]  # fmt: skip
    assert measured.statistic.values.tolist() == [float(good > bad) for good, bad in texts]
    assert measured.units.tolist() == [[0], [0]]  # one row of the file is drawn


@pytest.mark.parametrize("within", [True, False])
def test_an_encoder_prefers_the_sentence_it_scores_higher(within):
    encoder = small_encoder()
    texts = ["the king saw the queen", "an axe is no saw", "nobody saw him", "the old mill"]
    pairs = [MinimalPair("p", a, b) for a, b in pairwise([*texts, *texts[::2]])]
    task = MinimalPairTask("set", pairs, left_to_right_in_words=within)

    def alone(text):
        return encoder.score([encoder.words(text)], left_to_right_in_words=within)[0]

    [measured] = ask(task, WithEncoder(static(), lambda: encoder))

    expected = [float(alone(pair.good) > alone(pair.bad)) for pair in pairs]
    assert measured.statistic.values.tolist() == expected
    assert 0 < sum(expected) < len(expected)


def test_rounding_differences_are_ties():
    good, bad = np.array([-50.0, -50.0, -50.0, -50.0]), np.array([-50.00005, -49.99995, -51, -49])
    assert preferences(good, bad).tolist() == [0.5, 0.5, 1.0, 0.0]


def test_a_sentence_without_words_never_wins():
    task = MinimalPairTask("set", [MinimalPair("p", "?!", "so be it"), MinimalPair("p", "a", "?!")])
    [measured] = ask(task, with_scorer(Scorer({"": 0.0})))
    assert measured.statistic.values.tolist() == [0.5, 0.5]


def test_nan_and_infinite_scores_are_refused():
    assert (
        message_of(ArtifactError, ask, TASK, with_scorer(Scorer({"the dogs bark": np.nan})))
        == "vectors: sentence scores are NaN or infinite; use another run"
    )


def test_a_run_without_sentence_scores_is_undefined_with_a_reason():
    assert TASK.known(static()) is None
    nothing = np.zeros(3, dtype=bool)

    found = TASK.measure(static(), nothing)

    scored = ask(TASK, with_scorer(Scorer()))
    assert [each.section for each in found] == [each.section for each in scored]
    assert {(each.statistic, each.reason) for each in found} == {(None, "has no sentence scores")}


def test_the_whole_draws_paradigms_and_a_paradigm_draws_pairs():
    whole, *paradigms = ask(TASK, with_scorer(Scorer()))
    assert whole.units.tolist() == [[0], [0], [1]]
    assert [each.units for each in paradigms] == [None, None]
    [alone] = ask(MinimalPairTask("set", AGREEMENT), with_scorer(Scorer()))
    assert alone.units is None


def test_items_drop_punctuation_unless_nothing_else_is_left():
    task = MinimalPairTask(
        "set",
        [MinimalPair("p", "Katherine can't help (her).", "Katherine can't she help."),
         MinimalPair("p", "?!", "...")],
    )  # fmt: skip
    expected = [["Katherine", "can't", "help", "her", "she"], ["?! ..."]]
    assert list(task.items()) == expected
    assert list(task.texts()) == [*expected[0], *expected[1]]


def compared(runs, **options) -> Comparison:
    return compare_vectors(runs, [TASK], CompareConfig(replicates=200, sections=True, **options))


def test_runs_without_scores_do_not_reduce_shared_items():
    knowing = Scorer({pair.bad: -10.0 for pair in TASK.pairs})
    runs = {"static": static(), "good": with_scorer(knowing), "even": with_scorer(Scorer())}

    found = compared(runs)

    whole = {s.run: s for s in found.scores if s.shared and s.measured.section is None}
    numbers = {
        run: (each.score, len(each.measured.items), each.known) for run, each in whole.items()
    }
    assert numbers == {
        "static": (None, 0, 0),
        "good": (1.0, 3, 3),
        "even": (0.5, 3, 3),
        "one-hot": (None, 0, 0),
        "random": (0.5, 3, 3),
    }
    assert whole["static"].measured.reason == "has no sentence scores"
    tested = {(pair.a, pair.b) for pair in found.pairs if pair.section is None}
    assert tested == {("good", "even"), ("good", "random"), ("even", "random")}
    assert found.failures == []


def test_without_any_scoring_run_all_rows_are_undefined():
    found = compared({"static": static()})
    assert {each.score for each in found.scores if each.shared} == {None}
    assert found.pairs == []


def test_frequency_bands_use_the_rarest_word_of_both_sentences():
    found = compared({"good": with_scorer(Scorer())}, bands=True)
    sizes = {
        each.measured.section: len(each.measured.items)
        for each in found.scores
        if each.run == "good" and each.shared
    }
    assert (sizes["top 1,000"], sizes["rarer"]) == (0, 3)  # all pairs have a word without a row


def test_a_limit_applies_to_each_paradigm(tmp_path):
    path = tmp_path / "blimp.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number in range(30):
            record = {"sentence_good": f"good {number}", "sentence_bad": f"bad {number}"}
            print(json.dumps({**record, "UID": "ab"[number % 2]}), file=file)

    every, some = (
        read_task("minimal-pairs", path, CompareConfig(limit=limit, left_to_right_in_words=False))
        for limit in (0, 4)
    )

    assert (every.dataset, every.n_items, some.n_items) == ("blimp", 30, 8)
    assert not some.left_to_right_in_words
    assert [pair.paradigm for pair in some.pairs].count("a") == 4
