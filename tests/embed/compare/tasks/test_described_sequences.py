"""Labels and ratings of sequences, from the sums of their tokens' vectors or states."""

import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from firth.embed.compare.config import CompareConfig
from firth.embed.compare.inputs.baselines import ONE_HOT, make_baselines
from firth.embed.compare.inputs.encoder_access import WithEncoder
from firth.embed.compare.inputs.sequence_sums import SequenceTokens
from firth.embed.compare.probes.vector_probes import out_of_fold, ridge
from firth.embed.compare.scoring.sets import named_sets, read_tasks
from firth.embed.compare.tasks.described_words import LabelsTask, RatingsTask
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.compare.measuring import ask, score, scores
from tests.pretrain.small_run import small_encoder

TOKENS = ["C", "c", "Cl", "N", "O", "(", ")"]


@dataclass(frozen=True)
class Atoms:
    """Text settings that cut a formula into atoms and marks."""

    of_tokens: ClassVar = False

    def words(self, text):
        return re.findall(r"Cl|[A-Za-z()]", text)


RNG = np.random.default_rng(3)
VECTORS = WordVectors(TOKENS, RNG.normal(size=(7, 8)).astype(np.float32), text=Atoms())
FORMULAS = ["".join(RNG.choice(TOKENS, size)) for size in RNG.integers(1, 12, size=80)]
WEIGHTS = np.array([1, -2, 3, 0, 0.5, 0, -1])


def counts_of(formulas):
    cut = [Atoms().words(formula) for formula in formulas]
    return np.array([[tokens.count(token) for token in TOKENS] for tokens in cut], float)


def read(path, text, kind="", column=""):
    path.write_text(text)
    named = f"{kind}={path}{column}" if kind else str(path)
    [task] = read_tasks(CompareConfig(sets=(named,)))
    return task


@pytest.fixture
def rated(tmp_path):
    values = counts_of(FORMULAS) @ WEIGHTS + RNG.normal(size=80)
    lines = [f"x,{formula},{value:.6f}" for formula, value in zip(FORMULAS, values, strict=True)]
    return read(tmp_path / "esol.csv", "\n".join(["name,smiles,log solubility", *lines]))


def test_a_sequence_is_the_sum_of_the_unit_vectors_of_its_tokens():
    units = VECTORS.matrix / np.linalg.norm(VECTORS.matrix, axis=1, keepdims=True)
    tokens = SequenceTokens(VECTORS, [*FORMULAS, "CXC", "X", ""], "skip")
    expected = np.concatenate(
        [counts_of(FORMULAS) @ units, [2 * units[0], 0 * units[0]], [units[0] * 0]]
    )
    assert tokens.sums() == pytest.approx(expected, abs=1e-5)  # float32 units
    assert tokens.known.tolist() == [True] * 81 + [False] * 2
    assert not tokens.composed.any()
    assert SequenceTokens(VECTORS, ["X"], "zero").known.all()


def test_one_hot_vectors_are_counts_of_the_tokens_of_the_first_run(rated):
    assert isinstance(rated, RatingsTask)
    one_hot = make_baselines([VECTORS], rated.texts(), 7, 1)[ONE_HOT]
    values, counts = np.array(rated.values), counts_of(FORMULAS)
    predicted, usual = out_of_fold(ridge, counts, values, rated.numbers)
    r2 = 1 - ((predicted - values) ** 2).sum() / ((usual - values) ** 2).sum()
    assert scores(rated, one_hot)["r2"] == pytest.approx(r2)
    assert scores(rated, VECTORS)["r2"] > 0.8


def test_labels_of_sequences_are_learned_from_the_same_sums(tmp_path):
    lines = [f"{n},{f},{int(f.count('C') > 2)}" for n, f in enumerate(dict.fromkeys(FORMULAS))]
    task = read(tmp_path / "set", "\n".join(["num,smiles,p_np", *lines]), "labels", ":p_np")
    assert task.of_sequences
    assert set(scores(task, VECTORS)) == {"accuracy", "macro_f1", "auc"}
    assert scores(task, VECTORS)["auc"] > 0.8


def test_an_encoder_is_scored_by_sums_of_its_states():
    encoder = small_encoder()
    lines = ["the carpenter saw it", "a saw", "saw it the", "carpenter a it", "it saw a", "the it"]
    values = [1.0, 4, 2, 3, 6, 5]
    task = RatingsTask("set", lines, values, lines, 3, 1, of_sequences=True)
    words = ["the", "carpenter", "saw", "it", "a"]
    static = WordVectors(words, RNG.normal(size=(5, encoder.dim)).astype(np.float32))
    found = ask(task, WithEncoder(static, lambda: encoder, (1,)))
    states = encoder.encode([encoder.words(line) for line in lines], (1,))
    sums = np.array([each.sum(axis=0) for each in states], float)
    predicted, usual = out_of_fold(ridge, sums, np.array(values), task.numbers)
    expected = np.corrcoef(predicted - usual, values)[0, 1]
    assert score(next(m for m in found if m.metric == "pearson")) == pytest.approx(
        expected, abs=1e-4
    )
    assert {each.note for each in found} == {"sums of states of layers 1"}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("ratings", "sequence\tstability\na b c d e\t1.5\nb c d e f\t2.5\n"),
        ("labels", "sequence,label\na b c d e,x\nb c d e f,x\n"),
        ("sentences", "sentence,sentiment\na b c d,1\nb c d e f,0\nb c d,1\n"),
        ("sentences", "text\tlabel\na b c d\tx\nb c d e f\ty\nb c d\tx\n"),
    ],
)
def test_sequences_are_told_from_labeled_sentences(tmp_path, kind, text):
    path = tmp_path / "set.txt"
    path.write_text(text)
    assert named_sets(CompareConfig(sets=(str(path),))) == [(kind, path)]


def test_words_stay_words_beside_a_column_of_texts(tmp_path):
    task = read(tmp_path / "set", "item,text,label\na,some text,x\nb,any,y\n", "labels")
    assert isinstance(task, LabelsTask)
    assert (task.words, task.of_sequences) == (["a", "b"], False)
