"""Files that somebody bent: read, or refused in one line; no traceback, hang or endless memory."""

import gzip
import json
import shutil

import pytest

from tests.faults.children import Harm

BOUNDED = Harm(memory=1 << 30)  # bytes beyond what the program has; the files have some kilobytes
WAYS = 35
COMPLAINTS = "tests.faults.fuzzing:complaints"
SEALED = "tests.faults.fuzzing:sealed_complaints"


@pytest.fixture(scope="module")
def exported(warm, shelf, tmp_path_factory):
    """A run as other programs have it, by format."""
    folder = tmp_path_factory.mktemp("exported")
    for name in ("word2vec-text", "word2vec-binary", "glove", "projector", "gensim"):
        assert (
            warm.run(["export", shelf / "run", "--format", name, folder / name], folder).status == 0
        )
    ended = warm.run(["export", shelf / "mlm", "--format", "huggingface", folder / "hf"], folder)
    assert ended.status == 0, ended.said
    text = (folder / "word2vec-text").read_bytes()
    (folder / "gzipped").write_bytes(gzip.compress(text))
    return folder


@pytest.mark.parametrize(
    "file",
    [
        "word2vec-text", "word2vec-binary", "glove", "projector/vectors.tsv",
        "projector/metadata.tsv", "gensim", "gensim.vectors.npy", "gensim.vocabulary.tsv",
        "gzipped", "hf/model.safetensors", "hf/config.json", "hf/tokenizer.json",
    ],
)  # fmt: skip
def test_bent_vectors_are_read_or_refused(warm, place, exported, file):
    copy = shutil.copytree(exported, place / "exported")
    whole = copy / file.partition("/")[0].removesuffix(".vectors.npy").removesuffix(
        ".vocabulary.tsv"
    )
    found = warm.call(COMPLAINTS, "vectors", copy / file, whole, 1, WAYS, place=place, harm=BOUNDED)
    assert found == []


def test_a_bent_fasttext_model_is_read_or_refused(warm, place, root):
    model = shutil.copy(root / "tests" / "embed" / "formats" / "data" / "fasttext-small.bin", place)
    found = warm.call(COMPLAINTS, "vectors", model, model, 2, 2 * WAYS, place=place, harm=BOUNDED)
    assert found == []


@pytest.mark.parametrize(
    "file", ["vectors.npy", "contexts.npy", "vocabulary.tsv", "config.json", "checksums.json"]
)
def test_a_bent_run_is_read_or_refused(warm, shelf, place, file):
    run = shutil.copytree(shelf / "run", place / "run")
    assert warm.call(COMPLAINTS, "run", run / file, run, 3, WAYS, place=place, harm=BOUNDED) == []


@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_bent_encoder_is_read_or_refused(warm, shelf, place, file):
    run = shutil.copytree(shelf / "mlm", place / "mlm")
    found = warm.call(COMPLAINTS, "encoder", run / file, run, 4, WAYS, place=place, harm=BOUNDED)
    assert found == []


@pytest.mark.parametrize(
    ("opener", "artifact", "file"),
    [
        ("run", "run", "config.json"),
        ("encoder", "mlm", "config.json"),
        ("corpus", "corpus", "manifest.json"),
    ],
)
def test_strange_values_under_right_checksums_are_read_or_refused(
    warm, shelf, place, opener, artifact, file
):
    folder = shutil.copytree(shelf / artifact, place / artifact)
    assert warm.call(SEALED, opener, folder, file, place=place, harm=BOUNDED) == []


SOURCES = {
    "a.txt": "Some words stand here.\nAnd some more.\n\n" * 20,
    "a.jsonl": "".join(json.dumps({"text": f"word{n}", "n": n}) + "\n" for n in range(30)),
    "a.csv": "text,author\n" + "".join(f'"word{n}, yes",a{n}\n' for n in range(30)),
    "a.tsv": "text\tauthor\n" + "".join(f"word{n}\ta{n}\n" for n in range(30)),
    "a.conllu": ("# newdoc\n" + "\t".join(["1", "word", "w", *"_" * 7]) + "\n\n") * 20,
    "a.xml": "<mediawiki><siteinfo/>"
    + "<page><title>A</title><ns>0</ns><revision><model>wikitext</model>"
    "<text>Some {{text}} [[here]] &lt;ref&gt;.</text></revision></page>" * 10 + "</mediawiki>",
    "a_extracted": '<doc id="1" url="u" title="A">\nA\n\nSome text.\n</doc>\n' * 10,
}


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzipped"])
@pytest.mark.parametrize("name", SOURCES)
def test_bent_sources_are_read_or_refused(warm, place, name, packed):
    content = SOURCES[name].encode()
    (place / name).write_bytes(gzip.compress(content) if packed else content)
    found = warm.call(
        COMPLAINTS, "source", place / name, place / name, 5, WAYS, place=place, harm=BOUNDED
    )
    assert found == []


@pytest.mark.parametrize("header", ["9999999999 300", "3 99999999999999", "999999999999999999 1"])
@pytest.mark.parametrize(
    "rest", [b"word 1 2 3\n", b"word \x00\x00\x80\x3f"], ids=["text", "binary"]
)
def test_a_header_that_promises_too_much_takes_no_memory(warm, place, header, rest):
    (place / "huge").write_bytes(header.encode() + b"\n" + rest)
    ended = warm.run(["neighbors", place / "huge", "word"], place, Harm(memory=1 << 28))
    assert ended.status == 1
    assert ended.said.startswith(f"Error: {place / 'huge'}:")
    assert ended.said.count("\n") == 1


def test_a_bomb_of_vectors_takes_no_memory(warm, place):
    (place / "bomb.gz").write_bytes(gzip.compress(b"3 100\nw" + bytes(1 << 28), 1))
    ended = warm.run(["neighbors", place / "bomb.gz", "word"], place, Harm(memory=1 << 28))
    assert ended.status == 1
    assert ended.said.startswith(f"Error: {place / 'bomb.gz'}")
    assert ended.said.count("\n") == 1


@pytest.mark.parametrize(
    "content",
    [
        b"sources = [", b"sources = 5", b"[train-svd]\ndim = 'wide'\nsources = []", b"\xff\xfe\x00",
        b"x = 9" + b"9" * 5000, b"a." * 5000 + b"b = 1", b"s = " + b"[" * 5000, b"",
    ],
    ids=[
        "cut", "no list", "wrong types", "no UTF-8", "long number", "deep key", "deep list",
        "empty",
    ],
)  # fmt: skip
def test_a_bent_study_is_refused_in_one_line(warm, place, content):
    (place / "study.toml").write_bytes(content)
    ended = warm.run(
        ["study", "--settings", place / "study.toml", "--out", place / "out"], place, BOUNDED
    )
    assert "Traceback" not in ended.said
    assert (ended.status, ended.said.count("\n")) == (1, 1), ended.said
    assert str(place / "study.toml") in ended.said
    assert not (place / "out").exists()


@pytest.mark.parametrize("digits", [19, 30, 5000])
def test_a_count_of_too_many_digits_is_refused(warm, shelf, place, digits):
    run = shutil.copytree(shelf / "run", place / "run")
    lines = (run / "vocabulary.tsv").read_text().splitlines()
    lines[3] = f"{lines[3].partition(chr(9))[0]}\t{'9' * digits}"
    (run / "vocabulary.tsv").write_text("\n".join(lines) + "\n")
    assert warm.call("tests.faults.fuzzing:complaint", "run", run, place=place) == ""
