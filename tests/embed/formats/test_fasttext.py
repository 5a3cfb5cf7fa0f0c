"""fastText .bin: agreement with fastText and gensim, and errors for damaged files."""

import gzip
import json
import struct
from pathlib import Path

import numpy as np
import pytest

from firth.corpora.common.errors import ArtifactError, FirthError
from firth.embed.formats.fasttext import read_fasttext
from firth.embed.formats.vector_files import load_vectors, write_vectors
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.fasttext_model import composed, fasttext_bytes, some_inputs, write_run

# a model trained by fastText 0.9.3 on a few lines, with the vectors it printed
REAL = Path(__file__).parent / "data" / "fasttext-small.bin"
WORDS = ["the", "größe", "图书馆", "😀👍🏽", "naïve", "aaaa", "a"]
UNSEEN = ["then", "größer", "图书", "😀", "b", "aaaaaaaa", "Ωμέγα"]
INPUTS = some_inputs(len(WORDS), 50)

REMEDY = "download or create it again"
HEADER = "damaged: the header, near byte 64,"
ENTRY = "damaged: the dictionary's entry 1, near byte 92,"
QUANTIZED = "quantized fastText models (.ftz) have no exact vectors; pass the .bin it was made from"


@pytest.fixture
def model(tmp_path):
    """Return a function that writes a model and returns its path."""

    def write(words=WORDS, inputs=INPUTS, **options):
        path = tmp_path / "model.bin"
        path.write_bytes(fasttext_bytes(words, inputs, **options))
        return path

    return write


def refusal_of(path):
    """Return the error message of loading a file."""
    with pytest.raises(ArtifactError) as refusal:
        load_vectors(path)
    message = str(refusal.value)
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


def test_the_vectors_are_those_of_fasttext():
    expected = json.loads(REAL.with_suffix(".json").read_text(encoding="utf-8"))

    read = load_vectors(REAL)

    assert list(read.vocabulary) == list(expected["words"])
    np.testing.assert_allclose(read.matrix, list(expected["words"].values()), atol=1e-6)
    assert read.counts[0] >= read.counts[-1] == 3
    for word, vector in expected["unseen"].items():
        np.testing.assert_allclose(read.subwords.compose(word), vector, atol=1e-6)


@pytest.mark.parametrize("lengths", [(3, 6), (2, 4), (1, 3), (0, 2)])
@pytest.mark.parametrize("block", [2, 1 << 16])
def test_the_vectors_are_those_of_gensim(model, lengths, block):
    load_facebook_vectors = pytest.importorskip("gensim.models.fasttext").load_facebook_vectors

    path = model(shortest=lengths[0], longest=lengths[1])
    theirs = load_facebook_vectors(str(path))

    ours = read_fasttext(path, block=block)

    assert list(ours.vocabulary) == WORDS == theirs.index_to_key
    assert ours.counts.tolist() == [7, 6, 5, 4, 3, 2, 1]
    for word in WORDS + UNSEEN:
        np.testing.assert_allclose(ours.vector(word), theirs.get_vector(word), atol=1e-6)


def test_the_rows_of_ngrams_stay_on_disk(model):
    read = load_vectors(model())
    assert isinstance(read.subwords.rows, np.memmap)
    np.testing.assert_array_equal(read.subwords.rows, INPUTS[len(WORDS) :])


def test_an_unseen_word_too_short_for_an_ngram_has_no_vector(model):
    read = load_vectors(model(shortest=5))
    assert read.subwords.compose("b").tolist() == [0, 0, 0, 0, 0]  # as fastText says
    assert read.vector("b") is None
    np.testing.assert_array_equal(read.vector("a"), INPUTS[6])


def test_the_end_of_sentence_token_has_no_ngrams(model):
    words = ["</s>", "word"]
    inputs = some_inputs(2, 50)
    read = load_vectors(model(words, inputs))
    np.testing.assert_array_equal(read.matrix[0], inputs[0])


@pytest.mark.parametrize("options", [{"longest": 0}, {"shortest": 4, "longest": 3}])
def test_a_model_without_ngrams_has_only_its_words(model, options):
    read = load_vectors(model(**options))
    np.testing.assert_array_equal(read.matrix, INPUTS[: len(WORDS)])
    assert read.subwords is None
    assert read.vector("unseen") is None


def test_the_labels_of_a_classifier_are_skipped(model, capsys):
    path = model(labels=["__label__a", "__label__b"], model=3)
    read = load_vectors(path)
    assert list(read.vocabulary) == WORDS
    np.testing.assert_allclose(read.matrix, composed(WORDS, INPUTS, 50), atol=1e-6)
    assert capsys.readouterr().err == f"{path}: skipped the 2 labels of the model\n"


def test_a_version_11_classifier_does_not_use_its_ngrams(model):
    assert load_vectors(model(labels=["__label__a"], model=3, version=11)).subwords is None
    assert load_vectors(model(version=11)).subwords is not None


def test_words_that_are_not_utf8_use_the_ngrams_of_their_bytes(tmp_path, model, capsys):
    content = fasttext_bytes(["grün", "x"], some_inputs(2, 50))
    path = tmp_path / "broken.bin"
    path.write_bytes(content.replace("grün".encode(), b"gr\xc3n\xbc"))
    read = load_vectors(path)
    assert list(read.vocabulary) == [r"gr\xc3n\xbc", "x"]
    assert "1 of 2 words are not UTF-8" in capsys.readouterr().err
    assert np.isfinite(read.matrix).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"version": 13}, "fastText model of version 13; only versions 11 and 12 are supported"),
        ({"quantized": 1}, QUANTIZED),
        ({"pruned": 3}, QUANTIZED),
        (
            {"model": 7},
            f"{HEADER} says model 7, 5 dimensions, 50 buckets and n-grams of 3 to 6; {REMEDY}",
        ),
        (
            {"longest": -1},
            f"{HEADER} says model 2, 5 dimensions, 50 buckets and n-grams of 3 to -1; {REMEDY}",
        ),
        (
            {"counts": [-1] * 7},
            f"{ENTRY} says type 0 and count -1; {REMEDY}",
        ),
    ],
)
def test_models_of_other_kinds_are_refused(model, options, message):
    assert refusal_of(model(**options)) == message


SIZES = 64  # offset of the dictionary's sizes


@pytest.mark.parametrize(
    ("at", "numbers", "message"),
    [
        (8, "<i|-5", "the header, near byte 64, says model 2, -5 dimensions"),
        (8, "<i|2147483647", "rows of 5 numbers, expected 57 of 2147483647"),
        (40, "<i|2147483647", "57 rows of 5 numbers, expected 2147483654 of 5"),
        (40, "<i|-1", "-1 buckets"),
        (SIZES, "<3i|2147483647 2147483647 0", "says 2147483647 entries, but only"),
        (SIZES, "<3i|-7 -7 0", "says -7 words and 0 labels of -7"),
        (SIZES, "<3i|0 0 0", "says 0 words and 0 labels of 0"),
        (SIZES, "<3i|6 7 0", "says 7 words and 0 labels of 6"),
        (SIZES, "<3i|6 7 -1", "says 7 words and -1 labels of 6"),
    ],
)
def test_impossible_sizes_are_refused(model, at, numbers, message):
    path = model()
    form, _, values = numbers.partition("|")
    content = bytearray(path.read_bytes())
    struct.pack_into(form, content, at, *map(int, values.split()))
    path.write_bytes(content)
    error = refusal_of(path)
    assert error.startswith("damaged: the ")
    assert message in error


def test_damaged_models_are_refused(model, tmp_path):
    path = model()
    whole = path.read_bytes()
    path.write_bytes(whole + b"more")
    assert refusal_of(path) == (
        f"damaged: the end of the model, near byte {len(whole)}, is followed by 4 extra bytes; "
        f"{REMEDY}"
    )
    path.write_bytes(gzip.compress(whole))
    assert refusal_of(path) == "gzipped fastText model; unpack it with gunzip first"
    path.write_bytes(fasttext_bytes(["a" * 70_000], some_inputs(1, 5)))
    assert refusal_of(path) == f"{ENTRY} does not end within 65536 bytes; {REMEDY}"
    inputs = INPUTS.copy()
    inputs[1, 2] = np.nan
    assert refusal_of(model(inputs=inputs)) == (
        f"the vector of word 2 contains NaN or infinity; {REMEDY}"
    )
    content = REAL.read_bytes()
    for size in range(4, len(content), 50):
        path.write_bytes(content[:size])
        assert refusal_of(path).startswith(("truncated within", "damaged: the"))


@pytest.mark.slow
def test_any_damaged_header_byte_gives_vectors_or_a_one_line_error(model):
    path = model(labels=["__label__x"])
    content = path.read_bytes()
    for at in range(4, len(content) - INPUTS.nbytes - 300):
        for byte in (0, 10, 127, 128, 255):
            path.write_bytes(content[:at] + bytes([byte]) + content[at + 1 :])
            message = ""
            try:
                load_vectors(path)
            except FirthError as error:
                message = str(error)
            assert "\n" not in message


def test_a_written_run_is_read_with_equal_vectors_by_us_and_by_gensim(tmp_path):
    load_facebook_vectors = pytest.importorskip("gensim.models.fasttext").load_facebook_vectors
    words = ["the", "größe", "图书馆", "naïve"]
    write_run(tmp_path / "run", words, n_buckets=300)
    run = load_vectors(tmp_path / "run")
    write_vectors(run, tmp_path / "out.bin", "fasttext")
    read = load_vectors(tmp_path / "out.bin")
    gensim = load_facebook_vectors(str(tmp_path / "out.bin"))
    for found in (read.matrix, gensim[words]):
        np.testing.assert_allclose(found, run.matrix, atol=1e-6)
    assert list(read.vocabulary) == gensim.index_to_key == words
    # n-grams that no word of the run has are zero in the file, so only the length differs
    for ours, theirs in ((run["größer"], gensim["größer"]), (run["größer"], read["größer"])):
        assert ours @ theirs == pytest.approx(np.linalg.norm(ours) * np.linalg.norm(theirs))


def test_plain_vectors_are_written_without_ngrams(tmp_path):
    plain = WordVectors(["a", "b"], INPUTS[:2], counts=np.array([5, 4]))
    write_vectors(plain, tmp_path / "out.bin", "fasttext")
    read = load_vectors(tmp_path / "out.bin")
    np.testing.assert_array_equal(read.matrix, INPUTS[:2])
    assert (read.subwords, read.counts.tolist()) == (None, [5, 4])
    with pytest.raises(ArtifactError, match="fasttext takes runs with or without n-grams"):
        write_vectors(load_vectors(REAL), tmp_path / "other.bin", "fasttext")
