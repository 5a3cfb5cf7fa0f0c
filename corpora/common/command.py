"""Commands whose help has groups: the usual options with ``--help``, all with ``--help-all``."""

from pathlib import Path
from typing import Any

import click

OUTPUT, MACHINE = "Output", "Seeds and machine"  # groups of many commands
PATH = click.Path(path_type=Path)
SHOWS_ALL = "shows_all"  # in the ``meta`` of a context


class Option(click.Option):
    """An option of a group, with its default in the help; ``--help-all`` shows also rare ones."""

    def __init__(
        self, *names: Any, group: str = "Options", rare: bool = False, **settings: Any
    ) -> None:
        shown = settings.get("default") not in (None, "")
        shown &= not {"is_flag", "multiple"} & settings.keys()
        super().__init__(*names, **{"show_default": shown, **settings})
        self.group = group
        self.rare = rare


def option(*names: str, **settings: Any) -> Any:
    """Return a decorator that adds an option, as ``click.option`` does, with its group."""
    return click.option(*names, cls=Option, **settings)


class Command(click.Command):
    """A command with ``--help-all``; options without a group are in the last."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, with ``--help-all`` before ``--help``."""
        *params, last = super().get_params(ctx)
        n_rare = sum(_is_rare(param) for param in params)
        text = f"Show all options, {n_rare} more, and exit."
        show_all = click.Option(
            ["--help-all"], is_flag=True, expose_value=False, is_eager=True, help=text,
            callback=_print_all, hidden=not n_rare,
        )  # fmt: skip
        return [*params, show_all, last]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by groups."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None and (SHOWS_ALL in ctx.meta or not _is_rare(param)):
                groups.setdefault(getattr(param, "group", "Options"), []).append(record)
        for heading in sorted(groups, key=lambda heading: heading == "Options"):
            with formatter.section(heading):
                formatter.write_dl(groups[heading])


def _is_rare(param: click.Parameter) -> bool:
    """Return whether only ``--help-all`` shows an option."""
    return isinstance(param, Option) and param.rare and not param.hidden


def _print_all(ctx: click.Context, param: click.Parameter, given: bool) -> None:
    """Print the help with all options."""
    if given and not ctx.resilient_parsing:
        ctx.meta[SHOWS_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()
