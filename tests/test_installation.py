"""Wheel and sdist: what is in them, and that an installed Firth works away from the repository.

By default the installation sees the packages of the test environment; with FIRTH_INSTALL=all
(``make test-install``) it is in an empty environment, with all that it needs.
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
from tests.run_python import run_python
from tests.source import PACKAGES, ROOT

pytestmark = pytest.mark.process

TEXT = "the cat sat on the mat . the dog sat on the rug . a cat saw a dog on the mat .\n\n" * 40
PAIRS = "cat\tdog\t9\nmat\trug\t8\ncat\tmat\t2\nthe\ta\t7\n"
BUILD = "from setuptools import build_meta; build_meta.{}(sys.argv[1])"
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


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """An environment with the wheel; returns the folder of its programs."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    options = ("-q", "--no-compile", "--disable-pip-version-check")
    pip = ("-m", "pip", "--python", folder, "install", *options)
    if os.environ.get("FIRTH_INSTALL") == "all":
        done = run_python(*pip, "-c", ROOT / "constraints.txt", wheel)
        assert done.returncode == 0, done.stderr
        return folder / "bin"
    done = run_python(*pip, "--no-deps", "--no-index", wheel)
    assert done.returncode == 0, done.stderr
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


def test_an_installed_program_works_beside_files_of_our_names(environment, tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    (tmp_path / "pairs.tsv").write_text(PAIRS)
    (tmp_path / "corpora").mkdir()
    for name in ("embed.py", "pretrain.py", "cli.py", "corpora/__init__.py"):
        (tmp_path / name).write_text("raise SystemExit('another file')\n")
    python = [environment / "python", "-P"]
    programs = [*python, "-m", "firth"], [environment / "firth"]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    outputs = {}
    for line, program in zip(COMMANDS.strip().splitlines(), itertools.cycle(programs)):
        done = subprocess.run(
            [*(python if line.startswith("-c") else program), *line.split()],
            cwd=tmp_path, env=env, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (line, done.stderr)
        outputs[line.split()[0]] = done.stdout
    version, file = outputs["-c"].split()
    assert version == firth.__version__
    assert Path(file).is_relative_to(environment.parent)
    assert len(outputs["neighbors"].splitlines()) >= 2
    assert "pairs" in outputs["compare"]
