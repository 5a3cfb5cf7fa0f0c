"""``firth passages``: cut the documents of a corpus into labeled passages."""

from pathlib import Path

import click

from firth.corpora.common.command import OUTPUT, PATH, Command, option


@click.command("passages", cls=Command)
@click.argument("corpus", type=PATH)
@option("--label", metavar="FIELD", required=True, help="Kept field to predict, such as author.")
@option(
    "--groups",
    metavar="FIELD",
    default="document",
    help="Kept field of the groups that are held out together, such as book; by default documents.",
)
@option("--length", type=click.IntRange(min=1), default=200, help="Words of a passage.")
@option(
    "--limit",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="At most N passages of a document, at equal distances; 0 for all.",
)
@option("--mask-names", is_flag=True, help="Leave out words mostly capitalized within sentences.")
@option("--out", type=PATH, required=True, help="TSV file to write.", group=OUTPUT)
@option("--force", is_flag=True, help="Overwrite the file at --out.", group=OUTPUT)
def command(
    corpus: Path,
    label: str,
    groups: str,
    length: int,
    limit: int,
    mask_names: bool,
    out: Path,
    force: bool,
) -> None:
    """Cut the documents of a corpus into labeled passages.

    CORPUS keeps its text and the fields. The file has the columns label, FIELD of --groups and
    text, for firth compare --groups FIELD.

    \b
    Example:
        firth build-corpus novels.jsonl --keep author,book --keep-text --out out/novels
        firth passages out/novels --label author --groups book --limit 30 --out passages.tsv
        firth compare out/svd out/mlm passages.tsv --groups book --pooling mean,attention,margin
    """
    from firth.corpora.artifacts.atomic import atomic_output
    from firth.corpora.store.corpus import Corpus
    from firth.corpora.store.passages import passages, proper_names

    opened = Corpus.open(corpus)
    with atomic_output(out, force) as partial:
        names = proper_names(opened) if mask_names else set()
        rows = passages(opened, label, groups, length, limit, names)
        lines = ["\t".join(row) + "\n" for row in [("label", groups, "text"), *rows]]
        partial.write_text("".join(lines), encoding="utf-8")
    labels, of_groups, _ = zip(*rows, strict=True)
    click.echo(
        f"{out}: {len(rows):,} passages of {length:,} words, {len({*labels}):,} labels, "
        f"{len({*of_groups}):,} groups" + f"; {len(names):,} names left out" * mask_names
    )
