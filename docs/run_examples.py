"""Run what a page shows, and write down what it prints: ``python docs/run_examples.py PAGE...``.

In each block marked ``console``, lines that begin with ``$`` are commands for bash, lines right
below that begin with ``>`` go on with them, and what follows is their standard output. A page's
commands run one after the other in an empty folder, in which ``demo`` is what ``make demo`` made.
"""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / "demo"
_BLOCK = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (.*\n(?:> .*\n)*)", re.MULTILINE)
_STAMP = re.compile(r"<!-- demo: [0-9a-f]* -->")


@dataclass(frozen=True)
class Example:
    """A command of a page, and what the page says that it prints."""

    command: str
    output: str


def examples_in(text: str) -> list[Example]:
    """Find the commands of a page.

    Parameters
    ----------
    text : str
        Markdown.

    Returns
    -------
    list of Example
        In the order of the page.
    """
    return [example for block in _BLOCK.findall(text) for example in _split(block)]


def run(command: str, folder: Path) -> str:
    """Run a command as a reader would, with the ``firth`` of this Python first on the path.

    Parameters
    ----------
    command : str
        For bash.
    folder : Path
        Where it runs.

    Returns
    -------
    str
        Its standard output, without spaces at line ends and without empty lines.

    Raises
    ------
    SystemExit
        It failed.
    """
    environment = dict(os.environ, COLUMNS="100")
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    print(f"$ {command}", file=sys.stderr)
    bash = ["bash", "-o", "pipefail", "-c", command]
    done = subprocess.run(bash, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"$ {command}\n{done.stdout}{done.stderr}")
    lines = map(str.rstrip, done.stdout.splitlines())
    return "".join(f"{line}\n" for line in lines if line)


def refresh(text: str, folder: Path) -> str:
    """Run all commands of a page, and put what they print in the place of what stands there.

    Parameters
    ----------
    text : str
        Markdown.
    folder : Path
        Where commands run.

    Returns
    -------
    str
        The page, with the mark of the runs of ``demo`` that it shows.
    """

    def made(block: re.Match[str]) -> str:
        return "".join(
            f"$ {_shown(example.command)}\n{run(example.command, folder)}"
            for example in _split(block[0])
        )

    return _STAMP.sub(stamp(), _BLOCK.sub(made, text))


def stamp() -> str:
    """Tell the runs of the demo that stand here from those of other machines and versions.

    Returns
    -------
    str
        A line of Markdown that is not shown, with a hash of all vectors and weights.
    """
    files = sorted([*DEMO.glob("*/vectors.npy"), *DEMO.glob("*/*.safetensors")])
    digest = hashlib.sha256(b"".join(hashlib.sha256(f.read_bytes()).digest() for f in files))
    return f"<!-- demo: {digest.hexdigest()[:16]} -->"


def _split(block: str) -> Iterator[Example]:
    """The examples of one block."""
    parts = _COMMAND.split(block)[1:]  # command, output, command, ...
    for command, output in zip(parts[::2], parts[1::2], strict=True):
        yield Example(command.rstrip("\n").replace("\n> ", "\n"), output)


def _shown(command: str) -> str:
    """A command as it stands on a page, without the ``$``."""
    return command.replace("\n", "\n> ")


def main(pages: list[str]) -> None:
    """Refresh pages where they stand.

    Parameters
    ----------
    pages : list of str
        Paths. A page of which a command fails stays as it is.
    """
    for page in map(Path, pages):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "demo").symlink_to(DEMO)
            page.write_text(refresh(page.read_text(encoding="utf-8"), Path(folder)), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
