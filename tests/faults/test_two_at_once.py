"""Two processes that make one thing at the same time: one output, whole, and nothing beside it."""

import pytest

from tests.faults.conftest import beside, made
from tests.faults.table import CALLS, MAKERS


@pytest.mark.parametrize("name", MAKERS)
def test_one_wins_or_both_and_what_stands_is_whole(warm, shelf, place, undisturbed, name):
    _, contents = undisturbed(name)
    line = [name, *CALLS[name].line(shelf, place)]
    both = [warm.begin(line, place) for _ in range(2)]
    ended = [process.ended() for process in both]
    # of several outputs each may get one; of one, somebody must
    several = len(CALLS[name].makes) > 1
    assert several or [each.status for each in ended].count(0) >= 1, [each.said for each in ended]
    for each in ended:
        assert "Traceback" not in each.said
        if each.status:
            assert each.status == 1
            assert each.said.rstrip("\n").splitlines()[-1].startswith("Error: "), each.said
    assert {each: made(place / each) for each in CALLS[name].makes} == contents
    assert beside(place, CALLS[name].makes) == []
