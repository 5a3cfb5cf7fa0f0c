"""WordVectors: round trips, and errors for damaged runs."""

import copy
import json
import os
import pickle
import sys
import unicodedata
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

from firth.corpora.artifacts.artifact import checksums, write_json
from firth.corpora.common.errors import ArtifactError, FirthError, SettingError, UnknownWordError
from firth.corpora.text.segment import TextSettings
from firth.embed.compare.inputs.baselines import one_hot
from firth.embed.formats.vector_files import load_vectors
from firth.embed.protocols import StaticVectors
from firth.embed.query.prompt import find_word
from firth.embed.vectors.search import nonzero_rows
from firth.embed.vectors.subwords import SubwordTable, ngram_buckets
from firth.embed.vectors.word_vectors import CONTEXTS, WordVectors
from tests.embed.fasttext_model import write_run


def test_a_saved_run_opens_memory_mapped_and_equal(vectors, run):
    opened = load_vectors(run)
    assert isinstance(opened.matrix, np.memmap)
    assert np.array_equal(opened.matrix, vectors.matrix)
    assert opened.vocabulary == vectors.vocabulary
    assert np.array_equal(opened.counts, vectors.counts)
    assert opened.name == str(run)
    assert [opened.row(word) for word in ("the", "図書館", "The")] == [0, 7, None]
    kept = opened.in_memory()  # which outlives its run
    for file in run.iterdir():
        file.unlink()
    assert np.array_equal(kept.matrix, vectors.matrix)
    assert list(kept) == list(vectors)
    assert np.array_equal(kept.counts, vectors.counts)


def test_a_relative_path_outlives_a_change_of_directory(run, monkeypatch):
    np.save(run / CONTEXTS, WordVectors.open(run).matrix)
    monkeypatch.chdir(run.parent)
    opened = WordVectors.open(run.name)
    monkeypatch.chdir("/")
    assert (opened.name, opened.path) == (run.name, run)
    assert np.array_equal(opened.contexts, WordVectors.open(opened).matrix)


def test_a_sparse_run_opens_sparse(tmp_path):
    one_hot(["a", "b", "c"]).write(tmp_path)
    opened = load_vectors(tmp_path)
    assert scipy.sparse.issparse(opened.matrix)
    assert np.array_equal(opened.matrix.toarray(), np.eye(3))
    assert opened.counts is None


def test_words_pass_through_the_text_settings_of_the_run(run):
    settings = TextSettings(keep_case=True).to_json()
    (run / "config.json").write_text(json.dumps({"text": settings}))
    opened = load_vectors(run)
    assert opened.text == TextSettings(keep_case=True)
    assert opened.words("Naïve men's") == ["naïve", "men", "'", "s"]


def test_words_are_tried_as_written_then_lower_cased_then_in_any_case(vectors):
    assert vectors.words("The Paris PARIS KING Kong") == ["the", "Paris", "Paris", "king", "Kong"]


def test_a_word_with_a_space_is_found_whole():
    vectors = WordVectors(["new york", "new"], np.eye(2, dtype=np.float32))
    assert vectors.words("new york") == ["new york"]
    assert vectors.words("york new") == ["york", "new"]
    assert vectors.words("New York") == ["new york"]


ONE = np.ones((1, 2), np.float32)
WIDE = SubwordTable(np.ones((4, 3), np.float32), None, n_buckets=4, shortest=3, longest=6)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: WordVectors(["a"], np.zeros((2, 3), np.float32), name="x"),
            ArtifactError, r"x: 1 words do not fit a matrix of shape \(2, 3\)",
        ),
        (
            lambda: WordVectors(["a"], ONE, subwords=WIDE),
            ArtifactError, "vectors: n-grams of 3 dimensions do not fit words of 2",
        ),
        (
            lambda: WordVectors(["king"], ONE, name="x")["kings"],
            UnknownWordError, "x: no vector for 'kings'; did you mean 'king'",
        ),
        (
            lambda: WordVectors(["king"], ONE).nearest(["king", "king"]),
            SettingError, r"nearest takes one word; pass several to firth\.",
        ),
        (
            lambda: WordVectors(["king"], ONE).nearest(np.zeros(3)),
            SettingError, r"vector must have shape \(2,\), got \(3,\)$",
        ),
        (lambda: load_vectors("no-run"), ArtifactError, "no-run: no such run or vectors file"),
        (
            lambda: WordVectors.open("/dev"),
            ArtifactError, "/dev/vectors.npy: no such file; is /dev a finished run",
        ),
    ],
    ids=["words", "n-grams", "unknown", "several", "width", "missing", "missing matrix"],
)  # fmt: skip
def test_refusals(call, error, message):
    with pytest.raises(error, match=f"^{message}") as refusal:
        call()
    assert isinstance(refusal.value, KeyError) == (error is UnknownWordError)


def truncate(run):
    path = run / "vectors.npy"
    path.write_bytes(path.read_bytes()[:-4])
    return (
        "{run}/vectors.npy: is damaged (mmap length is greater than file size); train the run again"
    )


def wrong_kind(run):
    np.save(run / "vectors.npy", np.zeros((8, 4)))
    return "{run}/vectors.npy: is float64 of shape (8, 4), expected a float32 matrix"


def pickled(run):
    np.save(run / "vectors.npy", np.array([{}], dtype=object), allow_pickle=True)
    why = "Array can't be memory-mapped: Python objects in dtype."
    return f"{{run}}/vectors.npy: is damaged ({why}); train the run again"


def shorter(run):
    np.save(run / "vectors.npy", np.zeros((7, 4), np.float32))
    return "{run}: 8 words do not fit a matrix of shape (7, 4)"


def no_matrix(run):
    (run / "vectors.npy").unlink()
    return "{run}: has no vectors.npy; is it a finished run?"


def no_words(run):
    (run / "vocabulary.tsv").unlink()
    return "{run}/vocabulary.tsv: no such file; is {run} a finished run?"


def unfinished(run):
    (run / "maker.json").write_text("{}")
    return "{run}: is unfinished; run its command again to complete it"


def broken_zip(run):
    (run / "vectors.npy").unlink()
    (run / "vectors.npz").write_bytes(b"PK\x03\x04 and no more")
    return "{run}/vectors.npz: is damaged (File is not a zip file); train the run again"


def archive(run):
    np.savez(run / "other.npz", a=np.eye(2))
    (run / "other.npz").replace(run / "vectors.npy")
    return "{run}/vectors.npy: is a zip archive, not an array; train the run again"


def foreign_index(run):
    (run / "vectors.npy").unlink()
    matrix = scipy.sparse.csr_matrix(np.eye(8, 5, dtype=np.float32))
    matrix.indices[3] = 2**30
    scipy.sparse.save_npz(run / "vectors.npz", matrix)
    return "{run}/vectors.npz: is damaged (indices must be < 5); train the run again"


def no_config(run):
    (run / "config.json").write_text("[]")
    with pytest.raises(ArtifactError, match="not the configuration of a run"):
        load_vectors(run)
    (run / "config.json").write_text('{"text": "words"}')
    return "{run}/config.json: not the configuration of a run; train the run again"


@pytest.mark.parametrize(
    "damage",
    [
        truncate, wrong_kind, pickled, shorter, no_matrix, no_words, unfinished, broken_zip,
        archive, foreign_index, no_config,
    ],
)  # fmt: skip
def test_a_damaged_run_is_refused(run, damage):
    message = damage(run)
    with pytest.raises(ArtifactError) as refusal:
        load_vectors(run)
    assert str(refusal.value) == message.format(run=run)


def test_a_changed_byte_is_found_by_verification(run):
    write_json(run / "checksums.json", checksums(run))
    load_vectors(run, verified=True)
    matrix = run / "vectors.npy"
    matrix.write_bytes(matrix.read_bytes()[:-1] + b"\0")
    load_vectors(run)
    with pytest.raises(ArtifactError, match=r"vectors\.npy: checksum mismatch"):
        load_vectors(run, verified=True)


def test_a_vocabulary_that_is_not_utf_8_is_refused_when_it_is_read(run):
    path = run / "vocabulary.tsv"
    path.write_bytes(path.read_bytes().replace(b"Paris", b"Par\xff"))
    vocabulary = load_vectors(run).vocabulary
    for read in (list, lambda words: words[5]):
        with pytest.raises(ArtifactError) as refusal:
            read(vocabulary)
        assert str(refusal.value) == f"{path}: is not UTF-8; train the run again"


@pytest.fixture
def with_subwords(tmp_path):
    """A run that was trained with n-grams."""
    write_run(tmp_path, ["river", "rivers", "sea"])
    return tmp_path


def test_a_run_with_ngrams_composes_unseen_words(with_subwords, tmp_path):
    opened = load_vectors(with_subwords)
    rows, buckets = np.load(tmp_path / "inputs.npy")[3:], np.load(tmp_path / "buckets.npy")
    assert isinstance(opened.subwords.rows, np.memmap)
    known = [
        rows[np.searchsorted(buckets, bucket)]
        for bucket in ngram_buckets("riv", 3, 4, 5000)
        if bucket in buckets
    ]
    assert len(known) == 3  # <ri riv <riv, but neither iv> nor riv>
    # two sums and a quotient, each rounded: of the rows' size, not of the mean's
    atol = 4 * 2.0**-24 * np.abs(known).max()
    np.testing.assert_allclose(opened.vector("riv"), np.mean(known, axis=0), rtol=0, atol=atol)
    assert opened.vector("riv").dtype == np.float32
    np.testing.assert_array_equal(opened.vector("sea"), opened.matrix[2])
    assert opened.vector("xx") is None


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix])
def test_rows_are_the_vectors_of_words_and_zero_for_others(kind):
    matrix = kind(np.array([[1, 2], [0, 3]], np.float32))
    found = WordVectors(["a", "b"], matrix).rows(["b", "none", "a", "b"])
    assert found.tolist() == [[0, 3], [0, 0], [1, 2], [0, 3]]


def test_rows_of_unseen_and_of_zero_words_are_composed(with_subwords):
    vectors = WordVectors.open(with_subwords).in_memory()
    words = [vectors.vocabulary[1], "riv", vectors.vocabulary[0]]
    vectors.matrix[0] = 0
    expected = [vectors[words[0]], *map(vectors.subwords.compose, words[1:])]
    np.testing.assert_array_equal(vectors.rows(words), expected)


def test_without_ngrams_only_words_with_a_row_have_a_vector(vectors):
    assert one_hot(["a", "b"]).vector("b").tolist() == [0, 1]
    assert one_hot(["a", "b"]).vector("c") is None
    [near] = one_hot(["a", "b"]).nearest(np.array([1.0, 0.0]), 1)
    assert (near.word, near.score) == ("a", 1.0)
    np.testing.assert_array_equal(vectors.vector("king"), vectors.matrix[1])
    assert vectors.vector("kingly") is None


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("inputs.npy", None, "no such file; is {run} a finished run?"),
        ("buckets.npy", None, "no such file; is {run} a finished run?"),
        (
            "inputs.npy", np.ones((9, 5)),
            "is float64 of shape (9, 5), expected a float32 matrix",
        ),
        (
            "buckets.npy", np.ones((2, 2), np.int64),
            "is int64 of shape (2, 2), expected an int64 array",
        ),
    ],
    ids=["no inputs", "no buckets", "inputs of float64", "buckets of two dimensions"],
)  # fmt: skip
def test_damaged_ngrams_are_refused(with_subwords, name, content, message):
    (with_subwords / name).unlink()
    if content is not None:
        np.save(with_subwords / name, content)
    with pytest.raises(ArtifactError) as refusal:
        load_vectors(with_subwords)
    assert str(refusal.value) == f"{with_subwords / name}: {message.format(run=with_subwords)}"


@pytest.mark.parametrize(
    "options",
    [{"buckets": 5000}, {"subwords": "6-3", "buckets": 9}, {"subwords": "3-6", "buckets": "9"}],
)
def test_ngrams_without_their_settings_are_refused(with_subwords, options):
    (with_subwords / "config.json").write_text(json.dumps(options))
    with pytest.raises(ArtifactError) as refusal:
        load_vectors(with_subwords)
    assert str(refusal.value) == (
        f"{with_subwords / 'config.json'}: subwords {options.get('subwords')!r} and buckets "
        f"{options['buckets']!r} do not describe inputs.npy; train the run again"
    )


@pytest.fixture
def small():
    """Three words with two-dimensional vectors."""
    matrix = np.array([[1, 0], [3, 4], [0, 2]], np.float32)
    counts = np.array([5, 3, 1])
    return WordVectors(["king", "<queen>", "man"], matrix, counts=counts, name="small")


def test_vectors_are_a_collection_of_words(small):
    assert (len(small), list(small), small.dim) == (3, ["king", "<queen>", "man"], 2)
    assert "king" in small
    assert "kings" not in small
    assert 3 not in small
    assert small["<queen>"].tolist() == [3, 4]
    assert small[["man", "king"]].tolist() == [[0, 2], [1, 0]]
    assert small[[]].shape == (0, 2)
    assert isinstance(small, StaticVectors)


def test_methods_and_functions_give_the_same_answers(small):
    assert small.nearest("king", k=1) == [("<queen>", pytest.approx(0.6))]
    assert [word for word, _ in small.nearest(np.array([0.0, 1.0]), k=2)] == ["man", "<queen>"]
    assert small.similarity("king", "man") == 0
    assert [word for word, _ in small.analogy("king", "man", "king")] == ["<queen>"]


def test_vectors_and_neighbors_are_shown_short_and_escaped(small):
    assert repr(small) == "<WordVectors small: 3 words, 2 dimensions>"
    page = small._repr_html_()
    assert "<td>&lt;queen&gt;</td>" in page
    assert ">3.0000</td>" in page
    assert "<td>&lt;queen&gt;</td>" in small.nearest("king")._repr_html_()


def test_gensim_reads_the_vectors_without_zero_ones_if_asked_so(small):
    pytest.importorskip("gensim")
    keyed = small.to_gensim()
    assert keyed["<queen>"].tolist() == [3, 4]
    assert keyed.get_vecattr("king", "count") == 5
    assert keyed.most_similar("king", topn=1) == [("<queen>", pytest.approx(0.6))]


def test_zero_rows_of_dense_and_sparse_matrices_are_found_in_every_block():
    matrix = np.array([[0, 0], [0, -1], [0, 0], [np.nan, 0], [0, 0]], np.float32)
    sparse = scipy.sparse.csr_matrix(matrix)
    sparse.data[0] = 0  # stored, but zero
    assert nonzero_rows(matrix, block_rows=2).tolist() == [False, True, False, True, False]
    assert np.flatnonzero(nonzero_rows(sparse, block_rows=2)).tolist() == [3]


@pytest.mark.parametrize(
    ("package", "convert"),
    [
        ("gensim.models", WordVectors.to_gensim),
        ("pandas", WordVectors.to_pandas),
        ("pandas", lambda vectors: vectors.nearest("king").to_pandas()),
    ],
    ids=["gensim", "pandas", "neighbors"],
)
def test_the_error_names_a_missing_package(small, package, convert, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    name = package.partition(".")[0]
    with pytest.raises(FirthError, match=rf"needs the package {name}; pip install {name}$"):
        convert(small)


def test_data_frames_have_a_row_per_word(small, monkeypatch):
    frames = SimpleNamespace(DataFrame=lambda data, **options: (data, options))
    monkeypatch.setitem(sys.modules, "pandas", frames)
    data, options = small.to_pandas()
    assert data.tolist() == [[1, 0], [3, 4], [0, 2]]
    assert options == {"index": ["king", "<queen>", "man"]}
    data, _ = small.nearest("man", k=1).to_pandas()
    assert data == [{"word": "<queen>", "score": pytest.approx(0.8)}]


def test_vectors_of_a_run_can_be_passed_as_its_path(run, small):
    assert os.fspath(load_vectors(run)) == str(run)
    with pytest.raises(SettingError, match=r"^small: these vectors are in memory only; write them"):
        os.fspath(small)


@pytest.mark.parametrize(
    "text",
    [TextSettings(), TextSettings(segmenter="whitespace"), None],
    ids=["words", "spaces", "none"],
)
def test_the_text_of_a_phrase_is_a_query_of_its_word(text):
    vectors = WordVectors(["new_york", "new", "york", "a"], np.eye(4, dtype=np.float32), text=text)
    for query in ("new york", "new_york", "New York", "new  york"):
        assert find_word(vectors, query) == "new_york"
    assert vectors.words("york new") == ["york", "new"]
    assert vectors.words("in new york") == ["in", "new", "york"]
    assert len(vectors.words("a _")) == 2


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("cafe\u0301", "café"),
        ("CAFÉ", "café"),
        ("việt nam", "Việt Nam"),
        ("Vie\u0323\u0302t_nam", "Việt Nam"),
        ("10\u202f000", "10 000"),
        ("10 000", "10 000"),
        ("university of oxford", "University_of_Oxford"),
        ("ODOS", "ODOS"),
        ("ΟΔΟΣ", "οδοσ"),
        ("iphone", "iPhone"),
        ("한국", unicodedata.normalize("NFD", "한국")),
        ("turkey", "turkey"),
        ("TURKEY", "turkey"),
        ("OSLO", "Oslo"),
    ],
)
@pytest.mark.parametrize(
    "text",
    [None, TextSettings(), TextSettings(keep_case=True)],
    ids=["none", "lower", "cased"],
)
def test_a_word_is_found_as_the_vocabulary_spells_it(query, word, text):
    words = [
        "café", "Việt Nam", "10 000", "University_of_Oxford", "ODOS", "οδοσ", "iPhone", "Oslo",
        "Turkey", "turkey", unicodedata.normalize("NFD", "한국"), "nam",
    ]  # fmt: skip
    vectors = WordVectors(words, np.eye(len(words), dtype=np.float32), text=text)
    assert vectors.words(query) == [word]
    assert find_word(vectors, query) == word
    assert np.array_equal(vectors[query], vectors[word])
    assert vectors.nearest(query) == vectors.nearest(word)
    assert vectors.similarity(query, word) == 1


def test_a_query_of_several_words_is_answered_with_close_spellings():
    vectors = WordVectors(["xã hội", "nhà"], np.eye(2, dtype=np.float32), text=TextSettings())
    with pytest.raises(UnknownWordError, match=r"2 words .xã hộ. .*did you mean 'xã hội'"):
        find_word(vectors, "xã hộ")
    with pytest.raises(UnknownWordError, match="pass single words"):
        find_word(vectors, "a sentence of other words")


def again(pickled):
    return pickle.loads(pickle.dumps(pickled))  # noqa: S301


def test_vectors_of_a_run_are_pickled_and_copied_by_its_path(with_subwords):
    opened = WordVectors.open(with_subwords)
    opened.row("sea")
    for copied in (again(opened), copy.deepcopy(opened)):
        assert (copied.path, copied.name) == (opened.path, opened.name)
        assert isinstance(copied.matrix, np.memmap)
        np.testing.assert_array_equal(copied["riv"], opened["riv"])
    assert len(pickle.dumps(opened)) < 1000


def test_vectors_that_are_in_no_run_any_more_are_pickled_by_value(with_subwords):
    opened = WordVectors.open(with_subwords)
    write_json(with_subwords / "checksums.json", {"changed": ""})  # another run in its place
    copied = again(opened)
    assert (copied.path, list(copied)) == (None, list(opened))
    np.testing.assert_array_equal(copied["riv"], opened["riv"])
    alone = copy.deepcopy(copied)
    alone.matrix[0] = 0
    assert copied.matrix[0].any()


def test_a_run_that_changed_after_pickling_is_refused(run):
    pickled = pickle.dumps(WordVectors.open(run))
    write_json(run / "checksums.json", {"changed": ""})
    with pytest.raises(ArtifactError) as refusal:
        pickle.loads(pickled)  # noqa: S301
    message = f"{run}: has changed since its vectors were pickled; pickle them again"
    assert str(refusal.value) == message


def test_saved_vectors_are_a_run_with_all_that_they_had(with_subwords, tmp_path):
    np.save(with_subwords / CONTEXTS, np.ones((3, 5), np.float32))
    opened = WordVectors.open(with_subwords)
    for number, vectors in enumerate((opened, opened.in_memory())):
        saved = vectors.save(str(tmp_path / f"saved{number}"))
        assert (tmp_path / f"saved{number}" / "checksums.json").is_file()
        assert list(saved) == list(opened)
        np.testing.assert_array_equal(saved.matrix, opened.matrix)
        np.testing.assert_array_equal(saved["riv"], opened["riv"])
        np.testing.assert_array_equal(saved.contexts, opened.contexts)
        # own rows are differences of float32 sums
        written = np.load(tmp_path / f"saved{number}" / "inputs.npy")
        np.testing.assert_allclose(written, np.load(with_subwords / "inputs.npy"), atol=1e-5)


def test_saved_vectors_keep_the_text_settings(vectors, tmp_path):
    settings = TextSettings(keep_case=True)
    made = WordVectors(list(vectors), vectors.matrix, text=settings, counts=vectors.counts)
    saved = made.save(tmp_path / "saved")
    assert saved.text == settings
    np.testing.assert_array_equal(saved.counts, vectors.counts)
    for place, error, message in (
        (tmp_path / "saved", ArtifactError, "already exists"),
        (saved.path, SettingError, "is the run of these vectors; choose another `out`"),
    ):
        with pytest.raises(error, match=message):
            (made if error is ArtifactError else saved).save(place)


def test_words_are_found_exactly_first_then_as_they_are_read():
    vectors = WordVectors(["us", "US", "virus"], np.eye(3, dtype=np.float32))
    assert [vectors[word].argmax() for word in ("us", "US", "Virus", "VIRUS")] == [0, 1, 2, 2]
    assert [word in vectors for word in ("US", "Virus", "viruses", 1)] == [True, True, False, False]
    assert vectors.similarity("Virus", "virus") == 1.0
    assert [near.word for near in vectors.nearest("Us", 1)] == ["US"]
    # exact words only
    assert [vectors.row(word) for word in ("US", "Virus")] == [1, None]
    assert vectors.vector("Virus") is None
    assert "Virus" not in vectors.vocabulary


def test_tokens_are_looked_up_in_their_own_case():
    def spelled(segmenter):
        text = TextSettings(segmenter=segmenter, keep_case=True)
        return WordVectors(["c", "new_york"], np.eye(2, dtype=np.float32), text=text).words

    assert (spelled("words")("C"), spelled("tokens")("C")) == (["c"], ["C"])
    assert spelled("tokens")("new york") == ["new_york"]
