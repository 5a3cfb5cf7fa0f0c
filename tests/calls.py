"""Commands run in this process, and how they end."""

from typing import Any

from click.testing import CliRunner, Result

from firth import cli


def command(*words: object, **options: Any) -> Result:
    """Run a command."""
    return CliRunner().invoke(cli.main, list(map(str, words)), **options)


def output(*words: object, **options: Any) -> str:
    """Return what a command prints; it must succeed."""
    done = command(*words, **options)
    assert done.exit_code == 0, done.output
    return done.stdout


def refusal(*words: object, **options: Any) -> str:
    """Return the error of a command; it must fail and print nothing else."""
    done = command(*words, **options)
    assert (done.exit_code, done.stdout) == (1, ""), done.output
    [line] = done.stderr.splitlines()
    assert line.startswith("Error: ")
    return line.removeprefix("Error: ")
