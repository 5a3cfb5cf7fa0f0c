"""Next items: ranks against the definition, ties, popularity, and language models' own answers."""

import numpy as np
import pytest
import scipy.sparse

from firth.corpora.common.errors import SourceError
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.inputs.baselines import POPULAR, make_baselines
from firth.embed.compare.inputs.encoder_access import WithEncoder
from firth.embed.compare.scoring.comparison import compare_vectors
from firth.embed.compare.scoring.sets import read_tasks
from firth.embed.compare.tasks.next_item import NextItemTask
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.compare.measuring import ask, of_kind, read_task, score, scores
from tests.embed.compare.refusals import message_of
from tests.embed.compare.scoring.planted import WORDS, noisy, planted_sets
from tests.pretrain.small_run import small_encoder

RNG = np.random.default_rng(4)
ITEMS = [f"i{n}" for n in range(40)]
LENGTHS = np.linspace(0.5, 2, 40)[:, None]
VECTORS = WordVectors(ITEMS, (RNG.normal(size=(40, 5)) * LENGTHS).astype(np.float32))
SESSIONS = [RNG.choice(ITEMS, size, replace=False).tolist() for size in RNG.integers(2, 7, size=60)]
REPEATS = [[*session, session[0]] for session in SESSIONS[:5]]


def rank_of(ranked_by, session, exclude):
    """Return the mean rank of the last item among those that are not excluded, from 1."""
    left = [item for item in ranked_by if item == session[-1] or item not in exclude]
    mine = ranked_by[session[-1]]
    above = sum(ranked_by[item] > mine for item in left)
    return above + 1 + (sum(ranked_by[item] == mine for item in left) - 1) / 2


def expected(rank, top=10):
    return {f"hits_{top}": float(rank <= top), f"mrr_{top}": (rank <= top) / rank}


@pytest.mark.parametrize("sessions", [SESSIONS, SESSIONS + REPEATS], ids=["sets", "repeats"])
def test_ranks_are_those_of_cosines_with_the_mean_of_the_others(sessions):
    ranks = []
    for session in sessions:
        mean = np.mean([VECTORS.vector(item) for item in session[:-1]], axis=0, dtype=float)
        cosine = {i: v @ mean / np.linalg.norm(v) for i in ITEMS for v in [VECTORS.vector(i)]}
        ranks.append(rank_of(cosine, session, session[:-1] if sessions is SESSIONS else ()))
    found = scores(NextItemTask("set", sessions), VECTORS)
    assert set(found) == {"hits_10", "mrr_10", "hits_20", "mrr_20"}
    for top in (10, 20):
        for metric in (f"hits_{top}", f"mrr_{top}"):
            values = [expected(rank, top)[metric] for rank in ranks]
            assert found[metric] == pytest.approx(np.mean(values))


def test_items_that_tie_are_ordered_by_chance():
    one_hot = WordVectors(ITEMS, scipy.sparse.identity(40, np.float32, "csr"))
    found = scores(NextItemTask("set", [ITEMS[:5], ITEMS]), one_hot)
    hits = 10 / 36  # of 40 items, four of which are seen; the long session leaves only its last
    assert found["hits_10"] == pytest.approx((hits + 1) / 2)
    assert found["mrr_10"] == pytest.approx((sum(1 / n for n in range(1, 11)) / 36 + 1) / 2)


def test_popularity_is_how_often_items_are_in_the_other_sessions():
    sessions = [*SESSIONS, ["i0", "i1"], ["i2", "i1"], ["i3", "i1"]]
    values = []
    for number, session in enumerate(sessions):
        others = [i for n, each in enumerate(sessions) if n != number for i in each]
        ranked_by = {item: others.count(item) for item in ITEMS}
        left = [i for i in ITEMS if i == session[-1] or i not in session]
        above = sum(ranked_by[i] > ranked_by[session[-1]] for i in left)
        tied = sum(ranked_by[i] == ranked_by[session[-1]] for i in left)
        values.append(np.mean([above + n < 10 for n in range(tied)]))
    task = NextItemTask("set", sessions)
    popular = scores(task, make_baselines([VECTORS], task.texts(), 40, 1)[POPULAR])
    assert popular["hits_10"] == popular["context_hits_10"] == pytest.approx(np.mean(values))


def test_popularity_is_a_row_of_next_items_alone_by_the_metrics_of_runs(tmp_path):
    path = tmp_path / "sessions.txt"
    path.write_text("\n".join(" ".join(WORDS[n : n + 3]) for n in range(0, 60, 4)))
    sets = (*of_kind(planted_sets(tmp_path), "similarity"), f"next-item={path}")
    for baselines, rows in (("one-hot", {"a", "one-hot", POPULAR}), ("none", {"a"})):
        config = CompareConfig(sets=sets, replicates=100, baselines=baselines)
        found = compare_vectors({"a": noisy(1)}, read_tasks(config), config)
        by_task = {}
        for each in found.scores:
            by_task.setdefault(each.measured.task, set()).add(each.run)
        assert by_task == {"similarity": rows - {POPULAR}, "next-item": rows}
        assert {n for n in NextItemTask.metrics if n.startswith(("hits", "mrr"))} == {
            each.measured.metric for each in found.scores if each.measured.task == "next-item"
        }


def test_sessions_without_two_known_items_are_left_out_and_unknown_ones_stay_candidates():
    task = NextItemTask("set", [["i1", "i2"], ["i1", "x"], ["x", "i1"], ["x", "i1", "i2"]])
    assert task.known(VECTORS).tolist() == [True, False, False, True]
    assert task.candidates == ["i1", "i2", "x"]
    # the cosine of an unknown candidate is 0, that of i2 with i1 below
    two = WordVectors(["i1", "i2"], np.array([[1, 0], [-1, 0.5]], np.float32))
    assert scores(task, two)["mrr_10"] == pytest.approx((1 / 2 + 1) / 2)
    none = ask(task, WordVectors(["y"], np.ones((1, 2), np.float32)))
    assert {each.reason for each in none} == {"no session is known"}


def test_context_vectors_rank_items_by_their_product_with_the_mean_of_a_session(monkeypatch):
    contexts = RNG.normal(size=VECTORS.matrix.shape).astype(np.float32)
    vectors = WordVectors(list(VECTORS.vocabulary), VECTORS.matrix, contexts=contexts)
    sessions = [session for session in SESSIONS if len(set(session)) == len(session) > 1]
    task = NextItemTask("set", sessions)
    ranks = []
    for session in sessions:
        rows = [vectors.row(item) for item in session]
        products = contexts @ vectors.matrix[rows[:-1]].mean(axis=0)
        by = {item: products[vectors.row(item)] for item in task.candidates}
        ranks.append(rank_of(by, session, session[:-1]))
    expected = np.mean([1 / rank if rank <= 10 else 0 for rank in ranks])
    assert scores(task, vectors)["context_mrr_10"] == pytest.approx(expected)
    looked_up = []
    monkeypatch.setattr(vectors, "words", lambda text: looked_up.append(text) or [text])
    task.measure(vectors, np.ones(task.n_items, bool), "zero")
    assert looked_up == task.candidates


@pytest.mark.parametrize("causal", [True, False])
def test_a_language_model_ranks_items_by_its_own_prediction(causal):
    encoder = small_encoder(causal=causal)
    words = [name for name in encoder.pieces.names if name.isalpha() and len(name) < 3][:12]
    sentences = [words[:3], words[3:5]]
    found = encoder.predict_next(sentences, words)
    for sentence, logits in zip(sentences, found, strict=True):
        if causal:
            own = encoder.score([[*sentence, word] for word in words]) - encoder.score([sentence])
        else:
            filled = dict(encoder.fill_mask(f"{' '.join(sentence)} [MASK]", len(encoder.pieces))[0])
            own = np.log([filled[word] for word in words])
        assert logits - logits[0] == pytest.approx(own - own[0], abs=1e-4)
    task = NextItemTask("set", [[*words[:3], words[5]], [*words[3:5], words[7]]])
    static = WordVectors(words, RNG.normal(size=(len(words), 4)).astype(np.float32))
    measured = {each.metric: each for each in ask(task, WithEncoder(static, lambda: encoder))}
    assert set(measured) == {name for name in NextItemTask.metrics if "context_" not in name}
    candidates = found[:, [words.index(item) for item in task.candidates]]
    by = [dict(zip(task.candidates, each, strict=True)) for each in candidates]
    ranks = [rank_of(each, s, s[:-1]) for each, s in zip(by, task.sessions, strict=True)]
    assert score(measured["lm_mrr_10"]) == pytest.approx(np.mean([1 / rank for rank in ranks]))


def test_files_have_a_session_in_each_line(tmp_path, capsys):
    path = tmp_path / "sessions.txt"
    path.write_text("#a b  c\n\nd\n")
    task = read_task("next-item", path, CompareConfig())
    assert list(task.sessions) == [["#a", "b", "c"]]
    assert capsys.readouterr().err == f"{path}: 1 of 2 sessions have one item: left out\n"
    for text, message in (
        ("", "sessions.txt: contains no sessions"),
        ("a\nb\n", "sessions.txt: no session has two items; write one session in each line"),
    ):
        path.write_text(text)
        said = message_of(SourceError, read_task, "next-item", path, CompareConfig())
        assert said.endswith(message)
