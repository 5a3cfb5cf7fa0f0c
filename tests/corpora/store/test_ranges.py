"""Numbers out of range in the arrays of a corpus are refused when it is opened."""

import shutil

import numpy as np
import pytest

from firth.corpora.artifacts.arrays import save_array
from firth.corpora.artifacts.artifact import CHECKSUMS, checksums, read_json, write_json
from firth.corpora.common.errors import ArtifactError
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.occurrences import INDEX
from firth.corpora.store.search import Search
from tests.corpora.small_corpora import build
from tests.faults.damage import run_command

RECORD = '{"text": "The seas rose. The sea rises!", "place": "N"}'
TREE = "1\tseas\tsea\tX\t_\t_\t2\tx\t_\t_\n2\trose\trise\tX\t_\t_\t0\tx\t_\t_\n\n"
SHARD = "shards/00000/"
INDEXED = ("ids", "forms", "document_sources")
OFFSETS = ("sentences", "paragraphs", "documents", "texts.offsets", "texts.sentences",
           "field.place.offsets")  # fmt: skip
LENGTHS = ("held_out", "document_positions")
TYPES = [*(SHARD + name for name in INDEXED), "vocabulary/by_text", "forms/by_text"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A corpus with every array but heads."""
    pytest.importorskip("simplemma")
    lines = "\n".join(RECORD.replace("N", str(n)) for n in range(30))
    return build(
        tmp_path_factory.mktemp("ranges"), lines, format="jsonl", lemmatize="en", keep_text=True,
        keep=("place",), held_out=0.2, threads=1,
    )  # fmt: skip


@pytest.fixture
def corpus(built, tmp_path):
    """A copy to be damaged."""
    return Corpus.open(shutil.copytree(built.path, tmp_path / "corpus"))


def change(corpus, name, made):
    """Replace an array, with its checksum."""
    path = corpus.path / f"{name}.npy"
    save_array(path, made(np.load(path)))
    write_json(corpus.path / CHECKSUMS, checksums(corpus.path))


def last_is(value):
    """Return a function that changes the last number."""
    return lambda array: np.append(array[:-1], np.array(value).astype(array.dtype))


def all_of(corpus):
    """Open everything that a command reads."""
    opened = Corpus.open(corpus.path)
    return opened.vocabulary, opened.forms, opened.shards


def test_a_whole_corpus_is_accepted(corpus):
    corpus.verify()
    names = {path.stem for path in (corpus.path / SHARD).iterdir()}
    assert names == {*INDEXED, *OFFSETS, *LENGTHS, "texts", "field.place.text"}
    all_of(corpus)


@pytest.mark.parametrize("value", [2**31 - 1, 40, -1, -(2**31)])
@pytest.mark.parametrize("name", TYPES)
def test_ids_beyond_what_they_number_are_refused(corpus, name, value):
    change(corpus, name, last_is(value))
    with pytest.raises(ArtifactError, match=rf"{name}\.npy: is damaged \(values from .*; build"):
        all_of(corpus)


@pytest.mark.usefixtures("parse_on_threads")
@pytest.mark.parametrize("value", [2**31 - 1, 1, -2, -(2**31)])
def test_heads_beyond_the_tokens_are_refused(tmp_path, value):
    corpus = build(tmp_path, TREE, format="conllu", held_out=0, threads=1)
    all_of(corpus)
    change(corpus, SHARD + "heads", last_is(value))
    with pytest.raises(ArtifactError, match=r"heads\.npy: is damaged \(values from .*; build"):
        all_of(corpus)


@pytest.mark.parametrize(
    "made",
    [
        last_is(2**40), last_is(0), last_is(-1), lambda array: array[:-1],
        lambda array: np.r_[array[:1] + 1, array[1:]], lambda array: array[:0],
        lambda array: np.r_[array[:1], -(2**62), array[2:]],
    ],
    ids=["beyond", "zero", "negative", "short", "late", "empty", "back"],
)  # fmt: skip
@pytest.mark.parametrize("name", [*(SHARD + name for name in OFFSETS), "vocabulary/words.offsets"])
def test_offsets_that_do_not_ascend_to_the_end_are_refused(corpus, name, made):
    change(corpus, name, made)
    with pytest.raises(ArtifactError, match=r"\.npy: is damaged \("):
        all_of(corpus)


@pytest.mark.parametrize(
    "made",
    [
        lambda array: array[:-1], lambda array: np.append(array, array[:1]),
        lambda array: array[:, None], lambda array: array.astype(np.float64),
        lambda array: array.astype(array.dtype.newbyteorder(">") if array.itemsize > 1 else "S1"),
    ],
    ids=["short", "long", "matrix", "float", "other bytes"],
)  # fmt: skip
@pytest.mark.parametrize(
    "name",
    [*(SHARD + name for name in INDEXED + LENGTHS), "vocabulary/counts", "vocabulary/words.text"],
)
def test_arrays_of_another_length_or_type_are_refused(corpus, name, made):
    change(corpus, name, made)
    with pytest.raises(ArtifactError, match=r"(npy|json): is damaged \("):
        all_of(corpus)


def test_a_mask_of_other_bytes_is_refused(corpus):
    change(corpus, SHARD + "held_out", lambda a: np.full(len(a), 7, np.uint8).view(np.bool_))
    with pytest.raises(ArtifactError, match=r"held_out\.npy: is damaged \(values from 7 to 7"):
        all_of(corpus)


def test_counts_other_than_those_of_the_text_are_refused(corpus):
    change(
        corpus,
        "vocabulary/counts",
        lambda array: array + np.array([5, *([0] * (len(array) - 2)), -5]),
    )
    with pytest.raises(ArtifactError, match=r"counts\.npy: is damaged \("):
        Corpus.open(corpus.path).verify()


def test_words_that_are_not_utf8_are_refused(corpus):
    change(corpus, "vocabulary/words.text", lambda array: array | 0x80)
    with pytest.raises(ArtifactError, match=r"words\.text\.npy: is damaged \(.*; build"):
        all_of(corpus)[0].words()


@pytest.mark.parametrize("name", ["tokens", "documents", "types", "held_out_tokens"])
def test_sizes_other_than_those_of_the_arrays_are_refused(corpus, name):
    manifest = read_json(corpus.path / "manifest.json")
    write_json(corpus.path / "manifest.json", {**manifest, name: manifest[name] + 9})
    with pytest.raises(ArtifactError, match=rf"manifest\.json: is damaged \({name} "):
        all_of(corpus)


@pytest.mark.parametrize("value", [-5, 10**9])
def test_positions_beyond_the_text_are_refused(corpus, value):
    Search(corpus).find("sea")
    positions = np.load(corpus.path / INDEX)
    for place in (0, 1, 29):
        changed = positions.copy()
        changed[place] = value
        np.save(corpus.path / INDEX, changed)
        with pytest.raises(ArtifactError, match="does not fit the corpus"):
            for word in ("the", "sea", ".", "rise", "!"):
                Search(Corpus.open(corpus.path)).find(word)


@pytest.mark.parametrize("command", ["concordance", "collocates", "corpus-info"])
def test_commands_refuse_ids_out_of_range_in_one_line(corpus, command):
    Search(corpus).find("sea")  # an index that remembers the verification
    change(corpus, SHARD + "ids", last_is(2**31 - 1))
    words = [] if command == "corpus-info" else ["sea"]
    status, _, stderr, uncaught = run_command([command, str(corpus.path), *words])
    assert (status, uncaught) == (1, "")
    assert f"{corpus.path / SHARD / 'ids.npy'}: is damaged (values from 0 to 2147483647" in stderr
