"""``firth export``: write a run's vectors or model in another program's format."""

from pathlib import Path

import click

from firth.corpora.common.command import PATH, Command, option

_FORMATS = ("word2vec-text", "word2vec-binary", "glove", "fasttext", "gensim", "projector")
_RUN_FORMATS = ("int8", "model2vec")
_MODEL = "huggingface"


@click.command("export", cls=Command)
@click.argument("run", type=PATH)
@click.argument("out", type=PATH)
@option(
    "--format",
    "format",
    type=click.Choice((*_FORMATS, *_RUN_FORMATS, _MODEL)),
    required=True,
    help="Format to write.",
)
@option("--add-contexts", is_flag=True, help="Add each word's context vector to its own.")
@option(
    "--sif",
    is_flag=True,
    excludes=["--add-contexts", "--format huggingface"],
    help="Write vectors whose plain mean is the vector of a line by firth encode --sif.",
)
@option("--map", "mapped", is_flag=True, needs="--sif", help="Those of firth encode --sif --map.")
@option("--force", is_flag=True, help="Overwrite an earlier export at OUT.")
def command(
    run: Path, out: Path, format: str, add_contexts: bool, sif: bool, mapped: bool, force: bool
) -> None:
    """Write a run's vectors or model in another program's format.

    RUN is a run directory, a vectors file or a Hugging Face folder. OUT is a
    file; for projector, a folder with vectors.tsv and metadata.tsv; for model2vec, one
    that Model2Vec and sentence-transformers open, with a card of how the vectors were
    made and of their scores; for int8, a run whose vectors take a quarter of the
    space. Every command that takes a RUN also reads these formats.

    huggingface writes the model of a train-mlm run instead of vectors, as a
    folder that AutoTokenizer and AutoModelForMaskedLM load, of runs with
    --objective causal or mixed AutoModelForCausalLM.

    \b
    Example:
        firth export out/svd --format word2vec-binary svd.bin
        firth neighbors svd.bin king
        firth export out/svd --sif --format model2vec out/sentences
    """
    from firth.corpora.common.errors import SettingError
    from firth.corpora.common.reporting import note
    from firth.embed.formats.vector_files import load_vectors, write_vectors
    from firth.embed.registry import write_model
    from firth.embed.vectors.context_vectors import with_contexts

    if format == _MODEL:
        if add_contexts:
            raise SettingError(
                f"`add_contexts=True`: {format} exports no vectors; remove the option"
            )
        note(f"{out}: {write_model(run, out, force=force)}, {format}")
        return
    vectors = load_vectors(run, verified=True)
    vectors = with_contexts(vectors) if add_contexts else vectors
    if sif:
        from firth.embed.contextual.sif import SentenceVectors

        vectors = SentenceVectors.open(vectors, mapped=mapped).word_vectors()
    write_vectors(vectors, out, format, force=force)
