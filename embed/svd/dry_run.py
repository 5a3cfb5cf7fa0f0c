"""Estimate what train-svd takes, by counting a sample and taking a few steps of its SVD."""

import dataclasses
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from firth.corpora.common.console import human
from firth.corpora.common.device import choose_device
from firth.corpora.common.errors import SettingError
from firth.corpora.common.estimate import Estimate, extrapolated
from firth.corpora.common.memory import parse_memory
from firth.corpora.common.peak_memory import anonymous_bytes
from firth.corpora.common.system import temporary_folder
from firth.embed.svd.cooccurrence import MEMORY_SHARES
from firth.embed.svd.scratch import Scratch
from firth.embed.svd.train import (
    SvdConfig,
    checked_view,
    count_words,
    full_width,
    learn_from,
    scratch_limit,
    weigh,
    with_width,
    workspace,
)
from firth.embed.vectors.wordlist import word_lines

if TYPE_CHECKING:  # imports numba
    from firth.corpora.store.corpus import Corpus, View
    from firth.embed.svd.piece_text import PieceText

_SAMPLE_TOKENS = 8_000_000  # the largest of four samples, each in the next one
_SAMPLES = 4
_SHARDS = 8  # that the samples are of
_STEPS = 12  # of the SVD
_ABOUT = 2_500  # bytes of the settings, provenance, metrics and checksums of a run


@dataclass(frozen=True)
class _Sample:
    """Counts of some of the text."""

    tokens: int
    entries: int  # of the counts
    nonzeros: int  # of the matrix
    seconds: float  # of counting and weighing


def estimate_svd(
    corpus: "Corpus", config: SvdConfig, *, sample_tokens: int = _SAMPLE_TOKENS
) -> Estimate:
    """Estimate the cost of a run; temporary files are removed."""
    if config.exact_walks:
        raise SettingError(
            "`exact_walks=True` has no `dry_run=True`; what exceeds `memory` is refused in seconds"
        )
    config = with_width(config, corpus)
    choose_device(config.device)
    started = time.perf_counter()
    text, n_rows, files = _open(corpus, config)
    seconds, base = time.perf_counter() - started, anonymous_bytes()
    with temporary_folder() as folder:
        samples, matrix = _samples(corpus, text, n_rows, config, sample_tokens, folder)
        last, tokens = samples[-1], [sample.tokens for sample in samples]
        grown = [
            extrapolated(tokens, [getattr(sample, name) for sample in samples], text.n_tokens)
            for name in ("entries", "nonzeros")
        ]
        entries, nonzeros = (min(each, float(n_rows) ** 2) for each in grown)
        svd = _svd_seconds(matrix, nonzeros, config, folder)
        del matrix  # or Windows would not remove its files
    count = last.seconds * text.n_tokens / last.tokens
    memory, temporary = _memory(n_rows, text.n_tokens, entries, nonzeros, config)
    assert config.dim is not None
    width = full_width(config)
    return Estimate(
        disk=4 * n_rows * width + files + _ABOUT,
        temporary=temporary,
        memory=base + memory,
        seconds=seconds + count + svd,
        sizes={
            "words": n_rows, "dim": width, "tokens": text.n_tokens,
            "nonzeros": round(nonzeros), "seconds_counting": round(seconds + count, 1),
        },
        reckoned_from=(
            f"{human(last.tokens)} of {human(text.n_tokens)} tokens, counted in "
            f"{last.seconds:.2f} s: {human(last.nonzeros)} non-zeros; more by their growth; and "
            f"from {_STEPS} steps of the SVD of that sample"
        ),
    )  # fmt: skip


def _open(corpus: "Corpus", config: SvdConfig) -> tuple["View | PieceText", int, int]:
    """Open the text with all checks of the training; return it with its number of rows."""
    view, n_words = checked_view(corpus, config)
    lines = len(word_lines(view.words[:n_words], view.counts[:n_words]))
    if config.pieces is None:
        return view, n_words, lines
    from firth.corpora.tokenizer.json_format import save_pieces
    from firth.embed.svd.piece_text import PieceText

    words, pieces = learn_from(corpus, config)
    with temporary_folder() as folder:
        save_pieces(pieces, folder / "pieces", corpus.text)
        size = (folder / "pieces").stat().st_size
    assert config.dim is not None
    return PieceText(words, pieces), len(pieces), lines + size + 4 * n_words * full_width(config)


def _samples(
    corpus: "Corpus",
    text: "View | PieceText",
    n_rows: int,
    config: SvdConfig,
    sample_tokens: int,
    folder: Path,
) -> tuple[list[_Sample], Any]:
    """Count samples of the training text, each half of the next; return the last matrix, too."""
    part = _some_shards(corpus)
    most = min(part.training_tokens, sample_tokens)
    samples: list[_Sample] = []
    for halvings in reversed(range(_SAMPLES)):
        view = text.of(part.sample(max(1, most >> halvings)).stored)
        # as many segments as the whole text has, of which as many are on disk
        memory = parse_memory(config.memory) * view.n_tokens // max(1, text.n_tokens)
        scaled = dataclasses.replace(config, memory=str(max(1, memory)))
        started = time.perf_counter()
        counts = count_words(view, n_rows, scaled, name=str(corpus.path), directory=folder)
        entries = len(counts.columns)
        matrix = weigh(view, counts, config)
        seconds = time.perf_counter() - started
        samples.append(_Sample(view.n_tokens, entries, matrix.nnz, seconds))
    return samples, matrix


def _some_shards(corpus: "Corpus") -> "Corpus":
    """Return a corpus of a few of its shards, from all places."""
    from firth.corpora.store.corpus import Corpus

    entries = corpus.manifest["shards"]
    if len(entries) <= _SHARDS:
        return corpus
    chosen = [len(entries) * place // _SHARDS for place in range(_SHARDS)]
    sampled = None if corpus.sampled is None else [corpus.sampled[n] for n in chosen]
    share = sum(entries[n]["tokens"] for n in chosen) / corpus.n_tokens
    sizes = {
        name: int(corpus.manifest[name] * share)
        for name in ("tokens", "documents", "held_out_tokens", "held_out_documents")
    }
    shards = [entries[n] for n in chosen]
    return Corpus(corpus.path, {**corpus.manifest, **sizes, "shards": shards}, sampled)


def _svd_seconds(matrix: Any, nonzeros: float, config: SvdConfig, folder: Path) -> float:
    """Return the seconds of the SVD of a matrix of so many non-zeros, by steps with a sample.

    A step multiplies by the matrix and makes the products orthogonal to all before them, which
    takes longer from step to step. In the end the vectors are combined from the bases.
    """
    from scipy.stats import theilslopes  # a median, as other programs disturb single steps

    from firth.embed.svd.product_kernels import WIDTH
    from firth.embed.svd.truncated_svd import basis_columns, truncated_svd

    assert config.dim is not None
    growth, ends = nonzeros / matrix.nnz, [time.perf_counter()]

    def show(done: float, total: float | None = None, detail: str = "") -> None:
        ends.append(time.perf_counter())
        if done == _STEPS:
            raise _EnoughError

    try:
        truncated_svd(
            matrix, config.dim, seed=config.seed, device=config.device, threads=config.threads,
            scratch=Scratch(scratch_limit(0, matrix.shape[0], config), folder), progress=show,
        )  # fmt: skip
        return growth * (time.perf_counter() - ends[0])
    except _EnoughError:
        columns = basis_columns(config.dim, matrix.shape)
    steps = -(-columns // WIDTH)
    longer, product = theilslopes(np.diff(ends[1:]))[:2]
    orthogonal = max(0.0, longer) * steps**2 / 2
    combining = orthogonal * config.dim / (2 * columns)
    return float(ends[1] - ends[0] + growth * steps * product + orthogonal + combining)


class _EnoughError(Exception):
    """Ends an SVD whose speed is known."""


def _memory(
    n_rows: int, n_tokens: int, entries: float, nonzeros: float, config: SvdConfig
) -> tuple[int, int]:
    """Return the most bytes in memory, besides the program, and those of temporary files."""
    from firth.embed.svd.product_kernels import WIDTH
    from firth.embed.svd.truncated_svd import basis_columns, is_dense

    share, counts = parse_memory(config.memory) // MEMORY_SHARES, 8 * entries
    counting = round(min(8 * n_tokens, share) + min(counts, share))
    kept = round(counts) if counts <= share else 0
    assert config.dim is not None
    shape = (n_rows, n_rows)
    columns = basis_columns(config.dim, shape)
    if is_dense(columns, shape):
        return max(counting, kept + 40 * n_rows**2), 0  # five matrices of LAPACK
    width = -(-columns // WIDTH) * WIDTH
    scratch = Scratch(scratch_limit(kept, n_rows, config))
    transposed = [round(4 * nonzeros)] * 2
    bases = [4 * n_rows * width, 4 * n_rows * (width + WIDTH)]
    in_memory = sum(size for size in [*transposed, *bases] if scratch.take(size))
    temporary = sum([*transposed, *bases]) - in_memory + (0 if kept else round(8 * entries))
    return max(counting, kept + in_memory + workspace(n_rows, config)), temporary
