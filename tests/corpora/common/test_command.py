"""Help in groups: what ``--help`` shows, and ``--help-all``."""

import click
import pytest
from click.testing import CliRunner

from firth.corpora.common.command import Command, option


@click.command("brew", cls=Command)
@click.argument("beans")
@option("--out", help="The cup.", group="Output")
@option("--grind", help="How fine.", group="Taste")
@option("--bloom", help="Seconds.", group="Taste", rare=True)
@click.option("--quiet", is_flag=True, help="No noise.")
def brew(**options):
    """Brew."""
    click.echo(options)


@click.command("pour", cls=Command)
@click.option("--quiet", is_flag=True, help="No noise.")
def pour(**options):
    """Pour."""


def headings_and_options(*words, command=brew):
    """Return the lines of a help: headings, and the first word of each option."""
    lines = CliRunner().invoke(command, words).stdout.splitlines()
    start = next(number for number, line in enumerate(lines) if line.endswith(":"))
    return [line.split()[0] for line in lines[start:] if line]


def test_help_shows_the_usual_options_in_groups_and_how_many_there_are_beside_them():
    assert headings_and_options("--help") == [
        "Output:", "--out", "Taste:", "--grind", "Options:", "--quiet", "--help-all", "--help",
    ]  # fmt: skip
    assert "Show all options, 1 more, and exit." in CliRunner().invoke(brew, ["--help"]).stdout


def test_help_all_shows_every_option_in_the_same_groups():
    assert headings_and_options("--help-all") == [
        "Output:", "--out", "Taste:", "--grind", "--bloom", "Options:", "--quiet", "--help-all",
        "--help",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["--help", "--help-all"])
def test_a_command_without_rare_options_shows_the_same_by_both(name):
    assert headings_and_options(name, command=pour) == ["Options:", "--quiet", "--help"]


def test_a_rare_option_is_accepted_and_help_all_is_not_passed_on():
    done = CliRunner().invoke(brew, ["beans", "--bloom", "30"])
    assert (
        done.stdout
        == "{'bloom': '30', 'beans': 'beans', 'out': None, 'grind': None, 'quiet': False}\n"
    )
