"""``firth score``: how likely a language model finds sentences and their words."""

from pathlib import Path

import click

from firth.corpora.common.command import PATH, Command, device_option, option


@click.command("score", cls=Command)
@click.argument("run", type=PATH)
@click.argument("file", type=PATH)
@option("--column", metavar="NAME", help="Column of FILE, a .csv or .tsv, or field of a .jsonl.")
@option("--given", metavar="NAME", needs="--column", help="The same of contexts.")
@device_option
@option("--json", "as_json", is_flag=True, help="Print JSON.")
@option("--csv", "as_csv", is_flag=True, help="Print CSV, a row per word.", excludes=["--json"])
def command(
    run: Path,
    file: Path,
    column: str | None,
    given: str | None,
    device: str,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Print how surprising sentences and their words are to a language model.

    RUN is a run of train-mlm or a Hugging Face folder of a masked or causal
    language model. FILE has a sentence per line, or a context, a tab and a
    sentence, of which only the sentence is scored; - reads standard input.
    Surprisal is -log2 of a probability, in bits: given what is before a word by a
    causal model, given what is before and after it by a masked one. RUN:causal
    reads a run of --objective mixed as a causal model. Words are divided by
    spaces, and "start" and "stop" are their characters in the sentence. In JSON,
    "log_likelihood" is in nats.

    \b
    Example:
        firth score out/clm sentences.txt
        firth score out/mlm items.tsv --column sentence --given context --csv
        echo "the king saw the sea" | firth score out/mlm - --json
    """
    from firth.corpora.common.console import print_csv, print_json, print_table
    from firth.corpora.common.reporting import note, progress
    from firth.embed.contextual.line_scores import WordScore, score_lines
    from firth.embed.contextual.scored_text import read_scored

    pairs = read_scored(file, column, given)
    with progress("scoring", "lines") as show:
        lines = score_lines(run, pairs, device=device, show=show)
    if as_json:
        print_json([line.to_json() for line in lines])
        return
    words = [(number, *word) for number, line in enumerate(lines, 1) for word in line.words]
    if as_csv:
        print_csv(("line", *WordScore._fields), words)
        return
    rows = [
        (n, f"{line.bits:.2f}", "  ".join(f"{word} {bits:.2f}" for word, *_, bits, _ in line.words))
        for n, line in enumerate(lines, 1)
    ]
    print_table(("line", "bits", "bits of each word"), rows)
    if unknown := dict.fromkeys(word[1] for word in words if not word[-1]):
        note(f"read as unknown, since no piece has their characters: {' '.join(unknown)}")
