"""``firth encode``: write contextual vectors of a text's words or lines."""

from pathlib import Path
from typing import Any

import click

from corpora.common.device import device_option
from corpora.common.options import click_options
from embed.contextual.encoded_text import EncodeConfig


@click.command("encode")
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="The .npz or .jsonl to write."
)
@click_options(EncodeConfig)
@device_option
@click.option("--force", is_flag=True, help="Overwrite the file at --out.")
def command(run: Path, file: Path, out: Path, device: str, force: bool, **options: Any) -> None:
    """Write contextual vectors of a text's words or lines.

    RUN is a run of train-mlm. FILE is UTF-8 text, one sentence or paragraph per
    line; - reads standard input. Lines are split into words as the run's corpus
    was. An .npz contains "vectors" and, per word, "words" (UTF-8, separated by
    line feeds) and "lines" (where each line's vectors start); a .jsonl one object
    per line.

    \b
    Example:
        firth encode out/mlm sentences.txt --out words.npz
        firth encode out/mlm - --per sentence --out lines.jsonl < sentences.txt
    """
    from corpora.common.options import take
    from corpora.common.reporting import note, progress
    from embed.contextual.encoded_text import encode_file, refuse_suffix
    from embed.contextual.encoders import open_encoder

    config = take(EncodeConfig, options)
    refuse_suffix(out)
    encoder = open_encoder(run, device)
    with progress("encoding", "words") as show:
        n_lines = encode_file(encoder, file, out, config, force=force, show=show)
    note(f"{out}: {n_lines:,} lines")
