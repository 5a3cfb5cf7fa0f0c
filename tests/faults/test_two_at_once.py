"""Two processes that make the same output at the same time: one intact output, no leftovers."""

import pytest

from tests.faults.conftest import leftovers
from tests.faults.table import CALLS, WRITERS


@pytest.mark.parametrize("name", WRITERS)
def test_one_or_both_processes_succeed_and_the_output_is_intact(work, name):
    both = [work.server.start(work.words(), work.folder) for _ in range(2)]
    results = [process.wait() for process in both]
    # with several outputs, each process may win one; with a single output, one must succeed
    several = len(CALLS[name].makes) > 1
    assert several or 0 in [each.status for each in results], [each.stderr for each in results]
    for each in results:
        assert "Traceback" not in each.stderr
        if each.status:
            assert each.status == 1
            assert each.stderr.rstrip("\n").splitlines()[-1].startswith("Error: "), each.stderr
    assert work.contents() == work.expected.contents
    assert leftovers(work.folder, CALLS[name].makes) == []
