"""``firth publish``: copy a run without its text."""

from pathlib import Path

import click

from firth.corpora.common.command import PATH, Command, option


@click.command("publish", cls=Command)
@click.argument("run", type=PATH)
@click.argument("out", type=PATH)
@option(
    "--no-text",
    is_flag=True,
    required=True,
    help="Leave out text, paths and URLs.",
)
@option("--force", is_flag=True, help="Overwrite the run at OUT.")
def command(run: Path, out: Path, no_text: bool, force: bool) -> None:
    """Copy a run without text, paths and URLs, to share it.

    The copy has the words with their counts and vectors, the settings, and the
    sizes of the text. It answers all that the run does but what is read from its
    corpus, which is not copied, since numbers of words in their order are the text
    itself: sentences, collocates, intervals, and why for train-svd. Whoever
    has the corpus passes it as --corpus. A copy still says how often each word occurs,
    names of persons too, and roughly which words stand together; a language model
    may repeat passages.

    \b
    Example:
        firth publish out/svd --no-text out/svd-public
        firth neighbors out/svd-public king
    """
    from firth.corpora.common.reporting import note
    from firth.embed.formats.huggingface import WEIGHTS
    from firth.embed.formats.published_run import publish_run

    left_out = publish_run(run, out, force=force)
    if left_out:
        note(f"{out}: without {', '.join(left_out)}")
    if (out / WEIGHTS).is_file():
        note(f"{out}: has a language model, which may repeat passages of its text")
    click.echo(f"{out}: words, counts, vectors and settings of {run.name}")
