"""One block of documents to token ids with sentence, paragraph and document offsets."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from corpora.build.encode_kernels import hash_documents
from corpora.build.type_table import TypeTable
from corpora.reading.text_blocks import TextBlock
from corpora.text.characters import (
    SENTENCE_SEPARATOR,
    TOKEN_SEPARATOR,
    character_table,
)
from corpora.text.segment import TextSettings, jieba_cutter, split_offsets, strip_accents
from corpora.text.sentences.split import sentence_offsets

# The held-out choice looks at this many bytes of a document, wherever blocks are cut.
_HASHED_BYTES = 4096
_HELD_OUT_KEY = 0x9AE16A3B2F90404F


@dataclass(frozen=True)
class PreparedBlock:
    """A block with its sentences found, ready for the segmentation kernel."""

    text: np.ndarray  # uint8 (n_bytes,): UTF-8, after everything that changes the text itself
    # int64: ascending byte offsets, n_bytes last; each level's starts are among the finer one's
    sentences: np.ndarray
    # int64: ascending byte offsets, n_bytes last; each level's starts are among the finer one's
    paragraphs: np.ndarray
    # int64: ascending byte offsets, n_bytes last; each level's starts are among the finer one's
    documents: np.ndarray
    segmenter: str  # ``given`` where tokens lie between separators
    keys: np.ndarray  # uint64 (n_documents,): hashes of the documents' first bytes


@dataclass(frozen=True)
class EncodedBlock:
    """A block as token ids of one worker's type table."""

    token_ids: np.ndarray  # int32 (n_tokens,): ids of the table
    # int64: token offsets where a sentence or paragraph starts, without empty ones
    sentences: np.ndarray
    # int64: token offsets where a sentence or paragraph starts, without empty ones
    paragraphs: np.ndarray
    # int64 (n_documents,): token offsets where each document starts, empty ones included
    documents: np.ndarray
    keys: np.ndarray  # uint64 (n_documents,): hashes of the documents' first bytes
    # bool (n_documents,): whether the document belongs to the held-out slice: its key is small
    held_out: np.ndarray
    tally: dict[str, int]  # bytes, characters, and what was dropped


def prepare(block: TextBlock, settings: TextSettings) -> PreparedBlock:
    """Find the sentences of a block, and do what must happen to its text before the kernel."""
    keys = document_keys(block)
    if settings.strip_accents:
        block = _map_documents(block, strip_accents)
    segmenter = "given" if block.pretokenized else settings.segmenter
    if segmenter == "jieba":
        block = _map_documents(block, _cut_by_jieba)
        segmenter = "given"
    text = np.frombuffer(block.text, dtype=np.uint8)
    paragraphs = split_offsets(text, "\n", block.documents)
    if segmenter == "given":
        sentences = split_offsets(text, SENTENCE_SEPARATOR, paragraphs)
    else:
        sentences = sentence_offsets(text, paragraphs)
    return PreparedBlock(text, sentences, paragraphs, block.documents, segmenter, keys)


def encode(
    prepared: PreparedBlock, settings: TextSettings, held_out_share: float, table: TypeTable
) -> EncodedBlock:
    """Turn a prepared block into token ids, adding its types to a worker's table."""
    characters = character_table(prepared.segmenter, settings.keep_case, settings.fold_digits)
    done = table.segment(prepared.text, prepared.sentences, characters)
    return EncodedBlock(
        token_ids=done.token_ids,
        sentences=_starts(done.offsets),
        paragraphs=_starts(_at(done.offsets, prepared.sentences, prepared.paragraphs)),
        documents=_at(done.offsets, prepared.sentences, prepared.documents[:-1]),
        keys=prepared.keys,
        held_out=prepared.keys < np.uint64(min(held_out_share * 2.0**64, 2.0**64 - 1)),
        tally={
            "bytes": len(prepared.text),
            "characters": done.n_characters,
            "unspaced_characters": done.n_unspaced,
            "dropped_bytes": done.n_dropped,
        },
    )


def document_keys(block: TextBlock) -> np.ndarray:
    """Hash the first bytes of each document, with a fixed key."""
    # returns uint64 (n_documents,)
    keys = np.empty(len(block.documents) - 1, dtype=np.uint64)
    text = np.frombuffer(block.text, dtype=np.uint8)
    hash_documents(text, block.documents, _HASHED_BYTES, np.uint64(_HELD_OUT_KEY), keys)
    return keys


def _at(token_offsets: np.ndarray, sentences: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Token offsets at byte offsets that are sentence starts."""
    return token_offsets[np.searchsorted(sentences, starts)]


def _starts(offsets: np.ndarray) -> np.ndarray:
    """Starts of the parts that are not empty; the last offset is the end."""
    return offsets[:-1][np.diff(offsets) > 0]


def _map_documents(block: TextBlock, change: Callable[[str], str]) -> TextBlock:
    """Change the text of each document and lay them end to end again."""
    bounds = block.documents.tolist()
    texts = [
        change(block.text[start:stop].decode()).encode()
        for start, stop in itertools.pairwise(bounds)
    ]
    documents = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    return replace(block, text=b"".join(texts), documents=documents)


def _cut_by_jieba(text: str) -> str:
    """Write a document as given tokens and sentences."""
    cut = jieba_cutter()
    return "\n".join(
        SENTENCE_SEPARATOR.join(
            TOKEN_SEPARATOR.join(token for token in cut(sentence) if not token.isspace())
            for sentence in _sentences(line)
        )
        for line in text.split("\n")
    )


def _sentences(line: str) -> list[str]:
    """The sentences of one paragraph."""
    raw = line.encode()
    offsets = sentence_offsets(np.frombuffer(raw, dtype=np.uint8), np.array([0, len(raw)])).tolist()
    return [raw[a:b].decode() for a, b in itertools.pairwise(offsets)]
