"""``firth label``: label new sentences, tokens or words as a labeled file is."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from firth.corpora.common.command import OUTPUT, PATH, Command, option
from firth.corpora.common.options import click_options
from firth.embed.label.config import LabelConfig

if TYPE_CHECKING:
    from firth.embed.label.api import LabeledText, LabelScore


@click.command("label", cls=Command)
@click.argument("run", type=PATH)
@option("--train", required=True, metavar="[KIND=]FILE", help="Labeled sentences, tokens or words.")
@option("--apply", "text", required=True, metavar="TEXT", help="Lines to label: a file, or -.")
@click_options(LabelConfig)
@option("--out", type=PATH, help="A .tsv or .jsonl to write instead of printing.", group=OUTPUT)
@option("--force", is_flag=True, help="Overwrite the file at --out.", group=OUTPUT)
@option("--json", "as_json", is_flag=True, help="Print JSON.", group=OUTPUT)
def command(
    run: Path, train: str, text: str, out: Path | None, force: bool, as_json: bool, **options: Any
) -> None:
    """Label new sentences, tokens or words as a labeled file is.

    The probe of compare is trained on FILE, which takes seconds or minutes, and
    applied to TEXT: a sentence a line, or CoNLL-U for tokens; or a word a line.
    Printed as lines with tabs: the label and its probability. Accuracy and
    calibration, measured on held-out parts of FILE, are reported.

    \b
    Example:
        firth label out/svd --train sst2.train --apply reviews.txt > labels.tsv
        firth label out/mlm --train en_ewt-ud-train.conllu --apply text.txt --out tags.jsonl
        firth label out/mlm --train sst2.train --apply - --fine-tune < reviews.txt
    """
    from firth.corpora.artifacts.atomic import atomic_output, refuse_overwrite
    from firth.corpora.common.console import print_json
    from firth.corpora.common.errors import SettingError
    from firth.corpora.common.options import take
    from firth.corpora.common.reporting import note
    from firth.embed.label.api import label_text

    if out is not None:
        refuse_overwrite(out, force)
        if out.suffix not in (".tsv", ".jsonl"):
            raise SettingError(f"`out={out}`: must end in .tsv or .jsonl")
    labeled = label_text(run, train, text, take(LabelConfig, options))
    if out is not None and out.suffix == ".jsonl":
        lines = [json.dumps(vars(row), ensure_ascii=False) for row in labeled.rows]
    else:
        rows = [vars(labeled.rows[0]), *(vars(row).values() for row in labeled.rows)]
        lines = ["\t".join(str(cell).replace("\t", " ") for cell in row) for row in rows]
    if out is not None:
        with atomic_output(out, force) as partial:
            partial.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        note(f"{out}: {len(labeled.rows):,} labels")
    if as_json:
        print_json(asdict(labeled))
    elif out is None:
        click.echo("\n".join(lines))
    for line in _summary(labeled):
        note(line)


def _summary(labeled: "LabeledText") -> Iterable[str]:
    """Yield what is known of the quality of the labels."""
    yield f"cross-validation: {_scored(labeled.held_out)}"
    if labeled.held_out.low <= labeled.held_out.majority:
        yield "the probe is not surely better than always giving the most frequent label"
    if labeled.tuned and labeled.probe and labeled.difference:
        yield f"fine-tuned, on held-out items: {_scored(labeled.tuned)}"
        yield f"the probe on the same: {_scored(labeled.probe)}"
        d = labeled.difference
        yield f"difference {d.difference:+.3f} [{d.low:+.3f} {d.high:+.3f}], p {d.p:.2g}"
    if unknown := sum(bool(row.note) for row in labeled.rows):
        yield f"{unknown:,} of {len(labeled.rows):,} are unknown to the run, as their note says"


def _scored(score: "LabelScore") -> str:
    """Return the accuracy and the calibration of held-out items."""
    return (
        f"accuracy {score.accuracy:.3f} [{score.low:.3f} {score.high:.3f}] of {score.items:,}, "
        f"most frequent label {score.majority:.3f}; calibration error {score.error_before:.3f}, "
        f"{score.error_after:.3f} at temperature {score.temperature:.2f}"
    )
