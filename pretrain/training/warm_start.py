"""The first vectors of the pieces: from counts of the same text, or from a run of word vectors."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from firth.corpora.artifacts.arrays import map_array, save_array
from firth.corpora.artifacts.atomic import write_whole
from firth.corpora.common.errors import SettingError
from firth.corpora.common.reporting import note
from firth.corpora.store.view import View
from firth.corpora.text.segment import TextSettings
from firth.corpora.tokenizer.json_format import save_pieces
from firth.corpora.tokenizer.pieces import FIRST_PIECE, Pieces
from firth.embed.formats.vector_files import load_vectors
from firth.embed.runs.writer import new_run
from firth.embed.svd.piece_text import PieceText
from firth.embed.svd.train import METHOD as SVD
from firth.embed.svd.train import (
    SvdConfig,
    checked_view,
    text_vectors,
    with_width,
)
from firth.embed.vectors.piece_table import (
    FIRST_VECTORS,
    PIECE_VECTORS,
    START,
    TOKENIZER,
    rows_from_words,
)
from firth.embed.vectors.training import NothingCountedError
from firth.embed.vectors.word_vectors import WordVectors
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.text import TextSplits
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.model.nearby_heads import look_nearby
from firth.pretrain.model.weights import read_model
from firth.pretrain.shape import INIT_STD, EncoderConfig

if TYPE_CHECKING:
    from firth.corpora.store.corpus import Corpus

AUTO, NONE = "auto", "none"  # values of the setting ``init`` that are no runs
ORIGIN = "origin.safetensors"  # of an unfinished run that goes on from others: their weights
_MAKER = {"command": "train-mlm"}  # of the run of the words without context
_SHARED = 0.5  # of the pieces must occur in the words of a run


def write_first_vectors(
    run: Path, config: MlmConfig, text: TextSplits, pieces: Pieces, threads: int
) -> None:
    """Make first vectors, and words of theirs to keep, unless an earlier call did."""
    path = run / FIRST_VECTORS
    if path.is_file():
        return
    if config.init == AUTO:
        vectors = vectors_from_text(
            text.train, pieces, config.size.dim, seed=config.seed, threads=threads
        )
    else:
        words = words_from_run(config.init, text.train, config.size.dim)
        vectors = vectors_from_words(words, pieces, run=config.init)
        with new_run(run / START, _MAKER, force=True) as start:
            _save_words(start.path, words, pieces, vectors, text.settings)
            start.describe("init", {"source": config.init}, text.settings)
    write_whole(path, lambda new: save_array(new, vectors))


def count_words(
    run: Path, corpus: "Corpus", config: MlmConfig, pieces: Pieces, threads: int
) -> None:
    """Make the vectors that words have without context, unless an earlier call did.

    With the defaults of ``train-svd``. Pieces get the mean of the words that contain them. A text
    too short to count has none.
    """
    if config.init != AUTO or (run / START).exists():
        return
    svd = start_config(corpus, config, threads)
    try:
        with new_run(run / START, _MAKER, force=True) as start:
            view, n_words = checked_view(corpus, svd)
            name = str(corpus.path)
            matrix, _ = text_vectors(view, svd, n_words, name=name, directory=start.path)
            words = WordVectors(view.words[:n_words], matrix, counts=view.counts[:n_words])
            rows = rows_from_words(words.vocabulary, view.counts[:n_words], matrix, pieces)
            _save_words(start.path, words, pieces, rows, corpus.text)
            start.describe(SVD, dataclasses.asdict(svd), corpus.text)
    except NothingCountedError:
        note("too few words occur together to count, so they have the mean of their pieces")


def start_config(corpus: "Corpus", config: MlmConfig, threads: int | None = None) -> SvdConfig:
    """Return how words are counted: the defaults of ``train-svd``, as wide as the words allow."""
    min_count = config.min_count or corpus.default_min_count
    svd = with_width(
        SvdConfig(min_count=min_count, seed=config.seed, threads=threads, device="cpu"),
        corpus,
    )
    assert svd.dim is not None
    n_words = len(corpus.view(min_count=min_count, punctuation="drop").counts)
    return dataclasses.replace(svd, dim=min(svd.dim, n_words))


def _save_words(
    start: Path, words: WordVectors, pieces: Pieces, rows: np.ndarray, text: TextSettings
) -> None:
    """Write words and their pieces, of which unseen words have the mean."""
    # rows: float32 (P, D)
    words.write(start)
    save_pieces(pieces, start / TOKENIZER, text)
    save_array(start / PIECE_VECTORS, rows)


def open_first_vectors(directory: Path) -> np.ndarray:
    """Map the first vectors of an unfinished run into memory, float32 (V, D)."""
    again = "pass `force=True` to start over"
    return map_array(directory / FIRST_VECTORS, again=again, missing=f"is missing; {again}")


def vectors_from_text(
    view: View, pieces: Pieces, dim: int, *, seed: int, threads: int
) -> np.ndarray:
    """Return vectors of the pieces by SVD of their co-occurrences, with defaults of ``train-svd``.

    The vectors of special pieces, and columns beyond the number of pieces, are 0; all of them if no
    pieces occur together.
    """
    # returns float32 (V, dim)
    text = PieceText(view, pieces)
    width = max(1, min(dim, int(np.count_nonzero(text.counts))))
    config = SvdConfig(dim=width, seed=seed, threads=threads, device="cpu")
    try:
        vectors, _ = text_vectors(text, config, len(text.counts), name="the text")
    except NothingCountedError:
        note("`init=auto`: too few pieces occur together to count, so the first vectors are random")
        return np.zeros((len(text.counts), dim), np.float32)
    return np.pad(vectors, ((0, 0), (0, dim - width)))


def check_source(config: MlmConfig) -> None:
    """Raise if the training should start from a run that is missing or has another width."""
    if config.init not in (AUTO, NONE):
        _open_source(config.init, config.size.dim)


def _open_source(run: str, dim: int) -> WordVectors:
    """Open the word vectors of a run; raise if they have another width."""
    vectors = load_vectors(run)
    if vectors.dim != dim:
        raise SettingError(
            f"`init={run}`: has {vectors.dim} dimensions and the encoder {dim}; pass "
            f"`dim={vectors.dim}` or a run of that width"
        )
    return vectors


def words_from_run(run: str, view: View, dim: int) -> WordVectors:
    """Return the words of a text that have a vector in a run; raise if it has another width."""
    vectors = _open_source(run, dim)
    found = [(row, vectors.vector(word)) for row, word in enumerate(view.words)]
    known = [(row, vector) for row, vector in found if vector is not None]
    matrix = np.array([vector for _, vector in known], np.float32).reshape(-1, dim)
    if not np.isfinite(matrix).all():
        raise SettingError(f"`init={run}`: holds NaN or infinity; train it again")
    rows = [row for row, _ in known]
    return WordVectors([view.words[row] for row in rows], matrix, counts=view.counts[rows])


def vectors_from_words(words: WordVectors, pieces: Pieces, *, run: str) -> np.ndarray:
    """Return for each piece the mean vector of words with it, or 0; raise if most have none."""
    # returns float32 (P, D)
    assert words.counts is not None
    rows = rows_from_words(words.vocabulary, words.counts, words.matrix, pieces)
    n_known, n_pieces = np.count_nonzero(rows.any(1)), len(pieces) - FIRST_PIECE
    if n_known < _SHARED * n_pieces:
        raise SettingError(
            f"`init={run}`: its words contain {n_known:,} of the {n_pieces:,} pieces of the text; "
            "pass a run of a text like this one, or `init=auto`"
        )
    return rows


def untrained_model(
    run: Path, shape: EncoderConfig, config: MlmConfig, counts: torch.Tensor
) -> MaskedLanguageModel:
    """Return the model as its training begins, with the first vectors of a run."""
    if config.continue_ is not None:
        return read_model(run / ORIGIN, shape).train()
    model = MaskedLanguageModel(shape, seed=config.seed)
    if config.init != NONE:
        start_from(model, open_first_vectors(run), counts)
    if shape.nearby_heads:
        look_nearby(model)
    return model


def start_from(model: MaskedLanguageModel, vectors: np.ndarray, counts: torch.Tensor) -> None:
    """Replace the table by vectors, scaled to the deviation of random ones, and set the bias.

    Pieces whose vector is 0, and columns that are 0, keep random numbers. The bias of the output
    becomes the log frequencies, so that the first prediction is about the unigram's.
    """
    # vectors: float32 (V, D); counts: int64 (V,)
    grid = np.ix_(np.flatnonzero(vectors.any(1)), np.flatnonzero(vectors.any(0)))
    known, table = vectors[grid], model.pieces.weight
    share = (counts + 1).double() / float(counts.sum() + len(counts))
    with torch.no_grad():
        if known.size:
            places = tuple(torch.from_numpy(each) for each in grid)
            table[places] = torch.from_numpy(known * (INIT_STD / (known.std() or 1))).to(table)
        bias = share.log().to(model.core.bias)
        model.core.bias.fill_(bias.max())  # of sentinels, about as frequent as the first piece
        model.core.bias[: len(bias)] = bias
