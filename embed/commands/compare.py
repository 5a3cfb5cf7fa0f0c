"""``firth compare``: score runs on evaluation sets, beside vectors that know nothing."""

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

    Similarity sets give Spearman's correlation between the cosines of pairs
    and people's judgements, analogy sets the share of questions answered
    rightly by 3CosAdd and by 3CosMul. Without a set: WS-353, SimLex-999 and
    the Google analogies, which the gensim package carries. RUN is a run or a
    file of vectors. Items with a word that a run does not know are left out
    of its score; the table tells how many of how many were used.

    \b
    Example:
        firth compare out/svd out/svd-flat
        firth compare out/svd --similarity pairs.tsv --restrict 10000 --json
    """
    from corpora.console import print_json, progress
    from embed.compare.comparison import compare, read_tasks
    from embed.compare.report import print_report, to_json

    config = take(CompareConfig, options)
    tasks = read_tasks(config)
    vectors = _summed(_load(runs)) if add_contexts else _load(runs)
    with progress("comparing", "sets") as show:
        scores = compare(vectors, tasks, config, show)
    if as_json:
        print_json(to_json(scores))
    else:
        print_report(scores)


def _load(runs: tuple[str, ...]) -> dict[str, Any]:
    """Open each run once, under the name it was given by."""
    from corpora.console import note
    from embed.compare.baselines import ONE_HOT, RANDOM
    from embed.vectors import load_vectors

    vectors = {}
    for run in runs:
        name = f"./{run}" if run in (ONE_HOT, RANDOM) else run
        if name in vectors:
            note(f"{run}: given twice, compared once")
        else:
            vectors[name] = load_vectors(run, verified=True)
    return vectors


def _summed(vectors: dict[str, Any]) -> dict[str, Any]:
    """Runs with contexts under a name that says so, others as they are; some must have them."""
    from corpora.console import note
    from embed.contexts import open_contexts, with_contexts

    with_some = {name for name, run in vectors.items() if open_contexts(run) is not None}
    summed = {}
    for name, run in vectors.items():
        if name in with_some or not with_some:  # with none at all, the first is refused
            summed[f"{name} w+c"] = with_contexts(run)
        else:
            note(f"{name}: has no context vectors, compared as it is")
            summed[name] = run
    return summed
