"""``firth generate``: continue a text, piece by piece."""

from pathlib import Path
from typing import Any

import click

from firth.corpora.common.command import PATH, Command, device_option, option
from firth.corpora.common.options import click_options
from firth.pretrain.inference.sampling import GenerateConfig


@click.command("generate", cls=Command)
@click.argument("run", type=PATH)
@click.argument("prompt")
@click_options(GenerateConfig)
@device_option
@option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(run: Path, prompt: str, device: str, as_json: bool, **options: Any) -> None:
    """Continue a text, piece by piece.

    RUN is a run of train-mlm with --objective causal or mixed. PROMPT is the beginning of
    the text; "" starts a new one. The same seed gives the same text. It ends
    after --length pieces, at the longest row of the run, or where the model ends
    it. In JSON, "pieces" are those added, with the model's probabilities.

    \b
    Example:
        firth train-mlm out/wiki --objective causal --preset tiny --out out/clm
        firth generate out/clm "the sea"
        firth generate out/clm "the sea" --temperature 0.8 --top-p 0.9 --seed 2
        firth generate out/clm "" --temperature 0 --json
    """
    from firth.corpora.common.console import print_json
    from firth.corpora.common.options import take
    from firth.corpora.common.reporting import note
    from firth.pretrain.inference.mlm_encoder import open_causal

    found = open_causal(run, device).generate(prompt, take(GenerateConfig, options))
    if as_json:
        print_json(found.to_json())
        return
    click.echo(found.text)
    if found.end == "row":
        note(f"ended after {len(found.pieces)} pieces: the longest row of the run is full")
    elif not found.pieces:
        note("nothing was added: the model ends the text here; another --seed may continue it")
