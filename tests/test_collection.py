"""What pytest finds: the same tests, in the same order, in every process."""

import os
import subprocess
import sys

# Asserts are not rewritten: that takes half the time, and nothing is run.
COLLECT = (
    "import sys, time; time.sleep(float(sys.argv[1])); import pytest; sys.exit(pytest.main("
    "['--collect-only', '--assert=plain', '-p', 'no:cacheprovider', '-p', 'no:xdist']))"
)


def begin_to_collect(root, delay, hash_seed, locale):
    """A process that prints the ids of all tests, a delay in seconds from now."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.Popen(
        [sys.executable, "-c", COLLECT, str(delay)], cwd=root, text=True, stdout=subprocess.PIPE,
        env={**env, "PYTHONHASHSEED": hash_seed, "LC_ALL": locale},
    )  # fmt: skip


def test_ids_depend_on_neither_time_nor_hashes_nor_addresses_nor_locale(root):
    # xdist refuses to run where its workers, begun at different moments, collect other ids
    first = begin_to_collect(root, 0, "1", "C")
    second = begin_to_collect(root, 2, "2", "C.UTF-8")
    printed = [process.communicate()[0] for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), printed[0][-2000:]

    ids = [[line for line in text.splitlines() if "::" in line] for text in printed]
    assert any(each.startswith("tests/test_collection.py::") for each in ids[0])
    assert [pair for pair in zip(*ids, strict=True) if pair[0] != pair[1]] == []
