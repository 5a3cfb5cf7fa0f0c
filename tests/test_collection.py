"""Test collection: the same tests in the same order in every process."""

import os
import subprocess
import sys

# Without assertion rewriting, which takes half the time, since nothing is run.
COLLECT = (
    "import sys, pytest; sys.exit(pytest.main("
    "['--collect-only', '--assert=plain', '-p', 'no:cacheprovider', '-p', 'no:xdist']))"
)


def by_file(ids):
    """Sort ids by file, keeping the order within each."""
    return sorted(ids, key=lambda each: each.partition("::")[0])


def test_ids_do_not_depend_on_time_hash_seed_addresses_or_locale(root, request):
    # xdist refuses to run if its workers, started at different times, collect different ids
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    other_seed = "2" if env.get("PYTHONHASHSEED") == "1" else "1"
    done = subprocess.run(
        [sys.executable, "-c", COLLECT], cwd=root, capture_output=True, text=True, check=False,
        env={**env, "PYTHONHASHSEED": other_seed, "LC_ALL": "C"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]

    here = by_file(item.nodeid for item in request.session.items)  # not all, if some were selected
    chosen = set(here)
    there = by_file(line for line in done.stdout.splitlines() if line in chosen)
    assert [pair for pair in zip(here, there, strict=True) if pair[0] != pair[1]] == []
