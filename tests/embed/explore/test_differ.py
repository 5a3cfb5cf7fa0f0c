"""Words whose neighborhoods differ: the distance, what chance does, planted changes."""

import csv
import io
import itertools
import json
import shutil

import numpy as np
import pytest

import firth
from firth.corpora.common.errors import ArtifactError, SettingError, UnknownWordError
from firth.corpora.store.view import StoredText
from firth.embed.explore.differ import _Compared, _larger, differ, neighborhoods
from firth.embed.explore.space import Space
from firth.embed.explore.space import shown as shown_on_page
from firth.embed.resampling.drawn_text import (
    DrawnCorpus,
    joined_text,
    top_shares,
    training_documents,
)
from firth.embed.svd.train import SvdConfig, train_svd
from firth.embed.vectors.search import unit_length
from firth.embed.vectors.word_vectors import WordVectors
from tests.calls import output, refusal

TOPICS, WORDS, DOCUMENTS, PARAGRAPHS = 8, 12, 30, 20
# "x" is near "w" in the first space and near "y" in the second
FIRST = WordVectors(list("wxy"), np.array([[1, 0], [0.8, 0.6], [0, 1]], np.float32), name="first")
SECOND = WordVectors(list("ywx"), np.array([[4, 3], [2, 0], [0, 1]], np.float32), name="second")


def random_units(n_words, dim, seed):
    """Return random vectors of unit length."""
    vectors = np.random.default_rng(seed).standard_normal((n_words, dim))
    return unit_length(vectors).astype(np.float32)


def naive_distance(a, b, row, k):
    """The definition: 1 - cosine of the cosines with the union of both neighborhoods."""
    others = [other for other in range(len(a)) if other != row]
    near = [sorted(others, key=lambda o, u=u: -float(u[row] @ u[o]))[:k] for u in (a, b)]
    union = sorted({*near[0], *near[1]})
    x, y = (np.array([float(u[row] @ u[other]) for other in union]) for u in (a, b))
    return 1 - x @ y / np.sqrt((x @ x) * (y @ y)), near


@pytest.mark.parametrize("block", [1, 100, 1 << 20])
@pytest.mark.parametrize("k", [1, 4, 28])
def test_distances_and_neighbors_match_the_definition(k, block):
    a, b = random_units(30, 5, 1), random_units(30, 7, 2)
    distances, nearest = neighborhoods(a, b, k, block=block)
    for row in range(30):
        distance, near = naive_distance(a, b, row, k)
        assert distances[row] == pytest.approx(distance, abs=1e-5)  # float32 products
        assert [each[row].tolist() for each in nearest] == near


def test_a_rotated_space_has_equal_neighborhoods():
    a = random_units(40, 6, 3)
    rotation, _ = np.linalg.qr(np.random.default_rng(4).standard_normal((6, 6)))
    distances, _ = neighborhoods(a, (a @ rotation).astype(np.float32), 5)
    np.testing.assert_allclose(distances, 0, atol=1e-5)


def test_a_hand_worked_example():
    found = differ(FIRST, SECOND, k=1, permutations=0)
    # w: cosines with x and y are (.8, 0) and (0, .8); x with w and y: (.8, .6) and (0, .6);
    # y with w and x: (0, .6) and (.8, .6)
    assert [(each.word, each.only_a, each.only_b) for each in found.words] == [
        ("w", ["x"], ["y"]), ("x", ["w"], ["y"]), ("y", ["x"], ["w"]),
    ]  # fmt: skip
    assert [each.distance for each in found.words] == pytest.approx([1, 0.4, 0.4], abs=1e-6)
    assert (found.n_shared, found.no_chance) == (3, "`permutations=0`")
    assert {(w.p, w.q, w.chance, w.count_a, w.one_document) for w in found.words} == {(None,) * 5}
    asked = differ(FIRST, SECOND, words=["y", "x", "w"], k=1, permutations=0, top=1)
    assert [each.word for each in asked.words] == ["y", "x", "w"]
    with pytest.raises(
        UnknownWordError, match=r"^'q' is not one of the 3 shared words; check the spelling$"
    ):
        differ(FIRST, SECOND, k=1, words=["q"])


def test_the_usual_distance_is_the_median_of_words_as_frequent():
    rng = np.random.default_rng(6)
    distances = rng.permuted(np.linspace(0, 0.2, 200)), rng.permuted(np.linspace(0.6, 0.8, 200))
    counts = np.repeat([1000, 10], 200)
    words = [f"w{n}" for n in range(400)]
    compared = _Compared(words, [counts, counts], np.concatenate(distances), [])
    np.testing.assert_allclose(compared.usual(), np.repeat([0.1, 0.7], 200))
    assert np.isnan(_Compared(words, [counts, None], compared.distances, []).usual()).all()


def test_without_p_words_are_sorted_by_what_exceeds_the_usual_distance():
    counts = np.repeat([1000, 10], 200)
    words = [f"w{n}" for n in range(400)]
    a, b = (WordVectors(words, random_units(400, 8, n), counts=counts, name=str(n)) for n in (1, 2))
    found = differ(a, b, permutations=0)
    excess = [word.distance - word.usual for word in found.words]
    assert excess == sorted(excess, reverse=True)
    assert len({word.usual for word in found.words}) == 2


def test_chance_is_of_the_kind_with_the_larger_p():
    p, other = np.array([0.1, 0.9, np.nan]), np.array([0.5, 0.2, 0.1])
    kinds = [(p, np.array([8.0, 2.0, np.nan])), (other, np.array([1.0, 3.0, 1.0]))]
    chance, larger, q = _larger(kinds)
    np.testing.assert_array_equal(larger, [0.5, 0.9, np.nan])
    np.testing.assert_array_equal(chance, [1.0, 2.0, np.nan])
    np.testing.assert_array_equal(q, [0.9, 0.9, np.nan])  # of two words


def test_a_word_that_few_resamples_have_has_no_p():
    rng = np.random.default_rng(5)
    distances = rng.lognormal(size=(9, 8))
    distances[0, 1:4], distances[1, 1:3] = np.nan, np.nan  # of 7 by chance 4 and 5 are left
    counts = [np.full(9, 10)] * 2
    compared = _Compared(list("abcdefghi"), counts, distances[:, 0], [])
    p, chance = compared.tested(distances[:, 1:])
    assert np.flatnonzero(np.isnan(p)).tolist() == np.flatnonzero(np.isnan(chance)).tolist() == [0]


def write_text(folder, seed, company=0):
    """Write documents of paragraphs on one topic each; ``bank`` is a word of one of them."""
    rng = np.random.default_rng(seed)
    folder.mkdir()
    for number in range(DOCUMENTS):
        paragraphs = []
        for topic in rng.integers(0, TOPICS, PARAGRAPHS):
            words = [f"t{topic}w{n}" for n in rng.integers(0, WORDS, 8)]
            paragraphs.append(" ".join(words + ["bank"] * int(topic == company)))
        (folder / f"{number}.txt").write_text("\n\n".join(paragraphs))
    return folder


def make_run(folder, name, seed, *, company=0, **options):
    """Make a corpus and a run of it; return the run and the corpus."""
    read, built = firth.ReadOptions(documents="file"), firth.BuildOptions(held_out=0.1)
    text = write_text(folder / f"{name}-text", seed, company)
    corpus = firth.build_corpus(text, folder / f"{name}-corpus", read=read, options=built)
    return train_svd(corpus, settings(**options), folder / name), corpus


def settings(**options):
    return SvdConfig(**{"dim": 20, "min_count": 1, "threads": 1, "device": "cpu", **options})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("differ")


@pytest.fixture(scope="module")
def runs(folder):
    """Runs of two corpora, in which ``bank`` keeps different company."""
    return [make_run(folder, f"run{n}", n, company=n) for n in range(2)]


@pytest.fixture(scope="module")
def at(runs):
    """Where their corpora are."""
    return {"corpora": [corpus.path for _, corpus in runs]}


def words_of(view):
    """Return the words of each unit of a view."""
    return [
        [view.words[row] for row in rows[start:stop].tolist()]
        for rows, offsets in view.shards()
        for start, stop in itertools.pairwise(offsets)
    ]


def test_documents_are_drawn_as_often_as_asked(runs):
    _, corpus = runs[0]
    documents = words_of(corpus.view(boundary="paragraph", documents="all"))
    held_out = words_of(corpus.view(boundary="paragraph", documents="held-out"))
    assert held_out  # paragraphs, since the text is short
    numbers = np.repeat(np.arange(DOCUMENTS), PARAGRAPHS)
    assert training_documents(corpus.stored).tolist() == list(range(DOCUMENTS))
    copies = np.zeros(DOCUMENTS, np.int64)
    copies[:3] = [2, 0, 3]
    drawn = DrawnCorpus(corpus, corpus.stored, copies, "drawn")
    expected = [
        words
        for words, number in zip(documents, numbers, strict=True)
        for _ in range(copies[number])
        if words not in held_out
    ]
    assert sorted(words_of(drawn.view(boundary="paragraph"))) == sorted(expected)
    assert drawn.training_tokens == sum(map(len, expected))
    assert drawn.training_documents == 5


def test_a_word_of_one_document_is_marked(folder):
    text = write_text(folder / "marked-text", 20)
    for number in range(DOCUMENTS):
        times = 9 if number == 7 else int(number < 4)
        file = text / f"{number}.txt"
        file.write_text("ishmael t1w2 " * times + file.read_text())
    read, built = firth.ReadOptions(documents="file"), firth.BuildOptions(held_out=0)
    corpus = firth.build_corpus(text, folder / "marked-corpus", read=read, options=built)
    assert top_shares(corpus.stored, ["ishmael", "nobody"]).tolist() == [9 / 13, 0]
    runs = [train_svd(corpus, settings(window=n), folder / f"marked{n}") for n in (2, 3)]
    words = ["ishmael", "bank"]
    found = differ(*runs, words=words, k=8, permutations=0, corpora=[corpus.path])
    assert found.words[0].share == 9 / 13
    assert [w.one_document for w in found.words] == [True, False]
    paths = [run.path for run in runs]
    line = ("differ", *paths, "-k", 8, "--permutations", 0, "--words", ",".join(words))
    shown = [row.rstrip() for row in output(*line).splitlines() if row.strip()]
    assert shown[2].endswith("1 document")
    assert not shown[3].endswith("1 document")
    assert [w["one_document"] for w in json.loads(output(*line, "--json"))["words"]] == [
        True,
        False,
    ]
    rows = csv.DictReader(io.StringIO(output(*line, "--csv")))
    both = [Space(path, 100, corpus.path) for path in paths]
    pages = {word["word"]: word["one_document"] for word in shown_on_page(found, both, 2, 1)}
    assert pages == {"ishmael": True, "bank": False}
    assert [(row["one_document"], row["share"][:3]) for row in rows] == [
        ("1", "0.6"),
        ("0", "0.0"),
    ]


def test_joined_corpora_have_the_text_of_both(runs):
    both = [corpus for _, corpus in runs]
    text = joined_text(*both)
    assert isinstance(text, StoredText)
    whole = DrawnCorpus(both[0], text, np.ones(2 * DOCUMENTS, np.int64), "whole")
    expected = [unit for corpus in both for unit in words_of(corpus.view(boundary="paragraph"))]
    view = whole.view(boundary="paragraph")
    assert words_of(view) == expected
    assert view.counts.sum() == whole.training_tokens == sum(map(len, expected))
    assert (np.diff(text.vocabulary.counts) <= 0).all()


@pytest.mark.slow
def test_a_word_in_other_company_is_found(runs, at):
    (a, _), (b, _) = runs
    found = differ(a, b, k=8, permutations=20, **at)
    first = found.words[0]
    assert first.word == "bank"
    assert first.q <= 0.05
    # a word of these topics has or loses a neighbor; other words are false alarms, of which a share
    # of .05 is expected
    named = [word.word for word in found.words if word.q <= 0.05]
    assert {word[:2] for word in named} <= {"ba", "t0", "t1"}
    assert first.distance > 3 * first.chance
    assert {near[:2] for near in first.only_a} == {"t0"}
    assert {near[:2] for near in first.only_b} == {"t1"}
    assert (first.count_a, first.count_b) == (a.counts[a.row("bank")], b.counts[b.row("bank")])
    assert [word.p for word in found.words] == sorted(word.p for word in found.words)
    assert found.n_shared == TOPICS * WORDS + 1


@pytest.mark.slow
def test_samples_of_one_language_differ_by_chance(folder):
    shares = []
    for seed in range(10, 16, 2):
        made = [make_run(folder, f"alike{n}", n) for n in (seed, seed + 1)]
        places = [corpus.path for _, corpus in made]
        found = differ(made[0][0], made[1][0], k=8, permutations=5, corpora=places)
        shares.append(np.mean([word.p <= 0.05 for word in found.words]))
        assert found.words[0].q > 0.05  # fails by chance in one of 20 cases
    # the share of 3 x 97 words has a standard error of .013 if words are independent, as they
    # nearly are: a limit that chance alone exceeds once in 10^4
    assert np.mean(shares) < 0.1


@pytest.mark.slow
def test_halves_of_one_corpus_differ_more_than_seeds_and_settings(runs, folder, at):
    (a, corpus), _ = runs
    other = train_svd(corpus, settings(window=2, seed=2), folder / "narrow")
    found = differ(a, other, k=8, permutations=5, corpora=at["corpora"][:1])
    assert found.permutations == 5
    # halves differ more than the wholes, so that p <= .05 is rarer than one in 20
    assert np.mean([word.p <= 0.05 for word in found.words]) < 0.05
    assert found.words[0].count_a == found.words[0].count_b


@pytest.mark.slow
def test_words_and_top_choose_what_is_returned_but_not_what_is_tested(runs, at):
    (a, _), (b, _) = runs
    options = {"k": 8, "permutations": 5, "seed": 3, **at}
    every = {word.word: word for word in differ(a, b, **options).words}
    asked = differ(a, b, words=["t3w1", "bank", "t3w1"], **options)  # by the same seed
    assert asked.words == [every["t3w1"], every["bank"]]
    assert len(differ(a, b, k=8, permutations=0, top=3).words) == 3


def test_rare_words_are_left_out(runs):
    (a, _), (b, _) = runs
    counts = {word: min(a.counts[a.row(word)], b.counts[b.row(word)]) for word in a}
    found = differ(a, b, k=8, permutations=0, min_count=45)
    assert {word.word for word in found.words} == {w for w, n in counts.items() if n >= 45}


def test_runs_that_cannot_be_trained_again_have_distances_and_a_reason(runs, folder, capsys):
    (a, _), (b, corpus) = runs
    alone = shutil.copytree(a.path, folder / "alone")
    made = json.loads((alone / "provenance.json").read_text())
    (alone / "provenance.json").write_text(json.dumps({**made, "corpus_path": "moved"}))
    lost = differ(alone, b, k=8)
    assert lost.no_chance == (
        f"{alone}: its corpus moved (checksum {made['corpus']}) was not found; pass `corpus`"
    )
    known = differ(a, b, k=8, permutations=0)
    assert all(w.share is not None for w in lost.words)  # of the other run
    assert [w.distance for w in lost.words] == [w.distance for w in known.words]
    moved = shutil.copytree(corpus.path, folder / "moved")
    assert differ(a, b, k=8, permutations=5, corpora=[moved, runs[0][1].path]).no_chance is None
    assert differ(FIRST, SECOND, k=1).no_chance == (
        "first: does not say what text it was trained on"
    )
    config = folder / "other"
    shutil.copytree(a.path, config)
    (config / "config.json").write_text(json.dumps({"method": "mlm"}))
    assert differ(config, b, k=8).no_chance == (
        f"{config}: only svd, skipgram, cbow are trained again"
    )


def test_corpora_that_split_text_differently_are_not_mixed(runs, folder, at):
    (a, corpus), _ = runs
    options = {
        "read": firth.ReadOptions(documents="file"),
        "words": firth.TextSettings(keep_case=True),
    }
    cased = firth.build_corpus(folder / "run1-text", folder / "cased", **options)
    b = train_svd(cased, settings(), folder / "of-cased")
    found = differ(a, b, k=8, corpora=[at["corpora"][0], cased.path])
    assert found.no_chance == (
        f"{corpus.path} and {cased.path} differ in how text is split; build both alike"
    )


def test_few_documents_are_too_few_for_chance(tmp_path):
    text = tmp_path / "text"
    text.mkdir()
    for number in range(6):
        (text / f"{number}.txt").write_text(" ".join(f"w{n}" for n in range(number, 30)))
    read, built = firth.ReadOptions(documents="file"), firth.BuildOptions(held_out=0)
    corpus = firth.build_corpus(text, tmp_path / "corpus", read=read, options=built)
    a, b = (train_svd(corpus, settings(seed=n), tmp_path / str(n)) for n in (1, 2))
    assert differ(a, b, k=8, corpora=[corpus.path]).no_chance == (
        f"{corpus.path}: chance needs parts of 10 documents or more, and these have 3; "
        "build it with more, shorter documents"
    )


@pytest.mark.parametrize(
    ("b", "options", "message"),
    [
        (SECOND, {"k": 3}, "first and second share 3 words with vectors: too few for k=3"),
        (WordVectors(["z"], np.ones((1, 2), np.float32), name="z"), {"k": 1},
         "first and z share 0 words with vectors: too few for k=1"),
        (FIRST, {}, "first: is compared with itself; pass two runs"),
        (SECOND, {"k": 0}, "k must be at least 1, got 0"),
        (SECOND, {"permutations": -1}, "`permutations` must be at least 0, got -1"),
        (SECOND, {"top": 0}, "`top` must be at least 1, got 0"),
        (SECOND, {"min_count": 0}, "`min_count` must be at least 1, got 0"),
        (SECOND, {"min_count": 2}, "first: has no counts, which `min_count` needs"),
    ],
    ids=["k", "nothing shared", "itself", "k 0", "resamples", "top", "min count", "no counts"],
)  # fmt: skip
def test_refused(b, options, message):
    with pytest.raises(SettingError) as refused:
        differ(FIRST, b, **options)
    assert str(refused.value) == message


def test_few_resamples_are_refused():
    with pytest.raises(SettingError) as refused:
        differ(FIRST, SECOND, k=1, permutations=4)
    assert str(refused.value) == "`permutations` must be 0 or at least 5, got 4"


@pytest.fixture
def saved(tmp_path):
    """The two spaces of the hand-worked example as runs without a corpus."""
    for vectors in (FIRST, SECOND):
        (tmp_path / vectors.name).mkdir()
        vectors.write(tmp_path / vectors.name)
    return tmp_path / "first", tmp_path / "second"


def test_the_command_prints_a_table_with_the_reason_for_the_lack_of_p(saved):
    shown = output("differ", *saved, "-k", 1, "--top", 1)
    lines = [line.split() for line in shown.splitlines() if line.strip(" ─")]
    assert lines[1] == ["w", "1.000", "x", "y"]
    assert shown.splitlines()[-2:] == [
        "3 shared words, 1 neighbors each",
        f"no p: {saved[0]}: only svd, skipgram, cbow are trained again",
    ]
    assert refusal("differ", *saved, "-k", 9) == (
        f"{saved[0]} and {saved[1]} share 3 words with vectors: too few for k=9"
    )


def test_the_command_prints_p_and_q(runs, at):
    where = [part for path in at["corpora"] for part in ("--corpus", path)]
    paths = [run.path for run, _ in runs]
    shown = output("differ", *paths, *where, "-k", 8, "--permutations", 5, "--top", 1)
    assert shown.split()[:9] == ["word", "count", "A", "count", "B", "distance", "chance", "p", "q"]
    assert shown.splitlines()[-1] == "97 shared words, 8 neighbors each"


def test_a_corpus_that_is_damaged_is_refused(runs, at, tmp_path):
    moved = shutil.copytree(at["corpora"][0], tmp_path / "moved")
    path = moved / "shards" / "00000" / "ids.npy"
    ids = np.load(path)
    ids[:2] = ids[1::-1]
    np.save(path, ids)
    with pytest.raises(ArtifactError, match=r"ids\.npy: checksum mismatch, the file is damaged"):
        differ(runs[0][0], runs[1][0], k=8, permutations=5, corpora=[moved])


def test_the_corpus_of_another_run_is_refused(runs, at):
    (a, corpus), _ = runs
    same = shutil.copytree(a.path, a.path.with_name("same"))
    assert refusal("differ", a.path, same, "--corpus", at["corpora"][1], "-k", 8) == (
        f"{at['corpora'][1]}: is not the corpus of {same} (checksum {corpus.fingerprint}); "
        "pass that one"
    )


def test_json_and_csv_have_all_neighbors(saved):
    words = ("differ", *saved, "-k", 2, "--permutations", 0, "--words", "x")
    document = json.loads(output(*words, "--json"))
    assert (document["a"], document["k"]) == (str(saved[0]), 2)
    [row] = csv.DictReader(io.StringIO(output(*words, "--csv")))
    assert float(row["distance"]) == document["words"][0]["distance"]
    assert (row["word"], row["p"], row["one_document"], row["only_a"]) == ("x", "", "", "")
