"""The text to train on: words, counts and rows; with initial vectors, a grown vocabulary."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from firth.corpora.common.errors import SettingError
from firth.corpora.common.reporting import note
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.vectors.wordlist import index_words, note_join
from firth.embed.word2vec.config import Word2VecConfig

if TYPE_CHECKING:  # it imports numba
    from firth.corpora.store.corpus import Corpus, View


@dataclass(frozen=True)
class TrainingText:
    """The vocabulary, and the training and held-out text as rows of it."""

    view: "View"  # the training documents of a corpus
    words: list[str]  # the word of each row
    # int64 (V,): occurrences by row, descending. With initial vectors their counts are added, so
    # that ``counts.sum()`` exceeds ``n_tokens``.
    counts: np.ndarray

    @property
    def n_tokens(self) -> int:
        """Tokens of the training documents that are in the vocabulary."""
        return self.view.n_tokens

    def shards(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield rows and offsets of the training documents, one shard at a time."""
        # yields int32 (n,), int64 (m + 1,)
        yield from self.view.shards()

    @property
    def n_held_out_tokens(self) -> int:
        """Tokens of the held-out text that are in the vocabulary."""
        return self.view.select("held-out").n_tokens

    def held_out_shards(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield rows and offsets of the held-out text, and those of its units, shard by shard."""
        # yields int32 (n,), int64 (m + 1,), int64 (n_units + 1,)
        held_out = self.view.select("held-out")
        for (rows, offsets), units in zip(held_out.shards(), held_out.clusters(), strict=True):
            if len(rows):
                yield rows, offsets, units


def open_text(corpus: "Corpus", config: Word2VecConfig, init: WordVectors | None) -> TrainingText:
    """Open the training text and choose the vocabulary.

    With ``init`` the vocabulary is grown: every word of ``init`` is kept, however
    rare in the new text, and other words are added by the usual rules. Counts are
    added up and rows sorted by them, descending; ties are in the order of an
    ``init`` without counts, else in code point order.
    """
    if init is not None:
        _note_text_differences(init, corpus)
    min_count = config.min_count or corpus.default_min_count
    view = corpus.view(
        min_count=min_count,
        max_vocabulary=config.max_vocabulary,
        punctuation=config.punctuation,  # type: ignore[arg-type]
        boundary=config.boundary,  # type: ignore[arg-type]
        keep=() if init is None else init.vocabulary,
    )
    if init is None:
        return TrainingText(view, view.words, view.counts)
    if not view.n_tokens:
        raise SettingError(
            f"{corpus.path}: has no word of {init.name}, and no word occurs {min_count} "
            "times or more; pass a smaller `min_count`"
        )
    return _grow_vocabulary(view, init, min_count)


def _grow_vocabulary(view: "View", init: WordVectors, min_count: int) -> TrainingText:
    """Add up the counts and sort the rows by them."""
    place = index_words(init.vocabulary)
    places = np.array([place.get(word, -1) for word in view.words], dtype=np.int64)
    counts = view.counts.copy()
    frequent = counts >= min_count  # others are in the vocabulary only because ``init`` has them
    what = f"words of the text start from {init.name}"
    note_join(int((places[frequent] >= 0).sum()), int(frequent.sum()), what, always=True)
    if init.counts is not None:
        old = places >= 0
        counts[old] += np.asarray(init.counts)[places[old]]
    order = np.array(sorted(range(len(counts)), key=view.words.__getitem__), dtype=np.int64)
    if init.counts is None:  # files list frequent words first
        ranks = np.where(places >= 0, places, len(place))
        order = order[np.argsort(ranks[order], kind="stable")]
    order = order[np.argsort(-counts[order], kind="stable")]
    words = [view.words[row] for row in order.tolist()]
    return TrainingText(view.ordered(order), words, counts[order])


def _note_text_differences(init: WordVectors, corpus: "Corpus") -> None:
    """Print how the text settings of the initial vectors differ from those of the corpus."""
    if init.text is None or init.text == corpus.text:
        return
    first, new = asdict(init.text), asdict(corpus.text)
    del new["joined_phrases"]
    differences = "; ".join(
        f"{name} {first[name]}, here {new[name]}" for name in new if first[name] != new[name]
    )
    note(
        f"{init.name}: its text settings differ from those of {corpus.path} ({differences}); "
        "words are matched by spelling"
    )
