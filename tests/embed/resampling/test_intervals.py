"""Intervals of neighbors, against draws that are counted one by one."""

import json
from dataclasses import replace

import numpy as np
import pytest

from firth.corpora.common.errors import ArtifactError, SettingError, UnknownWordError
from firth.corpora.encoding.pipeline import encode_corpus
from firth.corpora.encoding.request import BuildOptions, make_request
from firth.corpora.store.corpus import Corpus
from firth.embed.resampling import intervals
from firth.embed.resampling.drawn_rows import DrawnRows
from firth.embed.resampling.draws import CountDraws, errors_of
from firth.embed.resampling.intervals import (
    analogy_intervals,
    neighbor_intervals,
    projection_intervals,
    similarity_intervals,
)
from firth.embed.resampling.jackknife import groups_of_units
from firth.embed.resampling.prepared import prepare
from firth.embed.resampling.scores import Scored, added, errors_and_shares, multiplied
from firth.embed.runs.run import Run
from firth.embed.svd.ppmi import keep_probabilities
from firth.embed.svd.train import SvdConfig, make_svd_run
from firth.embed.vectors.neighbors import analogy, nearest, similarity
from firth.embed.vectors.search import unit_matrix
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.word2vec.config import SkipGramConfig
from firth.embed.word2vec.train import train_skipgram
from tests.calls import output, refusal

SVD = SvdConfig(dim=6, window=3, min_count=1, threads=1, device="cpu", subsample=1e-2, shift=1.5)
THEMES = [[f"{theme}{n}" for n in range(12)] for theme in ("sea", "sun", "ink")]


@pytest.fixture(scope="module")
def texts() -> list[list[list[str]]]:
    """Documents of two lines on a theme; one has a word of its own."""
    rng = np.random.default_rng(3)
    lines = [[*rng.choice(THEMES[n // 2 % 3], 7).tolist(), "the"] for n in range(720)]
    lines[10] += ["alone"] * 4
    return [lines[n : n + 2] for n in range(0, len(lines), 2)]


@pytest.fixture(scope="module")
def run(texts, tmp_path_factory):
    """A run whose corpus keeps its place."""
    folder = tmp_path_factory.mktemp("texts")
    with open(folder / "a.jsonl", "w", encoding="utf-8") as file:
        for lines in texts:
            file.write(json.dumps({"text": "\n".join(map(" ".join, lines))}) + "\n")
    request = make_request([folder / "a.jsonl"], options=BuildOptions(held_out=0))
    corpus = encode_corpus(request, folder / "corpus")
    return make_svd_run(corpus, SVD, folder / "run")


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    """A cache of these tests."""
    folder = tmp_path_factory.getbasetemp() / "cache-of-intervals"
    monkeypatch.setenv("FIRTH_CACHE", str(folder))
    return folder


def naive_vectors(run, texts, copies):
    """The vectors of all words in a draw, by the definition."""
    vectors = WordVectors.open(run)
    words = list(vectors.vocabulary)
    train = [lines for lines in texts if len(lines)]
    counts = np.array(vectors.counts)
    keep = keep_probabilities(counts, SVD.subsample)

    def count(times):
        found = np.zeros((len(words), len(words)))
        for each, lines in zip(times, train, strict=True):
            for line in lines:
                for i, a in enumerate(line):
                    for j in range(max(0, i - 3), min(len(line), i + 4)):
                        if i != j:
                            found[vectors.row(a), vectors.row(line[j])] += each / abs(i - j)
        return found

    whole = count(np.ones(len(train)))
    matrix = np.asarray(vectors.matrix, np.float64)

    def ppmi(rows):
        ratio = np.exp(naive_ppmi_logs(rows, whole, keep))
        return np.maximum(np.log(np.maximum(ratio, 1e-300) / SVD.shift), 0)

    def naive_ppmi_logs(rows, contexts, keep):
        rows, contexts = rows * keep, contexts * keep * keep[:, None]
        smoothed = contexts.sum(axis=0) ** SVD.context_smoothing
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nan_to_num(
                np.log(rows * smoothed.sum() / (rows.sum(axis=1, keepdims=True) * smoothed)),
                nan=-np.inf,
            )

    full = ppmi(whole)
    products = full.T @ matrix
    basis = products / np.linalg.norm(products, axis=0) ** (2 / 1.5)
    np.testing.assert_allclose(full @ basis, matrix, atol=1e-4)
    return ppmi(count(copies)) @ basis


def test_drawn_vectors_are_those_of_the_counted_draw(run, texts):
    vectors = WordVectors.open(run)
    prepared = prepare(vectors)
    assert (prepared.unit, prepared.text.n_units) == ("document", len(texts))
    copies = np.random.default_rng(1).integers(0, 2, (len(texts), 4))
    rows = DrawnRows(prepared.text, prepared.space, SVD, 1)
    one_by_one = DrawnRows(prepared.text, prepared.space, SVD, 1, entries=1)
    drawn = [rows.vectors(word, copies.astype(rows.kind)) for word in range(len(vectors))]
    again = [one_by_one.vectors(word, copies.astype(rows.kind)) for word in range(len(vectors))]
    np.testing.assert_allclose(drawn, again, atol=1e-6)
    for draw in range(4):
        expected = naive_vectors(run, texts, copies[:, draw])
        np.testing.assert_allclose(np.array(drawn)[:, draw], expected, atol=1e-4)


def test_errors_and_shares_are_those_of_texts_without_each_group(run, texts):
    vectors = WordVectors.open(run)
    draws = CountDraws(prepare(vectors), vectors.matrix, 8, 5)
    draws.fewest = 0
    words = [vectors.row("sea1"), vectors.row("ink1")]
    candidates = np.array([[r for r in range(20) if r != w][:12] for w in words])
    scores = np.array([
        [similarity(vectors, vectors.vocabulary[w], vectors.vocabulary[c]) for c in row]
        for w, row in zip(words, candidates, strict=True)
    ])  # fmt: skip
    scored = Scored(np.array(words)[:, None], candidates, scores)
    errors, shares = errors_and_shares(draws, scored, 3, 5)
    groups = groups_of_units(len(texts), 8, 5)
    of_group = np.array([naive_vectors(run, texts, groups != group) for group in range(8)])
    of_group /= np.maximum(np.linalg.norm(of_group, axis=2, keepdims=True), 1e-12)
    units = unit_matrix(vectors.matrix)
    normal = np.random.default_rng(5).standard_normal((400, 8), np.float32)
    for n, word in enumerate(words):
        np.testing.assert_allclose(draws.vectors(word), of_group[:, word], atol=1e-5)
        near = candidates[n]
        cosines = of_group[:, word] @ units[near].T
        cosines += of_group[:, near] @ units[word] - units[near] @ units[word]
        pairs = np.array([(word, candidate) for candidate in near])
        np.testing.assert_allclose(draws.cosines(pairs).T, cosines, atol=1e-5)
        both = np.einsum("gcd,gd->gc", of_group[:, near], of_group[:, word])
        assert abs(both - cosines).max() < 0.2 * abs(cosines - cosines.mean(axis=0)).max()
        away = 1.25 * (cosines - cosines.mean(axis=0)) * np.sqrt(7 / 8)
        np.testing.assert_allclose(errors[n], np.sqrt((away**2).sum(axis=0)), rtol=1e-2, atol=1e-5)
        best = np.argsort(-(scores[n] + normal @ away), axis=1)[:, :3]
        expected = [(best == place).any(axis=1).mean() for place in range(len(scores[n]))]
        np.testing.assert_allclose(shares[n], expected, atol=0.01)
    again = errors_and_shares(draws, scored, 3, 5, n_bytes=1)  # one query at once
    np.testing.assert_allclose(again, (errors, shares), rtol=1e-5, atol=0.003)


def test_scores_of_analogies_are_those_of_vectors():
    rng = np.random.default_rng(1)
    words, candidates = rng.normal(size=(3, 5)), rng.normal(size=(4, 5))
    vectors = WordVectors(list("abcwxyz"), np.concatenate([words, candidates]).astype(np.float32))
    units = unit_matrix(vectors.matrix)
    among, found = ((units[:3] @ each.T)[..., None] for each in (units[:3], units[3:]))
    for method, score in (("3cosadd", added), ("3cosmul", multiplied)):
        expected = dict(analogy(vectors, "a", "b", "c", 4, method))
        scores = score(among, found)[:, 0]
        np.testing.assert_allclose(scores, [expected[word] for word in "wxyz"], rtol=1e-5)


def test_neighbors_have_intervals_around_their_cosines(run):
    [answer] = neighbor_intervals(run, "sea1", 5)
    [plain] = nearest(WordVectors.open(run), "sea1", 5)
    assert [(each.word, each.score) for each in answer.neighbors] == plain
    for each in answer.neighbors:
        assert each.low < each.score
        assert each.low < each.high <= 1
        assert 0 < each.share <= 1
    assert all(each.rank > 5 and each.share >= 0.25 for each in answer.entrants)
    assert {each.word[:3] for each in answer.neighbors} == {"sea"}
    assert answer == neighbor_intervals(run, ["sea1"], 5)[0]
    assert answer != neighbor_intervals(run, ["sea1"], 5, seed=2)[0]


def test_intervals_are_lower_by_what_selection_adds(run):
    vectors = WordVectors.open(run)
    [answer] = neighbor_intervals(run, "ink1", 36)
    others = [vectors.row(each.word) for each in answer.neighbors]
    scores = np.array([[each.score for each in answer.neighbors]])
    scored = Scored(np.array([[vectors.row("ink1")]]), np.array([others]), scores)
    draws = CountDraws(prepare(vectors), vectors.matrix, 100, 1)
    errors, _ = errors_and_shares(draws, scored, 36, 1)
    best = nearest(vectors, "ink1", 100)[0]
    mean = np.mean([each.score - best[-1].score for each in best[:-1]])
    for error, each in zip(errors[0], answer.neighbors, strict=True):
        middle = each.score - (error / 1.25) ** 2 / mean
        # "the" has a zero vector and "alone" one document; other themes have no context of its own
        if each.word not in ("the", "alone") and error > 1e-6:
            assert each.low == pytest.approx(max(middle - 1.96 * error, -1), abs=1e-5)


def test_there_is_no_interval_that_excludes_its_own_cosine(run, monkeypatch):
    for times, expected in ((1.9, True), (2.0, False)):
        monkeypatch.setattr(intervals, "excess", lambda _, errors, times=times: times * errors)
        [answer] = neighbor_intervals(run, "ink1", 5)
        assert all((each.low is not None) == expected for each in answer.neighbors)


def test_a_word_of_one_document_has_no_interval(run):
    [answer] = neighbor_intervals(run, "alone", 5)
    assert answer.n_units == [1]
    assert all(each.low is None and each.share is None for each in answer.neighbors)
    assert similarity_intervals(run, "sea1", "alone")[0].low is None


def test_a_few_documents_or_tokens_decide_nothing(run, monkeypatch):
    away = np.array([[1.0] * 5 + [0] * 5, [1.0] * 4 + [0] * 6, [9.0] + [1] * 9])
    draws = CountDraws(prepare(WordVectors.open(run)), None, 10, 1)
    errors = errors_of(draws.fewest, away)
    assert errors[0] == pytest.approx(5**0.5)
    assert np.isnan(errors[1:]).all()
    tokens = int(WordVectors.open(run).counts[WordVectors.open(run).row("sea1")])
    monkeypatch.setattr(intervals, "FEWEST_TOKENS", tokens + 1)
    [answer] = neighbor_intervals(run, "sea1", 3)
    assert {each.reason for each in answer.neighbors} == {f"sea1: {tokens} tokens"}
    assert similarity_intervals(run, "sea1", "sea2")[0].reason == f"sea1: {tokens} tokens"


def test_a_projection_varies_with_the_word_and_with_the_axis(run):
    sides, vectors = (["sea1", "sea2"], ["sun1", "sun2"]), WordVectors.open(run)
    near, alone = projection_intervals(run, ["sun3", "alone"], sides, resamples=100)
    assert near.low > 0
    assert alone.low is None
    draws = CountDraws(prepare(vectors), vectors.matrix, 100, 1)

    def cosine(vector):
        axis = sum(vector(word) for word in sides[1]) - sum(vector(word) for word in sides[0])
        return vector("sun3") @ axis / np.linalg.norm(axis)

    drawn = [cosine(lambda word, n=n: draws.vectors(vectors.row(word))[n]) for n in range(100)]
    error = errors_of(draws.fewest, draws.deviations(np.array(drawn)))
    value = cosine(lambda word: unit_matrix(vectors.matrix, [vectors.row(word)])[0])
    assert near.value == pytest.approx(value, abs=1e-6)
    assert near.low == pytest.approx(near.value - 1.96 * error, abs=1e-5)


def test_words_that_are_often_listed_are_named(run):
    [answer] = neighbor_intervals(run, "sea1", 5)
    [longer] = neighbor_intervals(run, "sea1", 18)
    assert [each.rank for each in longer.neighbors] == list(range(1, 19))
    assert answer.entrants
    assert all(each.share >= 0.25 and each.rank > 5 for each in answer.entrants)
    assert [each.share for each in answer.entrants] == sorted(
        (each.share for each in answer.entrants), reverse=True
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("context_side", "left"), ("add_contexts", True), ("side_means", 8), ("best", True)],
)
def test_other_spaces_are_refused(run, monkeypatch, name, value):
    config = replace(SVD, **{name: value}) if name != "best" else SvdConfig(best=True)
    monkeypatch.setattr(Run, "settings", lambda self, config_class: config)
    with pytest.raises(SettingError, match="has no intervals; train a run without it"):
        neighbor_intervals(run, "sea1")


def test_a_difference_of_two_cosines_is_paired(run):
    near, far, difference = similarity_intervals(run, "sea1", ["sea2", "sun1"])
    assert difference.value == pytest.approx(near.value - far.value)
    assert difference.low > 0
    again = similarity_intervals(run, "sea1", ["sea2", "sea2"])[2]
    assert (again.value, again.low) == (0, None)
    assert again.reason == "sea1 and sea2 and sea2: no two texts differ"
    vectors = WordVectors.open(run)
    draws = CountDraws(prepare(vectors), vectors.matrix, 100, 1)
    drawn = draws.cosines(np.array([[vectors.row(word) for word in ("sea1", "sea2")]]))
    error = np.sqrt(99 * drawn.var()) * 1.25
    assert near.value - near.low == pytest.approx(1.96 * error, rel=1e-4)


@pytest.mark.parametrize("method", ["3cosadd", "3cosmul"])
def test_answers_to_an_analogy_have_intervals(run, method):
    answer = analogy_intervals(run, "sea1", "sea2", "sun1", 4, method, resamples=40)
    plain = analogy(WordVectors.open(run), "sea1", "sea2", "sun1", 4, method)
    assert [(each.word, each.score) for each in answer.neighbors] == plain
    shown = [each for each in answer.neighbors if each.reason is None]
    assert all(each.low < each.score for each in shown)
    assert len(shown) >= 2


def test_a_text_of_few_documents_is_drawn_by_paragraphs_with_a_note(run, texts, tmp_path, capsys):
    (tmp_path / "one.txt").write_text(
        "\n".join(" ".join(line) for lines in texts for line in lines), encoding="utf-8"
    )
    corpus = encode_corpus(make_request([tmp_path / "one.txt"]), tmp_path / "corpus")
    made = make_svd_run(corpus, SVD, tmp_path / "run")
    assert neighbor_intervals(made, "sea1")[0].unit == "paragraph"
    assert "has few documents, so paragraphs are resampled" in capsys.readouterr().err
    with pytest.raises(SettingError, match="has 1 of the 20 documents with words that are needed"):
        prepare(WordVectors.open(made), unit="document")


def test_what_was_prepared_is_made_again_if_it_is_damaged(run, cache):
    [answer] = neighbor_intervals(run, "sea1", 5)
    for file in (cache / "draws").rglob("*.npy"):
        file.write_bytes(file.read_bytes()[:-4])
    assert neighbor_intervals(run, "sea1", 5) == [answer]


def test_a_cache_that_cannot_be_written_is_done_without(run, monkeypatch):
    [answer] = neighbor_intervals(run, "sea1", 5)
    monkeypatch.setenv("FIRTH_CACHE", "/dev/null")
    assert neighbor_intervals(run, "sea1", 5) == [answer]


def test_commands_print_intervals(run):
    table = output("neighbors", run, "sea1", "-k", 5, "--resamples", 100)
    assert (
        " of 5 (each among the nearest 5 in 90 % of simulated texts of as many documents)" in table
    )
    assert "●" in table
    [(word, answer)] = json.loads(
        output("neighbors", run, "sea1", "-k", 5, "--resamples", 100, "--json")
    ).items()
    assert (word, len(answer["neighbors"]), answer["unit"]) == ("sea1", 5, "document")
    lines = output("similarity", run, "sea1", "sea2", "sea3", "--resamples", 30).splitlines()
    assert [line.split()[3:5] for line in lines[:2]] == [["(95", "%:"]] * 2
    assert "difference" in lines[2]
    said = json.loads(output("similarity", run, "sea1", "sea2", "--resamples", 30, "--json"))
    assert said["low"] < said["cosine"] < said["high"]
    assert "stable: " in output("analogy", run, "sea1", "sea2", "sun1", "--resamples", 30)
    plain = json.loads(output("similarity", run, "sea1", "sea2", "sun1", "--json"))
    assert plain["difference"]["cosine"] == plain["cosine"] - plain["c"]["cosine"]


def test_what_has_no_intervals_is_refused_in_one_line(run, tmp_path):
    corpus = Corpus.open(run.parent / "corpus")
    config = SkipGramConfig(dim=4, epochs=1, min_count=1, threads=1)
    train_skipgram(corpus, config, tmp_path / "sg")
    of = ("--resamples", 30)
    assert "documents are needed): alone: 4 tokens\n" in output("neighbors", run, "alone", *of)
    assert output("neighbors", run, "zzz", "--skip-unknown", *of) == ""
    assert "'zzz'" in refusal("similarity", run, "sea1", "zzz", *of)
    with pytest.raises(UnknownWordError):
        similarity_intervals(run, "sea1", "zzz")
    with pytest.raises(SettingError, match="pass one word or two to compare 'sea1' with, got 0"):
        similarity_intervals(run, "sea1", [])
    [answer] = neighbor_intervals(run, "sea1", 50)
    assert {each.reason.partition(": ")[2] for each in answer.neighbors} == {"all are listed"}
    with pytest.raises(SettingError, match="`resamples` must be at most 1,000, got 2,000"):
        neighbor_intervals(run, "sea1", resamples=2000)
    assert refusal("neighbors", tmp_path / "sg", "sea1", *of) == (
        f"{tmp_path / 'sg'}: has no draws of its text; add --resamples 20 to the train-skipgram "
        "command that made it, which keeps the run and trains them"
    )
    assert refusal("neighbors", run, "sea1", "--resamples", 3).startswith("--resamples must be at")
    assert "k must be at most 50" in refusal("neighbors", run, "sea1", "-k", 51, *of)
    (run.parent / "corpus").rename(run.parent / "moved")
    try:
        with pytest.raises(ArtifactError, match="was not found"):
            neighbor_intervals(run, "sea1")
        assert neighbor_intervals(run, "sea1", corpora=[run.parent / "moved"])
    finally:
        (run.parent / "moved").rename(run.parent / "corpus")


def test_a_notebook_shows_neighbors_with_intervals(run):
    [answer] = neighbor_intervals(run, "sea1", 5)
    table = answer._repr_html_()
    assert table.count("<tr>") == 1 + 5 + len(answer.entrants)
    assert f"{answer.neighbors[0].low:.4f}" in table
    assert "<th>share</th>" in table
