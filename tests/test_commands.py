"""The command line: help, examples, documentation and errors."""

import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

import firth
from firth import cli
from firth.corpora.common import errors
from tests.calls import command, output
from tests.run_python import run_python

ROOT = Path(__file__).resolve().parents[1]
NAMES = list(cli.COMMANDS)
KINDS = [errors.FirthError, *errors.FirthError.__subclasses__()]


@pytest.mark.parametrize("name", NAMES)
def test_the_help_opens_with_the_summary_and_tells_every_option(name):
    command = cli.load_command(name)
    assert command.name == name
    assert command.help.splitlines()[0] == cli.COMMANDS[name][1]
    options = [p for p in command.params if isinstance(p, click.Option)]
    assert [option.name for option in options if not option.help] == []


def examples(name):
    """Return the arguments of the worked examples that call this command."""
    block = cli.load_command(name).help.partition("Example:")[2].replace("\\\n", " ")
    lines = [line.strip() for line in block.split("\n\n")[0].splitlines()]
    own = [line.rpartition(f"firth {name}")[2] for line in lines if f"firth {name}" in line]
    lexed = [shlex.split(line, comments=True) for line in own]
    return [words[: next((i for i, w in enumerate(words) if w in "|<>"), None)] for words in lexed]


@pytest.mark.parametrize("name", NAMES)
def test_the_help_has_a_worked_example_that_the_command_can_parse(name):
    command = cli.load_command(name)
    found = examples(name)
    assert found
    for words in found:
        context = click.Context(command, info_name=name)
        _, left, _ = command.make_parser(context).parse_args(words)
        assert left == []


@pytest.mark.parametrize("name", NAMES)
def test_an_option_means_the_same_in_every_command(name):
    command = cli.load_command(name)
    options = {each: p for p in command.params for each in p.opts if isinstance(p, click.Option)}
    rows, words = options.get("-n", options.get("--top")), options.get("--words")
    assert rows is None or rows.opts in (["-n", "--top"], ["-n", "--lines"])
    assert rows is None or rows.help.endswith("; 0 for all.")
    assert words is None or words.metavar == "WORD,..."


@pytest.mark.parametrize("name", NAMES)
def test_help_shows_about_a_dozen_options_and_help_all_every_one(name):
    command = cli.load_command(name)
    options = {p.opts[0] for p in command.params if isinstance(p, click.Option) and not p.hidden}
    brief = CliRunner().invoke(command, ["--help"]).stdout
    full = CliRunner().invoke(command, ["--help-all"]).stdout
    assert all(f"  {option}" in full for option in options)
    shown = {option for option in options if f"  {option}" in brief}
    assert len(shown) <= 18
    assert shown == options or "more, and exit" in brief


def test_the_help_of_firth_lists_every_command():
    lines = output("--help").splitlines()
    listed = [line.split()[0] for line in lines[lines.index("Text:") :] if line[:3].strip()]
    groups = [f"{heading}:" for heading in cli.GROUPS.values()]
    assert [name for name in listed if name in NAMES] == NAMES
    assert [line for line in lines if line in groups] == groups
    without = command()
    assert (without.exit_code, "Training:" in without.output) == (2, True)


def test_every_command_is_in_the_readme_or_the_docs():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert [name for name in NAMES if f"firth {name} " not in text] == []


def run_firth(*words):
    """Run the program in a process."""
    return run_python("cli.py", *words, cwd=ROOT)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("neighbor", "neighbors?"),
        ("build_corpus", "build-corpus?"),
        ("train", ", ".join(name for name in NAMES if name.startswith("train-")) + "?"),
        ("simlarity", "similarity?"),
    ],
)
def test_a_mistyped_command_gets_suggestions(typed, meant):
    result = command(typed)
    assert result.exit_code == 2
    last = f"Error: No such command '{typed}'. Did you mean {meant}"
    assert result.stderr.splitlines()[-1] == last


@pytest.fixture
def failing(monkeypatch):
    """Return a function that adds a command raising the given error."""

    def plant(error):
        def fail():
            raise error

        module = SimpleNamespace(command=click.Command("fail", callback=fail))
        monkeypatch.setitem(sys.modules, "firth.embed.commands.fail", module)
        monkeypatch.setitem(cli.COMMANDS, "fail", ("embed", "Fail."))

    return plant


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_user_error_is_one_line_and_status_1(kind, failing):
    failing(kind("news.txt:4812: byte 0xE9 is not UTF-8; pass --encoding latin-1"))
    result = command("fail")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "Error: news.txt:4812: byte 0xE9 is not UTF-8; pass --encoding latin-1\n"
    )
    debugged = command("--debug", "fail")
    assert (debugged.exit_code, type(debugged.exception)) == (1, kind)


def test_other_errors_are_one_line_or_keep_their_traceback(failing):
    failing(PermissionError(13, "Permission denied", "/etc/cache"))
    result = command("fail")
    assert (result.exit_code, result.stderr) == (
        1, "Error: /etc/cache: Permission denied (firth --debug ... shows where)\n",
    )  # fmt: skip
    failing(errors.SourceError("a\nb: no such file"))
    assert command("fail").stderr == "Error: a\\nb: no such file\n"
    failing(ZeroDivisionError("ours"))
    assert isinstance(command("fail").exception, ZeroDivisionError)


@pytest.mark.process
def test_the_version_and_names_that_are_not_utf_8_are_printed():
    done = run_firth("--version")
    assert (done.returncode, done.stdout) == (0, f"firth, version {firth.__version__}\n")
    done = run_firth("build-corpus", b"b\xe9", "--out", "nowhere")
    assert done.returncode == 1
    assert done.stderr.startswith("Error: b\ufffd: no such file")


@pytest.mark.process
def test_a_real_error_is_one_line_and_debug_shows_the_traceback(tmp_path):
    words = ("neighbors", str(tmp_path / "no-run"), "king")
    plain, debug = run_firth(*words), run_firth("--debug", *words)
    assert (plain.returncode, plain.stderr.count("\n")) == (1, 1)
    assert plain.stderr.startswith(f"Error: {tmp_path / 'no-run'}")
    assert (debug.returncode, "Traceback" in debug.stderr) == (1, True)


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


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        ("concordance c sea --window 3", "--window requires --near"),
        ("concordance c sea --seed 2", "--seed requires --sort sample"),
        ("concordance c sea --seed 2 --sort left", "--seed requires --sort sample"),
        ("corpus-info c --csv --json", "--csv cannot be combined with --json"),
        ("differ a b --top 5 --words x", "--top cannot be combined with --words"),
        ("differ a b --seed 2 --permutations 0", "--seed cannot be combined with --permutations 0"),
        ("explore r --html p --port 80", "--port cannot be combined with --html"),
        ("explore r --html p --no-browser", "--no-browser cannot be combined with --html"),
        ("explore r --force", "--force requires --html"),
        ("map r a b --force", "--force requires --plot"),
        ("attention r text --force", "--force requires --plot"),
        ("change c -n 5 --words x", "--top cannot be combined with --words"),
        ("collocates c sea --csv --json", "--csv cannot be combined with --json"),
    ],
)
def test_an_option_that_does_nothing_without_or_beside_another_is_refused(words, refused):
    done = command(*words.split())
    assert (done.exit_code, done.stderr.splitlines()[-1]) == (2, f"Error: {refused}")


def test_an_option_is_accepted_with_what_it_needs():
    for words in ("concordance no sea --seed 2 --sort sample", "differ no b --seed 2 --top 3"):
        assert command(*words.split()).exit_code == 1  # there is no such corpus or run
