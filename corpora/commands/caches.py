"""``firth caches``: show what is cached, and remove it."""

from collections.abc import Sequence

import click

from firth.corpora.common.command import Command, option


@click.command("caches", cls=Command)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@option("--empty", is_flag=True, help="Remove these, or everything if no NAME is given.")
@option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(names: Sequence[str], empty: bool, as_json: bool) -> None:
    """Show what is cached, and remove it with --empty.

    All of it can be made or downloaded again. The cache is the folder that
    FIRTH_CACHE names, by default ~/.cache/firth. Do not empty it while another
    process uses it.

    \b
    Example:
        firth caches
        firth caches scores maps --empty
    """
    from firth.corpora.common.cache import KINDS, cache_directory, cached, empty_cache
    from firth.corpora.common.console import human, print_json, print_table
    from firth.corpora.common.errors import SettingError

    if unknown := sorted(set(names) - KINDS.keys()):
        raise SettingError(f"{unknown[0]}: no content of the cache; pass {', '.join(KINDS)}")
    chosen = {name: entry for name, entry in cached().items() if name in (names or KINDS)}
    for name in chosen if empty else ():
        empty_cache(name)
    if as_json:
        sizes = {name: size for name, (size, _) in chosen.items()}
        print_json({"path": str(cache_directory()), "emptied": empty, "bytes": sizes})
        return
    rows = [(name, f"{human(size)}B", meaning) for name, (size, meaning) in chosen.items()]
    total = sum(size for size, _ in chosen.values())
    print_table((str(cache_directory()), "removed" if empty else "size", ""), rows)
    click.echo(f"{human(total)}B{' removed' if empty else ''}")
