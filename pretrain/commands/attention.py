"""``firth attention``: show what each piece of a sentence attends to, by layer and head."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from firth.corpora.common.command import PATH, Command, option

if TYPE_CHECKING:
    from firth.pretrain.inference.attention_weights import SentenceAttention


@click.command("attention", cls=Command)
@click.argument("run", type=PATH)
@click.argument("sentence")
@option(
    "--layer",
    type=int,
    help="Only this layer, from 0; all with attention by default. Its states are layer N + 1 of "
    "firth encode.",
)
@option("--head", type=int, help="Only this head, from 0; all by default.")
@option("--plot", type=PATH, metavar="FILE", help="Draw a .png or .svg file.")
@option("--force", is_flag=True, needs="--plot", help="Overwrite the file at --plot.")
@option("--json", "as_json", is_flag=True, help="Print all weights as JSON.")
def command(
    run: Path,
    sentence: str,
    layer: int | None,
    head: int | None,
    plot: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Show what each piece of a sentence attends to, by layer and head.

    RUN is a run of train-mlm; [MASK] in SENTENCE is a mask. For a run of
    --objective transduce SENTENCE is a source, perhaps with a tab and its tags,
    and shown is what each unit of its target reads of it. Without --plot and
    --json, a table shows for each piece and layer the piece it attends to most,
    with the weight averaged over the heads. The picture has a matrix for each
    layer and head, and needs the extra plots.

    \b
    Example:
        firth attention out/mlm "the cat sat on the mat"
        firth attention out/mlm "the cat sat on the mat" --plot cat.svg
    """
    from firth.corpora.artifacts.atomic import refuse_overwrite
    from firth.corpora.artifacts.figures import picture_kind
    from firth.corpora.common.console import print_json
    from firth.corpora.common.reporting import note
    from firth.pretrain.inference.attention_picture import draw_attention
    from firth.pretrain.inference.attention_weights import attend

    if plot is not None:  # before any work
        picture_kind(plot)
        refuse_overwrite(plot, force)
    attention = attend(run, sentence, layer=layer, head=head)
    if plot is not None:
        draw_attention(attention, plot, force=force)
        note(f"{plot}: {len(attention.layers)} layers x {len(attention.heads)} heads")
    if as_json:
        print_json(attention.to_json())
    elif plot is None:
        _print(attention)


def _print(attention: "SentenceAttention") -> None:
    """Print a line for each piece, with a column for each layer."""
    from firth.corpora.common.console import print_table

    rows = [
        [piece, *(f"{other} {weight:.2f}" for other, weight in by_layer)]
        for piece, by_layer in zip(attention.pieces, attention.strongest(), strict=True)
    ]
    print_table(["piece", *(f"layer {layer}" for layer in attention.layers)], rows)
