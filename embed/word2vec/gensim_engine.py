"""The gensim engine: the same words and text, trained by gensim's word2vec.

gensim reads text fastest from a file with one unit a line, ``corpus_file``, and
loses some of it on the way: of what it takes at a time it trains on the first
10,000 words, units that are longer than that included, and its threads start
and stop wherever an even share of the bytes happens to end. So the file is laid
out for it. Every word is a number of the same width, every 10,001 of them are a
batch of which the last are no words, and every thread has the same number of
batches: each word is then trained on once an epoch, in any text, by any number
of threads.
"""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corpora.common.console import Progress, no_progress, note
from corpora.common.errors import SettingError

if TYPE_CHECKING:
    from embed.word2vec.train import Word2VecConfig

# gensim reads units until it has more than 10,000 words, keeps 10,000, and has room for
# 10,000 units. One unit of padding ends a batch, so the others have at most 9,999 words.
_BATCH = 10_001
_MOST = 9_999
_DIGITS = np.frombuffer(
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", dtype=np.uint8
)
_SEEDS = 2**32
_SPACE, _NEWLINE = 32, 10
_TEXT = "gensim.txt"


def refuse_for_gensim(config: "Word2VecConfig") -> None:
    """Refuse what gensim cannot do.

    Parameters
    ----------
    config : SkipGramConfig or CbowConfig
        Of which ``subwords``, ``init``, ``deterministic`` and ``seed`` matter.

    Raises
    ------
    SettingError
        Names every option that does not go with the engine, or the seed.
    """
    given = {
        "--subwords": config.subwords is not None,
        "--init": config.init is not None,
        "--deterministic": config.deterministic,
    }
    refused = [option for option, is_given in given.items() if is_given]
    if refused:
        them = "it" if len(refused) == 1 else "them"
        raise SettingError(
            f"--engine gensim does not go with {' and '.join(refused)}; "
            f"leave {them} out or pass --engine firth"
        )
    if importlib.util.find_spec("gensim") is None:
        raise SettingError(
            "--engine gensim needs gensim; pip install gensim, or pass --engine firth"
        )
    if config.seed >= _SEEDS:
        raise SettingError(
            f"--engine gensim takes seeds below {_SEEDS}, got {config.seed}; pass a smaller --seed"
        )


def train_gensim(
    view: Any,
    config: "Word2VecConfig",
    *,
    skip_gram: bool,
    directory: Path,
    threads: int,
    tell: Progress = no_progress,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Train with gensim's word2vec on a text file that is removed afterwards.

    Bit-identical with ``threads=1`` and the same gensim.

    Parameters
    ----------
    view : corpora.store.view.View or alike
        Its ``counts`` (V,), ``n_tokens`` and ``shards()`` are asked for.
    config : SkipGramConfig or CbowConfig
        Every option.
    skip_gram : bool
        Skip-gram; otherwise CBOW.
    directory : Path
        Where the text is held meanwhile: about 4 bytes a token.
    threads : int
        gensim's workers.
    tell : Progress
        Told the tokens behind us and in all, after each epoch: gensim says
        nothing before.

    Returns
    -------
    vectors : float32 (V, dim)
        The word vectors, in the order of the view's rows.
    contexts : float32 (V, dim) or None
        The output vectors; None with hierarchical softmax, which has none of
        words.

    Raises
    ------
    SettingError
        An option is not gensim's, or gensim is not installed.
    """
    refuse_for_gensim(config)
    table = _names(len(view.counts))
    model = _model(config, view.counts, table, skip_gram=skip_gram, threads=threads)
    text = directory / _TEXT
    try:
        batches, n_cut = _write_text(view, table, text, threads)
        if n_cut:
            units = f"1 {config.boundary} is" if n_cut == 1 else f"{n_cut:,} {config.boundary}s are"
            note(f"{units} longer than gensim takes at a time, and cut at every {_MOST:,} words")
        model.train(
            corpus_file=str(text),
            # A thread ends its epoch when it has more words than its share of these.
            total_words=batches * _BATCH - threads,
            epochs=config.epochs,
            callbacks=[_epochs_told(tell, view.n_tokens, model.epochs)],
        )
    finally:
        text.unlink(missing_ok=True)
    return model.wv.vectors, None if config.hierarchical_softmax else model.syn1neg


def _model(
    config: "Word2VecConfig",
    counts: np.ndarray,
    table: np.ndarray,
    *,
    skip_gram: bool,
    threads: int,
) -> Any:
    """A model of gensim with our words in our order and its own first vectors."""
    from gensim.models import Word2Vec

    model = Word2Vec(
        vector_size=config.dim,
        window=config.window,
        shrink_windows=config.window_weighting == "dynamic",
        sg=int(skip_gram),
        cbow_mean=int(not getattr(config, "sum", False)),
        hs=int(config.hierarchical_softmax),
        negative=0 if config.hierarchical_softmax else config.negatives,
        ns_exponent=config.unigram_exponent,
        sample=_threshold(config),
        alpha=config.learning_rate,
        min_alpha=config.final_rate,
        epochs=config.epochs,
        seed=config.seed,
        workers=threads,
        min_count=1,  # the view has chosen
        sorted_vocab=0,
    )
    width = table.shape[1] - 1
    names = table[:-1, :width].tobytes().decode("ascii")
    starts = range(0, len(names), width)
    model.build_vocab_from_freq(
        {names[start : start + width]: n for start, n in zip(starts, counts.tolist(), strict=True)}
    )
    return model


def _threshold(config: "Word2VecConfig") -> float:
    """The threshold of subsampling, for gensim; of those that drop no word, one that works.

    From 1 on it would be a count. At 0 gensim gives its random numbers no seed,
    unless it needs some for negative sampling; 0.5 drops nothing, for
    sqrt(t / f) + t / f >= 1 for every share f of the tokens.
    """
    if 0 < config.subsample < 1:
        return config.subsample
    return 0.5 if config.hierarchical_softmax else 0.0


def _epochs_told(tell: Progress, n_tokens: int, epochs: int) -> Any:
    """A callback of gensim's that tells of each epoch's end."""
    from gensim.models.callbacks import CallbackAny2Vec

    class Told(CallbackAny2Vec):  # type: ignore[misc] # gensim has no types
        done = 0

        def on_epoch_end(self, model: Any) -> None:
            self.done += n_tokens
            tell(self.done, n_tokens * epochs)

    return Told()


def _names(n_words: int) -> np.ndarray:
    """What stands for each row in the file, and for no word: uint8 (V + 1, width + 1).

    All of one width, so that a share of the bytes is a share of the words; a
    space at the end. A word itself could hold what gensim takes for a space.
    """
    numbers = np.arange(n_words + 1)
    width = 1
    while len(_DIGITS) ** width <= n_words:
        width += 1
    table = np.full((n_words + 1, width + 1), _SPACE, dtype=np.uint8)
    for place in reversed(range(width)):
        numbers, digits = np.divmod(numbers, len(_DIGITS))
        table[:, place] = _DIGITS[digits]
    return table


def _write_text(view: Any, table: np.ndarray, path: Path, threads: int) -> tuple[int, int]:
    """Write the units, a line each, in batches; tell these and the units cut in pieces."""
    n_batches = n_cut = 0
    with open(path, "wb") as file:
        for rows, offsets in view.shards():
            bounds, more = _cut(offsets)
            n_cut += more
            for part in _batches(bounds):
                file.write(_batch(rows, part, table))
                n_batches += 1
        while n_batches % threads:
            file.write(_batch(np.empty(0, dtype=np.int32), np.zeros(1, dtype=np.int64), table))
            n_batches += 1
    return n_batches, n_cut


def _cut(offsets: np.ndarray) -> tuple[np.ndarray, int]:
    """Bounds of units without those that are too long, and how many those were."""
    long = np.flatnonzero(np.diff(offsets) > _MOST)
    cuts = [np.arange(offsets[unit], offsets[unit + 1], _MOST) for unit in long]
    return np.unique(np.concatenate([offsets, *cuts])), len(long)


def _batches(bounds: np.ndarray) -> Iterator[np.ndarray]:
    """Bounds of as many units as go into each batch."""
    first = 0
    while first < len(bounds) - 1:
        last = int(np.searchsorted(bounds, bounds[first] + _MOST, side="right")) - 1
        yield bounds[first : last + 1]
        first = last


def _batch(rows: np.ndarray, bounds: np.ndarray, table: np.ndarray) -> bytes:
    """The lines of one batch, the last of no words."""
    first, last = bounds[0], bounds[-1]
    padded = np.full(_BATCH, len(table) - 1)
    padded[: last - first] = rows[first:last]
    lines = table[padded]
    lines[bounds[1:] - first - 1, -1] = _NEWLINE
    lines[-1, -1] = _NEWLINE
    return lines.tobytes()
