"""The scripts of the pages: their pure parts, tested by the runner of Node.js."""

import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

FOLDER = Path(__file__).parent
NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="node is not on PATH")
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.test.mjs")), ids=lambda path: path.stem)
def test_the_tests_of_a_script_pass(path):
    done = subprocess.run([NODE, "--test", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
