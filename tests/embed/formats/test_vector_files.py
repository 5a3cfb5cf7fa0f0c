"""Vector formats: round trips, agreement with gensim, and errors for malformed files."""

import bz2
import gzip
import pickle
import shlex
import struct

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from firth.corpora.common.errors import ArtifactError, SettingError
from firth.embed.compare.inputs.baselines import one_hot
from firth.embed.formats.reading import open_source
from firth.embed.formats.text import read_text
from firth.embed.formats.vector_files import FORMATS, load_vectors, write_vectors
from firth.embed.formats.word2vec_binary import read_binary
from firth.embed.vectors.word_vectors import WordVectors

word = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(
    lambda text: text.split() == [text]
)


@st.composite
def some_vectors(draw):
    words = draw(st.lists(word, min_size=1, max_size=12, unique=True))
    floats = st.floats(width=32, allow_nan=False, allow_infinity=False)
    shape = (len(words), draw(st.integers(2, 6)))
    return WordVectors(words, draw(arrays(np.float32, shape, elements=floats)))


def same(read, written):
    """Return whether words, their order and the bits of the vectors are equal."""
    return list(read.vocabulary) == list(written.vocabulary) and (
        np.asarray(read.matrix).tobytes() == np.asarray(written.matrix, np.float32).tobytes()
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
@given(vectors=some_vectors())
@example(WordVectors(["0"], np.full((1, 2), 0.02, np.float32)))  # bytes with a newline, as text
def test_vectors_round_trip(name, tmp_path_factory, vectors):
    assume(name != "fasttext" or not any("\0" in word for word in vectors.vocabulary))
    out = tmp_path_factory.mktemp("formats") / "out"
    write_vectors(vectors, out, name)
    assert same(load_vectors(out), vectors)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["word2vec-text", "word2vec-binary"])
@given(vectors=some_vectors(), chunk=st.sampled_from([7, 64]))
def test_any_chunk_size_reads_the_same_vectors(name, tmp_path_factory, vectors, chunk):
    out = tmp_path_factory.mktemp("formats") / "out"
    write_vectors(vectors, out, name)
    read = read_text if name == "word2vec-text" else read_binary
    with open_source(out) as source:
        n_words, dim = map(int, source.file.readline().split())
        assert same(read(source, n_words, dim, chunk_bytes=chunk), vectors)


@pytest.mark.parametrize("name", ["word2vec-text", "word2vec-binary", "glove"])
def test_gzipped_files_are_read(name, tmp_path, vectors):
    write_vectors(vectors, tmp_path / "plain", name)
    (tmp_path / "zipped").write_bytes(gzip.compress((tmp_path / "plain").read_bytes()))
    assert same(load_vectors(tmp_path / "zipped"), vectors)


@pytest.mark.parametrize("name", FORMATS)
def test_sparse_vectors_are_written_dense(name, tmp_path):
    write_vectors(one_hot(["a", "b", "c"]), tmp_path / "out", name)
    assert np.array_equal(load_vectors(tmp_path / "out").matrix, np.eye(3))


def test_text_formats_match_hand_written_files(tmp_path):
    vectors = WordVectors(["a", "é"], np.array([[1, -0.5], [0.1, 1e-20]], np.float32))
    for name in ("word2vec-text", "glove", "projector"):
        write_vectors(vectors, tmp_path / name, name)
    lines = "a 1 -0.5\né 0.100000001 9.99999968e-21\n"
    assert (tmp_path / "glove").read_text(encoding="utf-8") == lines
    assert (tmp_path / "word2vec-text").read_text(encoding="utf-8") == "2 2\n" + lines
    folder = tmp_path / "projector"
    assert (folder / "vectors.tsv").read_text() == "1\t-0.5\n0.100000001\t9.99999968e-21\n"
    assert (folder / "metadata.tsv").read_text(encoding="utf-8") == "a\né\n"


def test_projector_metadata_has_a_heading_and_counts(tmp_path, vectors):
    write_vectors(vectors, tmp_path / "out", "projector")
    lines = (tmp_path / "out" / "metadata.tsv").read_text(encoding="utf-8").splitlines()
    assert lines[:2] == ["word\tcount", "the\t80"]
    assert same(load_vectors(tmp_path / "out" / "vectors.tsv"), vectors)


# gensim leaves a file open after counting the words of one without a header
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_gensim_loads_what_we_write(tmp_path, vectors):
    KeyedVectors = pytest.importorskip("gensim.models").KeyedVectors

    for name in ("word2vec-text", "word2vec-binary", "glove", "gensim"):
        write_vectors(vectors, tmp_path / name, name)
    loaded = [
        KeyedVectors.load_word2vec_format(tmp_path / "word2vec-text"),
        KeyedVectors.load_word2vec_format(tmp_path / "word2vec-binary", binary=True),
        KeyedVectors.load_word2vec_format(tmp_path / "glove", no_header=True),
        KeyedVectors.load(str(tmp_path / "gensim")),
    ]
    for keyed in loaded:
        assert keyed.index_to_key == list(vectors.vocabulary)
        assert np.array_equal(keyed.vectors, vectors.matrix)
    assert loaded[3].get_vecattr("queen", "count") == 60
    assert loaded[3].similarity("king", "king") == pytest.approx(1.0)


def test_gensim_maps_the_matrix_beside_its_pickle(tmp_path):
    KeyedVectors = pytest.importorskip("gensim.models").KeyedVectors

    matrix = np.arange(12, dtype=np.float32).reshape(4, 3)
    write_vectors(WordVectors([f"w{n}" for n in range(4)], matrix), tmp_path / "kv", "gensim")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["kv", "kv.vectors.npy", "kv.vocabulary.tsv"]
    assert np.array_equal(KeyedVectors.load(str(tmp_path / "kv"), mmap="r").vectors, matrix)


@pytest.mark.parametrize("binary", [False, True])
def test_we_load_what_gensim_writes(tmp_path, vectors, binary):
    KeyedVectors = pytest.importorskip("gensim.models").KeyedVectors

    keyed = KeyedVectors(4)
    keyed.add_vectors(list(vectors.vocabulary), vectors.matrix)
    keyed.save_word2vec_format(tmp_path / "out", binary=binary)
    assert same(load_vectors(tmp_path / "out"), vectors)


def test_binary_files_without_newlines_after_vectors_are_read(tmp_path):
    record = b"a " + struct.pack("<2f", 1, 2) + b"bc " + struct.pack("<2f", 3, 4)
    (tmp_path / "v.bin").write_bytes(b"2 2\n" + record)
    vectors = load_vectors(tmp_path / "v.bin")
    assert vectors.vocabulary == ["a", "bc"]
    assert vectors.matrix.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("dim", [4, 25, 100])
@pytest.mark.parametrize("end", [b"", b"\n"], ids=["none", "lines"])
@pytest.mark.parametrize("phrase", ["a b", "is it", "new york", "in the end", "k\u00f6ln am rhein"])
def test_a_binary_whose_words_contain_spaces_is_refused(tmp_path, dim, end, phrase):
    matrix = np.random.default_rng(dim).normal(size=(9, dim)).astype("<f4")
    for row in range(9):
        words = [f"w{n}" if n != row else phrase for n in range(9)]
        records = [
            w.encode() + b" " + v.tobytes() + end for w, v in zip(words, matrix, strict=True)
        ]
        (tmp_path / "v.bin").write_bytes(b"9 %d\n" % dim + b"".join(records))
        with pytest.raises(ArtifactError) as refusal:
            load_vectors(tmp_path / "v.bin")
        assert str(refusal.value) == (
            f"{tmp_path / 'v.bin'}: word {row + 1} or {row + 2}: the words contain spaces, or the "
            "data are damaged; save it as text, or replace the spaces"
        )


def test_a_word_outside_utf8_beside_usual_numbers_is_still_read(tmp_path):
    (tmp_path / "v.bin").write_bytes(b"2 2\na " + FLOAT * 2 + b"\n\xc3 " + FLOAT * 2 + b"\n")
    assert load_vectors(tmp_path / "v.bin").vocabulary == ["a", "\\xc3"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_vectors_in_utf16_are_refused_with_a_command_that_converts_them(tmp_path, encoding):
    path = tmp_path / "my vectors.vec"
    path.write_bytes("2 2\nk\u00f6ln 1 2\nb 3 4\n".encode(encoding))
    with pytest.raises(ArtifactError) as refusal:
        load_vectors(path)
    command = str(refusal.value).partition("convert it: ")[2]
    args, _, out = command.partition(" > ")
    name = shlex.split(args)[2]
    content = path.read_bytes().decode(name)  # as iconv does
    [converted] = shlex.split(out)
    (tmp_path / converted).write_text(content, encoding="utf-8")
    assert load_vectors(converted).vocabulary == ["k\u00f6ln", "b"]


def test_a_float_that_starts_with_a_newline_byte_is_binary(tmp_path):
    vectors = b"\n\0\0\0" + struct.pack("<f", 1)
    (tmp_path / "v.bin").write_bytes(b"1 2\na " + vectors)
    assert load_vectors(tmp_path / "v.bin").matrix[0, 1] == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("2 2\r\na 1 2 \r\nb\t3  4 \r\n\n\n", ["a", "b"]),
        ("\ufeff2 2\na 1 2\nb 3 4\n", ["a", "b"]),  # a byte order mark
        ("\ufeffa 1 2\nb 3 4\n", ["a", "b"]),
        # glove.840B.300d holds words with spaces, and some of them twice
        ("the 1 2\nat name@domain.com 3 4\n", ["the", "at name@domain.com"]),
        (". . . 1 2\nb 3 4\n", [". . .", "b"]),
        ("2 2\na\u00a0b 1 2\n\u2028 3 4\n", ["a\u00a0b", "\u2028"]),  # white space in words
    ],
    ids=["spaces", "mark", "mark of glove", "address", "points", "other spaces"],
)
def test_odd_spaces_are_ignored_or_part_of_words(tmp_path, content, words):
    (tmp_path / "v.vec").write_bytes(content.encode())
    vectors = load_vectors(tmp_path / "v.vec")
    assert list(vectors.vocabulary) == words
    assert vectors.matrix.tolist() == [[1, 2], [3, 4]]


def test_the_first_of_repeated_words_is_kept_with_a_note(tmp_path, capsys):
    (tmp_path / "v.txt").write_bytes(b"a 1 2\nb 3 4\na 5 6\nb 7 8\n")
    vectors = load_vectors(tmp_path / "v.txt")
    assert vectors.vocabulary == ["a", "b"]
    assert vectors.matrix.tolist() == [[1, 2], [3, 4]]
    assert capsys.readouterr().err == (
        f"{tmp_path / 'v.txt'}: 2 words are repeated, for example 'a'; "
        "the first vector of each is used\n"
    )


def test_invalid_utf8_becomes_escapes_with_a_note(tmp_path, capsys):
    (tmp_path / "v.txt").write_bytes(b"a 1 2\n\xc3\xa9\xc3 3 4\n")
    assert load_vectors(tmp_path / "v.txt").vocabulary == ["a", "é\\xc3"]
    assert capsys.readouterr().err == (
        f"{tmp_path / 'v.txt'}: 1 of 2 words are not UTF-8; invalid bytes become escapes, "
        "for example é\\xc3\n"
    )


@pytest.mark.parametrize(
    ("names", "metadata"),
    [
        (("vectors.tsv", "metadata.tsv"), "a\nb\n"),
        (("t8_tensor.tsv", "t8_metadata.tsv"), "n\tword\n1\ta\n2\tb\n"),
        (("vecs.tsv", "meta.tsv"), "Label\tn\r\na\t1\r\nb\t2\r\n"),
    ],
)
def test_projector_pairs_of_other_programs_are_read(tmp_path, names, metadata):
    (tmp_path / names[0]).write_text("1\t2\n3\t4\n")
    (tmp_path / names[1]).write_text(metadata)
    vectors = load_vectors(tmp_path / names[0])
    assert list(vectors.vocabulary) == ["a", "b"]
    assert vectors.matrix.tolist() == [[1, 2], [3, 4]]


WHAT_WE_READ = (
    "unknown format; expected a run directory, word2vec text or binary, GloVe, "
    "fastText .vec or .bin, or an Embedding Projector pair; to train on text: `train_svd()`"
)
DELETE = "; if it is complete, delete the first line"
COMMA = "'0,5' is not a number (a decimal comma?); write it with a decimal point"
FLOAT = struct.pack("<f", 1.5)
MALFORMED = {
    "empty": (b"", ": empty file"),
    "blank": (b" \n\n", ": empty file"),
    "prose": (b"just some prose\nof two lines\n", f": {WHAT_WE_READ}"),
    "prose and a number": (b"since the year 1990\nuntil 2000\n", f": {WHAT_WE_READ}"),
    "sentences and a score": (b"a cat\ta dog\t3.5\na b\tc\t1.0\n", f": {WHAT_WE_READ}"),
    "one word": (b"word\n", f": {WHAT_WE_READ}"),
    "no words": (b"0 5\n", ":1: the header says 0 words of 5 dimensions"),
    "no dimensions": (b"5 0\n", ":1: the header says 5 words of 0 dimensions"),
    "short line": (b"2 2\na 1 2\nb 3\n", ":3: has 2 columns, expected a word and 2 numbers"),
    "long line": (b"2 2\na 1 2\nb 3 4 5\n", ":3: has 4 columns, expected a word and 2 numbers"),
    "blank line": (b"a 1 2\n\nb 3 4\n", ":2: has 0 columns, expected a word and 2 numbers"),
    "letter": (b"2 2\na 1 2\nb 3 x\n", ":3: 'x' is not a finite number"),
    "number and letter": (b"2 2\na 1 2x\nb 3 4\n", ":2: '2x' is not a finite number"),
    "decimal commas": (b"2 2\na 0,5 1,5\nb 1,5 2,5\n", f":2: {COMMA}"),
    "one decimal comma": (b"2 2\na 1 2\nb 3 0,5\n", f":3: {COMMA}"),
    "decimal commas of glove": (b"a 1,5 0,5\nb 1,5 2,5\n", f":1: {COMMA}"),
    "decimal commas beside whole numbers": (b"a 1,5 0,5 1\nb 1,5 2,5 1\n", f":1: {COMMA}"),
    "brackets": (
        b"3 2\n" + b"a [1.25, 0.3333333]\nb [1.25, 0.3333333]\nc [1.25, 0.3333333]\n" * 2,
        ":2: '[1.25,' is not a finite number",
    ),
    "nan": (b"a 1 2\nb nan 4\n", ":2: 'nan' is not a finite number"),
    "infinity": (b"a 1 2\nb 3 -inf\n", ":2: '-inf' is not a finite number"),
    "too large": (b"a 1 2\nb 3 1e99\n", ":2: '1e99' is not a finite number"),
    "fewer words": (b"3 2\na 1 2\nb 3 4\n", ":1: the header says 3 words, the file has 2" + DELETE),
    "more words": (b"1 2\na 1 2\nb 3 4\n", ":1: the header says 1 words, the file has 2" + DELETE),
    "great header": (
        b"1000000000000 300\na 1 2\n",
        ":1: the header says 1000000000000 words of 300 dimensions, which do not fit in 24 bytes"
        + DELETE,
    ),
    "numbers alone": (
        b"1\t2\n3\t4\n",
        ": contains numbers without words; put the projector's metadata.tsv beside it",
    ),
    "great binary header": (
        b"1000000000000 300\na " + FLOAT * 300,
        (
            ": the header says 1000000000000 words of 300 dimensions, at least 1202000000000000 "
            "bytes, but the file has only 1220; truncated or not a word2vec binary"
        ),
    ),
    "cut binary": (
        b"2 2\na " + FLOAT * 2 + b"bbbbbb " + FLOAT,
        ": truncated: the header says 2 words, the file ends in word 2",
    ),
    "long binary": (
        b"1 2\na " + FLOAT * 2 + b"\nb " + FLOAT,
        ": has data after the 1 words that the header says",
    ),
    "binary nan": (
        b"2 1\na " + FLOAT + b"b " + struct.pack("<f", float("nan")),
        ": the vector of word 2 contains NaN or infinity; download or create it again",
    ),
    "endless word": (
        b"2 1\na " + FLOAT + b"b" * 70000,
        (
            ": word 2 does not end within 65536 bytes; is the file a word2vec binary with float32 "
            "vectors?"
        ),
    ),
    "numpy": (
        b"\x93NUMPY\x01\x00",
        ": a NumPy matrix without words; pass the run directory that contains it",
    ),
    "cut fasttext": (
        b"\xba\x16O/\x0c\0\0\0",
        ": truncated within the header, which starts at byte 8; download or create it again",
    ),
    "bzip2": (bz2.compress(b"a 1 2\n"), ": compressed with bzip2; unpack it first"),
    "cut gzip": (
        gzip.compress(b"a 1 2\n" * 99, mtime=0)[:-12],
        (
            ": the gzip data are damaged: Compressed file ended before the end-of-stream marker "
            "was reached"
        ),
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_file_raises_a_one_line_error(tmp_path, name):
    content, message = MALFORMED[name]
    path = tmp_path / "v"
    path.write_bytes(content)
    with pytest.raises(ArtifactError) as refusal:
        load_vectors(path)
    assert str(refusal.value) == f"{path}{message}"


def test_lines_are_numbered_across_chunks(tmp_path):
    (tmp_path / "v").write_bytes(b"".join(b"w%d 1 2\n" % n for n in range(50)) + b"x 1\n")
    with open_source(tmp_path / "v") as source, pytest.raises(ArtifactError) as refusal:
        read_text(source, None, 2, chunk_bytes=16)
    assert str(refusal.value) == (
        f"{tmp_path / 'v'}:51: has 2 columns, expected a word and 2 numbers"
    )


BUCKETS = {"FastText": {"bucket": 10}}


class Bomb:
    """An object that runs code when it is unpickled."""

    def __reduce__(self):
        return (breakpoint, ())


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_pickle_is_never_opened(tmp_path, protocol, pack):
    path = tmp_path / "model.kv"
    path.write_bytes(pack(pickle.dumps(Bomb(), protocol=protocol)))
    with pytest.raises(ArtifactError) as refusal:
        load_vectors(path)
    assert str(refusal.value).startswith(
        f"{path}: a Python pickle (gensim saves these) is never opened because it can run "
        "any code; convert it: python -c 'from gensim.models import KeyedVectors; "
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Word2Vec", "FastText", "Doc2Vec", "KeyedVectors"])
def test_the_conversion_of_a_gensim_file_runs_and_overwrites_nothing(tmp_path, kind):
    models = pytest.importorskip("gensim.models")
    path = tmp_path / 'it\'s my "model".bin'
    if kind == "Doc2Vec":
        documents = [models.doc2vec.TaggedDocument(["a", "b", "c"], [0])]
        model = models.Doc2Vec(documents, vector_size=4, min_count=1, epochs=1)
    else:
        model = getattr(models, kind.replace("KeyedVectors", "Word2Vec"))(
            [["a", "b", "c"]], vector_size=4, min_count=1, epochs=1, **BUCKETS.get(kind, {})
        )
    (model.wv if kind == "KeyedVectors" else model).save(str(path))
    texts = [tmp_path / f"{path.name}.vec", tmp_path / f"{path.stem}.txt"]
    for text in texts:
        text.write_text("my text")
    with pytest.raises(ArtifactError) as refusal:
        load_vectors(path)
    command = shlex.split(str(refusal.value).partition("convert it: ")[2])
    assert command[:2] == ["python", "-c"]
    exec(command[2], {})
    assert set(load_vectors(f"{path}.1.vec").vocabulary) == {"a", "b", "c"}
    assert [text.read_text() for text in texts] == ["my text"] * 2


def test_an_export_for_gensim_is_read_back_without_its_pickle(tmp_path, vectors):
    path = tmp_path / "kv"
    write_vectors(vectors, path, "gensim")
    path.write_bytes(pickle.dumps(Bomb()))  # were it opened, the test would stop here
    read = load_vectors(path)
    assert list(read.vocabulary) == list(vectors.vocabulary)
    np.testing.assert_array_equal(read.matrix, vectors.matrix)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("vectors.npy: no array", "is damaged"),
        ("vocabulary.tsv: one\n", "has 1 words, but kv.vectors.npy has shape"),
        ("vocabulary.tsv: ", "is empty or not a regular file"),
    ],
    ids=["no array", "one word", "no words"],
)
def test_a_damaged_export_for_gensim_is_refused(tmp_path, vectors, content, why):
    write_vectors(vectors, tmp_path / "kv", "gensim")
    name, _, content = content.partition(": ")
    (tmp_path / f"kv.{name}").write_text(content)
    with pytest.raises(ArtifactError, match=why):
        load_vectors(tmp_path / "kv")


def test_malformed_projector_pairs_are_refused(tmp_path):
    (tmp_path / "vectors.tsv").write_text("1\t2\n3\t4\n")
    words = tmp_path / "metadata.tsv"
    for content, message in [
        (b"a\n", f"{words}: has 1 words, vectors.tsv 2 vectors"),
        (b"n\tword\n1\ta\n2\n", f"{words}:3: has 1 columns, no word in column 2"),
        (b"a\n\xff\n", f"{words}:2: is not UTF-8"),
    ]:
        words.write_bytes(content)
        with pytest.raises(ArtifactError) as refusal:
            load_vectors(tmp_path)
        assert str(refusal.value) == message
    words.write_bytes(b"a\nb\n")
    (tmp_path / "vectors.tsv").write_text("1\t2\n3\n")
    with pytest.raises(ArtifactError) as refusal:
        load_vectors(tmp_path)
    assert str(refusal.value) == f"{tmp_path / 'vectors.tsv'}:2: has 1 columns, expected 2"


SPLIT = "whitespace separates its words"


@pytest.mark.parametrize(
    ("bad", "why"),
    [("new york", SPLIT), ("a\tb", SPLIT), ("a\nb", SPLIT), ("a\rb", SPLIT),
     ("", "its words cannot be empty")],
)  # fmt: skip
@pytest.mark.parametrize("name", FORMATS)
def test_words_that_a_format_cannot_represent_are_refused(tmp_path, name, bad, why):
    vectors = WordVectors(["a", bad], np.eye(2, dtype=np.float32))
    if bad and (name in ("gensim", "int8") or (name == "projector" and bad == "new york")):
        write_vectors(vectors, tmp_path / "out", name)
        assert same(load_vectors(tmp_path / "out"), vectors) or name == "int8"
        return
    with pytest.raises(ArtifactError) as refusal:
        write_vectors(vectors, tmp_path / "out", name)
    assert str(refusal.value) == (
        f"format {name} cannot hold the word {bad!r} (row 1): {why}; choose another format"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", FORMATS)
def test_an_existing_export_is_overwritten_only_with_force(tmp_path, vectors, name):
    out = tmp_path / "out"
    write_vectors(one_hot(["x", "y"]), out, name)
    with pytest.raises(ArtifactError) as refusal:
        write_vectors(vectors, out, name)
    assert str(refusal.value) == f"{out}: already exists; choose another OUT or pass `force=True`"
    write_vectors(vectors, out, name, force=True)
    assert same(load_vectors(out), vectors)
    beside = {"out.vectors.npy", "out.vocabulary.tsv"} if name == "gensim" else set()
    assert {path.name for path in tmp_path.iterdir()} == {"out"} | beside


@pytest.mark.parametrize("name", FORMATS)
def test_a_run_is_not_overwritten_even_with_force(run, vectors, name):
    if name == "gensim":
        pytest.importorskip("gensim")
    with pytest.raises(ArtifactError) as refusal:
        write_vectors(vectors, run, name, force=True)
    assert str(refusal.value) == f"{run}: not an export folder; choose another OUT"
    assert same(load_vectors(run), vectors)


def test_another_programs_partial_output_is_left_alone(tmp_path, vectors):
    (tmp_path / "out.partial").mkdir()
    (tmp_path / "out.partial" / "half").write_text("")
    write_vectors(vectors, tmp_path / "out", "glove")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.partial"]
    assert (tmp_path / "out.partial" / "half").exists()


@pytest.mark.parametrize("name", FORMATS)
def test_a_full_disk_raises_a_one_line_error_and_leaves_no_file(
    tmp_path, vectors, monkeypatch, name
):
    if name == "gensim":
        pytest.importorskip("gensim")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("firth.corpora.artifacts.atomic.sync_tree", full)
    with pytest.raises(ArtifactError) as refusal:
        write_vectors(vectors, tmp_path / "out", name)
    assert str(refusal.value) == (f"{tmp_path / 'out'}: cannot be written: No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_format_is_refused(tmp_path, vectors):
    with pytest.raises(SettingError) as refusal:
        write_vectors(vectors, tmp_path / "out", "csv")
    assert str(refusal.value) == (
        "format must be one of word2vec-text, word2vec-binary, glove, fasttext, gensim, projector, "
        "int8, model2vec, got 'csv'"
    )
