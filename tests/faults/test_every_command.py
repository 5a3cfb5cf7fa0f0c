"""The table of commands is complete and correct."""

import pytest

from firth import cli
from tests.faults.table import CALLS, SINGLE


def test_every_command_is_in_the_table():
    assert CALLS.keys() == cli.COMMANDS.keys()


@pytest.mark.parametrize("name", SINGLE)
def test_a_command_makes_the_outputs_of_the_table(reference, name):
    made = reference(name)
    assert "Traceback" not in made.result.stderr
    assert bool(CALLS[name].makes) == bool(made.result.changes) or name == "recommend"
