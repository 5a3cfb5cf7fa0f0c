"""gensim is optional: its data are downloaded, and what needs its code says so in one line."""

import os
import shutil

import pytest

from firth.corpora.datasets.gensim_data import gensim_file

pytestmark = pytest.mark.process

# None in sys.modules hides a package from import statements and from find_spec
HIDDEN = """
import sys
from firth import cli
for name in [name for name in sys.modules if name.startswith("gensim.")]:
    del sys.modules[name]
sys.modules["gensim"] = None
cli.main(sys.argv[1:])
"""
NO_NETWORK = {"https_proxy": "http://127.0.0.1:9", "no_proxy": ""}
UNREACHABLE = (
    "https://raw.githubusercontent.com/piskvorky/gensim/4.4.0/gensim/test/test_data/{name}: "
    "cannot be reached ([Errno 111] Connection refused); check the connection or put the file "
    "at {path}"
)
FEW = ("--dim", "3", "--min-count", "1", "--threads", "1")


@pytest.fixture(scope="module")
def firth(server, folder):
    """Return a function that runs a command in a process without gensim and without a network."""

    def run(*words):
        env = {**NO_NETWORK, "FIRTH_CACHE": os.environ["FIRTH_CACHE"]}
        return server.python(HIDDEN, *words, workdir=folder, env=env).wait()

    return run


@pytest.fixture(scope="module")
def folder(server, tmp_path_factory):
    """A folder with a corpus, two runs and a set of word pairs."""
    folder = tmp_path_factory.mktemp("without")
    text = "the cat sat on the mat\nthe dog sat on the rug\na cat saw a dog on the mat\n\n" * 9
    (folder / "text.txt").write_text(text)
    (folder / "pairs.tsv").write_text("cat\tdog\t9\nmat\trug\t8\ncat\tmat\t2\nthe\ta\t7\n")
    for words in (
        ("build-corpus", "text.txt", "--out", "corpus"),
        ("train-svd", "corpus", "--out", "svd", "--device", "cpu", *FEW),
        ("train-skipgram", "corpus", "--out", "skipgram", *FEW),
    ):
        done = server.python(HIDDEN, *words, workdir=folder, env=NO_NETWORK).wait()
        assert done.status == 0, done.stderr
    return folder


def test_commands_that_need_gensim_say_so_in_one_line_and_others_work(firth):
    for line in (
        "--help", "neighbors svd cat", "compare svd skipgram pairs.tsv",
        "export svd svd.vec --format word2vec-text", "recommend --help",
    ):  # fmt: skip
        done = firth(*line.split())
        assert done.status == 0, done.stderr
    for line, error in {
        "export svd svd.kv --format gensim": "format gensim needs gensim; pip install gensim",
        "train-skipgram corpus --out other --engine gensim": (
            "--engine gensim needs gensim; pip install gensim, or pass --engine firth"
        ),
    }.items():
        done = firth(*line.split())
        assert (done.status, done.stderr) == (1, f"Error: {error}\n")


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("build-corpus", "lee", "--out", "lee"), ("lee_background.cor", "lee.cor")),
        (("compare", "svd", "simlex999"), ("simlex999.txt",)),
    ],
    ids=["corpus", "set"],
)
def test_data_of_gensim_are_taken_from_the_cache_or_downloaded(firth, fresh_cache, words, names):
    samples = fresh_cache / "samples"
    missing = UNREACHABLE.format(name=names[0], path=samples / names[0])
    done = firth(*words)
    assert (done.status, done.stderr) == (1, f"Error: {missing}\n")

    for name in names:
        shutil.copy2(gensim_file(name), samples)
    done = firth(*words)
    assert done.status == 0, done.stderr


def test_sets_that_cannot_be_downloaded_are_named_and_others_are_scored(firth, fresh_cache):
    samples = fresh_cache / "samples"
    errors = {
        name: f"Error: {UNREACHABLE.format(name=name, path=samples / name)}\n"
        for name in ("simlex999.txt", "questions-words.txt")
    }

    def failures(done):
        assert done.status == 1, done.stderr
        return [line for line in done.stderr.splitlines(keepends=True) if "Error" in line]

    done = firth("compare", "svd", "pairs.tsv", "simlex999")
    assert failures(done) == [errors["simlex999.txt"]]
    assert "pairs" in done.stdout

    shutil.copy2(gensim_file("wordsim353.tsv"), samples)
    done = firth("compare", "svd")  # by default three sets
    assert failures(done) == list(errors.values())
    assert "wordsim353" in done.stdout
