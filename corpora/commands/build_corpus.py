"""``firth build-corpus``: encode text into a corpus for all methods."""

from pathlib import Path
from typing import Any

import click

from firth.corpora.common.cluster import cluster_option
from firth.corpora.common.command import OUTPUT, PATH, Command, option
from firth.corpora.common.errors import SettingError
from firth.corpora.common.estimate import dry_run_options, print_estimate, require_out
from firth.corpora.common.options import click_options, take
from firth.corpora.encoding.phrase_options import PhraseOptions
from firth.corpora.encoding.request import BuildOptions, make_request
from firth.corpora.graphs.walk_options import WalkOptions
from firth.corpora.reading.text_blocks import ReadOptions
from firth.corpora.text.segment import TextSettings


@click.command("build-corpus", cls=Command)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@option("--out", type=PATH, help="Directory to create.", group=OUTPUT)
@click_options(ReadOptions)
@option(
    "--tokens",
    is_flag=True,
    help="Sequences of tokens, such as sessions: the same as --segmenter tokens.",
    group="Words",
)
@option(
    "--pairs",
    is_flag=True,
    help="A source, a target and perhaps tags (V;PST) in each line, divided by tabs: the same as "
    "--pattern pairs. Units are characters, or what blanks divide if most cells have some.",
    group="Words",
)
@click_options(TextSettings)
@click_options(PhraseOptions)
@click_options(WalkOptions)
@click_options(BuildOptions)
@cluster_option
@option("--force", is_flag=True, help="Overwrite the corpus at --out.", group=OUTPUT)
@dry_run_options
def command(
    sources: tuple[str, ...],
    out: Path | None,
    cluster: str | None,
    force: bool,
    tokens: bool,
    pairs: bool,
    dry_run: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Encode text into a corpus for all methods.

    SOURCE is a file or folder of plain text, JSONL, CSV, TSV, Parquet,
    CoNLL-U (Plus), vertical files of Sketch Engine or CWB, TEI, a MediaWiki
    XML dump or WikiExtractor output (plain or compressed with gzip, bzip2, xz
    or zstd; the format is detected by content),
    a URL of such files (s3://bucket/*.gz, https://..., read by fsspec), - for
    standard input, or a named corpus: lee, wiki-sample, synthetic, text8.
    With --walks it is the file of a graph.

    \b
    Example:
        firth build-corpus wiki-sample --out out/wiki
        firth build-corpus news/*.txt.gz --documents line --dry-run
        firth build-corpus news/*.txt.gz --documents line --out out/news
        firth build-corpus posts.jsonl --field body --keep date,author --out out/posts
        firth build-corpus news/ --phrases npmi --phrase-passes 2 --out out/news
        firth build-corpus sessions.txt --tokens --out out/sessions
        firth build-corpus drugs.csv --field smiles --pattern smiles --out out/drugs
        firth build-corpus verbs.tsv --pairs --out out/verbs
        firth build-corpus 's3://bucket/*.gz' --cluster local:3 --out out/news
        firth build-corpus friends.edg --walks 10x80 --q 0.5 --out out/friends
    """
    from firth.corpora.commands.corpus_info import counts_by_noun, held_out_text
    from firth.corpora.common.console import counted
    from firth.corpora.encoding.build import build, up_to_date
    from firth.corpora.encoding.dry_run import estimate_corpus
    from firth.corpora.encoding.walks import LINKS

    require_out(out, dry_run)
    if tokens:
        if options["segmenter"] not in ("words", "tokens"):
            raise SettingError(f"`tokens` and `segmenter={options['segmenter']}`: drop one of them")
        options["segmenter"] = "tokens"
    if pairs:
        if options["pattern"] is not None or tokens:
            raise SettingError("`pairs` is a `pattern` of tokens; drop `pairs`")
        options["pattern"] = "pairs"
    request = make_request(
        sources,
        read=take(ReadOptions, options),
        text=take(TextSettings, options),
        options=take(BuildOptions, options),
        phrases=take(PhraseOptions, options),
        walks=take(WalkOptions, options),
    )
    if dry_run:
        print_estimate(estimate_corpus(request, out, force=force), as_json=as_json)
        return
    assert out is not None
    if not force and up_to_date(out, request):
        click.echo(f"{out}: up to date")
        return
    size = build(request, out, force=force, cluster=cluster).manifest
    counts = [counted(n, unit) for unit, n in counts_by_noun(size).items() if unit != "paragraph"]
    click.echo(f"{out}: {', '.join(counts)}; held out: {held_out_text(size)}")
    if pairs:
        click.echo(f"{out}: units by --pattern {request.text.pattern}")
    for joined in size.get("phrases", ()):
        phrases, times = counted(joined["types"], "phrase"), counted(joined["tokens"], "time")
        click.echo(f"{out}: joined {phrases}, {times}")
    if n_links := size["tally"].get("held_out_links"):
        click.echo(f"{out}: {counted(n_links, 'link')} held out, in {out / LINKS}")
