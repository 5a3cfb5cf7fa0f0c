"""An encoded corpus on disk."""

import os
import unicodedata
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from firth.corpora.artifacts.artifact import CHECKSUMS, verify
from firth.corpora.artifacts.kinds import CORPUS, wrong_kind
from firth.corpora.common.cache import check_once
from firth.corpora.common.console import counted
from firth.corpora.common.display import html_table
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.common.keywords import suggesting
from firth.corpora.graphs.graph import NodeGraph
from firth.corpora.store.manifest import FORMAT as FORMAT  # version of the on-disk format
from firth.corpora.store.manifest import MANIFEST as MANIFEST
from firth.corpora.store.manifest import read_manifest
from firth.corpora.store.ranges import check_graph, check_shard, check_vocabulary
from firth.corpora.store.sampling import nested_sample
from firth.corpora.store.shards import FORMS, UNITS, Shard
from firth.corpora.store.view import Boundary, Documents, StoredText, choose_words
from firth.corpora.store.view import View as View  # return type of Corpus.view
from firth.corpora.store.vocabulary import Vocabulary
from firth.corpora.text.segment import TextSettings, unspaced_advice

_NAMED = 3  # sources that a run names, and files that a note names
# Notes on what was dropped or replaced, by name of its count, for `counted`.
_TALLY_NOTES = {
    "replaced_bytes": "byte[|s] invalid in the encoding [was|were] replaced by U+FFFD",
    "replaced_characters": "lone surrogate[|s] [was|were] replaced by U+FFFD",
    "control_characters": "control character[|s] [was|were] dropped",
    "soft_hyphens": "soft hyphen[|s] [was|were] dropped",
    "divided_words": "word[|s] with a soft hyphen or ¬ at the end of a line [was|were] joined",
    "joiners": "zero-width joiner[|s] [was|were] dropped where [it changes|they change] no letter",
    "format_characters": "invisible format character[|s] (U+200E, U+FEFF, ...) [was|were] dropped",
    "replacement_characters": "replacement character[|s] (U+FFFD) [was|were] dropped",
    "private_characters": "private-use character[|s] [was|were] dropped",
    "missing_lemmas": "word[|s] without a lemma [was|were] kept as [its|their] form",
    "unmatched_characters": "character[|s] [matches|match] no token of the pattern",
    "no_trees": "sentence[|s] [was|were] read without [its|their] heads, which form no tree",
    "entities": "entit[y|ies] such as &amp; [was|were] kept; `unescape=True` replaces [it|them]",
    "unescaped": "entit[y|ies] such as &amp; [was|were] replaced by characters",
    "missing_texts": "record[|s] without a text [was|were] kept as [an |]empty document[|s]",
    "missing_fields": "missing value[|s] of kept fields [was|were] left empty",
    "redirects": "redirect[|s] [was|were] skipped",
    "other_namespaces": "page[|s] of other namespaces [was|were] skipped",
    "other_models": "page[|s] of code or data [was|were] skipped",
    "lines_outside_documents": "line[|s] outside <doc> tags [was|were] skipped",
    "inclusions": "XInclude reference[|s] in TEI [was|were] not followed",
    "markup_lines": "line[|s] had leftover markup removed",
    "isolated_nodes": "node[|s] without an edge [gets|get] no vector",
    "self_loops": "edge[|s] from a node to itself [was|were] left out",
    "repeated_edges": "edge[|s] [was|were] given more than once",
    "comments": "line[|s] that [begins|begin] with a name after # or % [was|were] a comment",
    "unused_weights": "weight[|s] other than 1 [was|were] not used; `weighted=True` uses [it|them]",
    "directed_edges": "directed edge[|s] [was|were] read both ways; `directed=True` reads one way",
    "times": "weight[|s] [is|are] as large as Unix times; drop the column and `weighted=True`",
}

FEW_TOKENS = 1_000_000  # of sequences, of which every token gets a vector

# Notes on files, by an entry of their records in the manifest.
_FILE_NOTES = {
    ("empty", True): "empty, skipped",
    ("wrapped", True): "lines of one width, so read as hard-wrapped: lines were joined into "
    "paragraphs; `wrapped=False` keeps the lines",
    ("wrapped", False): "lines of one width, but no blank lines between paragraphs, so every line "
    "is a paragraph; `wrapped=True` joins lines",
}


@suggesting
class Corpus:
    """A finished corpus; opening it reads only the manifest.

    Parameters
    ----------
    path : Path
        Its directory.
    manifest : dict
        The content of ``manifest.json``, which :meth:`open` reads.
    sampled : list of bool (n_units,), optional
        For a sample: its training documents, or units of another kind by which text is held out,
        one mask per shard.
    """

    def __init__(
        self, path: Path, manifest: dict[str, Any], sampled: list[np.ndarray] | None = None
    ) -> None:
        self.path = path
        self.manifest = manifest
        self.sampled = sampled

    def __reduce__(self) -> tuple[Any, ...]:
        sample, whole = self.manifest.get("sample"), self.fingerprint.partition(":")[0]
        return _opened_again, (str(self.path.absolute()), whole, sample)

    def __repr__(self) -> str:
        sample = "" if self.sampled is None else " (a sample)"
        return (
            f"<Corpus {self.path}{sample}: {self.n_documents:,} documents, "
            f"{self.n_tokens:,} tokens, {self.manifest['types']:,} types>"
        )

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        rows: list[tuple[str, int]] = [
            ("documents", self.n_documents),
            ("tokens", self.n_tokens),
            ("types", int(self.manifest["types"])),
            (f"{self.held_out_unit}s held out", self.held_out_units),
            ("tokens held out", int(self.manifest["held_out_tokens"])),
        ]
        return html_table(["", ""], rows, f"Corpus {self.path}")

    @classmethod
    def open(cls, path: "str | os.PathLike[str] | Corpus") -> "Corpus":
        """Open a corpus directory.

        Parameters
        ----------
        path : str, path or Corpus
            A directory made by ``build-corpus`` or :func:`build_corpus`. A corpus is returned as
            it is.

        Returns
        -------
        Corpus
            Arrays are memory-mapped on first use.

        Raises
        ------
        ArtifactError
            The directory is not a finished corpus, or has another format version.
        """
        if isinstance(path, Corpus):
            return path
        path = Path(path)
        if not is_corpus(path):
            missing = f"{path}: not a finished corpus; build one with `build_corpus()`"
            raise ArtifactError(wrong_kind(path, CORPUS) or missing)
        return cls(path, read_manifest(path))

    @property
    def fingerprint(self) -> str:
        """Identifies the content of the sources and every setting that affects the corpus.

        A sample appends its size and seed: ``3f0c9d5e1b7a2846:120-documents-of-seed-1``.
        """
        return str(self.manifest["fingerprint"])

    @property
    def reference(self) -> dict[str, Any]:
        """The JSON that a run stores to identify its corpus: ``path`` and ``fingerprint``.

        A sample adds ``sample``: the ``tokens`` and ``seed`` passed to :meth:`sample`, and for a
        sample of a sample, ``of``, the same for the outer one.
        """
        sample = {} if self.sampled is None else {"sample": self.manifest["sample"]}
        return {"path": str(self.path.resolve()), "fingerprint": self.fingerprint, **sample}

    @property
    def trained_on(self) -> dict[str, Any]:
        """The JSON that a run stores in its provenance: fingerprint, path, sample, and the text.

        ``text`` has the names of the first :data:`_NAMED` sources and their number, and the
        sizes of the training text.
        """
        sources = [source["name"] for source in self.manifest["sources"]]
        text = {
            "sources": sources[:_NAMED],
            "n_sources": len(sources),
            "tokens": self.training_tokens,
            "documents": self.training_documents,
        }
        sample = {"sample": self.manifest["sample"]} if "sample" in self.manifest else {}
        path = str(self.path.resolve())
        return {"corpus": self.fingerprint, "corpus_path": path, **sample, "text": text}

    def restore_sample(self, sample: dict[str, Any]) -> "Corpus":
        """Take the same sample again from its description.

        Parameters
        ----------
        sample : dict
            ``sample`` of the :attr:`reference` of the sample.

        Returns
        -------
        Corpus
            The same documents, provided that this corpus has the same fingerprint.
        """
        whole = self.restore_sample(sample["of"]) if "of" in sample else self
        return whole.sample(sample["tokens"], seed=sample["seed"])

    @property
    def n_tokens(self) -> int:
        """Number of tokens in all documents."""
        return int(self.manifest["tokens"])

    @property
    def n_documents(self) -> int:
        """Number of documents, empty ones included."""
        return int(self.manifest["documents"])

    @property
    def training_tokens(self) -> int:
        """Number of tokens in the training documents."""
        return self.n_tokens - int(self.manifest["held_out_tokens"])

    @property
    def default_min_count(self) -> int:
        """Tokens that a word needs for a vector: 5, but 1 in few sequences of tokens.

        What is rare there, such as an item or an atom, is asked for, and no error of spelling.
        """
        few = self.text.of_tokens and self.training_tokens < FEW_TOKENS
        return 1 if few else 5

    @property
    def training_documents(self) -> int:
        """Number of documents with training text, or empty ones."""
        return self.n_documents - int(self.manifest["held_out_documents"])

    @property
    def held_out_unit(self) -> Boundary:
        """The unit by which text is held out and sampled, such as ``document``."""
        return cast(Boundary, self.manifest["held_out_unit"])

    @property
    def held_out_units(self) -> int:
        """Number of held-out units."""
        return int(self.manifest["held_out_units"])

    @cached_property
    def text(self) -> TextSettings:
        """Normalization and segmentation settings of the corpus."""
        return TextSettings.from_json(self.manifest["text"])

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """All types with their counts."""
        return self._vocabulary("vocabulary")

    @cached_property
    def forms(self) -> Vocabulary | None:
        """The forms in the text, if words were replaced by lemmas; ids as in ``Shard.forms``."""
        return self._vocabulary(FORMS) if self.text.lemmatize else None

    def _vocabulary(self, name: str) -> Vocabulary:
        """Open a vocabulary and check its ranges."""
        vocabulary = Vocabulary(self.path / name, of_tokens=self.text.of_tokens)
        check_vocabulary(vocabulary)
        return vocabulary

    @cached_property
    def graph(self) -> NodeGraph | None:
        """The graph that was walked, nodes in the order of the vocabulary; None of text."""
        if (graph := NodeGraph.open(self.path)) is not None:
            check_graph(graph, self.path, len(self.vocabulary))
        return graph

    @cached_property
    def shards(self) -> list[Shard]:
        """The shards in text order, after their ranges were checked."""
        names = [entry["name"] for entry in self.manifest["shards"]]
        shards = [Shard(self.path / "shards" / name, self.held_out_unit) for name in names]
        files = [self.path / MANIFEST, *sorted(self.path.rglob("*.npy"))]
        check_once(files, lambda: self._check_ranges(shards))
        return shards

    def _check_ranges(self, shards: list[Shard]) -> None:
        """Raise unless the numbers of the shards are in range, and the sizes those of arrays."""
        n_forms = None if self.forms is None else len(self.forms)
        n_sources = len(self.manifest["document_sources"])
        for shard in shards:
            check_shard(shard, len(self.vocabulary), n_forms, n_sources)
        sizes = {"types": len(self.vocabulary), "tokens": sum(len(each.ids) for each in shards)}
        for unit in UNITS:
            sizes[f"{unit}s"] = sum(len(each.offsets(unit)) - 1 for each in shards)
        sizes["held_out_units"] = sum(int(each.held_out.sum()) for each in shards)
        sizes["held_out_tokens"] = sum(
            int(np.diff(each.units) @ each.held_out.astype(np.int64)) for each in shards
        )
        for name, size in sizes.items():
            if self.manifest[name] != size:
                raise ArtifactError(
                    f"{self.path / MANIFEST}: is damaged ({name} {self.manifest[name]}, expected "
                    f"{size}); build the corpus again"
                )

    @property
    def keeps_text(self) -> bool:
        """Whether the text of sentences is kept as written, for ``Shard.sentence_texts``."""
        return any(shard.keeps_text for shard in self.shards)

    @property
    def keeps_heads(self) -> bool:
        """Whether syntactic heads of words are kept, as given in CoNLL-U, for ``Shard.heads``."""
        return any(shard.keeps_heads for shard in self.shards)

    @property
    def share_with_heads(self) -> float:
        """Share of tokens whose syntactic head is known and not the root."""
        known = sum(np.count_nonzero(shard.heads) for shard in self.shards if shard.keeps_heads)
        return known / max(1, sum(len(shard.ids) for shard in self.shards))

    @cached_property
    def stored(self) -> StoredText:
        """Types, shards and sampled documents, as views need them."""
        return StoredText(self.vocabulary, self.shards, self.sampled, self.held_out_unit)

    def advice(self) -> list[str]:
        """Return a line for each problem, such as what was replaced, or a better segmenter."""
        tally, of_tokens = self.manifest["tally"], self.text.of_tokens
        lines = (
            self._notes_on_metadata()
            + self._notes_on_files()
            + [
                counted(tally[name], words)
                for name, words in _TALLY_NOTES.items()
                if tally.get(name) and not (of_tokens and name == "entities")
            ]
        )
        if (held_out := tally.get("held_out_links", 0)) < (asked := tally.get("asked_links", 0)):
            words = "links asked for are held out; more would split nodes off"
            lines.append(f"{held_out:,} of {asked:,} {words}")
        if self.vocabulary.is_pruned:
            pruned = self.vocabulary.counts[-1]
            lines.append(f"{pruned:,} tokens are of types beyond `max_types`, merged into one type")
        if self.manifest["settings"]["held_out"] != 0 and not self.manifest["held_out_tokens"]:
            lines.append("too little text for a held-out slice: all of it is used for training")
        asked = self.manifest["settings"].get("text", ())
        if "language" in self.manifest["text"] and "language" not in asked:
            lines.append(
                "the text is Turkish or Azerbaijani, so I is lower-cased to ı and İ to i, in "
                "queries, too; `language=en` makes both i"
            )
        decomposed = sum(not unicodedata.is_normalized("NFC", word) for word in self.vocabulary)
        if decomposed and not of_tokens:
            words = (
                "type[|s] [has|have] combining accents (Unicode NFD), so [it differs|they differ]"
            )
            lines.append(
                f"{counted(decomposed, words)} from the same words in NFC; convert the text to NFC"
            )
        better = unspaced_advice(
            self.n_tokens, tally["characters"], tally["unspaced_characters"], self.text.segmenter
        )
        return lines + ([better] if better else [])

    def _notes_on_metadata(self) -> list[str]:
        """Return a line about the table of metadata: how it was joined, and what did not match."""
        if (joined := self.manifest.get("metadata")) is None:
            return []
        n_joined = self.n_documents - joined["documents_without"]
        by = f"by the column {joined['by']!r}" if joined["by"] else "in order"
        line = f"{joined['table']}: {n_joined:,} of {self.n_documents:,} documents joined {by}"
        for what, other in (("documents", "row"), ("rows", "document")):
            if n := joined[f"{what}_without"]:
                names = ", ".join(joined[f"{what}_named"])
                more = f" and {n - _NAMED:,} more" if n > _NAMED else ""
                line += f"; {n:,} {what[: None if n > 1 else -1]} without a {other}: {names}{more}"
        return [line]

    def _notes_on_files(self) -> list[str]:
        """Return a line for each finding of the reader, with the names of up to three files."""
        sources = self.manifest["sources"]
        lines = []
        for (finding, value), words in _FILE_NOTES.items():
            if files := [file for file in sources if file.get(finding) is value]:
                names = ", ".join(str(file["name"]) for file in files[:_NAMED])
                rest = len(files) - _NAMED
                more = f" and {rest:,} other{'s' * (rest > 1)}" if rest > 0 else ""
                lines.append(f"{names}{more}: {words}")
        if unreadable := [str(file["unreadable"]) for file in sources if "unreadable" in file]:
            reasons = "; ".join(error.partition(";")[0] for error in unreadable[:_NAMED])
            lines.append(
                f"{len(unreadable):,} of {len(sources):,} files were skipped, since they cannot be "
                f"read: {reasons}{'; ...' if len(unreadable) > _NAMED else ''}"
            )
        return lines

    def verify(self) -> None:
        """Verify every file and how the types are counted; raise ArtifactError at the first damage.

        The checksum of a file is verified first, then that its numbers are in range.
        """
        verify(self.path)
        whole = self if self.sampled is None else Corpus.open(self.path)
        counted = whole.stored.count_types("train") + whole.stored.count_types("held-out")
        if not np.array_equal(counted, whole.vocabulary.counts):
            raise ArtifactError(
                f"{self.path / 'vocabulary' / 'counts.npy'}: is damaged (the types occur at other "
                "rates); build the corpus again"
            )

    def sample(self, tokens: int, *, seed: int = 1) -> "Corpus":
        """Sample training documents; the held-out slice is unchanged.

        Documents are ordered by a hash of the seed and their number in the corpus. So a sample
        is contained in every larger one with the same seed, and does not depend on shards. If
        text is held out by smaller units (:attr:`held_out_unit`), these are sampled instead.

        Parameters
        ----------
        tokens : int
            Minimum number of training tokens, counting words of any frequency and
            punctuation. The last document or other unit is taken whole.
        seed : int
            Seed of the document order, from 0 to 2^64 - 1.

        Returns
        -------
        Corpus
            The sample, with its own fingerprint, sizes and views; shards, vocabulary and tally
            are those of the whole corpus. Returns this corpus itself if its training documents
            have no more than ``tokens`` tokens.

        Raises
        ------
        SettingError
            ``tokens`` is less than 1, or the seed is out of range.
        """
        shards = range(len(self.shards))
        lengths = [np.diff(shard.units) for shard in self.shards]
        eligible = np.concatenate([self.stored.selected(n, "train") for n in shards])
        n_tokens = np.concatenate(lengths)
        taken = nested_sample(n_tokens, eligible, tokens, seed)
        if n_tokens[taken].sum() == n_tokens[eligible].sum():
            return self
        held_out = np.concatenate([self.stored.selected(n, "held-out") for n in shards])
        ends = np.cumsum([len(each) for each in lengths])[:-1]
        outer = {"of": self.manifest["sample"]} if self.sampled is not None else {}
        name = f"{int(taken.sum())}-{self.held_out_unit}s-of-seed-{seed}"
        changed = {
            "fingerprint": f"{self.fingerprint}:{name}",
            "tokens": int(n_tokens[taken | held_out].sum()),
            "documents": self._count_documents(np.split(taken | held_out, ends)),
            "sample": {"tokens": int(tokens), "seed": int(seed), **outer},
        }
        sample = Corpus(self.path, {**self.manifest, **changed}, np.split(taken, ends))
        sample.vocabulary, sample.shards = self.vocabulary, self.shards  # checked already
        return sample

    def _count_documents(self, selected: list[np.ndarray]) -> int:
        """Count the documents that have selected units; one mask per shard."""
        # selected: bool (n_units,)
        if self.held_out_unit == "document":
            return sum(int(mask.sum()) for mask in selected)
        return sum(
            len(np.unique(np.searchsorted(shard.documents, shard.units[:-1][mask], side="right")))
            for shard, mask in zip(self.shards, selected, strict=True)
        )

    def view(
        self,
        *,
        min_count: int | None = 1,
        max_vocabulary: int | None = None,
        punctuation: Literal["keep", "drop"] = "keep",
        boundary: Boundary = "sentence",
        documents: Documents = "train",
        keep: Sequence[str] = (),
    ) -> View:
        """Select the words and documents that a method trains on.

        Parameters
        ----------
        min_count : int, optional
            Words with fewer tokens in the selected documents are dropped; None for the default of
            trainings, :attr:`default_min_count`.
        max_vocabulary : int, optional
            Keep at most this many words, the most frequent; words of ``keep`` count too.
        punctuation : {"keep", "drop"}
            Whether types of punctuation only are words.
        boundary : {"sentence", "paragraph", "document"}
            The boundary that no context window crosses.
        documents : {"train", "held-out", "all"}
            Which documents, or units of text; ``train`` excludes the held-out slice.
        keep : sequence of str
            Distinct words to keep regardless of count and punctuation; those missing from the
            corpus come last, with count 0.

        Returns
        -------
        View
            Dropped words leave no gap: the words around them become adjacent.

        Raises
        ------
        SettingError
            No word is left.
        """
        min_count = self.default_min_count if min_count is None else min_count
        types, missing, counts = choose_words(
            self.stored, min_count=min_count, max_vocabulary=max_vocabulary,
            punctuation=punctuation, documents=documents, keep=keep,
        )  # fmt: skip
        if not len(types):
            raise SettingError(
                f"{self.path}: no word occurs {min_count} times or more in its "
                f"{documents} documents; pass a smaller `min_count`"
            )
        return View(self.stored, types, missing, counts, boundary=boundary, documents=documents)


def is_corpus(path: Path) -> bool:
    """Return whether a path is a finished corpus, with manifest and checksums."""
    return os.path.isfile(path / MANIFEST) and os.path.isfile(path / CHECKSUMS)


def _opened_again(path: str, fingerprint: str, sample: dict[str, Any] | None) -> Corpus:
    """Unpickle a corpus, or a sample of it; raise if it has changed."""
    corpus = Corpus.open(path)
    if corpus.fingerprint != fingerprint:
        raise ArtifactError(f"{path}: has changed since it was pickled; pickle it again")
    return corpus.restore_sample(sample) if sample else corpus
