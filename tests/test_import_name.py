"""One import name: ``firth``. Short names, copies of the repository and other installations."""

import importlib
import multiprocessing
import os
import shutil
from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.run_python import run_python
from tests.source import PACKAGES, ROOT

pytestmark = pytest.mark.process

SHORT = (*PACKAGES, "cli")


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the repository in a folder of another name, without compiled kernels."""
    folder = tmp_path_factory.mktemp("copies") / "my copy"
    for name in ("firth", *PACKAGES):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=ignored)
    shutil.copy2(ROOT / "cli.py", folder)
    return folder


@pytest.mark.parametrize("name", SHORT)
def test_short_names_are_refused(name):
    # the root of the repository is on the path of pytest, and on that of workers
    with pytest.raises(ImportError, match=f"import firth, or firth.{name}"):
        importlib.import_module(name)
    done = run_python("-c", f"import {name}", cwd=ROOT)
    assert done.stderr.splitlines()[-1].startswith("ImportError: this is a part of Firth: ")


def test_short_names_are_refused_in_a_spawned_worker():
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        imports = {name: pool.submit(importlib.import_module, name) for name in SHORT}
        errors = {name: work.exception() for name, work in imports.items()}
    assert {name: type(error) for name, error in errors.items()} == dict.fromkeys(
        SHORT, ImportError
    )


def test_a_checkout_runs_under_any_name(copy, tmp_path):
    done = run_python(copy / "cli.py", "--help", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    code = "import sys, firth.cli; print(firth.cli.__file__, 'embed' in sys.modules)"
    done = run_python("-c", code, cwd=copy)
    assert done.stdout.split("\n")[0] == f"{copy / 'firth' / 'cli.py'} False", done.stderr


def test_another_installation_is_not_run_unnoticed(copy, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = run_python("-P", copy / "cli.py", "--help", cwd=tmp_path, env=environment)
    assert done.returncode == 1
    assert done.stderr == (
        f"{copy / 'cli.py'}: Firth is installed from {ROOT / 'firth' / 'cli.py'}; run that, or "
        "drop -P\n"
    )


def test_a_checkout_without_links_names_the_remedy(tmp_path):
    (tmp_path / "firth").mkdir()
    for file in (ROOT / "firth").glob("__init__.*"):
        shutil.copy(file, tmp_path / "firth")
    for name in PACKAGES:
        (tmp_path / "firth" / name).write_text(f"../{name}")  # as Git on Windows does
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("*[!_].py"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}  # has what is missing
    done = run_python("-c", "import firth", cwd=tmp_path, env=environment)
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: {tmp_path / 'firth'}: this checkout has no links; run: "
        "git config core.symlinks true && git checkout -- firth"
    )


def test_the_links_of_this_checkout_lead_to_its_files():
    for name in PACKAGES:
        assert os.path.samefile(ROOT / "firth" / name, ROOT / name)
    assert os.path.samefile(ROOT / "firth" / "cli.py", ROOT / "cli.py")
    assert os.path.samefile(importlib.import_module("firth").__file__, ROOT / "firth/__init__.py")
