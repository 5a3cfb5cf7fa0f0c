"""The matrix of an endless walk: against the dense formula, sampled walks, and its refusals."""

import numpy as np
import pytest

from firth.corpora.common.errors import SettingError
from firth.corpora.common.options import take
from firth.embed.resampling.prepared import prepare
from firth.embed.svd.dry_run import estimate_svd
from firth.embed.svd.exact_walks import require_memory
from firth.embed.svd.train import SvdConfig, make_svd_run, weighted_matrix
from firth.embed.svd.window_weights import WEIGHTINGS, window_weights
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.small_corpus import SmallCorpus
from tests.embed.svd.graph_corpus import graph_corpus
from tests.embed.svd.test_ppmi import naive_ppmi

N = 90  # more than two blocks
PLAIN = {"window_weighting": "flat", "subsample": 0.0, "context_smoothing": 1.0}


def adjacency(weighted, seed=5):
    """Return two random graphs side by side, with a loop, and a node without edges at the end."""
    rng = np.random.default_rng(seed)
    edges = np.triu(rng.random((N, N)) < 0.08, 1) * 1.0
    edges[:30, 30:] = 0
    if weighted:
        edges *= rng.integers(1, 9, (N, N)) / 4
    edges += edges.T
    edges[3, 3] = 1
    edges[-1] = edges[:, -1] = 0
    return edges


def config(**options):
    return SvdConfig(**{"dim": 5, "threads": 1, "device": "cpu", "exact_walks": True, **options})


def expected_pairs(edges, window, weighting):
    """Return the sum over distances r of weight times D P^r, dense, as Qiu et al. define it."""
    degrees = edges.sum(axis=1)
    steps = edges / np.where(degrees > 0, degrees, 1)[:, None]
    weights, one = window_weights(window, weighting)
    powers = (np.linalg.matrix_power(steps, r) for r in range(1, window + 1))
    return np.diag(degrees) @ sum(
        weight / one * power for weight, power in zip(weights[1:], powers, strict=True)
    )


def matrix_of(corpus, **options):
    """Return the matrix in the order of the nodes."""
    words, matrix = weighted_matrix(corpus, config(**options))
    nodes = np.argsort([int(word[1:]) for word in words])
    assert matrix.has_sorted_indices
    return matrix.toarray()[np.ix_(nodes, nodes)]


@pytest.fixture(scope="module", params=[False, True], ids=["edges", "weighted edges"])
def graph(request, tmp_path_factory):
    edges = adjacency(request.param)
    return edges, graph_corpus(tmp_path_factory.mktemp("graph"), edges)


def test_without_other_settings_it_is_the_matrix_of_netmf(graph):
    edges, corpus = graph
    pairs = expected_pairs(edges, 4, "flat")
    degrees = edges.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        # vol(G) / (b T) (sum of P^r) D^-1
        netmf = degrees.sum() / (2 * 4) * pairs / np.outer(degrees, degrees)
        wanted = np.log(np.maximum(np.nan_to_num(netmf), 1))
    found = matrix_of(corpus, window=4, shift=2.0, **PLAIN)
    np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize(("smoothing", "subsample"), [(0.75, 1e-3), (0.0, 0.0), (1.0, 1e-2)])
def test_it_is_the_ppmi_of_the_expected_pairs(graph, weighting, smoothing, subsample):
    edges, corpus = graph
    degrees = edges.sum(axis=1)
    share = np.maximum(degrees, 1e-9) / degrees.sum()
    keep = np.minimum(1, np.sqrt(subsample / share)) if subsample else np.ones(N)
    keep[-1] = 1  # it has no edges
    wanted = naive_ppmi(expected_pairs(edges, 7, weighting)[:-1, :-1], keep[:-1], smoothing, 1.5)
    found = matrix_of(
        corpus, window=7, window_weighting=weighting, context_smoothing=smoothing,
        subsample=subsample, shift=1.5,
    )  # fmt: skip
    np.testing.assert_allclose(found[:-1, :-1], wanted, atol=1e-5)
    assert not found[-1].any()
    assert not found[:, -1].any()


def test_nodes_beyond_the_limit_are_walked_over(tmp_path):
    # 0 - 1 - 2 and 3 - 4 - 5, where 1 and 4 have no row: they lead from 0 to 2 and from 3 to 5
    edges = np.kron(np.eye(2), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    corpus = graph_corpus(tmp_path, edges, [[0, 2, 3, 5] * 9, [1, 4] * 5])
    words, matrix = weighted_matrix(corpus, config(dim=2, window=2, max_vocabulary=4, **PLAIN))
    assert words == ["n0", "n2", "n3", "n5"]
    # each has two contexts of four, so twice as often as by chance
    twice = np.log(2) * np.kron(np.eye(2), np.ones((2, 2)))
    np.testing.assert_allclose(matrix.toarray(), twice, rtol=1e-6)


def test_counts_of_long_walks_come_near(tmp_path):
    # 60 walks of 2,000 nodes: correlations of .9992 to .9995 with five seeds
    edges, rng = adjacency(weighted=True)[30:-1, 30:-1], np.random.default_rng(5)
    edges = edges + np.eye(len(edges), k=1) + np.eye(len(edges), k=-1)  # connected
    chances = np.cumsum(edges / edges.sum(axis=1)[:, None], axis=1)
    walks = []
    for node in rng.choice(len(edges), 60, p=edges.sum(axis=1) / edges.sum()):
        walk = [node]
        for draw in rng.random(2000):
            walk.append(int(np.searchsorted(chances[walk[-1]], draw)))
        walks.append(walk)
    corpus = graph_corpus(tmp_path, edges, walks)
    exact, counted = (
        matrix_of(corpus, window=3, exact_walks=exact, subsample=1e-2) for exact in (True, False)
    )
    assert np.corrcoef(exact.ravel(), counted.ravel())[0, 1] > 0.998


def test_a_run_has_the_same_bytes_at_any_number_of_threads(graph, tmp_path):
    runs = [
        make_svd_run(graph[1], config(threads=threads), tmp_path / str(threads))
        for threads in (1, 3)
    ]
    one, other = (WordVectors.open(run) for run in runs)
    assert np.array_equal(one.matrix, other.matrix)
    assert not one.matrix[one.row(f"n{N - 1}")].any()
    assert '{"step": "walk"' in (runs[0] / "metrics.jsonl").read_text()
    with pytest.raises(SettingError, match="`exact_walks=True` has no intervals; train a run"):
        prepare(one)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weighting": "counts"}, "`weighting=counts`: not with `exact_walks=True`; leave it out"),
        ({"boundary": "sentence"}, "`boundary=sentence`: not with `exact_walks=True`; leave it "),
        ({"best": True}, "`best=True`: not with `exact_walks=True`; leave it out"),
        ({"window": "all"}, "`window=all`: not with `exact_walks=True`; pass a number"),
    ],
)
def test_settings_that_nothing_is_counted_by_are_refused(options, message):
    with pytest.raises(SettingError) as caught:
        take(SvdConfig, {"exact_walks": True, **options})
    assert str(caught.value).startswith(message)


def test_what_cannot_be_computed_is_refused_in_one_line(graph, tmp_path, monkeypatch):
    one_way = graph_corpus(tmp_path, np.array([[0, 1], [0, 1]]))
    corpus = graph[1]
    for refused, message in (
        (lambda: make_svd_run(SmallCorpus("a b"), config(dim=1, min_count=1), tmp_path / "run"),
         "small: `exact_walks=True` needs a corpus of walks on a graph"),
        (lambda: make_svd_run(one_way, config(dim=1), tmp_path / "run"),
         "`exact_walks=True`: the graph has edges that go one way; pass a corpus of an "),
        (lambda: make_svd_run(corpus, config(shift=1e6), tmp_path / "run"),
         "`shift=1e+06` leaves no positive PMI; pass a smaller `shift`"),
        (lambda: make_svd_run(corpus, config(), tmp_path / "run", cluster="local:1"),
         "`exact_walks=True`: one machine computes them; drop `cluster`"),
        (lambda: estimate_svd(corpus, config()),
         "`exact_walks=True` has no `dry_run=True`; what exceeds `memory` is refused in seconds"),
        (lambda: require_memory(3_000_000_000, 10**9),
         "`exact_walks=True`: the matrix has about 3G entries, which take 24GB of the 1GB there "),
    ):  # fmt: skip
        with pytest.raises(SettingError) as caught:
            refused()
        assert str(caught.value).startswith(message)
        assert not (tmp_path / "run").exists()
