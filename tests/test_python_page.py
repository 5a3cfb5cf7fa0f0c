"""Python in docs/python.md and the tutorial runs, and every public name is on the first."""

import doctest
import inspect
import io
import re

import pytest

import firth
from firth.embed.compare.probes import attention_pooling
from firth.pretrain.data.objectives.masked import MaskedPieces
from tests.fenced import fenced_blocks
from tests.run_python import run_python
from tests.source import PACKAGES, ROOT

PAGE, TUTORIAL = ROOT / "docs" / "python.md", ROOT / "docs" / "tutorial.md"
PUBLIC = sorted(set(firth.__all__) - set(PACKAGES))
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def examples_of(page):
    """Return a page's pycon blocks as one doctest, with the page's line numbers."""
    parser, examples = doctest.DocTestParser(), []
    for block in fenced_blocks(page):
        if block.language == "pycon":
            for example in parser.get_examples(block.text):
                example.lineno += block.line - 1
                examples.append(example)
    return doctest.DocTest(examples, {}, page.name, str(page), 0, None)


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize(("page", "n_lines"), [(PAGE, 30), (TUTORIAL, 5)], ids=["page", "tutorial"])
def test_every_block_gives_the_output_shown(page, n_lines, tmp_path, monkeypatch):
    pytest.importorskip("gensim")  # the pages read its texts and sets
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    # shorter measurements and trainings, whose results the pages do not show
    monkeypatch.setattr(MaskedPieces, "held_out_targets", 400)
    monkeypatch.setattr(attention_pooling, "RATES", (1e-2,))
    monkeypatch.setattr(attention_pooling, "MARGINS", ((10.0, 0.1),))
    output = io.StringIO()

    with firth.show_progress(False):
        found = doctest.DocTestRunner(optionflags=FLAGS).run(examples_of(page), out=output.write)

    assert found.failed == 0, output.getvalue()
    assert found.attempted == page.read_text(encoding="utf-8").count(">>> ") >= n_lines


def test_every_public_name_is_documented_and_on_the_page():
    named = re.findall(r"`firth\.([A-Za-z_]+)`", PAGE.read_text("utf-8"))
    assert sorted(set(named)) == PUBLIC
    for name in PUBLIC:
        described = inspect.getdoc(getattr(firth, name)) or ""
        assert described.split("\n\n")[0].endswith("."), name
        form = re.search("^(Parameters|Attributes)\n---", described, re.MULTILINE)
        assert form or name == "FirthError", name


def test_only_public_names_are_listed_and_all_are_importable_by_star():
    everything = {}
    exec("from firth import *", everything)
    assert sorted(dir(firth)) == sorted([*PUBLIC, *PACKAGES])
    assert set(dir(firth)) <= set(everything)
    with pytest.raises(AttributeError, match="train_glove"):
        firth.train_glove  # noqa: B018


def test_functions_that_take_vectors_or_a_corpus_take_a_path():
    for name in PUBLIC:
        function = getattr(firth, name)
        spec = inspect.signature(function).parameters if inspect.isfunction(function) else {}
        for parameter in spec.values():
            kind = str(parameter.annotation)
            if re.search("WordVectors|StaticVectors|Corpus", kind):
                assert re.search(r"\bstr\b|TextSource", kind), f"{name}({parameter})"


NO_TABLES = {  # they show a picture, one line or a number
    "ContextualEncoder", "ExplorerCell", "NeighborIndex", "Path", "Picture", "SentenceAttention",
    "SifCounts", "Study", "TrainedEncoder", "float", "list", "str",
}  # fmt: skip


def test_results_are_shown_as_tables():
    for name in PUBLIC:
        if inspect.isfunction(function := getattr(firth, name)):
            kind = inspect.signature(function).return_annotation
            if kind is not None and kind.__name__ not in NO_TABLES:
                assert hasattr(kind, "_repr_html_"), name
                assert hasattr(kind, "to_pandas") or kind.__name__ in ("Corpus", "StudyResult"), (
                    name
                )


@pytest.mark.process
def test_importing_firth_imports_nothing_slow():
    slow = {"numpy", "scipy", "torch", "gensim", "numba", "sklearn", "tokenizers", "rich", "click"}
    code = f"import sys, firth, firth.pretrain; print(*({slow} & sys.modules.keys()))"
    done = run_python("-c", code, cwd=ROOT)
    assert (done.returncode, done.stdout.split()) == (0, [])
