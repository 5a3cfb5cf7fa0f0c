"""Count-based vectors: co-occurrence counts, PPMI, truncated SVD, as one run.

Levy, Goldberg and Dagan 2015, "Improving Distributional Similarity with Lessons
Learned from Word Embeddings", TACL 3: every count-side hyperparameter of theirs
is an option here.
"""

import contextlib
import dataclasses
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corpora.artifacts.artifact import new_artifact, write_json
from corpora.artifacts.provenance import now, provenance
from corpora.common.console import note, progress
from corpora.common.errors import FirthError, SettingError
from corpora.common.memory import parse_memory
from corpora.common.options import check, setting
from corpora.common.threads import thread_count
from embed.svd import ppmi
from embed.svd.cooccurrence import CONTEXTS, Cooccurrences, count_cooccurrences
from embed.svd.window_weights import WEIGHTINGS
from embed.vectors.word_vectors import WordVectors

if TYPE_CHECKING:  # numba comes with it, and --help needs only the config
    from corpora.store.corpus import Corpus, View

FORMAT = 1
METHOD = "svd"
_NEGLIGIBLE = 1e-6  # of the largest singular value: rounding, in float32


@dataclass(frozen=True, kw_only=True)
class SvdConfig:
    """Truncated SVD of a weighted co-occurrence matrix (Levy, Goldberg and Dagan 2015).

    The defaults are those that did best over the similarity and analogy sets on
    16 million words of English Wikipedia.
    """

    dim: int = setting(300, "Width of the word vectors.", at_least=1)
    window: int = setting(
        7, "Farthest context word, in tokens each side.", at_least=1, at_most=1_000_000
    )
    window_weighting: str = setting(
        "harmonic",
        "Weight of a context word at distance d: dynamic is (window - d + 1) / window, "
        "harmonic is 1 / d, flat is 1.",
        choices=WEIGHTINGS,
    )
    context: str = setting("symmetric", "Which side of a word is its context.", choices=CONTEXTS)
    weighting: str = setting(
        "ppmi",
        "What is factored: positive PMI, the counts, or log(1 + count); the textbook's SVD of "
        "the counts takes --subsample 0 and --singular-power 1 as well.",
        choices=ppmi.WEIGHTINGS,
    )
    subsample: float = setting(
        1e-5,
        "Frequent words count for less: each occurrence by the probability min(1, sqrt(t / f)) "
        "of keeping it, f being the word's share of the tokens; 0 for off.",
        at_least=0,
        metavar="T",
    )
    context_smoothing: float = setting(
        0.75, "Exponent of the contexts' frequencies in PPMI; 1 for none.", at_least=0, at_most=1
    )
    shift: float = setting(
        1.0, "log(shift) is taken from PMI, as by that many negative samples.", above=0
    )
    singular_power: float = setting(
        0.5, "Exponent p of the singular values in W = U S^p.", at_least=0
    )
    add_contexts: bool = setting(False, "Add each word's vector as a context, V S^p, to its own.")
    normalize: bool = setting(False, "Scale every vector to length 1.")
    min_count: int = setting(5, "Words with fewer tokens are dropped.", at_least=1)
    max_vocabulary: int = setting(50_000, "Keep at most this many words.", at_least=1)
    boundary: str = setting(
        "paragraph", "What no window crosses.", choices=("sentence", "paragraph", "document")
    )
    punctuation: str = setting(
        "drop", "Whether punctuation marks count as words.", choices=("drop", "keep")
    )
    seed: int = setting(1, "Where the SVD starts from.", at_least=0)
    device: str = setting(
        "auto", "Where the SVD runs; auto is cuda if there is one.", choices=("auto", "cpu", "cuda")
    )
    threads: int | None = setting(None, "Threads; all cores by default.", at_least=1)
    memory: str | None = setting(
        None,
        "Memory for counting, such as 512M or 4G; beyond it counts go to disk. Half of the "
        "machine by default.",
        metavar="SIZE",
    )

    def __post_init__(self) -> None:
        check(self)
        parse_memory(self.memory)


def train_svd(corpus: "Corpus", config: SvdConfig, out: str | Path, *, force: bool = False) -> Path:
    """Count, weigh, factor; write the vectors as a run.

    The same vectors at any ``threads`` and ``memory``, byte for byte.

    Parameters
    ----------
    corpus : Corpus
        Its training documents are counted.
    config : SvdConfig
        Every option.
    out : str or Path
        Where the run will stand.
    force : bool
        Replace a run that stands there.

    Returns
    -------
    Path
        ``out``: ``config.json``, ``provenance.json``, ``vocabulary.tsv``,
        ``vectors.npy`` float32 (V, dim), ``metrics.jsonl``, ``checksums.json``.

    Raises
    ------
    ArtifactError
        ``out`` exists or is being made.
    SettingError
        No word is frequent enough, ``dim`` is larger than the vocabulary, or
        there is no such device.
    FirthError
        No two words stand near each other.
    """
    from corpora.common.device import choose_device

    out, started = Path(out), now()
    options = dataclasses.asdict(config)
    maker = {"command": "train-svd", "corpus": corpus.fingerprint, **options}
    with new_artifact(out, maker, force=force) as partial:
        choose_device(config.device)
        view = _view(corpus, config)
        metrics = _Metrics(partial / "metrics.jsonl")
        with metrics.step("count") as about:
            counts = _count(view, config, partial)
            nonzeros = len(counts.columns)
            about.update(tokens=view.n_tokens, nonzeros=nonzeros, on_disk=counts.on_disk)
        if not nonzeros:
            raise FirthError(
                f"{corpus.path}: no two of the {len(view.words)} words stand in one "
                f"{config.boundary}; pass a wider --boundary or a smaller --min-count"
            )
        _tell_lonely_words(corpus, counts)
        vectors = _factor(_weigh(view, counts, config, metrics), config, metrics)
        WordVectors(view.words, vectors, counts=view.counts).save(partial)
        head = {"format": FORMAT, "method": METHOD}
        write_json(partial / "config.json", {**head, **options, "text": corpus.text.to_json()})
        about = {"threads": thread_count(config.threads), "corpus": corpus.fingerprint}
        write_json(partial / "provenance.json", provenance(started, seeds=[config.seed], **about))
    return out


class _Metrics:
    """``metrics.jsonl``: a line per step, to be followed while the run is made."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[dict[str, Any]]:
        """Time a step; what the block puts in the dictionary joins its line."""
        about: dict[str, Any] = {}
        begun = time.perf_counter()
        yield about
        seconds = time.perf_counter() - begun
        line = {"step": name, "seconds": round(seconds, 3), **about}
        if "tokens" in about and seconds > 0:
            line["tokens_per_second"] = round(about["tokens"] / seconds)
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def _view(corpus: "Corpus", config: SvdConfig) -> "View":
    """The words and text to count; refused where they are fewer than the dimensions."""
    view = corpus.view(
        min_count=config.min_count,
        max_vocabulary=config.max_vocabulary,
        punctuation=config.punctuation,  # type: ignore[arg-type]
        boundary=config.boundary,  # type: ignore[arg-type]
    )
    n_words = len(view.counts)
    if config.dim > n_words:
        raise SettingError(
            f"--dim {config.dim} is larger than the vocabulary ({n_words} words after "
            f"--min-count {config.min_count}); pass --dim {n_words} or less"
        )
    return view


def _count(view: "View", config: SvdConfig, directory: Path) -> Cooccurrences:
    """Count within the memory."""
    with progress("counting", "tokens") as show:
        return count_cooccurrences(
            view,
            window=config.window,
            weighting=config.window_weighting,
            context=config.context,
            threads=config.threads,
            memory=parse_memory(config.memory),
            directory=directory,
            progress=show,
        )


def _tell_lonely_words(corpus: "Corpus", counts: Cooccurrences) -> None:
    """Say how many words are alone in all their units."""
    lonely = int((np.diff(counts.starts) == 0).sum())
    if lonely:
        words = "1 word has" if lonely == 1 else f"{lonely} words have"
        note(f"{corpus.path}: {words} no context words and a zero vector")


def _weigh(view: "View", counts: Cooccurrences, config: SvdConfig, metrics: _Metrics) -> Any:
    """The matrix to factor; uses the counts up."""
    with metrics.step("weigh") as about:
        matrix = ppmi.weigh(
            counts,
            weighting=config.weighting,
            keep=ppmi.keep_probabilities(view.counts, config.subsample),
            context_smoothing=config.context_smoothing,
            shift=config.shift,
            threads=config.threads,
        )
        about["nonzeros"] = int(matrix.nnz)
    if not matrix.nnz:
        raise SettingError(
            f"--shift {config.shift:g} leaves no positive PMI; pass a smaller --shift"
        )
    return matrix


def _factor(matrix: Any, config: SvdConfig, metrics: _Metrics) -> np.ndarray:
    """The word vectors U S^p, float32 (V, dim)."""
    from embed.svd.truncated_svd import truncated_svd

    with metrics.step("svd") as about, progress("factoring", "steps") as show:
        found = truncated_svd(
            matrix,
            config.dim,
            seed=config.seed,
            device=config.device,
            threads=config.threads,
            progress=show,
        )
        about.update(captured=found.captured, total=found.total, share=found.captured / found.total)
        about.update(steps=found.steps, basis=found.basis, device=found.device)
    with np.errstate(over="ignore", invalid="ignore"):  # refused below
        powers = _powers(found.values, config.singular_power)
        vectors: np.ndarray = found.left * powers
        if config.add_contexts:
            vectors += found.right * powers
    if not np.isfinite(vectors).all():
        raise SettingError(
            f"--singular-power {config.singular_power:g} gives numbers beyond float32; pass a "
            "smaller one"
        )
    return _normalized(vectors) if config.normalize else vectors


def _powers(values: np.ndarray, power: float) -> np.ndarray:
    """values ** power in float32; 0 for directions that the matrix does not have."""
    powers = np.zeros(len(values))
    np.power(values, power, where=values > _NEGLIGIBLE * values.max(), out=powers)
    return powers.astype(np.float32)


def _normalized(vectors: np.ndarray) -> np.ndarray:
    """Rows of length 1; zero rows stay zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, lengths, where=lengths > 0, out=np.zeros_like(vectors))
