"""Commands stay within the memory that `--memory` gives them, all processes together."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from firth.corpora.common.errors import SettingError
from firth.corpora.common.peak_memory import peak_memory
from firth.corpora.encoding.build import build_corpus
from firth.corpora.store.corpus import Corpus
from firth.embed.vectors.word_vectors import MATRIX, WordVectors
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


@pytest.mark.parametrize("command", TRAININGS)
def test_a_training_within_the_least_that_it_accepts(command, corpus, tmp_path):
    """And that is no more than twice what it takes: the least is no guess."""
    config_class, options = TRAININGS[command]
    with pytest.raises(SettingError) as refusal:
        build_trainer(corpus, config_class(**options, memory="1M")).allocate()
    bound = int(re.findall(r"at least `memory=(\d+)M`", str(refusal.value))[0])
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


def peak(*words):
    """Run a command and return the most anonymous memory that it had."""
    line = [sys.executable, ROOT / "cli.py", *map(str, words)]
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(line, **pipes) as process, peak_memory(process.pid) as found:
        _, errors = process.communicate()
    assert not process.returncode, errors
    return found.bytes
