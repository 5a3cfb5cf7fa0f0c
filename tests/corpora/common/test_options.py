"""Options stated once: checks, messages, command-line options."""

import dataclasses

import click
import numpy as np
import pytest
from click.testing import CliRunner

from firth.corpora.common.errors import SettingError
from firth.corpora.common.options import (
    ALL,
    as_command_line,
    check,
    click_options,
    describe_settings,
    setting,
    take,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class BrewConfig:
    """A config with one field of each kind."""

    window: int = setting(5, "Cups each side.", at_least=1, at_most=9)
    share: float = setting(0.75, "Share of milk.", above=0, below=1)
    roast: str = setting("dark", "How dark.", choices=("dark", "light"))
    limit: int | None = setting(None, "Most cups.", at_least=1, metavar="CUPS")
    keep_case: bool = setting(False, "Keep the case shut.")
    hot: bool = setting(False, "Serve hot or not.", opposite="iced")
    extras: tuple[str, ...] = setting((), "What else; may be given again.")
    price: float = setting(1.5, "What it costs.", at_least=0)
    tip: float | None = setting(None, "What is given.")
    reach: int = setting(2, "Farthest cup; all for any.", at_least=1, at_most=9, or_all=True)
    plain: int = 3

    def __post_init__(self):
        check(self)


def test_the_docstring_of_a_config_describes_its_settings():
    described = describe_settings(type("Brew", (BrewConfig,), {"__doc__": "How to brew."})).__doc__
    assert described.startswith(
        "How to brew.\n\nParameters\n----------\nwindow : int, default 5\n    Cups each side.\n"
    )
    assert "\nroast : {'dark', 'light'}, default 'dark'\n    How dark.\n" in described
    assert "\nlimit : int | None, default None\n    Most cups.\n" in described


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 0}, "BrewConfig.window must be at least 1, got 0"),
        ({"window": 10}, "BrewConfig.window must be at most 9, got 10"),
        ({"window": 2.5}, "BrewConfig.window must be of type int, got 2.5"),
        ({"window": True}, "BrewConfig.window must be of type int, got True"),
        ({"window": None}, "BrewConfig.window must be of type int, got None"),
        ({"window": "5"}, "BrewConfig.window must be of type int, got '5'"),
        ({"share": 0.0}, "BrewConfig.share must be above 0, got 0.0"),
        ({"share": 1}, "BrewConfig.share must be below 1, got 1"),
        ({"share": float("nan")}, "BrewConfig.share must be above 0, got nan"),
        ({"price": float("inf")}, "BrewConfig.price must be a finite number, got inf"),
        ({"tip": float("-inf")}, "BrewConfig.tip must be a finite number, got -inf"),
        ({"tip": float("nan")}, "BrewConfig.tip must be a finite number, got nan"),
        ({"roast": "pale"}, "BrewConfig.roast must be one of dark, light, got 'pale'"),
        ({"limit": 0}, "BrewConfig.limit must be at least 1, got 0"),
        ({"keep_case": 1}, "BrewConfig.keep_case must be of type bool, got 1"),
        ({"reach": 10}, "BrewConfig.reach must be at most 9, got 10"),
        ({"window": "all"}, "BrewConfig.window must be of type int, got 'all'"),
        ({"extras": 5}, "BrewConfig.extras must be of type tuple, got 5"),
    ],
)
def test_a_value_outside_its_range_is_refused(options, message):
    with pytest.raises(SettingError) as caught:
        BrewConfig(**options)
    assert str(caught.value) == message
    assert caught.value.setting == next(iter(options))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"window": 1},
        {"window": 9},
        {"share": 0.001, "roast": "light"},
        {"limit": None},
        {"limit": 1},
        {"extras": ("milk", "sugar"), "keep_case": True},
    ],
)
def test_values_inside_their_range_are_taken(options):
    config = BrewConfig(**options)
    assert {name: getattr(config, name) for name in options} == options


@pytest.mark.parametrize(
    ("options", "taken"),
    [
        ({"window": np.int64(3)}, 3),
        ({"window": 3.0}, 3),
        ({"share": np.float64(0.5)}, 0.5),
        ({"price": np.int32(3)}, 3),
        ({"keep_case": np.True_}, True),
        ({"reach": "all"}, ALL),
        ({"reach": ALL}, ALL),
        ({"roast": np.str_("light")}, "light"),
        ({"extras": ["milk", "sugar"]}, ("milk", "sugar")),
        ({"extras": "milk"}, ("milk",)),
    ],
    ids=[
        "numpy int",
        "whole float",
        "numpy float",
        "int",
        "numpy bool",
        "all",
        "number of all",
        "numpy str",
        "list",
        "one",
    ],
)
def test_what_equals_a_value_of_the_type_becomes_one(options, taken):
    (name,) = options
    value = getattr(BrewConfig(**options), name)
    assert (value, type(value)) == (taken, type(taken))


@click.command("brew")
@click_options(BrewConfig)
def brew(**options):
    """Brew."""
    click.echo(take(BrewConfig, options))


@pytest.mark.parametrize(
    ("words", "config"),
    [
        ([], BrewConfig()),
        (
            ["--window", "2", "--share", ".5", "--roast", "light", "--limit", "4"],
            BrewConfig(window=2, share=0.5, roast="light", limit=4),
        ),
        (
            ["--keep-case", "--extras", "milk", "--extras", "sugar"],
            BrewConfig(keep_case=True, extras=("milk", "sugar")),
        ),
        (["--reach", "all"], BrewConfig(reach="all")),
        (["--reach", "ALL"], BrewConfig(reach="all")),
        (["--reach", "3"], BrewConfig(reach=3)),
        (["--hot"], BrewConfig(hot=True)),
        (["--iced"], BrewConfig(hot=False)),
        (["--hot", "--iced"], BrewConfig(hot=False)),
    ],
    ids=[
        "defaults",
        "values",
        "flag and list",
        "all",
        "ALL",
        "number",
        "hot",
        "iced",
        "the last counts",
    ],
)
def test_the_command_line_gives_the_config(words, config):
    assert CliRunner().invoke(brew, words).stdout == f"{config}\n"


def test_the_help_shows_defaults_and_choices_in_field_order():
    text = " ".join(CliRunner().invoke(brew, ["--help"]).stdout.split())
    assert "Cups each side. [default: 5]" in text
    assert "--roast [dark|light] How dark. [default: dark]" in text
    assert "--limit CUPS Most cups. --keep-case" in text
    assert "--hot / --iced Serve hot or not. [default: iced]" in text
    options = [word for word in text.split() if word.startswith("--")]
    names = ["--window", "--share", "--roast", "--limit", "--keep-case"]
    names += ["--hot", "--iced", "--extras", "--price", "--tip", "--reach", "--help"]
    assert options == names  # a field without setting() is not an option


def test_a_value_that_is_not_a_number_is_a_usage_error():
    result = CliRunner().invoke(brew, ["--window", "wide"])
    assert result.exit_code == 2
    assert "Invalid value for '--window'" in result.stderr


def test_skipped_fields_are_not_options():
    @click.command()
    @click_options(BrewConfig, skip=("window",))
    def command(**options):
        """Brew less."""

    names = {option.name for option in command.params}
    assert "window" not in names
    assert "share" in names


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 0, "other": 1}, "`window` must be at least 1, got 0"),
        ({"keep_case": 1}, "`keep_case` must be of type bool, got 1"),
        ({"price": float("inf")}, "`price` must be a finite number, got inf"),
    ],
)
def test_take_checks_and_names_the_setting_without_its_class(options, message):
    with pytest.raises(SettingError) as refusal:
        take(BrewConfig, options)
    assert str(refusal.value) == message
    assert take(BrewConfig, {"window": 3, "out": "x"}) == BrewConfig(window=3)


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("a.txt: not UTF-8; pass `encoding=latin-1`", "a.txt: not UTF-8; pass --encoding latin-1"),
        ("out: exists; pass `force=True`", "out: exists; pass --force"),
        ("pass a smaller `min_count`", "pass a smaller --min-count"),
        ("`out=a b/c`: has no name", "--out a b/c: has no name"),
        ("`layers=`: give numbers", "--layers : give numbers"),
        ("no vector for '`'", "no vector for '`'"),
        ("pass a run of `train_mlm()`", "pass a run of firth train-mlm"),
        ("build one with `build_corpus()`", "build one with firth build-corpus"),
    ],
)
def test_settings_and_functions_in_a_message_become_options_and_commands(message, shown):
    assert as_command_line(message) == shown
