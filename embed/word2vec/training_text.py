"""The text that a predictive method trains on: words, counts, rows; perhaps a grown vocabulary."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from corpora.common.errors import SettingError
from corpora.common.reporting import note
from embed.vectors.word_vectors import WordVectors
from embed.vectors.wordlist import index_words
from embed.word2vec.config import Word2VecConfig

if TYPE_CHECKING:  # numba comes with it
    from corpora.store.corpus import Corpus, View


@dataclass(frozen=True)
class TrainingText:
    """Words by row, and the tokens of the training and held-out documents as rows."""

    view: "View"  # the training documents of a corpus
    words: list[str]  # the word of each row
    # int64 (V,): occurrences that the vectors will have been trained on; they fall from row to
    # row. More than the view's where the vocabulary grew out of other vectors, and then
    # ``counts.sum()`` exceeds ``n_tokens``
    counts: np.ndarray

    @property
    def n_tokens(self) -> int:
        """Tokens of the training documents that have a row; what one epoch reads."""
        return self.view.n_tokens

    def shards(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Give the training documents shard by shard."""
        # yields rows: int32 (n,); yields offsets: int64 (m + 1,)
        yield from self.view.shards()

    def held_out_shards(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Give the held-out documents shard by shard, under the same rows."""
        # yields rows, offsets: int32 (n,), int64 (m + 1,)
        for rows, offsets in self.view.select("held-out").shards():
            if len(rows):
                yield rows, offsets


def open_text(corpus: "Corpus", config: Word2VecConfig, init: WordVectors | None) -> TrainingText:
    """Choose the words to train, and open the text.

    Without ``init`` they are the corpus' own. With it the vocabulary is grown:
    every word of ``init`` stays and is trained like any other, however rare it is
    in the new text; others join by the usual rules. The counts of both add up and
    rows fall by them; ties stay as in an ``init`` without counts, else go by code
    point.
    """
    if init is not None:
        _tell_other_text(init, corpus)
    view = corpus.view(
        min_count=config.min_count,
        max_vocabulary=config.max_vocabulary,
        punctuation=config.punctuation,  # type: ignore[arg-type]
        boundary=config.boundary,  # type: ignore[arg-type]
        keep=() if init is None else init.vocabulary,
    )
    if init is None:
        return TrainingText(view, view.words, view.counts)
    if not view.n_tokens:
        raise SettingError(
            f"{corpus.path}: has no word of {init.name}, and none occurs {config.min_count} times "
            "or more; pass a smaller `min_count`"
        )
    return _grown(view, init)


def _grown(view: "View", init: WordVectors) -> TrainingText:
    """Add the counts up and put the rows in their order."""
    place = index_words(init.vocabulary)
    places = np.array([place.get(word, -1) for word in view.words], dtype=np.int64)
    counts = view.counts.copy()
    if init.counts is not None:
        old = places >= 0
        counts[old] += np.asarray(init.counts)[places[old]]
    order = np.array(sorted(range(len(counts)), key=view.words.__getitem__), dtype=np.int64)
    if init.counts is None:  # files have frequent words first, and nothing else to tell by
        ranks = np.where(places >= 0, places, len(place))
        order = order[np.argsort(ranks[order], kind="stable")]
    order = order[np.argsort(-counts[order], kind="stable")]
    words = [view.words[row] for row in order.tolist()]
    return TrainingText(view.ordered(order), words, counts[order])


def _tell_other_text(init: WordVectors, corpus: "Corpus") -> None:
    """Say where the texts of both are written or divided in different ways."""
    if init.text is None or init.text == corpus.text:
        return
    there, here = asdict(init.text), asdict(corpus.text)
    differ = ", ".join(
        f"{name} {there[name]} there and {here[name]} here"
        for name in here
        if there[name] != here[name]
    )
    note(
        f"{init.name}: its text was not written or divided as that of {corpus.path} ({differ}); "
        "words are the same where they are spelled the same"
    )
