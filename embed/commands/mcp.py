"""``firth mcp``: answer programs that speak the Model Context Protocol."""

from pathlib import Path

import click

from firth.corpora.common.command import PATH, Command


@click.command("mcp", cls=Command)
@click.argument("corpus", type=PATH)
@click.argument("runs", nargs=-1, metavar="[RUN]...", type=PATH)
def command(corpus: Path, runs: tuple[Path, ...]) -> None:
    """Answer a language model's questions to a corpus and its runs, by MCP.

    A program that speaks the Model Context Protocol starts this command and asks it on
    standard input. Of CORPUS it gets lines and collocates; of each RUN neighbors and why
    words are near, or, if it is a run of firth change, how words change. This needs the
    extra mcp, and ends with its input.

    \b
    Example:
        firth mcp out/wiki out/svd
        firth mcp out/novels out/svd out/change
    """
    from firth.corpora.common.errors import SettingError, imported

    imported("mcp", SettingError("this needs the package mcp; pip install 'firth[mcp]'"))
    from firth.embed.commands.tools import Tools, serve

    serve(Tools(corpus, runs))
