"""Train count-based word vectors: co-occurrence counts, PPMI, truncated SVD.

Levy, Goldberg and Dagan 2015, "Improving Distributional Similarity with Lessons
Learned from Word Embeddings", TACL 3: all their hyperparameters of count-based
methods are options here.
"""

import contextlib
import dataclasses
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from firth.corpora.artifacts.arrays import save_array
from firth.corpora.artifacts.artifact import (
    SCRATCH,
    clear_partial,
    refuse_existing,
)
from firth.corpora.artifacts.metrics import METRICS, Metrics
from firth.corpora.artifacts.tasks import TaskFolder
from firth.corpora.common.cluster import open_executor
from firth.corpora.common.device import DEVICES
from firth.corpora.common.errors import SettingError
from firth.corpora.common.memory import parse_memory
from firth.corpora.common.options import (
    ALL,
    check,
    config_of,
    describe_settings,
    rare_setting,
    refuse_unused,
    setting,
)
from firth.corpora.common.reporting import note, progress
from firth.corpora.common.threads import thread_count
from firth.embed.registry import METHODS, MIN_COUNT_HELP, Chosen
from firth.embed.runs.writer import new_run, training_maker
from firth.embed.svd import ppmi
from firth.embed.svd.cooccurrence import (
    CONTEXTS,
    Cooccurrences,
    add_counts,
    count_cooccurrences,
)
from firth.embed.svd.inverted_text import CountableView
from firth.embed.svd.scratch import Scratch
from firth.embed.svd.window_weights import WEIGHTINGS
from firth.embed.vectors.ngram_means import with_ngram_means
from firth.embed.vectors.piece_table import PIECE_VECTORS, TOKENIZER, PieceTable
from firth.embed.vectors.training import (
    NothingCountedError,
    nothing_together,
    open_trained,
    run_folder,
)
from firth.embed.vectors.word_vectors import CONTEXTS as CONTEXT_VECTORS
from firth.embed.vectors.word_vectors import WordVectors

if TYPE_CHECKING:  # it imports numba, and --help needs only the config
    from firth.corpora.graphs.graph import NodeGraph
    from firth.corpora.reading.in_memory import TextSource
    from firth.corpora.store.corpus import Corpus, View
    from firth.corpora.tokenizer.pieces import Pieces

METHOD = "svd"
_PROGRAM_BYTES = 300 << 20  # of Python and its libraries
_SIDE_MEANS = 100  # dimensions of each side with `best`
_COUNTED = ("weighting", "context_side", "side_means", "best", "pieces", "boundary")
_UNORDERED = "there is no order with `window=all`"
_NEGLIGIBLE = 1e-6  # share of the largest singular value below which a value is rounding error


@describe_settings
@dataclass(frozen=True, kw_only=True)
class SvdConfig:
    """Truncated SVD of a weighted co-occurrence matrix (Levy, Goldberg and Dagan 2015).

    The defaults scored best over the similarity and analogy sets on 16 million
    words of English Wikipedia.
    """

    chosen = Chosen(
        sets=("MTurk-287", "RG-65", "MSR analogies", "AP"),
        settings=(
            "window", "window_weighting", "subsample", "context_smoothing", "singular_power",
        ),
        date="2026-11-22",
    )  # fmt: skip
    dim: int | None = setting(
        None,
        "Width of the word vectors; by default 100 below 8 million tokens, else 300.",
        at_least=1,
        heading="Vectors",
    )
    window: int = setting(
        7,
        "Farthest context word, in tokens each side; all for sets of items without order, in which "
        "all in a unit of text are contexts of each other, with weight 1.",
        at_least=1,
        at_most=1_000_000,
        or_all=True,
    )
    window_weighting: str = setting(
        "harmonic",
        "Weight of a context word at distance d: dynamic is (window - d + 1) / window, "
        "harmonic is 1 / d, flat is 1.",
        choices=WEIGHTINGS,
    )
    context_side: str = rare_setting(
        "symmetric", "Side of a word from which its context is taken.", choices=CONTEXTS
    )
    weighting: str = setting(
        "ppmi",
        "Matrix to factor: positive PMI, the counts, or log(1 + count). For the textbook SVD of "
        "the counts, also pass `subsample=0` and `singular_power=1`.",
        choices=ppmi.WEIGHTINGS,
    )
    subsample: float = rare_setting(
        1e-5,
        "Downweight frequent words: each occurrence counts min(1, sqrt(t / f)), the probability "
        "of keeping it, with f the word's share of the tokens; 0 for off.",
        at_least=0,
        metavar="T",
    )
    context_smoothing: float = rare_setting(
        0.75, "Exponent of context frequencies in PMI; 1 for none.", at_least=0, at_most=1
    )
    shift: float = rare_setting(
        1.0, "Subtract log(shift) from PMI, as with that many negative samples.", above=0
    )
    singular_power: float = rare_setting(
        0.5, "Exponent p of the singular values in W = U S^p.", at_least=0
    )
    add_contexts: bool = rare_setting(False, "Add each word's context vector, V S^p, to its own.")
    side_means: int = setting(
        0,
        "Append the mean vectors of left and of right neighbors, each of this many dimensions (at "
        "most `dim`); 0 for none.",
        at_least=0,
        metavar="N",
    )
    best: bool = setting(
        False,
        "Append the mean vectors of neighbors (100 dimensions each) and of n-grams: the best "
        "vectors of a text, in hardly more time, but some 2.7 times as wide.",
    )
    pieces: int | None = rare_setting(
        None,
        "Count pieces of words, of which this many are learned, instead of words. A word has the "
        "mean of its pieces' vectors, also if it is rare or unseen.",
        at_least=100,
        at_most=1_000_000,
    )
    exact_walks: bool = rare_setting(
        False,
        "For a corpus of walks on an undirected graph: factor what is expected of an endless walk "
        "on it, with p = q = 1, instead of counting the walks (Qiu et al. 2018).",
    )
    min_count: int | None = setting(None, MIN_COUNT_HELP, at_least=1, heading="Text")
    max_vocabulary: int = setting(
        50_000,
        "Make vectors of at most this many words, the most frequent; windows contain all words.",
        at_least=1,
    )
    boundary: str = rare_setting(
        "paragraph",
        "Unit of text that windows stay within.",
        choices=("sentence", "paragraph", "document"),
    )
    punctuation: str = rare_setting(
        "drop", "Whether punctuation marks count as words.", choices=("drop", "keep")
    )
    seed: int = setting(
        1, "Seed of the SVD's random start.", at_least=0, heading="Seeds and machine"
    )
    device: str = rare_setting(
        "auto",
        "Where the SVD runs; auto is cuda if available, else cpu.",
        choices=tuple(device for device in DEVICES if device != "mps"),  # it lacks their products
    )
    threads: int | None = setting(None, "Threads; all cores by default.", at_least=1)
    memory: str | None = rare_setting(
        None,
        "Working memory, such as 1G or 4G; what exceeds it is counted and factored on disk. Half "
        "of the machine's memory by default.",
        metavar="SIZE",
    )

    def __post_init__(self) -> None:
        check(self)
        parse_memory(self.memory)
        if self.weighting != "ppmi":
            reason = f"only changes PMI, and `weighting={self.weighting}` has none"
            refuse_unused(self, ("context_smoothing", "shift"), reason)
        if self.window == ALL:
            if self.window_weighting != "flat":
                refuse_unused(self, ("window_weighting",), _UNORDERED)
            refuse_unused(self, ("context_side", "side_means", "best"), _UNORDERED)
            object.__setattr__(self, "window_weighting", "flat")
        if self.exact_walks:
            refuse_unused(self, _COUNTED, "not with `exact_walks=True`")
            if self.window == ALL:
                raise SettingError("`window=all`: not with `exact_walks=True`; pass a number")
        if self.best and self.pieces is not None:
            raise SettingError("`best`: appends n-grams of whole words; drop `pieces`")


def train_svd(
    corpus: "Corpus | TextSource",
    config: SvdConfig | None = None,
    out: str | Path | None = None,
    *,
    force: bool = False,
    cluster: str | Executor | None = None,
) -> WordVectors:
    """Train count-based vectors: co-occurrence counts, PPMI, truncated SVD.

    The vectors are the same bytes at any ``threads`` and ``memory``, and on any number of workers
    of a ``cluster``.

    Parameters
    ----------
    corpus, config, out, force
        As of :func:`firth.train_skipgram`, with an SvdConfig. An interrupted training starts again.
    cluster : str or concurrent.futures.Executor, optional
        Where text is counted: the address of a Dask scheduler such as ``tcp://HOST:8786``,
        ``local:N`` for N processes, or an executor whose workers see the same files. By default
        threads of this process.

    Returns
    -------
    WordVectors
        float32 (V, dim). With ``out``, memory-mapped from the run: ``config.json``,
        ``provenance.json``, ``vocabulary.tsv``, ``vectors.npy``, ``metrics.jsonl`` and
        ``checksums.json``; with ``pieces`` also ``pieces.npy`` float32 (P, dim) and
        ``tokenizer.json``. Otherwise in memory.

    Raises
    ------
    ArtifactError
        If ``out`` exists or another process is making it.
    SettingError
        If no word is frequent enough, ``dim`` exceeds the vocabulary, or the device is missing.
    FirthError
        If no two words occur together.
    """
    from firth.corpora.encoding.build import open_or_build

    config = config_of(config, SvdConfig)
    with run_folder(out, force=force) as run:
        opened = open_or_build(corpus)
        make_svd_run(opened, config, run, force=force, cluster=cluster)
        return open_trained(run, opened, METHOD, out)


def with_width(config: SvdConfig, corpus: "Corpus") -> SvdConfig:
    """Return a config whose width is chosen: of few tokens of sequences, as many as there are."""
    dim = config.dim or METHODS[METHOD].width_for(corpus.training_tokens)
    if config.dim is None and corpus.text.of_tokens:
        words = corpus.view(min_count=config.min_count, punctuation=config.punctuation)  # type: ignore[arg-type]
        dim = min(dim, config.max_vocabulary, len(words.counts))
    return dataclasses.replace(config, dim=dim)


def make_svd_run(
    corpus: "Corpus",
    config: SvdConfig,
    out: Path,
    *,
    force: bool = False,
    cluster: str | Executor | None = None,
) -> Path:
    """Count, weight and factor; write the vectors as a run and return its path."""
    from firth.corpora.common.device import choose_device

    if cluster is not None:
        _check_fits_cluster(corpus, config)
        refuse_existing(out, force)  # before workers start
    config = with_width(config, corpus)
    maker = training_maker(METHOD, config, corpus)
    with (
        open_executor(cluster) as executor,
        new_run(out, maker, force=force, resume=SCRATCH if executor else None) as run,
    ):
        choose_device(config.device)
        view, n_words = checked_view(corpus, config)
        tasks = None
        if executor:
            clear_partial(run.path, SCRATCH)
            tasks = TaskFolder(executor, run.path / SCRATCH)
        if config.pieces is None:
            vectors, n_alone = text_vectors(
                view, config, n_words, name=str(corpus.path), directory=run.path,
                metrics=run.path / METRICS, tasks=tasks, graph=_graph(corpus, config),
            )  # fmt: skip
        else:
            vectors, n_alone = _vectors_of_pieces(corpus, config, view.words[:n_words], run.path)
        if n_alone:
            lacks = "contexts" if config.pieces is None else "pieces with contexts"
            note(f"{corpus.path}: {n_alone:,} of {n_words:,} types have no {lacks}: zero vectors")
        words, tokens = view.words[:n_words], view.counts[:n_words]
        if config.best:
            assert config.dim is not None
            vectors, grams = with_ngram_means(vectors, words, config.dim, str(out))
            grams.save(run.path)
        WordVectors(words, vectors, counts=tokens).write(run.path)
        made: dict[str, Any] = {"threads": thread_count(config.threads)}
        if tasks:
            made["cluster"] = sorted(tasks.cpus)
            tasks.remove()
        run.describe_training(METHOD, config, corpus, **made)
    return out


def _vectors_of_pieces(
    corpus: "Corpus", config: SvdConfig, words: Sequence[str], partial: Path
) -> tuple[np.ndarray, int]:
    """Learn and write pieces; return their means by word, float32, and how many have none."""
    from firth.corpora.tokenizer.json_format import save_pieces
    from firth.embed.svd.piece_text import PieceText

    view, pieces = learn_from(corpus, config)
    text = PieceText(view, pieces)
    of_pieces, _ = text_vectors(
        text, config, len(pieces), name=str(corpus.path), directory=partial,
        metrics=partial / METRICS,
    )  # fmt: skip
    save_pieces(pieces, partial / TOKENIZER, corpus.text)
    save_array(partial / PIECE_VECTORS, of_pieces)
    vectors = PieceTable(pieces, of_pieces).means(words)
    n_alone = int((~vectors.any(1)).sum())
    return vectors, n_alone


def learn_from(corpus: "Corpus", config: SvdConfig) -> tuple["View", "Pieces"]:
    """Return a view of all words, and the pieces learned from them."""
    from firth.corpora.tokenizer.pieces import learn_pieces

    assert config.pieces is not None
    assert config.dim is not None
    if config.dim > config.pieces:
        raise SettingError(
            f"`dim={config.dim}` is larger than `pieces={config.pieces}`; pass a smaller `dim`"
        )
    view = corpus.view(
        min_count=1,
        punctuation=config.punctuation,  # type: ignore[arg-type]
        boundary=config.boundary,  # type: ignore[arg-type]
    )
    return view, learn_pieces(view.words, view.counts, size=config.pieces)


def text_vectors(
    view: CountableView,
    config: SvdConfig,
    n_words: int,
    *,
    name: str,
    directory: Path | None = None,
    metrics: Path | None = None,
    tasks: TaskFolder | None = None,
    graph: "NodeGraph | None" = None,
) -> tuple[np.ndarray, int]:
    """Count, weight and factor the first ``n_words`` words of a text.

    Returns float32 (V, dim) and how many words never occur with another. Counts that exceed the
    memory go to files in ``directory``; seconds and sizes to ``metrics``. With ``tasks``, which
    need the view of a corpus, they are counted on a cluster. With a ``graph``, nothing is counted.
    """
    log = _Metrics(metrics)
    if graph is not None:
        with log.step("walk") as about:
            matrix = _walked(graph, cast("View", view), n_words, config, directory)
            about["nonzeros"] = int(matrix.nnz)
        n_alone = int((np.diff(matrix.indptr) == 0).sum())
        limit = scratch_limit(matrix.data.nbytes + matrix.indices.nbytes, n_words, config)
        return _factor(matrix, config, Scratch(limit, directory), log, directory), n_alone
    with log.step("count") as about:
        counts = count_words(view, n_words, config, name=name, directory=directory, tasks=tasks)
        nonzeros = int(counts.starts[-1])
        about.update(tokens=view.n_tokens, nonzeros=nonzeros, on_disk=counts.on_disk)
    n_alone = int((np.diff(counts.starts) == 0).sum())
    in_memory = 0 if counts.on_disk else counts.columns.nbytes + counts.counts.nbytes
    scratch = Scratch(scratch_limit(in_memory, n_words, config), directory)
    with log.step("weigh") as about:
        matrix = weigh(view, counts, config)
        about["nonzeros"] = int(matrix.nnz)
    vectors = _factor(matrix, config, scratch, log, directory)
    del matrix  # the rest may need its memory
    if side_width(config):
        from firth.embed.svd.side_means import with_side_means

        beside = dataclasses.replace(config, window=1, window_weighting="flat", context_side="left")
        with log.step("side means"):
            counts = _count(view, n_words, beside, directory, tasks)
            keep = ppmi.keep_probabilities(view.counts, config.subsample)[:n_words]
            vectors = with_side_means(vectors, counts, keep, side_width(config))
    return vectors, n_alone


def side_width(config: SvdConfig) -> int:
    """Return the width of the mean vectors of each side."""
    assert config.dim is not None
    return min(config.side_means or _SIDE_MEANS * config.best, config.dim)


def full_width(config: SvdConfig) -> int:
    """Return the width of the vectors with all means."""
    assert config.dim is not None
    return config.dim * (1 + config.best) + 2 * side_width(config)


def weighted_matrix(
    corpus: "Corpus", config: SvdConfig, directory: Path | None = None
) -> tuple[list[str], Any]:
    """Return the matrix that a run factors, float32 CSR (V, V), with the words of its rows."""
    config = with_width(config, corpus)
    view, n_words = _view(corpus, config)
    if graph := _graph(corpus, config):
        return view.words[:n_words], _walked(graph, view, n_words, config, directory)
    counts = count_words(view, n_words, config, name=str(corpus.path), directory=directory)
    return view.words[:n_words], weigh(view, counts, config)


class _Metrics:
    """Appends a line to the metrics of a run, if there is one, after each step."""

    def __init__(self, path: Path | None) -> None:
        self._lines = None if path is None else Metrics(path)

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[dict[str, Any]]:
        """Time a step; entries added to the dictionary are written with it."""
        about: dict[str, Any] = {}
        started = time.perf_counter()
        yield about
        seconds = time.perf_counter() - started
        if "tokens" in about and seconds > 0:
            about["tokens_per_second"] = round(about["tokens"] / seconds)
        if self._lines is not None:
            self._lines.write(step=name, seconds=round(seconds, 3), **about)


def _view(corpus: "Corpus", config: SvdConfig) -> tuple["View", int]:
    """Open the text to count, with the number of words that get vectors.

    Words beyond these stay in the text, as in that of skip-gram, which has vectors for all. Raise
    if there are fewer words than dimensions.
    """
    view = corpus.view(
        min_count=config.min_count,
        max_vocabulary=None,
        punctuation=config.punctuation,  # type: ignore[arg-type]
        boundary=config.boundary,  # type: ignore[arg-type]
    )
    n_words = min(config.max_vocabulary, len(view.counts))
    if n_words < len(view.counts) and corpus.text.of_tokens:
        note(
            f"{corpus.path}: vectors of {n_words:,} of {len(view.counts):,} tokens, the most "
            f"frequent; `max_vocabulary={len(view.counts)}` makes those of all"
        )
    assert config.dim is not None
    if config.dim > n_words:
        min_count = config.min_count or corpus.default_min_count
        raise SettingError(
            f"`dim={config.dim}` is larger than the vocabulary ({n_words} words after "
            f"`min_count={min_count}`); pass `dim={n_words}` or less"
        )
    return view, n_words


def checked_view(corpus: "Corpus", config: SvdConfig) -> tuple["View", int]:
    """Open the text as :func:`_view`; raise if the vectors do not fit the memory."""
    view, n_words = _view(corpus, config)
    _require_memory(n_words, config)
    return view, n_words


def count_words(
    view: CountableView,
    n_words: int,
    config: SvdConfig,
    *,
    name: str,
    directory: Path | None,
    tasks: TaskFolder | None = None,
) -> Cooccurrences:
    """Count co-occurrences, perhaps in files or on a cluster; raise if there are none."""
    counts = _count(view, n_words, config, directory, tasks)
    n_used = int(np.count_nonzero(view.counts))
    if n_used < 2 or not counts.starts[-1]:
        raise nothing_together(name, n_used, config.boundary)
    return counts


def _count(
    view: CountableView,
    n_words: int,
    config: SvdConfig,
    directory: Path | None,
    tasks: TaskFolder | None,
) -> Cooccurrences:
    memory, weighting = parse_memory(config.memory), config.window_weighting
    with progress("counting", "tokens") as show:
        if tasks:
            from firth.embed.svd.shard_counts import Windows, counts_of_shards

            view = cast("View", view)
            windows = Windows(
                n_words=n_words, window=config.window, weighting=weighting,
                context=config.context_side, memory=config.memory, boundary=view.boundary,
                documents=view.documents, unit=view.stored.unit,
            )  # fmt: skip
            return add_counts(
                counts_of_shards(tasks, view, windows, show), view.counts[:n_words],
                window=config.window, weighting=weighting, threads=config.threads,
                memory=memory, directory=directory,
            )  # fmt: skip
        return count_cooccurrences(
            view, window=config.window, n_words=n_words, weighting=weighting,
            context=config.context_side, threads=config.threads, memory=memory,
            directory=directory, progress=show,
        )  # fmt: skip


def weigh(view: CountableView, counts: Cooccurrences, config: SvdConfig) -> Any:
    """Return the matrix to factor; overwrites the counts."""
    return _checked(config, ppmi.weigh(
        counts,
        weighting=config.weighting,
        keep=ppmi.keep_probabilities(view.counts, config.subsample)[: len(counts.starts) - 1],
        context_smoothing=config.context_smoothing,
        shift=config.shift,
        threads=config.threads,
    ))  # fmt: skip


def _checked(config: SvdConfig, matrix: Any) -> Any:
    """Return a matrix to factor; raise if it is empty."""
    if not matrix.nnz and config.shift > 1:
        raise SettingError(
            f"`shift={config.shift:g}` leaves no positive PMI; pass a smaller `shift`"
        )
    if not matrix.nnz:
        raise NothingCountedError(
            "no PMI is positive: no words occur together more often than by chance; pass more text"
        )
    return matrix


def _graph(corpus: "Corpus", config: SvdConfig) -> "NodeGraph | None":
    """Return the graph of a corpus if it is to be factored; raise if it has none."""
    if not config.exact_walks:
        return None
    if (graph := corpus.graph) is None:
        raise SettingError(f"{corpus.path}: `exact_walks=True` needs a corpus of walks on a graph")
    return graph


def _walked(
    graph: "NodeGraph", view: "View", n_words: int, config: SvdConfig, directory: Path | None
) -> Any:
    """Return the matrix to factor of a graph."""
    from firth.embed.svd.exact_walks import walk_matrix

    rows = view.rows_of_types()
    nodes = np.argsort(np.where(rows < 0, len(rows), rows), kind="stable")[:n_words]
    with progress("walking", "nodes") as show:
        limit = scratch_limit(0, n_words, config)
        matrix = walk_matrix(graph, nodes, config, memory=limit, directory=directory, progress=show)
    return _checked(config, matrix)


def _require_memory(n_words: int, config: SvdConfig) -> None:
    """Raise if the memory that was asked for does not hold what must be in memory."""
    assert config.dim is not None
    if config.pieces is None:
        least = _least(n_words, config)
    else:  # of which the vectors of words are composed in the end
        least = _least(config.pieces, config) + 4 * n_words * full_width(config)
    if config.memory is not None and parse_memory(config.memory) < least:
        raise SettingError(
            f"`memory={config.memory}`: {n_words:,} words of {config.dim} dimensions take at least "
            f"`memory={-(-least >> 20)}M`; pass that, fewer words or a smaller `dim`"
        )


def _least(n_words: int, config: SvdConfig) -> int:
    """Return the bytes that a run has in memory in any case."""
    return _PROGRAM_BYTES + workspace(n_words, config)


def workspace(n_words: int, config: SvdConfig) -> int:
    """Return the bytes that factoring has in memory in any case."""
    from firth.embed.svd.product_kernels import WIDTH

    assert config.dim is not None
    # float32 columns of height n_words
    blocks, results = 8 * WIDTH, 2 * config.dim + full_width(config)
    return 4 * n_words * (blocks + results)


def scratch_limit(in_memory: int, n_words: int, config: SvdConfig) -> int:
    """Return the bytes that the transpose and the bases may take besides counts in memory."""
    return max(parse_memory(config.memory) - in_memory - _least(n_words, config), 0)


def _check_fits_cluster(corpus: "Corpus", config: SvdConfig) -> None:
    """Raise if a training cannot run on a cluster."""
    if config.pieces is not None:
        raise SettingError(
            f"`pieces={config.pieces}`: pieces are counted on one machine; drop `cluster`"
        )
    if config.exact_walks:
        raise SettingError("`exact_walks=True`: one machine computes them; drop `cluster`")
    if corpus.sampled is not None:
        raise SettingError(f"{corpus.path}: a sample; a cluster trains on whole corpora")


def _factor(
    matrix: Any, config: SvdConfig, scratch: Scratch, metrics: _Metrics, directory: Path | None
) -> np.ndarray:
    """Return the word vectors U S^p, float32 (V, dim); of unordered items, write V S^p beside."""
    from firth.embed.svd.truncated_svd import truncated_svd

    assert config.dim is not None
    with metrics.step("svd") as about, progress("factoring", "steps") as show:
        found = truncated_svd(
            matrix,
            config.dim,
            seed=config.seed,
            device=config.device,
            threads=config.threads,
            scratch=scratch,
            progress=show,
        )
        about.update(captured=found.captured, total=found.total, share=found.captured / found.total)
        about.update(steps=found.steps, basis=found.basis, device=found.device)
    with np.errstate(over="ignore", invalid="ignore"):  # checked below
        powers = powers_of(found.values, config.singular_power).astype(np.float32)
        vectors = found.left
        vectors *= powers
        if config.add_contexts:
            right = found.right
            right *= powers
            vectors += right
        elif config.window == ALL and config.pieces is None and directory:
            save_array(directory / CONTEXT_VECTORS, found.right * powers)
    if not np.isfinite(vectors).all():
        raise SettingError(
            f"`singular_power={config.singular_power:g}` overflows float32; pass a smaller one"
        )
    return vectors


def powers_of(values: np.ndarray, power: float) -> np.ndarray:
    """Return singular values ** power, 0 for negligible ones, even if the power is 0."""
    powers = np.zeros(len(values))
    np.power(values, power, where=values > _NEGLIGIBLE * values.max(), out=powers)
    return powers
