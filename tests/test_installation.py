"""Wheel and sdist: what is in them, and that an installed Firth works away from the repository.

By default the installation sees the packages of the test environment; with FIRTH_INSTALL=all
(``make test-install``) it is in an empty environment, with what a list of docs/requirements names.
"""

import itertools
import os
import shutil
import subprocess
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import firth
from firth.corpora.datasets.gensim_data import gensim_file
from tests.run_python import run_python
from tests.source import PACKAGES, ROOT

pytestmark = pytest.mark.process

TEXT = "the cat sat on the mat . the dog sat on the rug . a cat saw a dog on the mat .\n\n" * 40
PAIRS = "cat\tdog\t9\nmat\trug\t8\ncat\tmat\t2\nthe\ta\t7\n"
BUILD = "from setuptools import build_meta; build_meta.{}(sys.argv[1])"
ALL = os.environ.get("FIRTH_INSTALL") == "all"
COMMANDS = """
-c print(__import__('firth').__version__,__import__('firth').__file__)
build-corpus text.txt --out corpus --documents block --threads 1
train-svd corpus --out svd --dim 4 --min-count 1 --threads 1
neighbors svd cat -k 2
train-mlm corpus --out mlm --preset 1/16/2 --steps 3 --min-count 1 --threads 1
compare svd mlm pairs.tsv
"""


def build(kind, source, folder):
    """Build a wheel or an sdist from a folder; return its path."""
    folder.mkdir()
    done = run_python("-c", f"import sys; {BUILD.format(kind)}", folder, cwd=source)
    assert done.returncode == 0, done.stderr
    [built] = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """The sdist, built in a copy of the repository, since setuptools writes into it."""
    folder = tmp_path_factory.mktemp("sdist")
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("firth", *PACKAGES):
        shutil.copytree(ROOT / name, folder / "copy" / name, symlinks=True, ignore=ignored)
    for name in ("cli.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, folder / "copy")
    return build("build_sdist", folder / "copy", folder / "built")


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory):
    """The wheel, built from the sdist."""
    folder = tmp_path_factory.mktemp("wheel")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    [source] = folder.iterdir()
    return build("build_wheel", source, folder / "built")


def files_of_program():
    """Return the paths of all files of the package firth."""
    folders = [ROOT / "firth", *(ROOT / "firth" / name for name in PACKAGES)]
    paths = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(ROOT).as_posix() for path in paths if path.parent.name != "__pycache__"
    }


def test_a_wheel_has_one_top_level_name_and_all_files(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
        other = [name for name in names if archive.read(name) != (ROOT / name).read_bytes()]
    assert set(names) == files_of_program()
    assert other == []


def test_an_sdist_has_no_links(sdist):
    with tarfile.open(sdist) as archive:
        assert not any(member.issym() or member.islnk() for member in archive)


def pip(folder, *words):
    """Install packages into an environment."""
    options = ("-q", "--no-compile", "--disable-pip-version-check", "--retries", "1")
    done = run_python("-m", "pip", "--python", folder, "install", *options, *words)
    assert done.returncode == 0, done.stderr


def installed(name, wheel, folder):
    """Make an environment as docs/small-installs.md says; return the folder of its programs."""
    venv.create(folder, with_pip=False, symlinks=True)
    listed = ("-c", ROOT / "constraints.txt", "-r", ROOT / "docs" / "requirements" / f"{name}.txt")
    if name == "cpu":
        pip(folder, *listed, wheel)
    else:
        pip(folder, *listed)
        pip(folder, "--no-deps", "--no-index", wheel)
    return folder / "bin"


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """An environment with the wheel; returns the folder of its programs."""
    folder = tmp_path_factory.mktemp("environment")
    if ALL:
        return installed("cpu", wheel, folder)
    venv.create(folder, with_pip=False, symlinks=True)
    pip(folder, "--no-deps", "--no-index", wheel)
    [packages] = folder.glob("lib/python*/site-packages")
    assert sorted(path.name.split("-")[0] for path in packages.iterdir()) == ["firth", "firth"]
    # a .pth file adds the folder, but does not read the .pth file of this checkout in it
    (packages / "others.pth").write_text(str(Path(pytest.__file__).parent.parent))
    for name in files_of_program():  # as old as ours, so that our compiled kernels are valid
        shutil.copystat(ROOT / name, packages / name)
    kernels = (path for name in PACKAGES for path in (ROOT / name).rglob("*.nb[ci]"))
    for path in kernels:
        target = packages / "firth" / path.relative_to(ROOT)
        target.parent.mkdir(exist_ok=True)
        shutil.copy2(path, target)
    return folder / "bin"


def run_installed(folder, *program_and_line):
    """Run a line of words by a program in a folder, without this checkout."""
    *program, line = program_and_line
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [*program, *line.split()], cwd=folder, env=env, capture_output=True, text=True, check=False
    )


def test_an_installed_program_works_beside_files_of_our_names(environment, tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    (tmp_path / "pairs.tsv").write_text(PAIRS)
    (tmp_path / "corpora").mkdir()
    for name in ("embed.py", "pretrain.py", "cli.py", "corpora/__init__.py"):
        (tmp_path / name).write_text("raise SystemExit('another file')\n")
    python = [environment / "python", "-P"]
    programs = [*python, "-m", "firth"], [environment / "firth"]
    outputs = {}
    for line, program in zip(COMMANDS.strip().splitlines(), itertools.cycle(programs)):
        done = run_installed(tmp_path, *(python if line.startswith("-c") else program), line)
        assert done.returncode == 0, (line, done.stderr)
        outputs[line.split()[0]] = done.stdout
    version, file = outputs["-c"].split()
    assert version == firth.__version__
    assert Path(file).is_relative_to(environment.parent)
    assert len(outputs["neighbors"].splitlines()) >= 2
    assert "pairs" in outputs["compare"]


if ALL:

    def study(program, folder):
        """Run a study of one text file in a folder with nothing else; return its report."""
        folder.mkdir()
        shutil.copy2(gensim_file("lee_background.cor"), folder / "text.txt")
        done = run_installed(folder, program, "study text.txt --out out --budget 20s")
        assert done.returncode == 0, done.stderr
        page = (folder / "out" / "report.html").read_text(encoding="utf-8")
        assert page.count("<svg") > 20
        return done.stderr, page

    def test_a_study_from_the_wheel_alone_has_its_report_and_figures(environment, tmp_path):
        errors, page = study(environment / "firth", tmp_path / "study")
        assert "left out" not in errors
        for section in ("Maps of words", "Scores", "Attention", "Words in context"):
            assert f">{section}</h2>" in page

    def test_a_study_without_torch_leaves_out_what_needs_it(wheel, tmp_path):
        program = installed("no-torch", wheel, tmp_path / "environment") / "firth"
        errors, page = study(program, tmp_path / "study")
        assert "left out: firth train-mlm: this needs the package torch" in errors
        assert ">Maps of words</h2>" in page
        done = run_installed(tmp_path / "study", program, "train-mlm out/corpus --out mlm")
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)

    def test_vectors_are_served_by_few_packages(wheel, tmp_path):
        program = installed("serving", wheel, tmp_path / "environment") / "firth"
        (tmp_path / "text.txt").write_text(TEXT)
        corpus = firth.build_corpus(tmp_path / "text.txt", tmp_path / "corpus")
        firth.train_svd(corpus, firth.SvdConfig(dim=4, min_count=1), tmp_path / "svd")
        for line in (
            "neighbors svd cat", "similarity svd cat dog", "analogy svd cat dog mat", "index svd",
            "neighbors svd cat --approximate",
        ):  # fmt: skip
            done = run_installed(tmp_path, program, line)
            assert done.returncode == 0, (line, done.stderr)
        assert not list((tmp_path / "environment").glob("lib/python*/site-packages/scipy"))
