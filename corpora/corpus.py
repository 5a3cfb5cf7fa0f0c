"""An encoded corpus on disk, and the views of it that methods train on."""

import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from corpora.artifacts import CHECKSUMS, read_json, verify
from corpora.corpus_kernels import count_rows, select_rows
from corpora.errors import ArtifactError, SettingError
from corpora.segment import TextSettings, unspaced_advice
from corpora.shards import Shard
from corpora.vocabulary import PRUNED, Vocabulary

FORMAT = 1
MANIFEST = "manifest.json"
Boundary = Literal["sentence", "paragraph", "document"]
Documents = Literal["train", "held-out", "all"]
_DROPPED = -1
# What the tally counts beside sizes, in words.
_TOLD = {
    "replaced_bytes": "bytes that are not text in the encoding replaced by U+FFFD",
    "replaced_characters": "half surrogate pairs replaced by U+FFFD",
    "dropped_bytes": "bytes of control and unassigned characters (U+FFFD too) dropped",
    "missing_lemmas": "words without a lemma kept as their form",
    "missing_fields": "fields to keep that their record lacks left empty",
    "redirects": "redirects left out",
    "other_namespaces": "pages of other namespaces left out",
    "other_models": "pages of code or data left out",
    "lines_outside_documents": "lines outside of <doc> tags left out",
    "markup_lines": "lines cleaned of leftover markup",
}


class Corpus:
    """A finished corpus; opening it reads the manifest and nothing else.

    Parameters
    ----------
    path : Path
        Its directory.
    manifest : dict
        What its ``manifest.json`` holds; :meth:`open` reads it.
    """

    def __init__(self, path: Path, manifest: dict[str, Any]) -> None:
        self.path = path
        self.manifest = manifest

    @classmethod
    def open(cls, path: str | Path) -> "Corpus":
        """Open a corpus directory.

        Parameters
        ----------
        path : str or Path
            What ``build-corpus`` made.

        Returns
        -------
        Corpus
            Arrays are memory-mapped when they are asked for.

        Raises
        ------
        ArtifactError
            There is no finished corpus of this format.
        """
        path = Path(path)
        if not is_corpus(path):
            raise ArtifactError(f"{path}: is no finished corpus; make one with firth build-corpus")
        manifest = read_json(path / MANIFEST)
        found = manifest.get("format") if isinstance(manifest, dict) else None
        if found != FORMAT:
            raise ArtifactError(
                f"{path}: has corpus format {found}, this version reads {FORMAT}; build it again"
            )
        return cls(path, manifest)

    @property
    def fingerprint(self) -> str:
        """Names the sources' content and every setting that shapes the corpus."""
        return str(self.manifest["fingerprint"])

    @property
    def n_tokens(self) -> int:
        """Tokens in all documents."""
        return int(self.manifest["tokens"])

    @property
    def n_documents(self) -> int:
        """Documents, empty ones included."""
        return int(self.manifest["documents"])

    @cached_property
    def text(self) -> TextSettings:
        """How text was written and divided."""
        return TextSettings.from_json(self.manifest["text"])

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Every type with its counts."""
        return Vocabulary(self.path / "vocabulary")

    @cached_property
    def shards(self) -> list[Shard]:
        """The shards in the order of the text."""
        return [Shard(self.path / "shards" / s["name"]) for s in self.manifest["shards"]]

    def advice(self) -> list[str]:
        """Say what a person should know of how the corpus came out.

        Returns
        -------
        list of str
            One line each: what was dropped or replaced, a segmenter that fits better.
        """
        tally = self.manifest["tally"]
        lines = [f"{tally[name]:,} {words}" for name, words in _TOLD.items() if tally.get(name)]
        if self.vocabulary[len(self.vocabulary) - 1] == PRUNED:
            pruned = self.vocabulary.counts[-1]
            lines.append(f"{pruned:,} tokens are of types beyond --max-types, now one type")
        if self.manifest["settings"]["held_out"] and not self.manifest["held_out_documents"]:
            lines.append("too few documents for a held-out slice: all are for training")
        better = unspaced_advice(
            self.n_tokens, tally["characters"], tally["unspaced_characters"], self.text.segmenter
        )
        return lines + ([better] if better else [])

    def verify(self) -> None:
        """Hold every file against its checksum.

        Raises
        ------
        ArtifactError
            Names the first damaged file.
        """
        verify(self.path)

    def view(
        self,
        *,
        min_count: int = 1,
        max_vocabulary: int | None = None,
        punctuation: Literal["keep", "drop"] = "keep",
        boundary: Boundary = "sentence",
        documents: Documents = "train",
    ) -> "View":
        """Select the words and documents that a method trains on.

        Parameters
        ----------
        min_count : int
            Words with fewer tokens in the selected documents are dropped.
        max_vocabulary : int, optional
            Keep at most this many words, the most frequent.
        punctuation : {"keep", "drop"}
            Whether types of punctuation alone are words.
        boundary : {"sentence", "paragraph", "document"}
            What no window crosses.
        documents : {"train", "held-out", "all"}
            Which documents; ``train`` leaves out the held-out slice.

        Returns
        -------
        View
            Dropped words leave no gap: their neighbors move together.

        Raises
        ------
        SettingError
            Nothing is left.
        """
        return View(
            self, min_count=min_count, max_vocabulary=max_vocabulary, punctuation=punctuation,
            boundary=boundary, documents=documents,
        )  # fmt: skip


class View:
    """Words and documents of a corpus, as rows and counts; rows fall by count.

    Parameters
    ----------
    corpus : Corpus
        Stays open.
    min_count, max_vocabulary, punctuation, boundary, documents
        As :meth:`Corpus.view` takes them.

    Attributes
    ----------
    counts : int64 (V,)
        Tokens of each row's word in the selected documents.
    n_tokens : int
        Their sum.
    """

    def __init__(
        self,
        corpus: Corpus,
        *,
        min_count: int,
        max_vocabulary: int | None,
        punctuation: Literal["keep", "drop"],
        boundary: Boundary,
        documents: Documents,
    ) -> None:
        self.corpus = corpus
        self.boundary = boundary
        self.documents = documents
        counts = self._type_counts()
        kept = _kept_types(corpus.vocabulary, counts, min_count, max_vocabulary, punctuation)
        if not len(kept):
            raise SettingError(
                f"{corpus.path}: no word occurs {min_count} times or more in its "
                f"{documents} documents; pass a smaller --min-count"
            )
        self.counts: np.ndarray = counts[kept]
        self.n_tokens = int(self.counts.sum())
        self._types = kept
        self._rows = np.full(len(counts), _DROPPED, dtype=np.int32)
        self._rows[kept] = np.arange(len(kept), dtype=np.int32)

    @cached_property
    def words(self) -> list[str]:
        """The word of each row."""
        words = self.corpus.vocabulary.words(0, int(self._types.max()) + 1)
        return [words[type_id] for type_id in self._types.tolist()]

    def shards(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Give the selected tokens shard by shard.

        Yields
        ------
        rows : int32 (n,)
            Rows of the view; dropped words are gone.
        offsets : int64 (m + 1,)
            Where the sentences, paragraphs or documents start; none is empty.
        """
        for shard in self.corpus.shards:
            bounds = shard.array(self.boundary + "s")
            rows = np.empty(len(shard.ids), dtype=np.int32)
            offsets = np.empty(len(bounds), dtype=np.int64)
            n_rows, n_parts = select_rows(
                shard.ids, bounds, shard.documents, self._selected(shard), self._rows, rows, offsets
            )
            yield rows[:n_rows], offsets[: n_parts + 1]

    def _type_counts(self) -> np.ndarray:
        """Tokens of each type in the selected documents."""
        if self.documents == "all":
            return np.array(self.corpus.vocabulary.counts)
        counts = np.zeros(len(self.corpus.vocabulary), dtype=np.int64)
        for shard in self.corpus.shards:
            count_rows(shard.ids, shard.documents, self._selected(shard), counts)
        return counts

    def _selected(self, shard: Shard) -> np.ndarray:
        """Which documents of a shard belong to the view."""
        if self.documents == "all":
            return np.ones(len(shard.held_out), dtype=bool)
        return np.asarray(shard.held_out if self.documents == "held-out" else ~shard.held_out)


def is_corpus(path: Path) -> bool:
    """Tell whether a finished corpus stands at a path.

    Parameters
    ----------
    path : Path
        Anything.

    Returns
    -------
    bool
        True if it has a manifest and checksums.
    """
    return os.path.isfile(path / MANIFEST) and os.path.isfile(path / CHECKSUMS)


def _kept_types(
    vocabulary: Vocabulary,
    counts: np.ndarray,
    min_count: int,
    max_vocabulary: int | None,
    punctuation: Literal["keep", "drop"],
) -> np.ndarray:
    """Type ids of a view's words, most frequent first, ties by id."""
    kept = counts >= max(min_count, 1)
    if punctuation == "drop":
        kept &= ~vocabulary.punctuation
    if vocabulary[len(vocabulary) - 1] == PRUNED:
        kept[-1] = False
    types = np.flatnonzero(kept)
    types = types[np.argsort(-counts[types], kind="stable")]
    return types[:max_vocabulary]
