"""Without torch, and with little more than numpy, the rest works; errors are one line."""

import json
import re
import tomllib

import pytest

from tests.source import ROOT

REQUIREMENTS = ROOT / "docs" / "requirements"
HIDDEN = (ROOT / "tests" / "hidden.py").read_text(encoding="utf-8")
NEEDS = (
    "needs the package torch; pip install torch "
    "(without CUDA: from the index https://download.pytorch.org/whl/cpu)"
)
FEW = "--dim 3 --min-count 1 --threads 1"
TEXT = "the cat sat on the mat\nthe dog sat on the rug\na cat saw a dog on the mat\n\n" * 9


def listed(name):
    lines = (REQUIREMENTS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line and not line.startswith(("#", "-"))}


def test_requirements_are_those_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed, extras = set(project["dependencies"]), project["optional-dependencies"]

    names = {re.match(r"[\w-]+", each)[0]: each for each in needed}
    assert listed("cpu") == {names["torch"]}
    assert listed("no-torch") == needed - {names["torch"], names["gensim"]}
    assert listed("serving") <= needed | set(extras["ann"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    (folder / "text.txt").write_text(TEXT)
    (folder / "pairs.tsv").write_text("cat\tdog\t9\nmat\trug\t8\ncat\tmat\t2\nthe\ta\t7\n")
    return folder


@pytest.fixture(scope="module")
def outcomes(server, folder):
    """Return a function that runs lines without some packages, in one process."""

    def run(hidden, again, *lines):
        done = server.python(HIDDEN, hidden, again, *lines, workdir=folder).wait()
        assert done.status == 0, done.stderr
        return dict(zip(lines, json.loads(done.stdout), strict=True))

    return run


@pytest.mark.process
@pytest.mark.slow
def test_all_but_language_models_probes_and_gpus_works_without_torch(outcomes, folder):
    works = (
        "build-corpus text.txt --out corpus", f"train-svd corpus --out svd {FEW}",
        f"train-skipgram corpus --out skipgram {FEW}", "neighbors svd cat", "map svd cat dog mat",
        "compare svd skipgram pairs.tsv --report page.html", "why svd cat dog",
        "differ svd skipgram -k 3", "concordance corpus cat", "collocates corpus cat",
        "explore svd --html explore.html", "train-mlm --help",
    )  # fmt: skip
    refused = {
        "train-mlm corpus --out other": f"this {NEEDS}",
        "train-nplm corpus --out other": f"this {NEEDS}",
        "train-autoencoder corpus --out other": f"this {NEEDS}",
        "fill-mask svd cat": f"this {NEEDS}",
        "train-svd corpus --out other --device cuda": f"--device cuda {NEEDS}",
        "compare svd two-tags pairs.tsv": f"two-tags-test: a probe {NEEDS}",
        "compare svd two-tags": f"two-tags-test: a probe {NEEDS}",
    }
    python = """-cimport firth
try:
    firth.train_mlm
except firth.FirthError as error:
    print(error, isinstance(error, ImportError))"""

    found = outcomes("torch", "firth.pretrain", *works, *refused, python)

    assert {line: found[line] for line in works if found[line][0]} == {}
    for line, error in refused.items():
        assert (found[line][0], found[line][2].splitlines()[-1]) == (1, f"Error: {error}")
    assert "pairs" in found["compare svd two-tags pairs.tsv"][1], "the other set is scored"
    assert found[python][1] == f"firth.train_mlm {NEEDS} True\n"
    assert not (folder / "other").exists()


@pytest.mark.process
@pytest.mark.slow
def test_vectors_are_served_without_numba_scipy_and_the_like(outcomes, folder):
    done = outcomes(
        "torch",
        "firth.pretrain",
        "build-corpus text.txt --out text",
        f"train-svd text --out run {FEW}",
    )
    assert [status for status, *_ in done.values()] == [0, 0]
    works = (
        "neighbors run cat", "similarity run cat dog", "analogy run cat dog mat", "index run",
        "neighbors run cat --approximate",
        "export run run.vec --format word2vec-text", "map run cat dog mat",
    )  # fmt: skip
    python = """-cimport firth
run = firth.load_vectors("run")
print(firth.nearest(run, "cat", 1)[0][0].word, firth.similarity(run, "cat", "cat"), len(run["a"]))
try:
    run["dgo"]
except firth.FirthError as error:
    print(error)"""
    numba = "Error: this needs the package numba; pip install numba"
    kernels = ("corpus-info text", "compare run pairs.tsv")

    found = outcomes(
        "torch,gensim,numba,llvmlite,scipy,sklearn,psutil", "firth", *works, python, *kernels
    )

    assert {line: found[line] for line in works if found[line][0]} == {}
    assert re.fullmatch(
        r"\w+ 1.0 3\nrun: no vector for 'dgo'; did you mean 'dog'.*\n", found[python][1]
    )
    assert {line: found[line][2].splitlines()[-1] for line in kernels} == dict.fromkeys(
        kernels, numba
    )
