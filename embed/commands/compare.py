"""``firth compare``: score runs on evaluation sets, beside vectors that know nothing."""

import sys
from typing import Any

import click

from corpora.settings import click_options, take
from embed.compare.config import CompareConfig


@click.command(name="compare")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click_options(CompareConfig)
@click.option(
    "--add-contexts",
    is_flag=True,
    help="Add each word's context vector to its own, in runs with both.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(runs: tuple[str, ...], add_contexts: bool, as_json: bool, **options: Any) -> None:
    """Score runs against each other and against one-hot vectors.

    Similarity sets give correlations between the cosines of pairs and people's
    judgements, analogy sets the share of questions answered rightly, categories
    how well clusters of words agree with them, odd-one-out sets how often the
    word that does not fit is found. Without a set: WS-353, SimLex-999 and the
    Google analogies, which the gensim package carries. RUN is a run or a file
    of vectors.

    All runs are scored on the items that all of them know, each with a 95 %
    interval (bootstrap over items); beside that stands what each reaches on all
    that it knows itself. Every two runs are tested on the same items, and what
    cannot be told from the best is marked.

    \b
    Example:
        firth compare out/svd out/svd-flat
        firth compare out/svd out/sg --similarity pairs.tsv --categories ap.csv --json
    """
    from corpora.console import print_json, progress
    from embed.compare.comparison import compare, read_tasks
    from embed.compare.report import print_report, to_json
    from embed.vectors import load_vectors

    config = take(CompareConfig, options)
    tasks = read_tasks(config)
    paths = _named(runs)
    about = {name: _about(path) for name, path in paths.items()} if as_json else {}
    vectors = {name: load_vectors(path, verified=True) for name, path in paths.items()}
    if add_contexts:
        vectors, about = _summed(vectors), {_with_contexts(n): a for n, a in about.items()} | about
    with progress("comparing", "sets") as show:
        comparison = compare(vectors, tasks, config, show)
    if as_json:
        print_json(to_json(comparison, config, about))
    else:
        print_report(comparison, config.unknown)
    for failure in comparison.failures:
        click.echo(f"Error: {failure}", err=True)
    if comparison.failures:
        sys.exit(1)


def _about(path: str) -> dict[str, str]:
    """The method of a run, and what names its content."""
    from pathlib import Path

    from corpora.artifacts import CHECKSUMS, checksum, checksums, fingerprint, read_json
    from embed.run_files import run_options

    run = Path(path)
    if not run.is_dir():
        return (
            {"method": "vectors file", "fingerprint": checksum(run)[:16]} if run.is_file() else {}
        )
    known = (run / CHECKSUMS).is_file()
    sums = read_json(run / CHECKSUMS) if known else checksums(run)
    method = str(run_options(run).get("method") or "vectors folder")
    return {"method": method, "fingerprint": fingerprint(sums)}


def _named(runs: tuple[str, ...]) -> dict[str, str]:
    """Each run once, by the name that it goes by."""
    from corpora.console import note
    from embed.compare.baselines import ONE_HOT, RANDOM

    paths: dict[str, str] = {}
    for run in runs:
        name = f"./{run}" if run in (ONE_HOT, RANDOM) else run
        if name in paths:
            note(f"{run}: given twice, compared once")
        else:
            paths[name] = run
    return paths


def _with_contexts(name: str) -> str:
    """What a run is called whose context vectors were added."""
    return f"{name} w+c"


def _summed(vectors: dict[str, Any]) -> dict[str, Any]:
    """Runs with contexts under a name that says so, others as they are; some must have them."""
    from corpora.console import note
    from embed.contexts import open_contexts, with_contexts

    with_some = {name for name, run in vectors.items() if open_contexts(run) is not None}
    summed = {}
    for name, run in vectors.items():
        if name in with_some or not with_some:  # with none at all, the first is refused
            summed[_with_contexts(name)] = with_contexts(run)
        else:
            note(f"{name}: has no context vectors, compared as it is")
            summed[name] = run
    return summed
