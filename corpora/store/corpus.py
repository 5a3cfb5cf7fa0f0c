"""An encoded corpus on disk."""

import os
import unicodedata
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from corpora.artifacts.artifact import CHECKSUMS, verify
from corpora.common.errors import ArtifactError, SettingError
from corpora.store.manifest import FORMAT as FORMAT  # of what build-corpus writes
from corpora.store.manifest import MANIFEST as MANIFEST
from corpora.store.manifest import read_manifest
from corpora.store.sampling import nested_sample
from corpora.store.shards import Shard
from corpora.store.view import Boundary, Documents, StoredText, choose_words
from corpora.store.view import View as View  # what view() returns, for annotations
from corpora.store.vocabulary import PRUNED, Vocabulary
from corpora.text.segment import TextSettings, unspaced_advice

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
    sampled : list of bool (n_documents,), optional
        Of a sample, shard by shard, the training documents that it has.
    """

    def __init__(
        self, path: Path, manifest: dict[str, Any], sampled: list[np.ndarray] | None = None
    ) -> None:
        self.path = path
        self.manifest = manifest
        self.sampled = sampled

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
        return cls(path, read_manifest(path))

    @property
    def fingerprint(self) -> str:
        """Names the sources' content and every setting that shapes the corpus.

        That of a sample is the whole's and what was taken of it, such as
        ``3f0c9d5e1b7a2846:120-documents-of-seed-1``.
        """
        return str(self.manifest["fingerprint"])

    @property
    def reference(self) -> dict[str, Any]:
        """What a run tells of the corpus that it was made of, as JSON.

        ``path`` and ``fingerprint``; of a sample also ``sample``, the ``tokens`` and the ``seed``
        that :meth:`sample` was given, and, of a sample of a sample, ``of``, the same of the other.
        """
        taken = {} if self.sampled is None else {"sample": self.manifest["sample"]}
        return {"path": str(self.path.resolve()), "fingerprint": self.fingerprint, **taken}

    def sample_again(self, taken: dict[str, Any]) -> "Corpus":
        """Take the sample that another process took of this corpus.

        Parameters
        ----------
        taken : dict
            The ``sample`` of its :attr:`reference`.

        Returns
        -------
        Corpus
            The same documents, if this is the same corpus: its fingerprint tells.
        """
        whole = self.sample_again(taken["of"]) if "of" in taken else self
        return whole.sample(taken["tokens"], seed=taken["seed"])

    @property
    def n_tokens(self) -> int:
        """Tokens in all documents."""
        return int(self.manifest["tokens"])

    @property
    def n_documents(self) -> int:
        """Documents, empty ones included."""
        return int(self.manifest["documents"])

    @property
    def training_tokens(self) -> int:
        """Tokens in the training documents."""
        return self.n_tokens - int(self.manifest["held_out_tokens"])

    @property
    def training_documents(self) -> int:
        """Training documents, empty ones included."""
        return self.n_documents - int(self.manifest["held_out_documents"])

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

    @cached_property
    def stored(self) -> StoredText:
        """Types, shards and the documents of a sample, as views take them."""
        return StoredText(self.vocabulary, self.shards, self.sampled)

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
            lines.append(f"{pruned:,} tokens are of types beyond `max_types`, now one type")
        if self.manifest["settings"]["held_out"] and not self.manifest["held_out_documents"]:
            lines.append("too few documents for a held-out slice: all are for training")
        if apart := self._decomposed():
            lines.append(
                f"{apart:,} types have accents apart from their letters (Unicode NFD), and are "
                "other words than those in one piece; convert the text to NFC"
            )
        better = unspaced_advice(
            self.n_tokens, tally["characters"], tally["unspaced_characters"], self.text.segmenter
        )
        return lines + ([better] if better else [])

    def _decomposed(self) -> int:
        """Types that look like others and are none."""
        words = self.vocabulary.words(0, len(self.vocabulary))
        return sum(not unicodedata.is_normalized("NFC", word) for word in words)

    def verify(self) -> None:
        """Hold every file against its checksum.

        Raises
        ------
        ArtifactError
            Names the first damaged file.
        """
        verify(self.path)

    def sample(self, tokens: int, *, seed: int = 1) -> "Corpus":
        """Sample the training documents; the held-out slice stays as it is.

        The order of the documents is that of a hash of the seed and of each one's number in
        the corpus. So a sample is contained in every larger one of its seed, and is the same
        however the corpus is divided into shards.

        Parameters
        ----------
        tokens : int
            How many the training documents shall hold, words of any frequency and
            punctuation among them. The document that completes them is taken whole.
        seed : int
            Samples of other seeds are other documents.

        Returns
        -------
        Corpus
            Of these documents, with a fingerprint, sizes and views of its own; shards,
            vocabulary and tally are the whole's. This corpus itself where its
            training documents hold no more tokens than asked for.

        Raises
        ------
        SettingError
            ``tokens`` is less than 1, or the seed is negative.
        """
        shards = range(len(self.shards))
        lengths = [np.diff(shard.documents) for shard in self.shards]
        eligible = np.concatenate([self.stored.selected(n, "train") for n in shards])
        n_tokens = np.concatenate(lengths)
        taken = nested_sample(n_tokens, eligible, tokens, seed)
        if n_tokens[taken].sum() == n_tokens[eligible].sum():
            return self
        held_out = np.concatenate([self.stored.selected(n, "held-out") for n in shards])
        n_documents = int(taken.sum())
        about = {
            "fingerprint": f"{self.fingerprint}:{n_documents}-documents-of-seed-{seed}",
            "tokens": int(n_tokens[taken | held_out].sum()),
            "documents": int((taken | held_out).sum()),
            "sample": {"tokens": int(tokens), "seed": int(seed), **self._origin()},
        }
        ends = np.cumsum([len(each) for each in lengths])[:-1]
        return Corpus(self.path, {**self.manifest, **about}, np.split(taken, ends))

    def _origin(self) -> dict[str, Any]:
        """What a sample of this corpus tells of it; nothing, where it is no sample itself."""
        return {"of": self.manifest["sample"]} if self.sampled is not None else {}

    def view(
        self,
        *,
        min_count: int = 1,
        max_vocabulary: int | None = None,
        punctuation: Literal["keep", "drop"] = "keep",
        boundary: Boundary = "sentence",
        documents: Documents = "train",
        keep: Sequence[str] = (),
    ) -> View:
        """Select the words and documents that a method trains on.

        Parameters
        ----------
        min_count : int
            Words with fewer tokens in the selected documents are dropped.
        max_vocabulary : int, optional
            Keep at most this many words, the most frequent; ``keep`` counts among them.
        punctuation : {"keep", "drop"}
            Whether types of punctuation alone are words.
        boundary : {"sentence", "paragraph", "document"}
            What no window crosses.
        documents : {"train", "held-out", "all"}
            Which documents; ``train`` leaves out the held-out slice.
        keep : sequence of str
            Distinct words to keep however rare, punctuation or not; those that the
            corpus lacks stand last, with count 0.

        Returns
        -------
        View
            Dropped words leave no gap: their neighbors move together.

        Raises
        ------
        SettingError
            Nothing is left.
        """
        types, lacking, counts = choose_words(
            self.stored, min_count=min_count, max_vocabulary=max_vocabulary,
            punctuation=punctuation, documents=documents, keep=keep,
        )  # fmt: skip
        if not len(types):
            raise SettingError(
                f"{self.path}: no word occurs {min_count} times or more in its "
                f"{documents} documents; pass a smaller `min_count`"
            )
        return View(self.stored, types, lacking, counts, boundary=boundary, documents=documents)


def is_corpus(path: Path) -> bool:
    """Tell whether a finished corpus stands at a path."""
    return os.path.isfile(path / MANIFEST) and os.path.isfile(path / CHECKSUMS)
