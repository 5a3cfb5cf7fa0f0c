"""Links: areas against scikit-learn, the three scores by hand, and files that are refused."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.metrics import average_precision_score, roc_auc_score

from firth.corpora.common.errors import SourceError
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.scoring.sets import read_tasks, split_arguments
from firth.embed.compare.statistics.roc import AveragePrecision, RocArea
from firth.embed.compare.tasks.links import LinksTask
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.compare.measuring import ask, scores
from tests.embed.compare.refusals import message_of

N, DIM = 60, 5
NODES = [str(node) for node in range(N)]


def read(path, text, kind="links"):
    path.write_text(text)
    [task] = read_tasks(CompareConfig(sets=(f"{kind}={path}" if kind else str(path),)))
    return task


@pytest.fixture(scope="module")
def vectors():
    matrix = np.random.default_rng(1).normal(size=(N, DIM)) * np.linspace(1, 4, N)[:, None]
    return WordVectors(NODES, matrix.astype(np.float32))


@pytest.fixture
def task(vectors, tmp_path):
    """All pairs of a node and one of the next ten; linked if dimensions 0 and 1 agree, mostly."""
    x, noise = vectors.matrix, np.random.default_rng(2)
    pairs = [(a, b) for a in range(N) for b in range(a + 1, min(a + 11, N))]
    linked = [int((x[a, :2] @ x[b, :2] > 0) ^ (noise.random() < 0.1)) for a, b in pairs]
    lines = [f"{a},{b},{link}" for (a, b), link in zip(pairs, linked, strict=True)]
    return read(tmp_path / "links.csv", "\n".join(["source,target,link", *lines]))


@pytest.mark.parametrize("seed", range(4))
def test_areas_with_ties_are_those_of_scikit_learn_in_every_draw(seed):
    rng = np.random.default_rng(seed)
    positive, values = rng.random(40) < 0.4, rng.integers(0, 2 + 4 * seed, size=40) / 7
    counts = np.concatenate([np.ones((1, 40), int), rng.integers(0, 3, size=(20, 40))])
    for area, reference in ((RocArea, roc_auc_score), (AveragePrecision, average_precision_score)):
        expected = [reference(positive, values, sample_weight=drawn) for drawn in counts]
        assert area(positive, values).evaluate(counts) == pytest.approx(expected)
        assert np.isnan(area(np.zeros(40, bool), values).evaluate(counts)).all()


def test_pairs_are_ranked_by_cosine_dot_product_and_probe(task, vectors):
    linked = np.array([pair.linked for pair in task.pairs])
    a, b = np.array(task.items(), dtype=int).T
    dots = (vectors.matrix[a] * vectors.matrix[b]).sum(axis=1)
    lengths = np.linalg.norm(vectors.matrix, axis=1)
    found = scores(task, vectors)
    for name, ranked_by in (("cosine", dots / lengths[a] / lengths[b]), ("dot", dots)):
        assert found[f"auc_{name}"] == pytest.approx(roc_auc_score(linked, ranked_by))
        assert found[f"ap_{name}"] == pytest.approx(average_precision_score(linked, ranked_by))
    assert list(found) == list(LinksTask.metrics)
    # two dimensions of five decide, which a probe learns
    assert found["auc_probe"] > found["auc_cosine"] + 0.05
    assert found["ap_probe"] > found["ap_cosine"] + 0.05


def test_one_hot_vectors_score_as_chance(task):
    one_hot = WordVectors(NODES, scipy.sparse.identity(N, np.float32, "csr"))
    share = np.mean([pair.linked for pair in task.pairs])
    for each in ask(task, one_hot):
        expected = 0.5 if each.metric.startswith("auc") else share
        assert each.statistic.evaluate(np.ones((1, task.n_items), int)) == pytest.approx(expected)
        assert each.chance == pytest.approx(expected)
        assert each.units.shape == (task.n_items, 2)


def test_tables_are_recognized_and_read(tmp_path):
    path = tmp_path / "set.tsv"
    task = read(path, "link\tA\tb\tgroup\n1\tx\ty\tg\n0\ty\tz\th\n0\tz\tx\th\n", kind="")
    assert split_arguments([str(path)]) == ([], [str(path)])
    assert [(*pair.nodes, pair.linked, pair.group) for pair in task.pairs] == [
        ("x", "y", True, "g"), ("y", "z", False, "h"), ("z", "x", False, "h"),
    ]  # fmt: skip
    assert task.numbers[1] == task.numbers[2]
    bare = read(path, "x y 1\nb a 0\na b 0\n")
    assert list(bare.items()) == [("x", "y"), ("b", "a"), ("a", "b")]
    assert bare.numbers[1] == bare.numbers[2]  # a pair in both directions


def test_names_of_other_case_are_other_nodes(tmp_path):
    task = read(tmp_path / "set.tsv", "a b 1\nA b 0\nb A 1\n")
    vectors = WordVectors(["a", "A", "b"], np.eye(3, dtype=np.float32))
    assert [pair.group for pair in task.pairs] == ["a\tb", "A\tb", "A\tb"]
    for each in ask(task, vectors):
        (a, b), other = each.units[0], each.units[1:]
        assert a != other[0, 0]
        assert other.tolist() == [[other[0, 0], b], [b, other[0, 0]]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "set.tsv: contains no pairs; expected a header such as source,target,link"),
        ("a,b,link\nx,y,1\nz,y,1\n", "set.tsv: has pairs with a link only; expected a header"),
        ("a,b,link\nx,y,1\nz,y,yes\n", "set.tsv:3: 'z,y,yes' is not two nodes and a link, 1 or 0"),
        ("a,b,link\nx,y\nz,y,0\n", "set.tsv:2: 'x,y' is not two nodes and a link, 1 or 0"),
        ("x y\n", "set.tsv:1: 'x y' is not two nodes and a link, 1 or 0, separated by"),
    ],
)
def test_wrong_files_are_refused(tmp_path, text, message):
    assert message in message_of(SourceError, read, tmp_path / "set.tsv", text)


def test_undefined_scores_give_the_reason(vectors, tmp_path):
    task = read(tmp_path / "set.tsv", "a b link\n1 2 1\n3 4 1\n1 x 0\n")
    assert {each.reason for each in ask(task, vectors)} == {"all known pairs have a link"}
    none = WordVectors(["y"], np.ones((1, 2), np.float32))
    assert {each.reason for each in ask(task, none)} == {"no pair is known"}
