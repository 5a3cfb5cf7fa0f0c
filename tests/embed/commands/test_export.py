"""The export command."""

from functools import partial

import numpy as np
import pytest

from firth.embed.commands import export
from firth.embed.formats.vector_files import FORMATS, RUN_FORMATS, load_vectors
from firth.embed.vectors.word_vectors import WordVectors
from tests.calls import command, output, refusal


@pytest.fixture
def run(tmp_path):
    """A run of two words."""
    folder = tmp_path / "run"
    folder.mkdir()
    WordVectors(["a", "é"], np.array([[1, 2, 3], [4, 5, 6]], np.float32)).write(folder)
    return folder


invoke = partial(command, "export")


def test_the_command_offers_every_format():
    assert export._FORMATS == FORMATS
    assert export._RUN_FORMATS == RUN_FORMATS


@pytest.mark.parametrize("name", FORMATS)
def test_a_run_is_exported_with_a_note(run, tmp_path, name):
    out = tmp_path / "out"
    result = invoke(run, "--format", name, out)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"{out}: 2 vectors of 3 dimensions, {name}\n"
    assert np.array_equal(load_vectors(out).matrix, load_vectors(run).matrix)


def test_a_file_is_converted_and_overwritten_only_with_force(run, tmp_path):
    first, second = tmp_path / "a.txt", tmp_path / "b.bin"
    output("export", run, "--format", "glove", first)
    output("export", first, "--format", "word2vec-binary", second)
    assert list(load_vectors(second).vocabulary) == ["a", "é"]
    again = ("export", first, "--format", "glove", second)
    assert refusal(*again) == f"{second}: already exists; choose another OUT or pass --force"
    output(*again, "--force")
    assert second.read_text(encoding="utf-8") == "a 1 2 3\né 4 5 6\n"


def test_context_vectors_are_added(run, tmp_path):
    out = tmp_path / "out.txt"
    words = ("export", run, "--format", "glove", "--add-contexts", out)
    assert refusal(*words).startswith(f"--add-contexts: {run} has no context vectors")
    assert not out.exists()
    np.save(run / "contexts.npy", np.array([[0, 0, 1], [1, 0, 0]], np.float32))
    output(*words)
    assert out.read_text(encoding="utf-8") == "a 1 2 4\né 5 5 6\n"


@pytest.mark.parametrize("name", FORMATS)
def test_words_with_zero_vectors_are_named(tmp_path, name):
    matrix = np.ones((14, 2), np.float32)
    matrix[1:13] = 0  # 12 words, of which a note names 10
    words = [f"w{row}" for row in range(14)]
    run, out = tmp_path / "run", tmp_path / "out"
    run.mkdir()
    WordVectors(words, matrix).write(run)

    done = invoke(run, "--format", name, out)

    assert f"{out}: 12 of 14 words have a zero vector" in done.stderr
    assert f": {', '.join(words[1:11])}, and 2 more\n" in done.stderr
    assert len(load_vectors(out)) == 14
