"""Train skip-gram and CBOW vectors with negative sampling.

Mikolov, Chen, Corrado and Dean 2013 (arXiv:1301.3781); Mikolov, Sutskever, Chen,
Corrado and Dean 2013 (arXiv:1310.4546).
"""

from pathlib import Path

from firth.corpora.artifacts.checkpoint import CHECKPOINTS
from firth.corpora.common.errors import SettingError
from firth.corpora.common.estimate import Estimate
from firth.corpora.common.options import config_of
from firth.corpora.encoding.build import open_or_build
from firth.corpora.reading.in_memory import TextSource
from firth.corpora.store.corpus import Corpus
from firth.embed.runs.writer import new_run, training_maker
from firth.embed.vectors.dry_run import estimate_training
from firth.embed.vectors.training import open_trained, run_folder
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.word2vec.config import CbowConfig, SkipGramConfig, Word2VecConfig
from firth.embed.word2vec.gensim_engine import train_gensim
from firth.embed.word2vec.loop import train_tables
from firth.embed.word2vec.tables import compose_words
from firth.embed.word2vec.trainer import Trainer, build_trainer


def train_skipgram(
    corpus: Corpus | TextSource,
    config: SkipGramConfig | None = None,
    out: str | Path | None = None,
    *,
    force: bool = False,
) -> WordVectors:
    """Train skip-gram vectors, or resume an interrupted training.

    Bit-identical with ``threads=1``, and with ``deterministic`` at any number of
    threads, interrupted or not, on the same kind of processor.

    Parameters
    ----------
    corpus : Corpus, path or text
        A corpus, or text in files or in memory, as :func:`firth.build_corpus` takes it. Only its
        training documents are read.
    config : SkipGramConfig, optional
        The settings; by default those of ``SkipGramConfig()``.
    out : str or Path, optional
        Directory of the run to make. If a training with the same settings was interrupted, it
        is resumed from ``out.partial``. Without ``out``, the vectors are only returned, and an
        interrupted training is lost.
    force : bool
        Overwrite a run at ``out``.

    Returns
    -------
    WordVectors
        float32 (V, dim), with context vectors. With ``out``, memory-mapped from the run:
        ``config.json``, ``provenance.json``, ``vocabulary.tsv``, ``vectors.npy`` and
        ``contexts.npy`` float32 (V, dim), ``metrics.jsonl``, ``held_out.npy`` float64 (2, U)
        and ``checksums.json``; with
        subwords also ``inputs.npy`` float32 (V + B, dim) and ``buckets.npy`` int64 (B,).
        Otherwise in memory.

    Raises
    ------
    ArtifactError
        If ``out`` exists or another process is making it.
    SettingError
        If no word is frequent enough, or ``init`` does not fit.
    FirthError
        If the training diverged.
    """
    return _train(corpus, config_of(config, SkipGramConfig), out, force=force)


def train_cbow(
    corpus: Corpus | TextSource,
    config: CbowConfig | None = None,
    out: str | Path | None = None,
    *,
    force: bool = False,
) -> WordVectors:
    """Train CBOW vectors, or resume an interrupted training; see :func:`train_skipgram`.

    Parameters
    ----------
    corpus, config, out, force
        As of :func:`train_skipgram`, with a CbowConfig; the same errors are raised.

    Returns
    -------
    WordVectors
        As of :func:`train_skipgram`, with the same files.
    """
    return _train(corpus, config_of(config, CbowConfig), out, force=force)


def _train(
    corpus: Corpus | TextSource, config: Word2VecConfig, out: str | Path | None, *, force: bool
) -> WordVectors:
    """Train with either method."""
    with run_folder(out, force=force) as run:
        opened = open_or_build(corpus)
        trainer = build_trainer(opened, config)
        make_run(trainer, run, force=force, resumable=out is not None)
        return open_trained(run, opened, config.method, out)


def make_run(trainer: Trainer, out: Path, *, force: bool, resumable: bool = True) -> Path:
    """Train, or resume an interrupted training; write the run and return its path."""
    trainer.allocate()
    corpus, config, resolved = trainer.corpus, trainer.config, trainer.resolved_options()
    maker = training_maker(config.method, config, corpus, **resolved)
    resume = CHECKPOINTS if resumable else None
    with new_run(out, maker, force=force, resume=resume) as run:
        if config.engine == "gensim":
            train_gensim(trainer, run.path)
        else:
            train_tables(trainer, run.path)
            trainer.tables.save(run.path, trainer.text.words, trainer.text.counts)
        run.describe_training(
            config.method, config, corpus, threads=trainer.threads, init=resolved["init"]
        )
    return out


def estimate_word2vec(trainer: Trainer) -> Estimate:
    """Estimate the cost of a training."""
    config, text = trainer.config, trainer.text
    if config.engine == "gensim":
        raise SettingError("`engine=gensim` has no `dry_run=True`; pass `engine=firth`")
    n_buckets = len(compose_words(text.words, config.ngrams)[2]) if config.ngrams else 0
    trained = config.dim * (2 * len(text.words) + n_buckets)
    # with n-grams, all that is trained, and the numbers of their buckets; without, contexts
    more = trained + 2 * n_buckets if config.ngrams else config.dim * len(text.words)
    return estimate_training(
        config.method, trainer.corpus, config, text.words, text.counts,
        checkpoint=4 * trained, more=more,
    )  # fmt: skip
