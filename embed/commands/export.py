"""``firth export``."""

from pathlib import Path

import click

_FORMATS = ("word2vec-text", "word2vec-binary", "glove", "gensim", "projector")


@click.command("export")
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@click.option(
    "--format", "format", type=click.Choice(_FORMATS), required=True, help="What to write."
)
@click.option("--add-contexts", is_flag=True, help="Add each word's context vector to its own.")
@click.option("--force", is_flag=True, help="Replace what stands at OUT.")
def command(run: Path, out: Path, format: str, add_contexts: bool, force: bool) -> None:
    """Write a run's vectors in another program's format.

    RUN is a run directory or a vectors file. OUT is a file; for projector, a
    folder of vectors.tsv and metadata.tsv. Every format is read back wherever
    a RUN is.

    \b
    Example:
        firth export out/svd --format word2vec-binary svd.bin
        firth neighbors svd.bin king
    """
    from corpora.console import note
    from embed.contexts import with_contexts
    from embed.formats import write_vectors
    from embed.vectors import load_vectors

    vectors = load_vectors(run, verified=True)
    vectors = with_contexts(vectors) if add_contexts else vectors
    write_vectors(vectors, out, format, force=force)
    n_words, dim = vectors.matrix.shape
    note(f"{out}: {n_words} vectors of {dim} dimensions, {format}")
