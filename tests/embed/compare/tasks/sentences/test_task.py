"""Labeling sentences: inputs, probes, held-out parts and notes."""

import contextlib
import io
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import sklearn.linear_model
from sklearn.linear_model import LogisticRegression

from firth.corpora.common.console import show_progress
from firth.corpora.common.errors import ArtifactError, SettingError, SourceError
from firth.corpora.text.joining import spelled
from firth.embed.compare.api import compare
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.labeled_sentences import LabeledSentences, read_sentence_parts
from firth.embed.compare.datasets.parts import DEV, TEST, TRAIN
from firth.embed.compare.inputs.baselines import make_baselines
from firth.embed.compare.inputs.encoder_access import WithEncoder
from firth.embed.compare.probes import attention_pooling
from firth.embed.compare.scoring.frequency_bands import frequency_bands
from firth.embed.compare.scoring.sets import read_tasks
from firth.embed.compare.tasks.sentences.folds import fold_numbers
from firth.embed.compare.tasks.sentences.inputs import (
    mean_pool,
    split_sentence,
    state_means,
    state_sentences,
    static_sentences,
    words_of_sentences,
)
from firth.embed.compare.tasks.sentences.items import SentenceSet
from firth.embed.compare.tasks.sentences.pooling_probes import _regressions
from firth.embed.compare.tasks.sentences.task import SentencesTask
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.compare.measuring import ask, score, scores

GOOD, BAD = [f"good{i}" for i in range(8)], [f"bad{i}" for i in range(8)]
FILL = [f"fill{i}" for i in range(20)]
VOCABULARY = [*GOOD, *BAD, *FILL]
METRICS = ["accuracy", "accuracy_attention", "accuracy_attention_margin"]


def sentence_lines(n, seed):
    """Sentences of six fillers and one word that determines the label."""
    rng = np.random.default_rng(seed)
    lines = []
    for number in range(n):
        words = rng.choice(FILL, size=6).tolist()
        words.insert(3, str(rng.choice((BAD, GOOD)[number % 2])))
        lines.append(f"{number % 2} {' '.join(words)}")
    return lines


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


@pytest.fixture(autouse=True, scope="module")
def _brief_attention():
    """Shorten the training of attention pooling; enough for these easy sentences."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attention_pooling, "RATES", (1e-2,))
        patch.setattr(attention_pooling, "MARGINS", ((10.0, 0.1),))
        patch.setattr(attention_pooling, "_ROUNDS", 5)
        patch.setattr(attention_pooling, "_MIN_BATCHES", 20)
        yield


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """TRAIN, DEV and TEST."""
    folder = tmp_path_factory.mktemp("films")
    return [
        write(folder / name, sentence_lines(n, seed))
        for seed, (name, n) in enumerate(
            [("films.train", 240), ("films.dev", 40), ("films.txt", 60)]
        )
    ]


def task_of(*files, **options):
    return SentencesTask.read(Path(",".join(map(str, files))), CompareConfig(**options))


@pytest.fixture(scope="module")
def vectors():
    """Vectors that separate good and bad words; fillers are random."""
    rng = np.random.default_rng(4)
    matrix = rng.normal(size=(len(VOCABULARY), 8)).astype(np.float32)
    matrix[:8, 0] += 4
    matrix[8:16, 0] -= 4
    return WordVectors(VOCABULARY, matrix, name="apart")


@pytest.fixture(scope="module")
def measured(files, vectors):
    """The measurements of the vectors, and what is printed about them."""
    shown = io.StringIO()
    with contextlib.redirect_stderr(shown), show_progress():
        return ask(task_of(*files), vectors), shown.getvalue()


class Layers:
    """An encoder whose layer 1 separates good from bad words; layers 0 and 2 do not."""

    n_layers = 2

    def __init__(self):
        self.layers_read = []

    def words(self, text):
        return text.lower().split("-") if text != "\x00" else []

    def encode(self, sentences, layers):
        [layer] = layers
        self.layers_read.append(layer)
        return [self._states(sentence, layer) for sentence in sentences]

    def _states(self, sentence, layer):
        states = np.ones((len(sentence), 3), np.float32)
        for place, word in enumerate(sentence):
            states[place, 1] = sum(map(ord, word)) % 7
            states[place, 2] = (word[:1] == "g") - (word[:1] == "b") if layer == 1 else 0
        return states


@pytest.mark.slow
def test_informative_vectors_beat_random_ones(files, measured):
    found, shown = measured
    random = WordVectors(
        VOCABULARY, np.random.default_rng(1).normal(size=(len(VOCABULARY), 2)).astype(np.float32)
    )

    assert [m.metric for m in found] == METRICS
    assert min(map(score, found)) > 0.8
    assert scores(task_of(*files), random)["accuracy"] < 0.75
    assert "apart on films: " in shown


def test_one_hot_vectors_are_a_bag_of_words(files, vectors):
    task = task_of(*files)
    one_hot = make_baselines([vectors], task.texts(), 100, seed=1)["one-hot"]

    assert min(scores(task, one_hot).values()) > 0.8


@pytest.mark.slow
def test_results_are_the_same_for_the_same_seed(files, vectors, measured):
    first, again = (
        [m.statistic.values.tobytes() for m in found]
        for found in (measured[0], ask(task_of(*files), vectors))
    )

    assert first == again


@pytest.mark.slow
def test_the_test_part_does_not_affect_training(files, vectors, measured, tmp_path):
    flipped = [f"{1 - int(line[0])}{line[1:]}" for line in sentence_lines(60, 2)]
    other = ask(task_of(*files[:2], write(tmp_path / "flipped", flipped)), vectors)

    for right, wrong in zip(measured[0], other, strict=True):
        assert (right.statistic.values != wrong.statistic.values).all()


@pytest.mark.slow
@pytest.mark.parametrize("n_folds", [1, 2])
def test_each_layer_is_encoded_once_and_the_best_is_used(files, vectors, n_folds, tmp_path):
    encoder = Layers()
    task = task_of(*files, sections=True)
    if n_folds > 1:
        task = folded(tmp_path / "mr", sentence_lines(60, 3), folds=n_folds, sections=True)

    found = ask(task, WithEncoder(vectors, lambda: encoder))

    sections = {m.section: score(m) for m in found if m.section is not None}
    assert list(sections) == ["static", "layer 0", "layer 1", "layer 2"]
    assert sections["layer 1"] == score(found[0]) > 0.75 > sections["layer 2"]
    assert min(score(m) for m in found if m.section is None) > 0.75
    assert "labels; layer 1 is best on the development part; weight decay " in found[0].note
    assert encoder.layers_read == [0, 1, 2, 1]  # the best one again; no two are held at once


def test_a_seeded_tenth_is_held_out_without_losing_a_label(files):
    parts = read_sentence_parts(f"{files[0]},{files[2]}")
    sets = [SentenceSet(parts, seed) for seed in range(5)]

    assert [len(each.places(DEV)) for each in sets] == [24] * 5
    assert len({each.roles.tobytes() for each in sets}) == 5
    assert (sets[0].roles == SentenceSet(parts, 0).roles).all()
    assert (sets[0].places(TEST) == np.arange(240, 300)).all()


def test_every_label_keeps_a_training_sentence(tmp_path):
    train = write(tmp_path / "train", ["a x", "a y", "b z", "b w"])
    parts = read_sentence_parts(f"{train},{train}")

    for seed in range(20):
        some = SentenceSet(parts, seed)
        assert set(some.labels[some.places(TRAIN)]) == {0, 1}
        assert len(some.places(DEV)) == 1


def test_labels_unseen_in_training_are_noted_and_count_as_wrong(files, vectors, tmp_path, capsys):
    lines = [*sentence_lines(58, 2), f"2 {GOOD[0]}", f"2 {BAD[0]}"]
    dev = write(tmp_path / "films.dev", [*sentence_lines(40, 1), f"3 {GOOD[0]} {BAD[0]}"])
    task = task_of(files[0], dev, write(tmp_path / "films.txt", lines))

    found = ask(task, vectors)

    assert capsys.readouterr().err.startswith(
        "films: 1 sentences of the development part have labels that the training part lacks (3); "
        "they count as wrong\n"
        "films: 2 sentences of the test part have labels that the training part lacks (2); they "
        "count as wrong\n"
    )
    assert all(not m.statistic.values[58:].any() for m in found)
    assert score(found[0]) > 0.8


def test_sentences_shared_by_two_parts_are_noted(files, tmp_path, capsys):
    other = write(tmp_path / "other", [*sentence_lines(40, 1), *sentence_lines(3, 0)])
    task_of(files[0], files[0])
    task_of(files[0], other, other)

    assert capsys.readouterr().err == (
        "films: 240 sentences of the test part are also in the training part\n"
        "other: 3 sentences of the development part are also in the training part\n"
        "other: 3 sentences of the test part are also in the training part\n"
        "other: 43 sentences of the test part are also in the development part\n"
    )


def test_the_frequency_of_a_sentence_ignores_punctuation(files, vectors, tmp_path):
    lines = [*sentence_lines(2, 2), f"1 {GOOD[0]} , fill1 .", "0 ! ...", f"1 {GOOD[1]} unheard"]
    task = task_of(*files[:2], write(tmp_path / "films.txt", lines))

    bands = frequency_bands(task, vectors)

    assert task.items()[2:] == [[GOOD[0], "fill1"], ["!", "..."], [GOOD[1], "unheard"]]
    assert bands["top 1,000"].tolist() == [True, True, True, False, False]


# In double precision, the slope at which the search ends, and as much again for what ends it
# earlier. In single precision: where the slope is g, the optimum is lower by about
# g^2 / (2 curvature), and the search sees no descent once that is below some u of the loss, log 2
# at most; four u here. The curvature is at most a fourth of the mean square of the sentences, with
# a column of ones for the intercept.
CURVATURE = 0.42
SEEN = (2 * CURVATURE * 4 * 2.0**-24 * np.log(2)) ** 0.5  # 3.7e-4


@pytest.mark.parametrize(("dtype", "bound"), [(np.float64, 2e-7), (np.float32, SEEN)])
def test_every_decay_converges(dtype, bound, monkeypatch):
    # the slope of the mean loss, log(1 + exp(-y (w x + b))) and half the decay times w squared
    rng = np.random.default_rng(3)
    table = (rng.random((240, 60)) * (rng.random((240, 60)) < 0.2)).astype(dtype)
    assert (np.linalg.norm(table, 2) ** 2 / 240 + 1) / 4 < CURVATURE
    labels = np.arange(240) % 2
    slopes = []

    class Recording(LogisticRegression):
        def decision_function(self, asked):
            margins = asked @ self.coef_[0] + self.intercept_[0]
            errors = 1 / (1 + np.exp(-margins)) - labels
            decay = 1 / (self.C * len(labels))
            slopes.append(np.abs(errors @ asked / len(labels) + decay * self.coef_[0]).max())
            return super().decision_function(asked)

    monkeypatch.setattr(sklearn.linear_model, "LogisticRegression", Recording)

    decays = [decay for decay, _ in _regressions(table, table, labels)]

    assert decays == sorted(decays, reverse=True)
    assert len(slopes) == len(decays)
    assert max(slopes) < bound


def test_every_sentence_is_scored_and_unknown_words_are_counted(files, vectors, tmp_path):
    lines = [*sentence_lines(58, 2), "1 unheard of !", f"0 {BAD[0]} !"]
    task = task_of(*files[:2], write(tmp_path / "films.txt", lines))

    found = ask(task, vectors)

    assert task.known(vectors).all()
    assert [len(m.items) for m in found] == [60] * 3
    # punctuation without a vector is not an unknown word
    assert [m.items_zero for m in found] == [1] * 3
    assert task.items()[58] == ["unheard", "of"]


@pytest.mark.slow
def test_a_subset_of_items_scores_as_in_the_whole(files, vectors, measured):
    task = task_of(*files)
    some = np.arange(60) < 7

    whole, part = measured[0][0], task.measure(vectors, some)[0]

    assert part.statistic.values.tolist() == whole.statistic.values[:7].tolist()
    assert task.measure(vectors, ~task.known(vectors))[0].reason == "no sentence is scored"


def test_a_nan_vector_is_refused(files, vectors):
    matrix = vectors.matrix.copy()
    matrix[3, 2] = np.nan

    with pytest.raises(ArtifactError, match="apart: the vector of 'good3' holds NaN or infinity"):
        ask(task_of(*files), WordVectors(VOCABULARY, matrix, name="apart"))


def test_means_match_for_dense_sparse_and_state_inputs(vectors):
    words = [["good0", "bad1", "good0"], [], ["fill2"]]
    matrix = vectors.matrix
    expected = [(2 * matrix[0] + matrix[9]) / 3, np.zeros(8), matrix[18]]
    one_hot = make_baselines([vectors], VOCABULARY, 100, seed=1)["one-hot"]

    dense = mean_pool(static_sentences(vectors, words))
    sparse = mean_pool(static_sentences(one_hot, words)).toarray()
    states = state_sentences(Layers(), words, 1)

    # of three terms in float32, below 4
    assert dense[:, :8] == pytest.approx(np.array(expected), abs=3 * 4 * 2.0**-24)
    assert sorted(sparse[0][sparse[0] > 0]) == pytest.approx([1 / 3, 2 / 3])
    assert not sparse[1].any()
    assert state_means(Layers(), words, [1]) == pytest.approx(mean_pool(states), abs=1e-6)
    assert states.bags.offsets.tolist() == [0, 3, 3, 4]


@pytest.mark.slow
def test_a_sentence_that_the_encoder_drops_is_still_scored(files, vectors, tmp_path):
    lines = [*sentence_lines(58, 2), "1 \x00", "0 \x00"]
    task = task_of(*files[:2], write(tmp_path / "films.txt", lines))

    found = ask(task, WithEncoder(vectors, Layers))

    assert [m.section for m in found] == [None] * 3
    assert len(found[0].items) == 60
    assert split_sentence(Layers().words, "\x00") == []


def test_the_fingerprint_depends_on_seed_and_labels(files, tmp_path):
    lines = files[0].read_text().splitlines()
    lines[0] = f"1{lines[0][1:]}"
    other = write(tmp_path / files[0].name, lines)

    tasks = [task_of(*files), task_of(*files, seed=2), task_of(other, *files[1:])]

    assert len({repr(task) for task in tasks}) == 3
    assert repr(tasks[0]) == repr(task_of(*files))


def labeled(labels, texts=None):
    return LabeledSentences(tuple(texts or map(str, range(len(labels)))), tuple(labels))


def test_folds_are_stratified_and_drawn_by_the_seed():
    sentences = labeled(["a"] * 23 + ["b"] * 7)

    numbers = [fold_numbers(sentences, 5, seed) for seed in (1, 1, 2)]

    assert (numbers[0] == numbers[1]).all()
    assert (numbers[0] != numbers[2]).any()
    for kind in (slice(0, 23), slice(23, 30), slice(0, 30)):
        sizes = np.bincount(numbers[0][kind], minlength=5)
        assert sizes.max() - sizes.min() <= 1


def test_copies_of_a_sentence_are_in_one_fold():
    texts = [f"sentence {number % 12}" for number in range(30)]

    numbers = fold_numbers(labeled("ab" * 15, texts), 5, seed=1)

    assert len(set(zip(texts, numbers.tolist(), strict=True))) == 12
    assert set(numbers.tolist()) == set(range(5))


def folded(path, lines, **options):
    return SentencesTask.read(write(path, lines), CompareConfig(**options))


@pytest.mark.slow
def test_a_set_of_one_file_is_cross_validated(tmp_path, capsys):
    lines = sentence_lines(60, 3)
    task = folded(tmp_path / "mr", lines, folds=2, sections=True)
    split: list[str] = []

    class Vectors(WordVectors):
        def words(self, text):
            split.append(text)
            return super().words(text)

    vectors = Vectors(VOCABULARY, np.eye(len(VOCABULARY), dtype=np.float32))
    items = np.ones(60, dtype=bool)
    items[5] = False

    found = task.measure(vectors, items)

    assert len(split) < 2 * sum(len(text.split()) for text in task.folds[0].texts)  # once for all
    first, seconds = capsys.readouterr().err.splitlines()
    assert first == "mr: no test part, so cross-validation with 2 folds"
    assert seconds.startswith("vectors on mr: ")  # once for all folds
    assert [each.metric for each in found] == METRICS
    assert found[0].items.tolist() == [*range(5), *range(6, 60)]
    assert found[0].statistic.values.mean() > 0.8
    assert found[0].chance == pytest.approx(0.5, abs=0.02)
    assert found[0].note.startswith("2 folds; the first: trained on 27 sentences with 2 labels; ")
    assert list(task.items())[7] == lines[7].split()[1:]


@pytest.mark.slow
def test_every_fold_is_scored_by_probes_trained_on_the_others(tmp_path, vectors):
    lines = sentence_lines(30, 3)
    task = folded(tmp_path / "mr", lines, folds=2)
    test = task.folds[1].places(TEST)
    parts = [
        write(tmp_path / name, [lines[place] for place in places])
        for name, places in (("train", np.delete(np.arange(30), test)), ("test", test))
    ]

    together, alone = ask(task, vectors), ask(task_of(*parts), vectors)

    for one, other in zip(together, alone, strict=True):
        assert one.statistic.values[test].tolist() == other.statistic.values.tolist()


@pytest.mark.parametrize(
    ("lines", "folds", "message"),
    [
        (sentence_lines(60, 3), 40, "contains 60 different sentences, too few for 40 folds"),
        (sentence_lines(5, 3) * 9, 3, "contains 5 different sentences, too few for 3 folds"),
        ([*(f"pos {n}" for n in range(19)), "neg x"], 10, "too few sentences of a label"),
        ([*(f"pos {n}" for n in range(18)), "neg x", "neg x"], 9, "too few sentences of a label"),
        (["a 1", "a 2", "b 3", "b 4"], 2, "too few sentences of a label"),
    ],
    ids=["sentences", "copies", "single", "copied", "no development part"],
)
def test_a_file_too_small_for_its_folds_is_refused(tmp_path, lines, folds, message):
    with pytest.raises(SourceError, match=message):
        folded(tmp_path / "mr", lines, folds=folds)


def test_labels_of_one_fold_are_noted_and_count_as_wrong(tmp_path, capsys):
    task = folded(tmp_path / "mr", [*sentence_lines(40, 3), "2 fill1"], folds=3)

    [fold] = (fold for fold in task.folds if 40 in fold.places(TEST))

    assert "mr: 1 sentences have labels of one fold; they count as wrong" in (
        capsys.readouterr().err.splitlines()
    )
    assert (fold.labels[40], fold.classes) == (-1, ["0", "1"])  # no probe predicts -1


@pytest.mark.slow
def test_texts_of_several_sentences_are_also_pooled_by_sentence(tmp_path, vectors):
    rng, lines = np.random.default_rng(9), []
    for line in sentence_lines(120, 4):
        label, text = line.split(" ", 1)
        sentences = rng.permutation([text, "fill0 fill1", "fill2 fill3 fill4 fill5"]).tolist()
        lines.append(f"{label} {' '.join(f'The {sentence}.' for sentence in sentences)}")
    parts = [write(tmp_path / "train", lines[:80]), write(tmp_path / "test", lines[80:])]

    found = scores(task_of(*parts), vectors)
    alone = scores(task_of(*parts, pooling="hierarchical"), vectors)

    assert list(found) == [*METRICS, "accuracy_hierarchical"]
    assert alone == {"accuracy": found["accuracy_hierarchical"]}
    assert found["accuracy_hierarchical"] > 0.8


def test_words_are_cut_by_sentence_with_their_text():
    words, numbers = words_of_sentences(
        lambda text: spelled(text.split()), ["a b. ", "", "c。", "d"]
    )

    assert (words, numbers.tolist()) == (["a", "b.", "c。", "d"], [0, 0, 2, 3])
    assert words.text == "a b. c。d"


def test_poolings_are_rows_tested_as_runs_are(files, vectors, tmp_path):
    random = make_baselines([vectors], VOCABULARY, 100, seed=1)["random"]
    path = ",".join(map(str, files))
    config = CompareConfig(
        sets=(f"sentences={path}",), pooling="mean,attention", baselines="random", replicates=100
    )

    compared = compare({"a": vectors, "b": random}, config)

    rows = [f"{run} {name}" for run in ("a", "b", "random") for name in ("mean", "attention")]
    assert [run["run"] for run in compared.document["runs"]] == rows
    results = {each["run"]: each for each in compared.document["results"] if each["shared_items"]}
    assert {each["metric"] for each in results.values()} == {"accuracy"}
    alone = scores(task_of(*files), vectors)
    assert results["a mean"]["score"] == alone["accuracy"]
    assert results["a attention"]["score"] == alone["accuracy_attention"]
    pairs = {(each["a"], each["b"]): each for each in compared.document["pairs"]}
    assert [pair for pair, each in pairs.items() if each["family"] == "runs"] == [
        *combinations(rows[:4], 2)
    ]
    assert pairs["a mean", "a attention"]["p"] is not None
    assert "a attention" in compared.document["summary"][0]
    compared.store(tmp_path / "out")
    with pytest.raises(SettingError, match="a report has one row for each run; leave it out"):
        compared.write_report(tmp_path / "report.html")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"pooling": "mean,max"},
            "`pooling=mean,max`: pass some of mean,attention,margin,hierarchical",
        ),
        (
            {"pooling": "mean", "sets": ("similarity=a",)},
            "`pooling`: a, a set of similarity, is not one of labeled sentences; leave it out",
        ),
    ],
)
def test_poolings_of_other_names_or_sets_are_refused(options, message):
    with pytest.raises(SettingError) as refusal:
        read_tasks(CompareConfig(**options))
    assert str(refusal.value) == message
