"""``firth fill-mask``: predict the pieces that are masked in a text."""

from pathlib import Path

import click

from firth.corpora.common.command import PATH, Command, device_option, option


@click.command("fill-mask", cls=Command)
@click.argument("run", type=PATH)
@click.argument("text")
@option("-k", type=click.IntRange(min=1), default=10, help="Predictions per mask.")
@option(
    "--targets",
    metavar="WORD,...",
    excludes=["-k"],
    help="Instead print the probability of these words, of any number of pieces, at the only "
    "mask, and its share of that of all of them.",
)
@device_option
@option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(run: Path, text: str, k: int, targets: str | None, device: str, as_json: bool) -> None:
    """Predict the pieces that are masked in a text.

    RUN is a run of train-mlm or a Hugging Face folder. TEXT has a [MASK] for
    each piece to predict; it is segmented into words like the run's corpus. A
    piece that starts with ## continues a word. In JSON, "answers" is a list of
    pieces or, if TEXT has several masks, a list of such lists. With --targets a
    word of several pieces takes as many masks, which are filled from left to
    right.

    \b
    Example:
        firth fill-mask out/mlm "the capital of [MASK] is paris"
        firth fill-mask out/mlm "[MASK] is the capital of [MASK]." -k 3 --json
        firth fill-mask out/mlm "the [MASK] and his queen" --targets king,bishop
    """
    from firth.corpora.common.console import padded, print_json, print_table
    from firth.pretrain.inference.mlm_encoder import open_masked

    encoder = open_masked(run, device)
    if targets is not None:
        scored = encoder.target_probabilities(text, targets.split(","))
        if as_json:
            print_json({"text": text, "targets": [target._asdict() for target in scored]})
            return
        rows = [(word, n, f"{p:.3g}", f"{share:.4f}") for word, n, p, share in scored]
        print_table(("word", "pieces", "probability", "share of these"), rows)
        return
    masks = encoder.fill_mask(text, k)
    if as_json:
        answers = [[answer._asdict() for answer in mask] for mask in masks]
        print_json({"text": text, "answers": answers if len(answers) > 1 else answers[0]})
        return
    for number, mask in enumerate(masks, 1):
        start = f"[MASK] {number} " if len(masks) > 1 else ""
        for rank, (piece, probability) in enumerate(mask, 1):
            click.echo(f"{start}{rank:>3}  {padded(piece, 20)} {probability:7.4f}")
