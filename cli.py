"""The command line: ``firth`` or ``python cli.py``. Parse, call one function, print."""

import contextlib
import difflib
import errno
import importlib
import io
import itertools
import os
import pkgutil
import sys
import threading
from collections.abc import Iterator
from typing import Any

import click

from firth import __version__
from firth.corpora.common.errors import FirthError, needed_packages
from firth.corpora.common.options import as_command_line
from firth.embed.registry import METHODS

if __name__ == "cli":
    raise ImportError("this is a part of Firth: import firth, or firth.cli")

# seconds for which a process waits for the first of its machine to report the same error
_PATIENCE = 60.0

# Command to its package and its summary, in the order of a first session. The summary is the first
# line of the command's help (a test holds it true), so that --help imports no command.
COMMANDS = {
    "study": ("embed", "Train every method on one text, compare them, and write a report."),
    "build-corpus": ("corpora", "Encode text into a corpus for all methods."),
    "corpus-info": ("corpora", "Print sizes, frequent words and the type-token curve of a corpus."),
    "concordance": ("corpora", "Print occurrences of a word or phrase with the text around them."),
    "collocates": ("corpora", "Print the words that stand near a word more often than elsewhere."),
    "passages": ("corpora", "Cut the documents of a corpus into labeled passages."),
    **{
        f"train-{name}": (method.train.split(".")[1], method.summary)
        for name, method in METHODS.items()
        if method.summary
    },
    "neighbors": ("embed", "Print the nearest neighbors of words by cosine."),
    "search": ("embed", "Find the lines or documents that are nearest to a text by cosine."),
    "similarity": ("embed", "Print the cosine of two words, or those of A with B and with C."),
    "analogy": ("embed", "Find the word that is to C as B is to A."),
    "predict": ("embed", "Predict ratings of words from rated words, or place words on an axis."),
    "label": ("embed", "Label new sentences, tokens or words as a labeled file is."),
    "map": ("embed", "Draw the first two principal components of words' vectors."),
    "why": ("embed", "Show what makes two words near: the contexts they share, with sentences."),
    "explore": ("embed", "Look at runs and their text in the browser."),
    "mcp": ("embed", "Answer a language model's questions to a corpus and its runs, by MCP."),
    "index": ("embed", "Make an index of a run for approximate nearest neighbors."),
    "compare": ("embed", "Score runs against each other and against one-hot vectors."),
    "learning-curve": ("embed", "Show how each method's scores grow with the size of the text."),
    "recommend": ("embed", "Recommend a method and settings for a corpus, with the evidence."),
    "differ": ("embed", "Sort words by how much their neighborhoods differ between two runs."),
    "align": ("embed", "Map the vectors of A into the space of B."),
    "change": ("embed", "Sort words by how surely and how far they change between periods."),
    "regress": ("embed", "Regress what a word means on the fields of its documents."),
    "fill-mask": ("pretrain", "Predict the pieces that are masked in a text."),
    "score": (
        "embed",
        "Print how surprising sentences and their words are to a language model.",
    ),
    "transduce": ("pretrain", "Write the targets of sources by a model of pairs."),
    "generate": ("pretrain", "Continue a text, piece by piece."),
    "reorder": ("pretrain", "Put the words of a sentence in order."),
    "encode": ("embed", "Write contextual vectors of a text's words or lines."),
    "pool": ("embed", "Pool an encoder's states into one vector per word."),
    "attention": ("pretrain", "Show what each piece of a sentence attends to, by layer and head."),
    "attend": ("embed", "Show how much each word of a sentence contributes to its label."),
    "refine": ("embed", "Center, whiten, reduce or retrofit the vectors of a run."),
    "export": ("embed", "Write a run's vectors or model in another program's format."),
    "publish": ("embed", "Copy a run without text, paths and URLs, to share it."),
    "caches": ("corpora", "Show what is cached, and remove it with --empty."),
}
# First command of each group to its heading.
GROUPS = {
    "study": "Text",
    "train-svd": "Training",
    "neighbors": "Questions to vectors",
    "compare": "Comparison and change",
    "fill-mask": "Language models, files and upkeep",
}


def load_command(name: str) -> click.Command:
    """Import a command: ``command`` in the module of its name."""
    module = f"firth.{COMMANDS[name][0]}.commands.{name.replace('-', '_')}"
    command: click.Command = pkgutil.resolve_name(f"{module}:command")
    return command


class FirthGroup(click.Group):
    """A lazy group that reports user errors in one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the commands in the order of a first session."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import one command."""
        return load_command(name) if name in COMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or suggest similar names."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            typed = args[0].replace("_", "-")
            near = [name for name in COMMANDS if typed in name.split("-")]
            near = near or difflib.get_close_matches(typed, COMMANDS, n=3)
            if near:
                ctx.fail(f"No such command '{args[0]}'. Did you mean {', '.join(near)}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands in groups, without importing any."""
        names = list(COMMANDS)
        starts = [*map(names.index, GROUPS), len(names)]
        for heading, span in zip(GROUPS.values(), itertools.pairwise(starts), strict=True):
            with formatter.section(heading):
                formatter.write_dl([(name, COMMANDS[name][1]) for name in names[slice(*span)]])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a FirthError becomes one line and exit status 1."""
        from firth.corpora.common.console import TerminalReporter
        from firth.corpora.common.reporting import reporting_to

        try:
            with reporting_to(TerminalReporter(as_options=True)), needed_packages():
                return super().invoke(ctx)
        except FirthError as error:
            if ctx.params.get("debug"):
                raise
            raise _refusal(as_command_line(str(error))) from error
        except OSError as error:  # a refusal of the system, not a bug
            if ctx.params.get("debug") or error.errno in (None, errno.EPIPE):
                raise
            where = f"{error.filename}: " if error.filename else ""
            message = f"{where}{error.strerror} (firth --debug ... shows where)"
            raise _refusal(message) from error


def _refusal(message: str) -> click.ClickException:
    """Return the error of one line; line breaks, which file names may contain, are escaped."""
    return click.ClickException(message.replace("\n", "\\n").replace("\r", "\\r"))


def _prepare_streams() -> None:
    """Print UTF-8 in any locale; escape what is not valid text, or what a terminal would obey."""
    from firth.corpora.common.console import Terminal
    from firth.corpora.common.system import WINDOWS, system

    if system() == WINDOWS:  # whose terminals obey escape sequences only when asked to
        with contextlib.suppress(ImportError):  # click brings it
            importlib.import_module("colorama").just_fix_windows_console()
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")
            if stream.isatty():
                setattr(sys, name, Terminal.of(stream))


@click.group(cls=FirthGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(__version__, prog_name="firth")
def main(debug: bool) -> None:
    """Train, query and compare word vectors from one encoded corpus.

    \b
    Example:
        firth build-corpus wiki-sample --out out/wiki
        firth train-svd out/wiki --out out/svd
        firth neighbors out/svd king paris
        firth compare out/svd

    To begin with your own text: firth study YOUR-FOLDER --out OUT does all of it. Each
    command has examples: firth study --help.
    """
    _prepare_streams()


def _is_follower() -> bool:
    """Return whether torchrun started this process and another one before it on this machine."""
    return "TORCHELASTIC_RUN_ID" in os.environ and os.environ.get("LOCAL_RANK") != "0"


@contextlib.contextmanager
def _held_messages() -> Iterator[None]:
    """Hold messages until the processes have joined, so that an error of all is printed once.

    The first process prints it and ends; torchrun then ends this one, which waits for that. An
    error of this process alone is printed after the wait.
    """
    from firth.corpora.common.console import hold_messages, release_messages

    hold_messages()
    try:
        yield
    except BaseException as error:
        if isinstance(error, SystemExit) and not error.code:
            raise
        release_messages(wait=_PATIENCE)
        raise


def run() -> None:
    """Run the command line as a process of its own, which does not outlive a failed command.

    Python waits for threads at its end, but after Ctrl-C nobody needs their results. What is
    half-written then is left as by a kill, and so is never taken for complete.
    """
    os.environ["PYTHONSAFEPATH"] = "1"  # processes that libraries start import nothing from here
    try:
        with _held_messages() if _is_follower() else contextlib.nullcontext():
            main(prog_name="firth")
    except SystemExit as end:
        if not end.code or threading.active_count() == 1:
            raise
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or missing
                stream.flush()
        os._exit(end.code if isinstance(end.code, int) else 1)


if __name__ == "__main__":
    from firth import cli  # under its own name, so that no class exists twice

    if not os.path.samefile(cli.__file__, __file__):  # with python -P
        sys.exit(f"{__file__}: Firth is installed from {cli.__file__}; run that, or drop -P")
    cli.run()
