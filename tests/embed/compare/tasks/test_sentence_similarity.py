"""Similarity of sentences: forms of files, and correlations against the definition."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from firth.corpora.common.errors import SourceError
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.scored_sentences import ScoredSentences, read_scored_sentences
from firth.embed.compare.inputs.baselines import make_baselines
from firth.embed.compare.inputs.encoder_access import WithEncoder
from firth.embed.compare.scoring.sets import named_sets
from firth.embed.compare.tasks.sentence_similarity import SentenceSimilarityTask
from firth.embed.vectors.word_vectors import WordVectors
from tests.pretrain.small_run import small_encoder

RNG = np.random.default_rng(5)
WORDS = [f"w{n}" for n in range(30)]
VECTORS = WordVectors(
    WORDS, RNG.normal(size=(30, 6)).astype(np.float32) + 0.5, counts=np.arange(300, 0, -10)
)
PAIRS = [
    (" ".join(RNG.choice([*WORDS, "unknown"], 6)), " ".join(RNG.choice(WORDS, 4)), score)
    for score in RNG.integers(0, 50, 25) / 10
]
FORMS = {
    "score first": "{s}\t{a}\t{b}\n",
    "score last": "{a}\t{b}\t{s}\n",
    "commas": '"{a}","{b}",{s}\n',
    "STS benchmark": "{n}\tmain\t{s}\t{a}\t{b}\n",
}
HEADERS = {"STS benchmark": "index\tgenre\tscore\tsentence1\tsentence2\n"}


def write(path, form):
    """Write the pairs in a form."""
    lines = [
        FORMS[form].format(a=a, b=b, s=score, n=number)
        for number, (a, b, score) in enumerate(PAIRS)
    ]
    path.write_text(HEADERS.get(form, "") + "".join(lines))
    return path


@pytest.mark.parametrize("form", FORMS)
def test_files_are_recognized_by_their_columns(tmp_path, form):
    path = write(tmp_path / "sts.tsv", form)
    assert read_scored_sentences(path) == PAIRS
    assert named_sets(CompareConfig(sets=(str(path),))) == [("sentence-similarity", path)]


def pooled(vectors, text, weight):
    """Return the mean of the known words of a text, weighted."""
    known = [word for word in text.split() if word in vectors]
    return sum(weight(word) * vectors[word].astype(float) for word in known) / len(known)


def value(measurement):
    """Return the score of a measurement with each item once."""
    return float(measurement.statistic.evaluate(np.ones((1, len(measurement.items)), np.int64))[0])


def naive_scores(vectors):
    """Return both metrics by their definitions."""
    counts = dict(zip(WORDS, VECTORS.counts / VECTORS.counts.sum(), strict=True))
    found = []
    for weight in (lambda _: 1.0, lambda word: 1e-3 / (1e-3 + counts[word])):
        rows = np.array([pooled(vectors, text, weight) for a, b, _ in PAIRS for text in (a, b)])
        if len(found):
            shared = np.linalg.svd(rows)[2][0]
            rows -= np.outer(rows @ shared, shared)
        units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        cosines = (units[::2] * units[1::2]).sum(axis=1)
        found.append(spearmanr(cosines, [score for *_, score in PAIRS])[0])
    return found


@pytest.mark.parametrize("name", ["dense", "one-hot"])
def test_scores_are_correlations_of_means_and_of_sif(tmp_path, name):
    task = SentenceSimilarityTask.read(write(tmp_path / "sts.tsv", "score first"), CompareConfig())
    vectors = VECTORS
    if name == "one-hot":
        vectors = make_baselines([VECTORS], task.texts(), 1000, 1)[name]
    measured = task.measure(vectors, np.ones(len(PAIRS), dtype=bool))
    assert [each.metric for each in measured] == list(task.metrics)
    scores = [value(each) for each in measured]
    assert scores == pytest.approx(naive_scores(vectors), abs=1e-6)
    n_unknown = sum("unknown" in a.split() for a, *_ in PAIRS)
    assert measured[0].items_zero == n_unknown > 0


class Joined:
    """Text settings of a text without spaces, whose words the letter x divides."""

    of_tokens = False

    def words(self, text):
        return text.split("x")


def test_one_hot_vectors_divide_text_without_spaces_as_the_run_does():
    joined = WordVectors(WORDS, VECTORS.matrix, counts=VECTORS.counts, text=Joined())
    found = []
    for vectors, space in ((VECTORS, " "), (joined, "x")):
        pairs = [
            ScoredSentences(a.replace(" ", space), b.replace(" ", space), s) for a, b, s in PAIRS
        ]
        task = SentenceSimilarityTask("sts", pairs)
        one_hot = make_baselines([vectors], task.texts(), 1000, 1)["one-hot"]
        found.append(list(map(value, task.measure(one_hot, np.ones(len(PAIRS), dtype=bool)))))
    assert found[1] == pytest.approx(found[0])


def test_without_counts_only_means_are_scored(tmp_path):
    task = SentenceSimilarityTask.read(write(tmp_path / "sts.tsv", "score first"), CompareConfig())
    bare = WordVectors(WORDS, VECTORS.matrix)
    mean, sif = task.measure(bare, np.ones(len(PAIRS), dtype=bool))
    assert (mean.reason, sif.statistic, sif.reason) == (None, None, "has no counts of words")


def test_an_encoder_is_scored_by_its_states():
    encoder = small_encoder()
    lines = ["the carpenter saw it", "a saw", "saw it the", "carpenter a it", "it saw a", "the it"]
    pairs = [ScoredSentences(*lines[n : n + 2], float(n)) for n in (0, 2, 4)]
    task = SentenceSimilarityTask("sts", pairs)
    words = ["the", "carpenter", "saw", "it", "a"]
    static = WordVectors(words, RNG.normal(size=(5, encoder.dim)).astype(np.float32))
    mean, _ = task.measure(WithEncoder(static, lambda: encoder, (1,)), np.ones(3, dtype=bool))
    states = encoder.encode([encoder.words(line) for line in lines], (1,))
    rows = np.array([each.mean(axis=0) for each in states], float)
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    expected = spearmanr((units[::2] * units[1::2]).sum(axis=1), [0, 2, 4])[0]
    assert value(mean) == pytest.approx(expected)
    assert mean.note == "mean states of layers 1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "{path}: contains no sentence pairs; expected lines of a score and two sentences "),
        ("1\ta b\tc d\nx\ta b\tc d\n", "{path}:2: 'x' is not a score; "),
        ("1\ta b\tc d\n2\ta b\n", "{path}:2: '2\\ta b' is not a score and two sentences "),
        ("a b\tc d\te f\n", "{path}:1: 'a b\\tc d\\te f' is not a score and two sentences "),
    ],
    ids=["empty", "no score", "one sentence", "no number"],
)  # fmt: skip
def test_malformed_files_are_refused_with_their_line(tmp_path, text, message):
    path = tmp_path / "sts.tsv"
    path.write_text(text)
    with pytest.raises(SourceError) as caught:
        read_scored_sentences(path)
    assert str(caught.value).startswith(message.format(path=path))
