"""``firth corpus-info``: print sizes, frequent words and the type-token curve of a corpus."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from firth.corpora.common.command import PATH, Command, count_option, option


@click.command("corpus-info", cls=Command)
@click.argument("corpus", type=PATH)
@count_option("--top", 10, "Most frequent words to list")
@option(
    "--csv",
    "as_csv",
    is_flag=True,
    help="Print only the words, without punctuation, as CSV.",
    excludes=["--json"],
)
@option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(corpus: Path, top: int | None, as_csv: bool, as_json: bool) -> None:
    """Print sizes, frequent words and the type-token curve of a corpus.

    The checksum of every file is verified first.

    \b
    Example:
        firth corpus-info out/wiki
        firth corpus-info out/wiki --json
        firth corpus-info out/wiki -n 1000 --csv > words.csv
    """
    from firth.corpora.common.console import print_csv, print_json
    from firth.corpora.store.corpus import Corpus
    from firth.corpora.store.statistics import describe, frequent_words

    opened = Corpus.open(corpus)
    opened.verify()
    if as_csv:
        words = frequent_words(opened, top)
        print_csv(list(words[0]) if words else [], [[*row.values()] for row in words])
        return
    stats = describe(opened, top=top)
    if as_json:
        print_json(stats)
    else:
        _print_tables(stats, opened.text.noun)


def counts_by_noun(stats: Mapping[str, Any]) -> dict[str, int]:
    """Return how many units of text a corpus has, or nodes, edges and walks, by their noun."""
    nouns = {noun: f"{noun}s" for noun in ("document", "paragraph", "sentence", "token", "type")}
    if "edges" in stats["tally"]:
        nouns = {"node": "types", "edge": "edges", "walk": "documents", "token": "tokens"}
    return {noun: (stats["tally"] | stats)[name] for noun, name in nouns.items()}


def held_out_text(stats: Mapping[str, Any]) -> str:
    """Describe a held-out slice, such as ``5 documents, 24,135 tokens``."""
    from firth.corpora.common.console import counted

    unit = "walk" if "edges" in stats["tally"] else stats["held_out_unit"]
    return f"{counted(stats['held_out_units'], unit)}, {counted(stats['held_out_tokens'], 'token')}"


def _print_tables(stats: dict[str, Any], noun: str) -> None:
    """Print the statistics as tables."""
    from firth.corpora.common.console import human, print_table

    text = ", ".join(
        f"{name}={value}" for name, value in stats["text"].items() if value is not False
    )
    share = stats["share_with_heads"]
    rows = [
        *((f"{unit}s", f"{n:,}") for unit, n in counts_by_noun(stats).items()),
        ("hapaxes", f"{stats['hapaxes']:,} ({stats['hapaxes'] / stats['types']:.1%} of types)"),
        ("types per token", f"{stats['type_token_ratio']:.4f}"),
        ("unknown bytes", f"{stats['unknown_bytes']:.2e}"),
        ("duplicate lines", f"{stats['duplicate_lines']:,}"),
        ("held out", held_out_text(stats)),
        ("text", text),
        *([("original text", "kept")] if stats["keeps_text"] else []),
        *([("syntactic heads", f"of {share:.1%} of tokens")] if share else []),
    ]
    print_table(("", stats["path"]), rows)
    total = f"{human(sum(stats['on_disk'].values()))}B"
    sizes = [(part, f"{human(size)}B") for part, size in stats["on_disk"].items()]
    print_table(("on disk", total), sizes)
    frequent = [
        (entry["word"], f"{entry['count']:,}", f"{entry['documents']:,}")
        for entry in stats["most_frequent"]
    ]
    texts = "walks" if "edges" in stats["tally"] else "documents"
    print_table((noun, "tokens", texts), frequent)
    curve = [(f"{point['tokens']:,}", f"{point['types']:,}") for point in stats["type_token_curve"]]
    print_table(("after tokens", "types"), curve)
