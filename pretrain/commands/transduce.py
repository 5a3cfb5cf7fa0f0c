"""``firth transduce``: write the targets of sources by a model of pairs."""

from pathlib import Path

import click

from firth.corpora.common.command import PATH, Command, device_option, option


@click.command("transduce", cls=Command)
@click.argument("run", type=PATH)
@click.argument("file", type=PATH, default="-")
@option(
    "--beam",
    type=click.IntRange(1, 1000),
    default=5,
    show_default=True,
    help="Beginnings of a target that are kept at a time; 1 is greedy.",
)
@option("--best", type=click.IntRange(min=1), default=1, help="Targets of each source.")
@option(
    "--test", is_flag=True, excludes=["--best"], help="Score the answers for the pairs in FILE."
)
@device_option
@option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    run: Path, file: Path, beam: int, best: int, test: bool, device: str, as_json: bool
) -> None:
    """Write the targets of sources by a model of pairs.

    RUN is a run of train-mlm --objective transduce. FILE has a source a line,
    with its tags, if the pairs have some, behind a tab; standard input by
    default. Printed are lines of the source, the target and its log probability
    in nats, divided by tabs. With --test, FILE has pairs like those of the
    corpus: how many targets are right, and how many units (characters or words)
    the others are away, with 95 % bootstrap intervals; beside the sources as
    they are, if they have the units of targets.

    \b
    Example:
        firth build-corpus verbs.tsv --pairs --out out/verbs
        firth train-mlm out/verbs --objective transduce --minutes 10 --out out/inflect
        firth transduce out/inflect --test dev.tsv
        printf 'laufen\\tV;PST\\n' | firth transduce out/inflect --best 3
    """
    from firth.corpora.common.console import print_json, print_table
    from firth.corpora.common.reporting import note, progress
    from firth.pretrain.inference.mlm_encoder import open_transducer
    from firth.pretrain.inference.pair_scores import read_sources, score_pairs

    transducer = open_transducer(run, device)
    sources, targets = read_sources(transducer, file, pairs=test)
    with progress("transducing", "sources") as show:
        answers = transducer.transduce(sources, beam=beam, best=best, show=show)
    if unknown := transducer.unknown(sources):
        note(f"read as unknown, since the run has no piece for them: {' '.join(unknown)}")
    if n_cut := sum(not answer.ended for row in answers for answer in row):
        note(f"{n_cut} of the answers did not end and are cut; train longer")
    if test:
        written = {"answers": [row[0].target for row in answers]}
        if transducer.in_same_units:
            written["sources as they are"] = [source.partition("\t")[0] for source in sources]
        scores = {name: score_pairs(transducer, texts, targets) for name, texts in written.items()}
        if as_json:
            as_dicts = {
                name: {what: score._asdict() for what, score in row.items()}
                for name, row in scores.items()
            }
            print_json({"pairs": len(targets), "scores": as_dicts})
            return
        rows = [(name, *(str(score) for score in row.values())) for name, row in scores.items()]
        print_table((f"{len(targets):,} pairs", "exact match", "edit distance"), rows)
    elif as_json:
        print_json(
            [
                {"source": source, "answers": [answer._asdict() for answer in row]}
                for source, row in zip(sources, answers, strict=True)
            ]
        )
    else:
        for source, row in zip(sources, answers, strict=True):
            for target, log_probability, _ in row:
                click.echo(f"{source}\t{target}\t{log_probability:.3f}")
