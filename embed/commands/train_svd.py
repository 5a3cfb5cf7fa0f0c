"""``firth train-svd``: train count-based vectors by a truncated SVD of PPMI."""

from pathlib import Path
from typing import Any

import click

from corpora.artifacts.seeds import SeedRuns, seeds_option
from corpora.common.cluster import cluster_option
from corpora.common.estimate import (
    dry_run_options,
    print_dry_run,
    require_out,
)
from corpora.common.options import click_options
from embed.svd.train import SvdConfig


@click.command("train-svd")
@click.argument("corpus")
@click.option("--out", type=click.Path(path_type=Path), help="The run to make.")
@click_options(SvdConfig)
@seeds_option
@cluster_option
@click.option("--force", is_flag=True, help="Overwrite the run at --out.")
@dry_run_options
def command(
    corpus: str,
    out: Path | None,
    seeds: int | None,
    cluster: str | None,
    force: bool,
    dry_run: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Train count-based vectors by a truncated SVD of PPMI.

    CORPUS is a corpus made by build-corpus, or text, from which a corpus is built
    in the cache. With the defaults a word's vector is its row of U S^(1/2), where
    U S V is the truncated SVD of the smoothed positive PMI of words and contexts.
    The seed only sets the start of the SVD and has almost no effect on the result.

    \b
    Example:
        firth build-corpus wiki-sample --out out/wiki
        firth train-svd out/wiki --dry-run
        firth train-svd out/wiki --out out/svd
        firth neighbors out/svd king
    """
    from corpora.build.open_or_build import open_or_build
    from corpora.common.device import choose_device
    from corpora.common.options import take
    from embed.svd.dry_run import estimate_svd
    from embed.svd.train import make_svd_run, with_width
    from embed.vectors.training import warn_of_little_text

    require_out(out, dry_run, as_json, cluster)
    config = take(SvdConfig, options)
    if out is not None:
        runs = SeedRuns(command="train-svd", config=config, out=out, seeds=seeds, force=force)
        runs.finished()  # before building the corpus, which may take long
    choose_device(config.device)
    opened = open_or_build(corpus)
    if dry_run:
        print_dry_run(lambda: estimate_svd(opened, config).of_runs(seeds), as_json=as_json)
        return
    finished = runs.finished(opened.fingerprint, {"dim": with_width(config, opened).dim})
    for run, run_config in runs.configs().items():
        if run in finished:
            click.echo(runs.kept_message(run))
        else:
            click.echo(summary(make_svd_run(opened, run_config, run, force=force, cluster=cluster)))
    warn_of_little_text(opened)
    if seeds is not None:
        click.echo(runs.hint())


def summary(run: Path) -> str:
    """Return the size of a run's vectors."""
    from embed.vectors.word_vectors import WordVectors

    vectors = WordVectors.open(run)
    return f"{run}: {len(vectors.vocabulary):,} words, {vectors.matrix.shape[1]} dimensions"
