"""The table of commands is whole, and what it says of each is so."""

import pytest

import cli
from tests.faults.table import ALONE, CALLS


def test_no_command_is_left_out():
    assert list(CALLS) == list(cli.COMMANDS)


@pytest.mark.parametrize("name", ALONE)
def test_undisturbed_it_makes_what_the_table_says(undisturbed, name):
    ended, contents = undisturbed(name)
    assert "Traceback" not in ended.said
    assert set(contents) == set(CALLS[name].makes)
    assert bool(contents) == bool(ended.changes) or name == "recommend"
