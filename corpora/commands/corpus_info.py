"""``firth corpus-info``: describe a corpus: sizes, frequent words, type-token curve."""

from pathlib import Path
from typing import Any

import click


@click.command("corpus-info")
@click.argument("corpus", type=click.Path(path_type=Path))
@click.option(
    "-n",
    "--top",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="Frequent words to list.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
def command(corpus: Path, top: int, as_json: bool) -> None:
    """Describe a corpus: sizes, frequent words, type-token curve.

    Every file is held against its checksum first.

    \b
    Example:
        firth corpus-info out/wiki
        firth corpus-info out/wiki --json
    """
    from corpora.common.console import print_json
    from corpora.store.corpus import Corpus
    from corpora.store.statistics import describe

    opened = Corpus.open(corpus)
    opened.verify()
    about = describe(opened, n_frequent=top)
    if as_json:
        print_json(about)
    else:
        _print(about)


def _print(about: dict[str, Any]) -> None:
    """Print the measures as tables."""
    from corpora.common.console import print_table

    text = ", ".join(
        f"{name}={value}" for name, value in about["text"].items() if value is not False
    )
    rows = [
        ("documents", f"{about['documents']:,}"),
        ("paragraphs", f"{about['paragraphs']:,}"),
        ("sentences", f"{about['sentences']:,}"),
        ("tokens", f"{about['tokens']:,}"),
        ("types", f"{about['types']:,}"),
        ("hapaxes", f"{about['hapaxes']:,} ({about['hapaxes'] / about['types']:.1%} of types)"),
        ("types per token", f"{about['type_token_ratio']:.4f}"),
        ("unknown bytes", f"{about['unknown_bytes']:.2e}"),
        ("duplicate lines", f"{about['duplicate_lines']:,}"),
        (
            "held out",
            f"{about['held_out_documents']:,} documents, {about['held_out_tokens']:,} tokens",
        ),
        ("text", text),
    ]
    print_table(("", about["path"]), rows)
    frequent = [
        (entry["word"], f"{entry['count']:,}", f"{entry['documents']:,}")
        for entry in about["most_frequent"]
    ]
    print_table(("word", "tokens", "documents"), frequent)
    curve = [(f"{point['tokens']:,}", f"{point['types']:,}") for point in about["type_token_curve"]]
    print_table(("after tokens", "types"), curve)
