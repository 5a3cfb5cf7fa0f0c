"""Two processes that make the same output at the same time: one intact output, no leftovers."""

import pytest

from tests.faults.conftest import content_hash, leftovers
from tests.faults.table import CALLS, WRITERS


@pytest.mark.parametrize("name", WRITERS)
def test_one_or_both_processes_succeed_and_the_output_is_intact(
    server, inputs, workdir, reference, name
):
    _, contents = reference(name)
    line = [name, *CALLS[name].line(inputs, workdir)]
    both = [server.start(line, workdir) for _ in range(2)]
    results = [process.wait() for process in both]
    # with several outputs, each process may win one; with a single output, one must succeed
    several = len(CALLS[name].makes) > 1
    statuses = [each.status for each in results]
    assert several or 0 in statuses, [each.stderr for each in results]
    for each in results:
        assert "Traceback" not in each.stderr
        if each.status:
            assert each.status == 1
            assert each.stderr.rstrip("\n").splitlines()[-1].startswith("Error: "), each.stderr
    assert {each: content_hash(workdir / each) for each in CALLS[name].makes} == contents
    assert leftovers(workdir, CALLS[name].makes) == []
