"""Mutated files are read or refused in one line: no traceback, hang or unlimited memory."""

import gzip
import shutil

import pytest

from tests.faults.fuzz_seeds import SOURCES
from tests.processes import Fault

BOUNDED = Fault(memory=1 << 30)  # bytes beyond the program itself; the files have a few kilobytes
WAYS = 35
PROBLEMS = "tests.faults.fuzzing:problems"
RESEALED_PROBLEMS = "tests.faults.fuzzing:resealed_problems"


@pytest.fixture
def mutated(server, workdir):
    """Return a function that mutates a file, opens it or its folder, and returns what failed."""

    def call(opener, file, target, seed, ways=WAYS):
        arguments = (PROBLEMS, opener, file, target, seed, ways)
        return server.call(*arguments, workdir=workdir, fault=BOUNDED)

    return call


@pytest.fixture(scope="module")
def exported(server, inputs, tmp_path_factory):
    """A run exported to every format."""
    folder = tmp_path_factory.mktemp("exported")
    for name in ("word2vec-text", "word2vec-binary", "glove", "projector", "gensim", "huggingface"):
        source = inputs / ("mlm" if name == "huggingface" else "run")
        done = server.run(["export", source, "--format", name, folder / name], folder)
        assert done.status == 0, done.stderr
    (folder / "gzipped").write_bytes(gzip.compress((folder / "word2vec-text").read_bytes()))
    return folder


@pytest.mark.parametrize(
    "file",
    [
        "word2vec-text", "word2vec-binary", "glove", "projector/vectors.tsv",
        "projector/metadata.tsv", "gensim", "gensim.vectors.npy", "gensim.vocabulary.tsv",
        "gzipped", "huggingface/model.safetensors", "huggingface/config.json",
        "huggingface/tokenizer.json",
    ],
)  # fmt: skip
def test_mutated_vectors_are_read_or_refused(mutated, workdir, exported, file):
    copy = shutil.copytree(exported, workdir / "exported")
    whole = file.partition("/")[0].removesuffix(".vectors.npy").removesuffix(".vocabulary.tsv")
    assert mutated("vectors", copy / file, copy / whole, 1) == []


def test_a_mutated_fasttext_model_is_read_or_refused(mutated, workdir, root):
    model = root / "tests" / "embed" / "formats" / "data" / "fasttext-small.bin"
    model = shutil.copy(model, workdir)
    assert mutated("vectors", model, model, 2, 2 * WAYS) == []


@pytest.mark.parametrize(
    "file",
    [
        "run/vectors.npy", "run/contexts.npy", "run/vocabulary.tsv", "run/config.json",
        "run/checksums.json", "mlm/model.safetensors", "mlm/tokenizer.json", "mlm/config.json",
    ],
)  # fmt: skip
def test_a_mutated_run_is_read_or_refused(mutated, inputs, workdir, file):
    name = file.partition("/")[0]
    run = shutil.copytree(inputs / name, workdir / name)
    assert mutated("run" if name == "run" else "encoder", workdir / file, run, 3) == []


@pytest.mark.parametrize(
    ("opener", "file"),
    [
        ("run", "run/config.json"), ("encoder", "mlm/config.json"),
        ("corpus", "corpus/manifest.json"),
    ],
)  # fmt: skip
def test_strange_values_with_correct_checksums_are_read_or_refused(
    server, inputs, workdir, opener, file
):
    artifact, _, file = file.partition("/")
    folder = shutil.copytree(inputs / artifact, workdir / artifact)
    arguments = (RESEALED_PROBLEMS, opener, folder, file)
    assert server.call(*arguments, workdir=workdir, fault=BOUNDED) == []


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzipped"])
@pytest.mark.parametrize("name", SOURCES)
def test_mutated_sources_are_read_or_refused(mutated, workdir, name, packed):
    content = SOURCES[name]
    content = content if isinstance(content, bytes) else content.encode()
    (workdir / name).write_bytes(gzip.compress(content) if packed else content)
    assert mutated("source", workdir / name, workdir / name, 5) == []


TEXT, BINARY = b"word 1 2 3\n", b"word \x00\x00\x80\x3f"
HEADERS = (b"9999999999 300", b"3 99999999999999", b"999999999999999999 1")
HUGE = [b"\n".join([header, rest]) for header in HEADERS for rest in (TEXT, BINARY)]
BOMB = gzip.compress(b"3 100\nw" + bytes(1 << 28), 1)


@pytest.mark.parametrize("number", range(7))
def test_a_header_with_huge_sizes_and_a_gzip_bomb_take_no_memory(server, workdir, number):
    (workdir / "huge").write_bytes([*HUGE, BOMB][number])
    result = server.run(["neighbors", workdir / "huge", "word"], workdir, Fault(memory=1 << 28))
    assert result.status == 1
    assert result.stderr.startswith(f"Error: {workdir / 'huge'}:")
    assert result.stderr.count("\n") == 1


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
def test_a_malformed_study_is_refused_in_one_line(server, workdir, content):
    (workdir / "study.toml").write_bytes(content)
    result = server.run(
        ["study", "--settings", workdir / "study.toml", "--out", workdir / "out"], workdir, BOUNDED
    )
    assert "Traceback" not in result.stderr
    assert (result.status, result.stderr.count("\n")) == (1, 1), result.stderr
    assert str(workdir / "study.toml") in result.stderr
    assert not (workdir / "out").exists()


@pytest.mark.parametrize("digits", [19, 30, 5000])
def test_a_count_with_too_many_digits_is_read_or_refused(server, inputs, workdir, digits):
    run = shutil.copytree(inputs / "run", workdir / "run")
    lines = (run / "vocabulary.tsv").read_text().splitlines()
    lines[3] = f"{lines[3].partition(chr(9))[0]}\t{'9' * digits}"
    (run / "vocabulary.tsv").write_text("\n".join(lines) + "\n")
    assert server.call("tests.faults.fuzzing:problem", "run", run, workdir=workdir) == ""
