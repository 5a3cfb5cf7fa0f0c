"""``firth label``: label new sentences, tokens or words as a labeled file is."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from firth.corpora.common.command import OUTPUT, PATH, Command, option
from firth.corpora.common.options import click_options
from firth.embed.label.config import LabelConfig

if TYPE_CHECKING:
    from firth.embed.label.api import LabeledText, LabelScore, PredictedLabel

_SUFFIXES = (".tsv", ".jsonl", ".conllu")
_COLUMNS = ("text", "label", "probability", "second", "second_probability", "note", "sentence")


@click.command("label", cls=Command)
@click.argument("run", type=PATH)
@option(
    "--train",
    required=True,
    metavar="[KIND=]FILE[,DEV]",
    help="Labeled sentences, tagged tokens, or words with labels, as compare takes them.",
)
@option(
    "--apply", "text", required=True, metavar="TEXT", help="A file, - or a corpus to be labeled."
)
@click_options(LabelConfig)
@option(
    "--out",
    type=PATH,
    help="A .tsv, .jsonl or, of tokens, .conllu to write instead of printing.",
    group=OUTPUT,
)
@option("--force", is_flag=True, help="Overwrite the file at --out.", group=OUTPUT)
@option("--json", "as_json", is_flag=True, help="Print JSON.", group=OUTPUT)
def command(
    run: Path, train: str, text: str, out: Path | None, force: bool, as_json: bool, **options: Any
) -> None:
    """Label new sentences, tokens or words as a labeled file is.

    The probe of compare is trained on FILE, which takes seconds or minutes, and
    applied to TEXT: lines for sentences; CoNLL-U, a token a line with blank lines,
    or a sentence a line for tokens; words. Printed as lines with tabs: the label,
    its probability, and the second-likeliest. Accuracy and calibration, measured
    on held-out parts of FILE, are reported.

    \b
    Example:
        firth label out/svd --train sst2.train --apply reviews.txt > labels.tsv
        firth label out/mlm --train en_ewt-ud-train.conllu --apply text.txt --out text.conllu
        firth label out/mlm --train sst2.train --apply - --fine-tune < reviews.txt
    """
    from firth.corpora.artifacts.atomic import atomic_output, refuse_overwrite
    from firth.corpora.common.console import print_json
    from firth.corpora.common.errors import SettingError
    from firth.corpora.common.options import take
    from firth.corpora.common.reporting import note
    from firth.embed.label.api import TOKENS, kind_of, label_text

    if out is not None:
        refuse_overwrite(out, force)
        if out.suffix not in _SUFFIXES:
            raise SettingError(f"`out={out}`: must end in {', '.join(_SUFFIXES)}")
        if out.suffix == ".conllu" and kind_of(train)[0] != TOKENS:
            raise SettingError(f"`out={out}`: is for tokens; pass a .tsv or .jsonl")
    found = label_text(run, train, text, take(LabelConfig, options))
    if out is not None:
        with atomic_output(out, force) as partial:
            lines = {".tsv": _tsv, ".jsonl": _jsonl, ".conllu": _conllu}[out.suffix](found.rows)
            partial.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        note(f"{out}: {len(found.rows):,} labels")
    if as_json:
        print_json(asdict(found))
    elif out is None:
        for line in _tsv(found.rows):
            click.echo(line)
    for line in _summary(found):
        note(line)


def _summary(found: "LabeledText") -> Iterable[str]:
    """Yield what is known of the quality of the labels."""
    yield f"{len(found.labels)} labels; cross-validation: {_scored(found.held_out)}"
    if found.held_out.low <= found.held_out.majority:
        yield "the probe is not surely better than always giving the most frequent label"
    if found.tuned and found.probe and found.difference:
        yield f"fine-tuned, on held-out items: {_scored(found.tuned)}"
        yield f"the probe on the same: {_scored(found.probe)}"
        d = found.difference
        yield f"difference {d.difference:+.3f} [{d.low:+.3f} {d.high:+.3f}], p {d.p:.2g}"
    if found.right is not None:
        yield f"the text has labels itself: {found.right:.4f} of them are predicted"
    if found.unknown:
        yield f"{found.unknown:,} of {len(found.rows):,} are unknown to the run, as their note says"


def _scored(score: "LabelScore") -> str:
    """Return the accuracy and the calibration of held-out items."""
    return (
        f"accuracy {score.accuracy:.3f} [{score.low:.3f} {score.high:.3f}] of {score.items:,}, "
        f"most frequent label {score.majority:.3f}; calibration error {score.error_before:.3f}, "
        f"{score.error_after:.3f} at temperature {score.temperature:.2f}"
    )


def _cells(row: "PredictedLabel") -> dict[str, Any]:
    """Return what is printed of a row by column."""
    cells = {name: getattr(row, name) for name in _COLUMNS}
    rounded = {name: round(cells[name], 4) for name in ("probability", "second_probability")}
    return {name: cell for name, cell in (cells | rounded).items() if cell is not None}


def _tsv(rows: "list[PredictedLabel]") -> Iterable[str]:
    """Yield a header, and a line for each row."""
    yield "\t".join(_cells(rows[0]))
    for row in rows:
        yield "\t".join(str(cell).replace("\t", " ") for cell in _cells(row).values())


def _jsonl(rows: "list[PredictedLabel]") -> Iterable[str]:
    """Yield an object for each row."""
    for row in rows:
        yield json.dumps(_cells(row), ensure_ascii=False)


def _conllu(rows: "list[PredictedLabel]") -> Iterable[str]:
    """Yield sentences of CoNLL-U with the labels as UPOS and their probabilities in MISC."""
    for number, sentence in groupby(rows, key=lambda row: row.sentence):
        if number != 1:
            yield ""
        for place, row in enumerate(sentence, 1):
            misc = f"Probability={row.probability:.4f}"
            yield "\t".join([str(place), row.text, "_", row.label, *"_____", misc])
    yield ""
