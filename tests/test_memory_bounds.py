"""Commands stay within the memory that `--memory` gives them, all processes together."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from firth.corpora.common.errors import SettingError
from firth.corpora.common.memory import limited_memory
from firth.corpora.common.peak_memory import anonymous_bytes, peak_memory
from firth.corpora.encoding.build import build_corpus
from firth.corpora.store.corpus import Corpus
from firth.embed.compare.inputs.baselines import make_baselines
from firth.embed.formats.vector_files import load_vectors, write_vectors
from firth.embed.query.opening import open_queried
from firth.embed.vectors.context_vectors import with_contexts
from firth.embed.vectors.word_vectors import MATRIX, SPARSE_MATRIX, WordVectors
from firth.embed.vectors.wordlist import VOCABULARY, write_words
from firth.embed.word2vec.config import CbowConfig, SkipGramConfig
from firth.embed.word2vec.trainer import build_trainer
from tests.pretrain.small_training import as_words

ROOT = Path(__file__).resolve().parents[1]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
pytestmark = [pytest.mark.process, LINUX]
ONE_WORD = WordVectors(["a"], np.ones((1, 1), np.float32), contexts=np.ones((1, 1), np.float32))
TRAININGS = {
    "train-skipgram": (SkipGramConfig, {"dim": 1500, "min_count": 1}),
    "train-cbow": (CbowConfig, {"dim": 400, "min_count": 1, "subwords": "3-5"}),
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A corpus of 40,000 tokens and 8,000 types; building it here compiles the kernels."""
    folder = tmp_path_factory.mktemp("bounds")
    numbers = np.random.default_rng(3).permutation(np.arange(40_000) % 8000)
    words = [f"word{number:04}" for number in numbers.tolist()]
    lines = (" ".join(words[first : first + 20]) for first in range(0, len(words), 20))
    (folder / "text.txt").write_text("\n".join(lines))
    return build_corpus([folder / "text.txt"], folder / "corpus")


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    """A text file of 20,000 vectors of 64 dimensions, without a header."""
    numbers = np.random.default_rng(1).standard_normal((20_000, 64), dtype=np.float32)
    path = tmp_path_factory.mktemp("vectors") / "vectors.txt"
    words = [f"word{n}" for n in range(len(numbers))]
    write_vectors(WordVectors(words, numbers.round(1)), path, "glove")
    return path


@pytest.mark.parametrize("command", TRAININGS)
def test_a_training_within_the_least_that_it_accepts(command, corpus, tmp_path):
    """And that is no more than twice what it takes: the least is no guess."""
    config_class, options = TRAININGS[command]
    with pytest.raises(SettingError) as refusal:
        build_trainer(corpus, config_class(**options, memory="1M")).allocate()
    bound = _named(refusal)
    words = [command, corpus.path, "--epochs", 1, *as_words(options)]
    peak(*words, "--dim", 8, "--out", tmp_path / "small")  # compiles the kernels
    found = peak(*words, "--out", tmp_path / "run", "--memory", f"{bound}M")
    assert bound << 19 < found <= bound << 20


@pytest.mark.usefixtures("corpus")
def test_a_paragraph_of_a_twelfth_of_the_memory_is_built_within_it(tmp_path):
    (tmp_path / "line.txt").write_text("some words of a very long line " * 550_000)
    found = peak("build-corpus", tmp_path / "line.txt", "--memory", "220M", "--out", tmp_path / "c")
    assert Corpus.open(tmp_path / "c").n_tokens == 7 * 550_000
    assert found <= 220 << 20


def test_neighbors_of_many_words_take_less_than_their_matrix(tmp_path):
    """Of 400,000 words: the matrix is mapped, and there is no dictionary."""
    words = [f"word{n}" for n in range(400_000)]
    write_words(tmp_path / VOCABULARY, words, None)
    vectors = np.random.default_rng(1).standard_normal((len(words), 32), dtype=np.float32)
    np.save(tmp_path / MATRIX, vectors)
    (tmp_path / "config.json").write_text("{}")
    assert peak("neighbors", tmp_path, *words[:100:2]) < 80e6


def test_queries_of_a_file_within_the_least_that_they_accept(vectors):
    bound, found = _accepted("neighbors", vectors, "word1")
    assert bound << 17 < found <= bound << 20


def test_a_comparison_with_a_file_within_the_least_that_it_accepts(vectors, tmp_path):
    (tmp_path / "pairs.tsv").write_text("".join(f"word{n}\tword{n * n}\t{n}\n" for n in range(99)))
    bound, found = _accepted("compare", vectors, tmp_path / "pairs.tsv", "--restrict", 0)
    assert bound << 17 < found <= bound << 20


@pytest.mark.parametrize(
    ("refused", "remedy"),
    [
        (load_vectors, "export the file as int8 or for gensim, which are mapped"),
        (lambda _: with_contexts(ONE_WORD), "leave out `add_contexts`"),
        (lambda _: make_baselines([ONE_WORD], [], 1, 1), "pass `baselines=none`"),
    ],
    ids=["file", "contexts", "baselines"],
)
def test_the_remedy_is_of_what_does_not_fit(vectors, refused, remedy):
    with limited_memory("1M", 0), pytest.raises(SettingError) as error:
        refused(vectors)
    assert re.search(r"at least `memory=\d+M`; pass that, or (.*)", str(error.value))[1] == remedy


def test_sparse_vectors_are_counted_unpacked(tmp_path):
    write_words(tmp_path / VOCABULARY, ["a", "b"], None)
    n = 8_000_000  # zeros, which are packed into nothing
    stored = np.zeros(n, np.float32), np.zeros(n, np.int32), [0, n, n]
    scipy.sparse.save_npz(tmp_path / SPARSE_MATRIX, scipy.sparse.csr_matrix(stored, (2, 9)))
    with pytest.raises(SettingError, match=r"its matrix takes .* or pass a run of dense vectors"):
        open_queried(tmp_path, memory=f"{anonymous_bytes() // 2**20 + 150}M")


def peak(*words):
    """Run a command and return the most anonymous memory that it had."""
    found, errors = _run(*words)
    assert errors is None, errors
    return found


def _run(*words):
    """Run a command; return the most anonymous memory that it had, and the errors if it failed."""
    line = [sys.executable, ROOT / "cli.py", *map(str, words)]
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(line, **pipes) as process, peak_memory(process.pid) as found:
        _, errors = process.communicate()
    return found.bytes, errors if process.returncode else None


def _accepted(*words):
    """Return the memory, in MiB, that a command accepts, and the most that it then takes.

    It names what it lacks at each step.
    """
    bound = 1
    for _ in range(4):
        found, errors = _run(*words, "--memory", f"{bound}M")
        if errors is None:
            return bound, found
        [least] = re.findall(r"at least --memory (\d+)M", errors)
        bound = int(least)
    raise AssertionError(errors)


def _least(call, run):
    """Return the least memory, in MiB, that the refusal of less names."""
    with pytest.raises(SettingError) as error:
        call(run, memory="1M")
    return _named(error)


def _named(refusal):
    """Return the memory, in MiB, that a refusal names."""
    [found] = re.findall(r"at least `memory=(\d+)M`", str(refusal.value))
    return int(found)
