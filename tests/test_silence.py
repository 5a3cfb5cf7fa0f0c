"""Called from Python, the packages print nothing; a reporter shows what they have to say."""

from pathlib import Path

import pytest

from tests.run_python import run_python

ROOT = Path(__file__).resolve().parents[1]

# Every public function that works for a while, on a tiny corpus.
SESSION = """
from pathlib import Path
import corpora, embed, pretrain

text = "the cat sat on the mat\\nthe dog sat on the rug\\na cat saw a dog on the mat\\n\\n"
Path("text.txt").write_text(text * 12)
Path("pairs.tsv").write_text("cat\\tdog\\t9\\nmat\\trug\\t8\\ncat\\tmat\\t2\\nthe\\ta\\t7\\n")
Path("learn.tsv").write_text("yes\\tthe cat sat\\nno\\ta dog saw\\n" * 6)

read = corpora.ReadOptions(documents="block")
corpus = corpora.make_corpus(
    "text.txt", "corpus", read=read, options=corpora.BuildOptions(held_out=0.25)
)
corpora.open_or_build("text.txt")
corpora.describe(corpus)
few = dict(dim=4, min_count=1, threads=1)
svd = embed.train_svd(corpus, embed.SvdConfig(**few, device="cpu"), "svd")
skipgram = embed.train_skipgram(corpus, embed.SkipGramConfig(**few), "skipgram")
embed.train_cbow(corpus, embed.CbowConfig(**few))
config = pretrain.MlmConfig(
    preset="tiny", layers=1, dim=16, steps=2, batch=4, sequence_length=16, min_count=1,
    threads=1, device="cpu",
)
mlm = pretrain.train_mlm(corpus, config, "mlm")
embed.nearest(svd, ["cat"])
embed.analogy(svd, "cat", "dog", "mat")
embed.with_contexts(skipgram).similarity("cat", "dog")
embed.map_words(svd, ["cat", "dog", "mat"])
embed.write_vectors(svd, "svd.txt", "glove")
embed.load_vectors("svd.txt")
embed.pool_run(mlm, embed.PoolConfig(min_count=1), "pooled", device="cpu")
embed.nearest_in_context(mlm, embed.load_vectors(mlm), ["the [cat] sat"])
mlm.fill_mask("the [MASK] sat")
pretrain.attend(mlm, "the cat sat")
compared = embed.compare_runs([svd, skipgram, mlm], embed.CompareConfig(similarity=("pairs.tsv",)))
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


@pytest.mark.parametrize(
    ("shown", "lines"),
    [
        ("with corpora.show_progress(): note('`dim=3`')\nnote('silent')", "`dim=3`\n"),
        ("corpora.show_progress(); note('shown')", "shown\n"),
        ("corpora.show_progress(); corpora.show_progress(False); note('silent')", ""),
    ],
    ids=["with", "call", "off"],
)
def test_progress_and_notes_are_shown_on_request(shown, lines, tmp_path):
    done = session(f"import corpora\nfrom corpora.common.reporting import note\n{shown}", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", lines)
