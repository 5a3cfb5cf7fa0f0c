"""Predictive vectors: skip-gram and CBOW with negative sampling, as runs.

Mikolov, Chen, Corrado and Dean 2013 (arXiv:1301.3781); Mikolov, Sutskever, Chen,
Corrado and Dean 2013 (arXiv:1310.4546).
"""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.artifacts.artifact import making, refuse_existing, write_json
from corpora.artifacts.provenance import now, provenance
from corpora.common.console import note, progress
from corpora.common.errors import SettingError
from corpora.common.options import check, setting
from corpora.common.threads import thread_count
from embed.vectors.subwords import parse_subwords

if TYPE_CHECKING:  # numba comes with it, and --help needs only the configs
    from corpora.store.corpus import Corpus
    from embed.vectors.word_vectors import WordVectors
    from embed.word2vec.initial import Ngrams
    from embed.word2vec.training_text import TrainingText

FORMAT = 1
_MOST_WINDOW = 1000
_MOST_NEGATIVES = 1000
_WINDOW_HELP = "Farthest context word, in tokens each side."
_RATE_HELP = "First learning rate; falls linearly with the tokens."


@dataclass(frozen=True, kw_only=True)
class _Word2VecConfig:
    """What skip-gram and CBOW have in common."""

    dim: int = setting(100, "Width of the word vectors.", at_least=1, at_most=100_000)
    window: int = setting(5, _WINDOW_HELP, at_least=1, at_most=_MOST_WINDOW)
    window_weighting: str = setting(
        "dynamic",
        "Size of each window: dynamic draws it from 1 to --window, flat always takes --window.",
        choices=("dynamic", "flat"),
    )
    negatives: int = setting(
        5, "Negative samples of each window.", at_least=1, at_most=_MOST_NEGATIVES
    )
    unigram_exponent: float = setting(
        0.75,
        "Negative samples are drawn by frequency to this power; 0 draws all words alike, below 0 "
        "rare ones most.",
        at_least=-10,
        at_most=10,
    )
    subsample: float = setting(
        1e-4,
        "Frequent words are dropped at random: each occurrence is kept with probability "
        "sqrt(t / f) + t / f, f being the word's share of the tokens; 0 for off.",
        at_least=0,
        metavar="T",
    )
    learning_rate: float = setting(0.025, _RATE_HELP, above=0)
    final_rate: float = setting(1e-4, "The learning rate falls no lower.", at_least=0)
    epochs: int | None = setting(
        None,
        "Times through the text; 5 by default, 20 where it has fewer than 4 million tokens.",
        at_least=1,
    )
    min_count: int = setting(5, "Words with fewer tokens are dropped.", at_least=1)
    max_vocabulary: int | None = setting(
        None, "Keep at most this many words; all by default.", at_least=1
    )
    boundary: str = setting(
        "paragraph", "What no window crosses.", choices=("sentence", "paragraph", "document")
    )
    punctuation: str = setting(
        "drop", "Whether punctuation marks count as words.", choices=("drop", "keep")
    )
    subwords: str | None = setting(
        None,
        "Compose words of their character n-grams of these lengths, such as 3-6, which gives "
        "unseen words vectors.",
        metavar="MIN-MAX",
    )
    buckets: int = setting(
        2_000_000,
        "Size of the hash table of n-grams; only buckets that occur take memory.",
        at_least=1,
        at_most=2**31 - 1,
    )
    init: str | None = setting(
        None,
        "Start from these vectors, a run or a file, whose words join the vocabulary.",
        metavar="RUN",
    )
    engine: str = setting(
        "firth", "Whose training loop: ours, or gensim's.", choices=("firth", "gensim")
    )
    hierarchical_softmax: bool = setting(
        False, "Hierarchical softmax in the place of negative samples; --engine gensim."
    )
    deterministic: bool = setting(
        False, "The same bytes at any number of threads, somewhat slower."
    )
    seed: int = setting(1, "Of all random numbers.", at_least=0)
    threads: int | None = setting(None, "Threads; all cores by default.", at_least=1)

    def __post_init__(self) -> None:
        check(self)
        owner = type(self).__name__
        if self.final_rate > self.learning_rate:
            raise SettingError(
                f"{owner}.final_rate must be at most the learning rate {self.learning_rate:g}, "
                f"got {self.final_rate:g}"
            )
        if self.subwords is not None:
            parse_subwords(self.subwords)
        if self.hierarchical_softmax and self.engine != "gensim":
            raise SettingError("--hierarchical-softmax needs --engine gensim")
        if self.engine == "gensim":
            from embed.word2vec.gensim_engine import refuse_for_gensim

            refuse_for_gensim(self)  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class SkipGramConfig(_Word2VecConfig):
    """Skip-gram with negative sampling (Mikolov et al. 2013, arXiv:1310.4546).

    The words of a window share their negative samples (Ji et al. 2016, arXiv:1604.04661).
    """


@dataclass(frozen=True, kw_only=True)
class CbowConfig(_Word2VecConfig):
    """CBOW with negative sampling (Mikolov et al. 2013, arXiv:1301.3781).

    It learns one pair from a window where skip-gram learns several, and wants a higher rate and
    a wider window.
    """

    window: int = setting(10, _WINDOW_HELP, at_least=1, at_most=_MOST_WINDOW)
    learning_rate: float = setting(0.05, _RATE_HELP, above=0)
    sum: bool = setting(
        False, "Predict from the sum of the context vectors, or from their mean.", opposite="mean"
    )


Word2VecConfig = SkipGramConfig | CbowConfig


def train_skipgram(
    corpus: "Corpus", config: SkipGramConfig, out: str | Path, *, force: bool = False
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
    return _train(corpus, config, Path(out), "skipgram", force=force)


def train_cbow(
    corpus: "Corpus", config: CbowConfig, out: str | Path, *, force: bool = False
) -> Path:
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
    return _train(corpus, config, Path(out), "cbow", force=force)


def _train(
    corpus: "Corpus", config: Word2VecConfig, out: Path, method: str, *, force: bool
) -> Path:
    """The run of either method."""
    from embed.word2vec.kernel_settings import make_plan
    from embed.word2vec.start import init_fingerprint, open_text, settled_epochs
    from embed.word2vec.training import CHECKPOINTS

    started = now()
    refuse_existing(out, force)
    init = open_init(config)
    text = open_text(corpus, config, init)
    config = dataclasses.replace(config, epochs=settled_epochs(config, text.n_tokens))
    options = dataclasses.asdict(config)
    maker = {"command": f"train-{method}", "corpus": corpus.fingerprint, **options}
    maker["init"] = None if init is None else init_fingerprint(init)
    del maker["threads"]  # a training may go on with more or fewer
    plan = None if config.engine == "gensim" else make_plan(text.counts, config, method)
    with making(out, maker, force=force, resume=CHECKPOINTS) as partial:
        if plan is None:
            _run_gensim(text, config, method, partial)
        else:
            _run(text, plan, config, init, partial)
        head = {"format": FORMAT, "method": method}
        write_json(partial / "config.json", {**head, **options, "text": corpus.text.to_json()})
        about: dict[str, Any] = {"threads": thread_count(config.threads)}
        about |= {"corpus": corpus.fingerprint, "init": maker["init"]}
        write_json(partial / "provenance.json", provenance(started, seeds=[config.seed], **about))
    return out


def open_init(config: Word2VecConfig) -> "WordVectors | None":
    """Open the vectors to start from.

    Parameters
    ----------
    config : SkipGramConfig or CbowConfig
        Every option.

    Returns
    -------
    WordVectors or None
        None if training starts from chance.

    Raises
    ------
    ArtifactError
        They are missing or damaged.
    SettingError
        They do not fit the options.
    """
    from embed.formats.vector_files import load_vectors
    from embed.word2vec.initial import refuse_other_kind
    from embed.word2vec.training_text import refuse_unusable

    if config.init is None:
        return None
    init = load_vectors(config.init)
    refuse_unusable(init, config.max_vocabulary)
    refuse_other_kind(init, config.dim, _ngrams(config))
    return init


def _run(
    text: "TrainingText",
    plan: Any,
    config: Word2VecConfig,
    init: "WordVectors | None",
    directory: Path,
) -> None:
    """Train with our own kernels, and write the tables; unless that was done, but not the rest."""
    from corpora.artifacts.checkpoint import clear_checkpoints
    from embed.vectors.word_vectors import MATRIX
    from embed.word2vec.tables import make_tables
    from embed.word2vec.training import CHECKPOINTS, Course, run_training
    from embed.word2vec.workers import Crew, choose_rounds, spare_rows

    checkpoints = directory / CHECKPOINTS
    if (directory / MATRIX).is_file() and not checkpoints.exists():
        return
    checkpoints.mkdir(exist_ok=True)  # until the tables are written
    rounds = choose_rounds(text.counts, plan) if config.deterministic else None
    spare = spare_rows(plan, rounds)
    tables = make_tables(text, config.dim, config.seed, init, _ngrams(config), spare)
    assert config.epochs is not None  # settled when the text was opened
    course = Course(config.epochs, config.learning_rate, config.final_rate, config.negatives)
    crew = Crew(tables, plan, thread_count(config.threads), rounds=rounds, seed=config.seed)
    try:
        with progress("training", "tokens") as show:
            run_training(tables, text, crew, course, directory, show)
    except KeyboardInterrupt:
        note("interrupted; the same command goes on from here")
        raise
    finally:
        crew.close()
    tables.save(directory, text.words, text.counts)
    clear_checkpoints(checkpoints)  # not before: the disk may be full


def _run_gensim(text: "TrainingText", config: Word2VecConfig, method: str, directory: Path) -> None:
    """Train with gensim, and write its tables."""
    from corpora.artifacts.arrays import save_array
    from embed.vectors.context_vectors import CONTEXTS
    from embed.vectors.word_vectors import WordVectors
    from embed.word2vec.gensim_engine import train_gensim

    with progress("training", "tokens") as show:
        vectors, contexts = train_gensim(
            text.view,
            config,
            skip_gram=method == "skipgram",
            directory=directory,
            threads=thread_count(config.threads),
            tell=show,
        )
    WordVectors(text.words, vectors, counts=text.counts).save(directory)
    if contexts is not None:
        save_array(directory / CONTEXTS, contexts)


def _ngrams(config: Word2VecConfig) -> "Ngrams | None":
    """What the n-grams are, if there are any."""
    from embed.word2vec.initial import Ngrams

    if config.subwords is None:
        return None
    return Ngrams(*parse_subwords(config.subwords), config.buckets)
