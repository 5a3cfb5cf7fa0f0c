"""``firth pool``: static vectors from a trained encoder, saved as a run."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.common.reporting import note, progress
from firth.corpora.text.segment import TextSettings
from firth.embed.contextual.encoders import (
    ENCODER,
    POOLED,
    encoder_fingerprint,
    encoder_run,
    open_encoder,
)
from firth.embed.contextual.pooling import PoolConfig, pool_words
from firth.embed.formats.huggingface import is_huggingface
from firth.embed.protocols import ContextualEncoder
from firth.embed.runs.run import Run
from firth.embed.runs.writer import new_run, settings_for

if TYPE_CHECKING:
    from firth.corpora.store.corpus import Corpus


def pool_run(
    run: str | os.PathLike[str],
    config: PoolConfig,
    out: str | Path,
    *,
    corpus: "Corpus | str | Path | None" = None,
    device: str = "auto",
    force: bool = False,
) -> Path:
    """Pool the states of an encoder into one vector per word.

    Parameters
    ----------
    run : str or Path
        A run with an encoder, a run pooled from one (whose encoder is then used), or a Hugging
        Face folder.
    config : PoolConfig
        Source, layers and vocabulary.
    out : str or Path
        The run to make.
    corpus : Corpus, str or Path, optional
        Its words get vectors and its sentences are read; by default the encoder's training
        corpus. Required for a Hugging Face folder.
    device : {'auto', 'cpu', 'cuda', 'mps'}
        Where the encoder runs; ``mps`` is untried.
    force : bool
        Overwrite a run at ``out``.

    Returns
    -------
    Path
        ``out``: ``config.json``, which names the encoder's run, ``provenance.json``,
        ``vocabulary.tsv``, ``vectors.npy`` float32 (V, D), ``centers.npy`` float32 (4, C) of
        joined vectors, ``checksums.json``.

    Raises
    ------
    ArtifactError
        If ``out`` exists or is in use, the run has no encoder, its corpus is missing, or
        ``corpus`` splits text into words differently.
    SettingError
        If ``out`` is the encoder's own run, the encoder has no such layer, no word is frequent
        enough, or the device does not exist.

    Notes
    -----
    Deterministic on CPUs of one kind with the same number of threads. Queries for words in context
    open ``run`` again, so keep it.
    """
    source, out = encoder_run(Path(run).resolve()), Path(out)
    if out.resolve() == source:
        raise SettingError(
            f"`out={out}`: contains the encoder and would be overwritten; choose another"
        )
    if corpus is None:
        corpus = Run.open(source).corpus()
        corpus.verify()
    elif isinstance(corpus, str | Path):
        from firth.corpora.store.corpus import Corpus  # imports numba

        corpus = Corpus.open(corpus)
    _refuse_other_text(corpus, source)
    options, mark = settings_for(config, corpus), encoder_fingerprint(source)
    maker = {"command": "pool", ENCODER: mark, "corpus": corpus.fingerprint, **options}
    with new_run(out, maker, force=force) as writer:
        encoder = open_encoder(source, device)
        _note_lowercased(encoder, corpus)
        with progress("pooling", "tokens") as show:
            pooled = pool_words(encoder, corpus, config, show)
        pooled.vectors.write(writer.path)
        options |= {ENCODER: {"path": str(source), "fingerprint": mark}}
        options["pooling"] = pooled.info
        writer.describe(POOLED, options, corpus.text, seeds=[config.seed], **corpus.trained_on)
    return out


def _refuse_other_text(corpus: "Corpus", run: Path) -> None:
    """Raise if the corpus splits text into words differently than the encoder expects."""
    if is_huggingface(run):  # splits any word into pieces
        return
    expected, given = TextSettings.from_json(Run.open(run).text or {}), corpus.text
    if expected != given:
        raise ArtifactError(
            f"{corpus.path}: splits text into words by {given.shown}, but {run} by "
            f"{expected.shown}; build the corpus again with the same options"
        )
    if expected.joined_phrases not in ((), given.joined_phrases):
        raise ArtifactError(
            f"{corpus.path}: does not join the phrases that the corpus of {run} joined; pool from "
            "that corpus"
        )


def _note_lowercased(encoder: ContextualEncoder, corpus: "Corpus") -> None:
    """Print a note if a cased encoder reads a lowercased corpus."""
    if not corpus.text.keep_case and encoder.words("A") == ["A"]:
        note(
            f"{corpus.path}: lowercased, but the encoder is case-sensitive; build the corpus with "
            "`keep_case=True` for better vectors"
        )
