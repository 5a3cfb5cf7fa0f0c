"""Predictive vectors: skip-gram and CBOW with negative sampling, as runs.

Mikolov, Chen, Corrado and Dean 2013 (arXiv:1301.3781); Mikolov, Sutskever, Chen,
Corrado and Dean 2013 (arXiv:1310.4546).
"""

import dataclasses
from pathlib import Path
from typing import Any

from corpora.artifacts.arrays import save_array
from corpora.artifacts.artifact import new_artifact, refuse_existing, write_json
from corpora.artifacts.checkpoint import clear_checkpoints
from corpora.artifacts.provenance import now, provenance
from corpora.common.reporting import note, progress
from corpora.store.corpus import Corpus
from embed.vectors.word_vectors import CONTEXTS, MATRIX, WordVectors
from embed.word2vec.config import CbowConfig, SkipGramConfig, Word2VecConfig
from embed.word2vec.gensim_engine import train_gensim
from embed.word2vec.loop import CHECKPOINTS, run_training
from embed.word2vec.trainer import Trainer, build_trainer

FORMAT = 1


def train_skipgram(
    corpus: Corpus, config: SkipGramConfig, out: str | Path, *, force: bool = False
) -> Path:
    """Train skip-gram vectors, or go on with a training that was interrupted.

    Bit-identical with ``threads=1``, and with ``deterministic`` at any number of
    threads, interrupted or not; on the same kind of processor.

    Parameters
    ----------
    corpus : Corpus
        Its training documents are read.
    config : SkipGramConfig
        Every option.
    out : str or Path
        Where the run will stand. An interrupted training of the same options,
        ``out.partial``, is gone on with.
    force : bool
        Replace a run that stands there.

    Returns
    -------
    Path
        ``out``: ``config.json``, ``provenance.json``, ``vocabulary.tsv``,
        ``vectors.npy`` and ``contexts.npy`` float32 (V, dim), ``metrics.jsonl``,
        ``checksums.json``; with subwords ``inputs.npy`` float32 (V + B, dim) and
        ``buckets.npy`` int64 (B,).

    Raises
    ------
    ArtifactError
        ``out`` exists or is being made.
    SettingError
        No word is frequent enough, or ``init`` does not fit.
    FirthError
        The training diverged.
    """
    return _train(corpus, config, Path(out), force=force)


def train_cbow(corpus: Corpus, config: CbowConfig, out: str | Path, *, force: bool = False) -> Path:
    """Train CBOW vectors, or go on with a training that was interrupted.

    Parameters
    ----------
    corpus : Corpus
        Its training documents are read.
    config : CbowConfig
        Every option.
    out : str or Path
        As :func:`train_skipgram` takes it.
    force : bool
        Replace a run that stands there.

    Returns
    -------
    Path
        ``out``, as of :func:`train_skipgram`.

    Raises
    ------
    ArtifactError, SettingError, FirthError
        As :func:`train_skipgram` does.
    """
    return _train(corpus, config, Path(out), force=force)


def _train(corpus: Corpus, config: Word2VecConfig, out: Path, *, force: bool) -> Path:
    """Train by either method."""
    refuse_existing(out, force)
    return make_run(build_trainer(corpus, config), out, force=force)


def make_run(trainer: Trainer, out: Path, *, force: bool) -> Path:
    """Train, or go on with a training that was interrupted, and write the run."""
    started = now()
    corpus, config, chosen = trainer.corpus, trainer.config, trainer.chosen()
    options = dataclasses.asdict(config)
    maker = {"command": f"train-{config.method}", "corpus": corpus.fingerprint, **options, **chosen}
    del maker["threads"]  # a training may go on with more or fewer
    with new_artifact(out, maker, force=force, resume=CHECKPOINTS) as partial:
        if config.engine == "gensim":
            _make_gensim_tables(trainer, partial)
        else:
            _make_tables(trainer, partial)
        head = {"format": FORMAT, "method": config.method}
        write_json(partial / "config.json", {**head, **options, "text": corpus.text.to_json()})
        about: dict[str, Any] = {"threads": trainer.threads}
        about |= {"corpus": corpus.fingerprint, "init": chosen["init"]}
        write_json(partial / "provenance.json", provenance(started, seeds=[config.seed], **about))
    return out


def _make_tables(trainer: Trainer, directory: Path) -> None:
    """Train with our own kernels, and write the tables; unless that was done, but not the rest."""
    checkpoints = directory / CHECKPOINTS
    if (directory / MATRIX).is_file() and not checkpoints.exists():
        return
    checkpoints.mkdir(exist_ok=True)  # until the tables are written
    try:
        with progress("training", "tokens") as show:
            run_training(trainer, directory, show)
    except KeyboardInterrupt:
        note("interrupted; the same command goes on from here")
        raise
    trainer.tables.save(directory, trainer.text.words, trainer.text.counts)
    clear_checkpoints(checkpoints)  # not before: the disk may be full


def _make_gensim_tables(trainer: Trainer, directory: Path) -> None:
    """Train with gensim, and write its tables."""
    with progress("training", "tokens") as show:
        vectors, contexts = train_gensim(trainer, show)
    WordVectors(trainer.text.words, vectors, counts=trainer.text.counts).save(directory)
    if contexts is not None:
        save_array(directory / CONTEXTS, contexts)
