"""``firth encode``: write contextual vectors of a text's words or lines."""

from pathlib import Path
from typing import Any

import click

from firth.corpora.common.command import OUTPUT, PATH, Command, device_option, option
from firth.corpora.common.options import click_options
from firth.embed.contextual.encoded_text import EncodeConfig


@click.command("encode", cls=Command)
@click.argument("run", type=PATH)
@click.argument("file", type=PATH)
@option(
    "--out",
    required=True,
    type=PATH,
    help="The .npz or .jsonl to write, or a folder for firth search.",
    group=OUTPUT,
)
@click_options(EncodeConfig)
@option(
    "--sif",
    is_flag=True,
    excludes=["--layers", "--per word", "--device"],
    help="Write a vector per line from RUN's word vectors: their mean, weighted by frequency, less "
    "what lines have in common, which is learned from RUN's corpus once and kept in RUN.",
)
@option(
    "--map",
    "mapped",
    is_flag=True,
    needs="--sif",
    help="Instead of subtracting what lines have in common, map their vectors to where neighboring "
    "sentences of RUN's corpus are near each other.",
)
@option(
    "--fit",
    is_flag=True,
    needs="--sif",
    help="Learn what lines have in common, or the map, from FILE instead, and keep it in RUN.",
)
@device_option
@option("--force", is_flag=True, help="Overwrite the file at --out.", group=OUTPUT)
def command(
    run: Path,
    file: Path,
    out: Path,
    sif: bool,
    mapped: bool,
    fit: bool,
    device: str,
    force: bool,
    **options: Any,
) -> None:
    """Write contextual vectors of a text's words or lines.

    RUN is a run of train-mlm. FILE is UTF-8 text, one sentence or paragraph per
    line, or a corpus; - reads standard input. Lines are split into words as the
    run's corpus was. An .npz contains "vectors" and, per word, "words" (UTF-8,
    separated by line feeds) and "lines" (where each line's vectors start); a .jsonl
    one object per line; a folder is a run of lines, which firth search, index and
    neighbors take. With --sif RUN is any run with word vectors and counts, and a
    line alone gets the same vector as in a file.

    \b
    Example:
        firth encode out/mlm sentences.txt --out words.npz
        firth encode out/mlm - --per sentence --out lines.jsonl < sentences.txt
        firth encode out/skipgram sentences.txt --sif --out lines.npz
        firth encode out/svd out/wiki --sif --out out/documents
    """
    from firth.corpora.common.options import take
    from firth.corpora.common.reporting import note, progress
    from firth.embed.contextual.encoded_text import encode_file, refuse_suffix
    from firth.embed.contextual.encoders import encoded_by, encoder_run, open_encoder

    config = take(EncodeConfig, options)
    refuse_suffix(out)
    if sif:
        per = None if config.per == "word" else config.per
        _encode_sif(run, file, out, per=per, mapped=mapped, fit=fit, force=force)
        return
    with progress("encoding", "words") as show:
        encoder = open_encoder(run, device)
        about = encoded_by(encoder_run(run))
        n_lines = encode_file(encoder, file, out, config, about=about, force=force, show=show)
    note(f"{out}: {n_lines:,} lines")


def _encode_sif(run: Path, file: Path, out: Path, **settings: Any) -> None:
    """Write a vector per line from the word vectors of a run."""
    from firth.corpora.common.reporting import note
    from firth.embed.contextual.sif import encode_lines

    counts = encode_lines(run, file, out, **settings)
    have = "has" if counts.unknown == 1 else "have"
    end = f"; {counts.unknown:,} {have} no vector" if counts.unknown else ""
    whole = file.is_dir() and settings["per"] != "sentence"
    lines = ("document" if whole else "line") + "s" * (counts.lines != 1)
    note(f"{out}: {counts.lines:,} {lines} of {counts.words:,} words{end}")
    if whole and counts.lines == 1:
        note(f"{out}: cannot be searched for a place in the document; --per sentence can")
