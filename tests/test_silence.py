"""Called from Python, the packages print nothing; a reporter shows what they have to say."""

from pathlib import Path

import pytest

from tests.run_python import run_python

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[1]

# Every public function that works for a while, on a tiny corpus.
SESSION = """
from pathlib import Path
import firth

text = "the cat sat on the mat\\nthe dog sat on the rug\\na cat saw a dog on the mat\\n\\n"
Path("text.txt").write_text(text * 12)
Path("pairs.tsv").write_text("cat\\tdog\\t9\\nmat\\trug\\t8\\ncat\\tmat\\t2\\nthe\\ta\\t7\\n")
Path("learn.tsv").write_text("yes\\tthe cat sat\\nno\\ta dog saw\\n" * 6)

read = firth.ReadOptions(documents="block")
corpus = firth.build_corpus(
    "text.txt", "corpus", read=read, options=firth.BuildOptions(held_out=0.25)
)
firth.build_corpus("text.txt")
firth.describe(corpus)
few = dict(dim=4, min_count=1, threads=1)
svd = firth.train_svd(corpus, firth.SvdConfig(**few, device="cpu"), "svd")
skipgram = firth.train_skipgram(corpus, firth.SkipGramConfig(**few), "skipgram")
firth.train_cbow(corpus, firth.CbowConfig(**few))
config = firth.MlmConfig(
    preset="1/16/2", steps=2, batch=4, sequence_length=16, min_count=1,
    threads=1, device="cpu",
)
mlm = firth.train_mlm(corpus, config, "mlm")
firth.nearest(svd, ["cat"])
firth.analogy(svd, "cat", "dog", "mat")
firth.with_contexts(skipgram).similarity("cat", "dog")
firth.map_words(svd, ["cat", "dog", "mat"])
firth.write_vectors(svd, "svd.txt", "glove")
firth.load_vectors("svd.txt")
firth.pool_run(mlm, firth.PoolConfig(min_count=1), "pooled", device="cpu")
firth.nearest_in_context(mlm, firth.load_vectors(mlm), ["the [cat] sat"])
mlm.fill_mask("the [MASK] sat")
firth.attend(mlm, "the cat sat")
compared = firth.compare([svd, skipgram, mlm], firth.CompareConfig(sets=("similarity=pairs.tsv",)))
compared.store("comparison")
compared.write_report("page.html")
"""


def session(code, folder):
    """Run code in a new interpreter, with the packages of this repository."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"
    return run_python("-W", "error", "-c", code, cwd=folder)


def test_public_functions_print_nothing(tmp_path):
    done = session(SESSION, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_progress_and_notes_are_shown_on_request(tmp_path):
    code = """
import firth
from firth.corpora.common.reporting import note
with firth.show_progress():
    note("`dim=3`")
note("silent")
firth.show_progress()
note("shown")
firth.show_progress(False)
note("silent")
"""
    done = session(code, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "`dim=3`\nshown\n")
