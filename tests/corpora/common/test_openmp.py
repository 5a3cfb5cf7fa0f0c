"""The OpenMP wait policy is set before torch is loaded, unless the user has set one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[3]
SETTINGS = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
TOLD = f"import os; print(*(os.environ.get(name, '-') for name in {SETTINGS!r}))"
# `firth train-mlm` imports torch before it looks for the (missing) corpus
TRAIN = "from firth.cli import main; main(['train-mlm', 'no-such-corpus', '--out', 'no-such-run'])"


def run(code, **settings):
    """Run a new interpreter with only these settings in its environment."""
    kept = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={**kept, **settings}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip


def test_importing_the_package_sets_the_policy_and_no_part_imports_torch():
    parts = "firth.cli, firth.pretrain, firth.embed.svd.truncated_svd"
    done = run(f"import firth; {TOLD}; import sys, {parts}; assert 'torch' not in sys.modules")
    assert (done.returncode, done.stdout.split()) == (0, ["-", "10000"]), done.stderr


@pytest.mark.parametrize("name", SETTINGS)
def test_the_users_setting_is_kept(name):
    done = run(f"import firth; {TOLD}", **{name: "7"})
    assert done.stdout.split() == ["7" if each == name else "-" for each in SETTINGS]


@pytest.mark.skipif(sys.platform != "linux", reason="torch brings GNU's OpenMP on Linux")
@pytest.mark.parametrize(
    ("code", "settings", "spins"),
    [(TRAIN, {}, 10000), ("import firth.pretrain.device", {"OMP_WAIT_POLICY": "passive"}, 0)],
    ids=["train-mlm", "passive"],
)
def test_openmp_uses_the_policy_when_torch_runs(code, settings, spins):
    done = run(code, OMP_DISPLAY_ENV="verbose", **settings)
    assert f"GOMP_SPINCOUNT = '{spins}'" in done.stderr
