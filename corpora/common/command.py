"""Commands whose help has groups: the usual options with ``--help``, all with ``--help-all``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from firth.corpora.common.device import DEVICES, WHICH

OUTPUT, MACHINE = "Output", "Seeds and machine"  # groups of many commands
PATH = click.Path(path_type=Path)
SHOWS_ALL = "shows_all"  # in the ``meta`` of a context


class NumberOrAll(click.types.IntParamType):
    """A whole number, or "all"."""

    name = "integer|all"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return "all" in small letters, and anything else as a number."""
        return "all" if str(value).lower() == "all" else super().convert(value, param, ctx)


class Option(click.Option):
    """An option of a group, with its default in the help; ``--help-all`` shows also rare ones.

    It is refused without the option that it ``needs``, and beside those that it ``excludes``;
    both are written as on the command line, with a value such as ``--sort sample`` or without.
    """

    def __init__(
        self, *names: Any, group: str = "Options", rare: bool = False, needs: str = "",
        excludes: Sequence[str] = (), **settings: Any,
    ) -> None:  # fmt: skip
        shown = settings.get("default") not in (None, "")
        shown &= not {"is_flag", "multiple"} & settings.keys()
        super().__init__(*names, **{"show_default": shown, **settings})
        self.group = group
        self.rare = rare
        self.needs, self.excludes = needs, excludes


def option(*names: str, **settings: Any) -> Any:
    """Return a decorator that adds an option, as ``click.option`` does, with its group."""
    return click.option(*names, cls=Option, **settings)


def count_option(name: str, default: int, help: str, **settings: Any) -> Any:
    """Return a decorator that adds ``-n``, how many are listed; 0, for all, becomes None."""
    return option(
        "-n", name, type=click.IntRange(min=0), metavar="N", default=default,
        help=f"{help}; 0 for all.", callback=lambda _context, _option, n: n or None, **settings,
    )  # fmt: skip


# of a command that runs an encoder
device_option = option(
    "--device",
    type=click.Choice(DEVICES),
    default="auto",
    show_default=True,
    help=f"Where the encoder runs; {WHICH}",
)


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

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, and refuse an option that does nothing without another one or beside it."""
        rest = super().parse_args(ctx, args)
        given = {
            text
            for param in self.params
            if ctx.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE
            for name in param.opts
            for text in (name, f"{name} {ctx.params.get(str(param.name))}")
        }
        for param in self.params:
            if not isinstance(param, Option) or param.opts[0] not in given:
                continue
            if param.needs and param.needs not in given:
                ctx.fail(f"{param.opts[-1]} requires {param.needs}")
            if given.intersection(param.excludes):
                *most, last = param.excludes
                others = f"{', '.join(most)} or {last}" if most else last
                ctx.fail(f"{param.opts[-1]} cannot be combined with {others}")
        return rest

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
