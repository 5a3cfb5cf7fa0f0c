"""The command line: help, examples, documentation and errors."""

import importlib
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

from firth import cli
from firth.corpora.common import errors
from tests.run_python import run_python

ROOT = Path(__file__).resolve().parents[1]
NAMES = list(cli.COMMANDS)
MANY = ("compare", "learning-curve")  # their usual options are more
KINDS = [errors.FirthError, *errors.FirthError.__subclasses__()]


def load(name):
    """Return the click command of a name."""
    return importlib.import_module(cli.COMMANDS[name]).command


def test_every_command_has_a_summary_and_every_summary_a_command():
    assert list(cli.SUMMARIES) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_help_opens_with_the_summary(name):
    command = load(name)
    assert command.name == name
    assert command.help.splitlines()[0] == cli.SUMMARIES[name]


def examples(name):
    """Return the arguments of the worked examples that call this command."""
    block = load(name).help.partition("Example:")[2].replace("\\\n", " ")
    lines = [line.strip() for line in block.split("\n\n")[0].splitlines()]
    own = [line.rpartition(f"firth {name}")[2] for line in lines if f"firth {name}" in line]
    lexed = [shlex.split(line, comments=True) for line in own]
    return [words[: next((i for i, w in enumerate(words) if w in "|<>"), None)] for words in lexed]


@pytest.mark.parametrize("name", NAMES)
def test_the_help_has_a_worked_example_that_the_command_can_parse(name):
    command = load(name)
    found = examples(name)
    assert found
    for words in found:
        context = click.Context(command, info_name=name)
        _, left, _ = command.make_parser(context).parse_args(words)
        assert left == []


@pytest.mark.parametrize("name", NAMES)
def test_every_option_has_help(name):
    options = [p for p in load(name).params if isinstance(p, click.Option)]
    assert [option.name for option in options if not option.help] == []


@pytest.mark.parametrize("name", [name for name in NAMES if name not in MANY])
def test_help_shows_about_a_dozen_options_and_help_all_every_one(name):
    command = load(name)
    options = {p.opts[0] for p in command.params if isinstance(p, click.Option) and not p.hidden}
    brief = CliRunner().invoke(command, ["--help"]).stdout
    full = CliRunner().invoke(command, ["--help-all"]).stdout
    assert all(f"  {option}" in full for option in options)
    shown = {option for option in options if f"  {option}" in brief}
    assert len(shown) <= 18
    assert shown == options or "more, and exit" in brief


@pytest.mark.parametrize("name", NAMES)
def test_every_command_is_in_the_readme_or_the_docs(name):
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    assert any(f"firth {name} " in page.read_text(encoding="utf-8") for page in pages)


def test_the_help_of_firth_lists_every_command():
    result = CliRunner().invoke(cli.main, ["--help"])
    assert result.exit_code == 0
    listing = result.stdout.partition("Commands:")[2].split()
    assert [name for name in NAMES if name not in listing] == []


def run_firth(*words):
    """Run the program in a process."""
    return run_python("cli.py", *words, cwd=ROOT)


@pytest.mark.process
def test_the_version_is_printed():
    done = run_firth("--version")
    assert (done.returncode, done.stdout) == (0, "firth, version 0.1.0\n")


@pytest.mark.process
def test_an_unknown_command_is_a_usage_error_that_names_it():
    done = run_firth("train-swd")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("Error: No such command 'train-swd'.")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("neighbor", "neighbors?"),
        ("build_corpus", "build-corpus?"),
        (
            "train",
            "train-svd, train-skipgram, train-cbow, train-nplm, train-autoencoder, train-mlm?",
        ),
        ("simlarity", "similarity?"),
    ],
)
def test_a_mistyped_command_gets_suggestions(typed, meant):
    result = CliRunner().invoke(cli.main, [typed])
    assert result.exit_code == 2
    last = f"Error: No such command '{typed}'. Did you mean {meant}"
    assert result.stderr.splitlines()[-1] == last


@pytest.mark.process
def test_without_a_command_the_help_is_shown():
    done = run_firth()
    assert done.returncode == 2
    assert "Commands:" in done.stdout + done.stderr


@pytest.fixture
def failing(monkeypatch):
    """Return a function that adds a command raising the given error."""

    def plant(error):
        def fail():
            raise error

        module = SimpleNamespace(command=click.Command("fail", callback=fail))
        monkeypatch.setitem(sys.modules, "a_failing_command", module)
        monkeypatch.setitem(cli.COMMANDS, "fail", "a_failing_command")

    return plant


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_user_error_is_one_line_and_status_1(kind, failing):
    failing(kind("news.txt:4812: byte 0xE9 is not UTF-8; pass --encoding latin-1"))

    result = CliRunner().invoke(cli.main, ["fail"])

    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr == (
        "Error: news.txt:4812: byte 0xE9 is not UTF-8; pass --encoding latin-1\n"
    )


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_debug_lets_the_exception_through(kind, failing):
    failing(kind("a mistake"))

    result = CliRunner().invoke(cli.main, ["--debug", "fail"])

    assert result.exit_code == 1
    assert type(result.exception) is kind


def test_a_system_error_is_one_line(failing):
    failing(PermissionError(13, "Permission denied", "/etc/cache"))
    result = CliRunner().invoke(cli.main, ["fail"])
    assert result.exit_code == 1
    assert result.stderr == (
        "Error: /etc/cache: Permission denied (firth --debug ... shows where)\n"
    )


def test_a_message_is_one_line_even_with_newlines_in_names(failing):
    failing(errors.SourceError("a\nb: no such file"))
    assert CliRunner().invoke(cli.main, ["fail"]).stderr == "Error: a\\nb: no such file\n"


@pytest.mark.process
def test_non_utf8_names_are_printed():
    done = run_firth("build-corpus", b"b\xe9", "--out", "nowhere")
    assert done.returncode == 1
    assert done.stderr.startswith("Error: b\ufffd: no such file")


def test_bugs_keep_their_traceback(failing):
    failing(ZeroDivisionError("ours"))

    result = CliRunner().invoke(cli.main, ["fail"])

    assert isinstance(result.exception, ZeroDivisionError)


@pytest.mark.process
def test_a_real_error_is_one_line_and_debug_shows_the_traceback(tmp_path):
    words = ("neighbors", str(tmp_path / "no-run"), "king")

    plain, debug = run_firth(*words), run_firth("--debug", *words)

    assert plain.returncode == 1
    assert plain.stderr.count("\n") == 1
    assert plain.stderr.startswith(f"Error: {tmp_path / 'no-run'}")
    assert debug.returncode == 1
    assert "Traceback" in debug.stderr


@pytest.mark.process
def test_command_help_imports_nothing_slow():
    code = f"""
import sys, click
from firth.cli import main
slow = {{"torch", "gensim", "sklearn", "transformers", "pyarrow", "tokenizers", "jinja2"}}
for name in {NAMES!r}:
    command = main.get_command(click.Context(main), name)
    command.get_help(click.Context(command, info_name=name))
    if slow & set(sys.modules):
        sys.exit(f"{{name}} loads {{sorted(slow & set(sys.modules))}}")
"""
    done = run_python("-c", code, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
