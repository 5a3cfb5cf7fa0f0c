"""gensim is optional: commands that do not need it work without, and the others name it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# None in sys.modules hides a package from import statements and from find_spec
HIDDEN = "import sys; sys.modules['gensim'] = None; sys.path.insert(0, {root!r}); "
MAIN = "from cli import main; main(sys.argv[1:], prog_name='firth')"
FEW = ("--dim", "3", "--min-count", "1", "--threads", "1")


def firth(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a command in a process that does not find gensim."""
    code = HIDDEN.format(root=str(ROOT)) + MAIN
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
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
        done = firth(folder, *words)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("neighbors", "svd", "cat"),
        ("compare", "svd", "skipgram", "--similarity", "pairs.tsv"),
        ("export", "svd", "svd.vec", "--format", "word2vec-text"),
        ("recommend", "--help"),
    ],
    ids=" ".join,
)
def test_commands_that_do_not_need_gensim_work(folder, words):
    done = firth(folder, *words)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            ("build-corpus", "lee", "--out", "lee"),
            (
                "lee_background.cor: part of the gensim package, which is not installed; "
                "pip install gensim"
            ),
        ),
        (
            ("compare", "svd"),
            (
                "gensim: not installed, and the default evaluation sets are part of it; "
                "pass --similarity FILE or --analogies FILE"
            ),
        ),
        (
            ("export", "svd", "svd.kv", "--format", "gensim"),
            "format gensim needs gensim; pip install gensim",
        ),
        (
            ("train-skipgram", "corpus", "--out", "other", "--engine", "gensim"),
            "--engine gensim needs gensim; pip install gensim, or pass --engine firth",
        ),
    ],
    ids=["corpus", "sets", "format", "engine"],
)
def test_what_needs_gensim_says_so_in_one_line(folder, words, error):
    done = firth(folder, *words)
    assert (done.returncode, done.stderr) == (1, f"Error: {error}\n")
