"""Encodes a block of documents as token ids with sentence, paragraph and document offsets."""

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.common.errors import SourceError
from firth.corpora.encoding.encode_kernels import hash_documents
from firth.corpora.encoding.keep_text import CompressedText, compress_sentences
from firth.corpora.reading.text_blocks import RawBlock, TextBlock
from firth.corpora.text.characters import SENTENCE_SEPARATOR, TOKEN_SEPARATOR
from firth.corpora.text.pairs import PAIRS, pair_problem
from firth.corpora.text.patterns import count_unmatched, tokens_by
from firth.corpora.text.segment import (
    TextSettings,
    characters_of,
    jieba_cutter,
    join_divided,
    split_offsets,
    strip_accents,
)
from firth.corpora.text.sentences.split import sentence_offsets, split_sentences
from firth.corpora.text.trees import part_heads
from firth.corpora.text.type_table import TypeTable

# The held-out choice hashes at most this many bytes of a document, so it does not depend on
# where blocks are cut.
_HASHED_BYTES = 4096
HELD_OUT_KEY = 0x9AE16A3B2F90404F
# A soft hyphen or ¬, and the first byte of white space
_DIVIDERS = (b"\xc2\xad", b"\xc2\xac")
_MAY_BE_DIVIDED = re.compile(rb"\xc2[\xac\xad][\s\x1c-\x1f\xc2\xe2\xe3]")


@dataclass(frozen=True)
class PreparedBlock:
    """A block with its sentences found, ready for the segmentation kernel."""

    text: np.ndarray  # uint8 (n_bytes,), UTF-8
    # ascending byte offsets, int64, n_bytes last; document starts are among the paragraph starts,
    # and these among the sentence starts
    sentences: np.ndarray
    paragraphs: np.ndarray
    documents: np.ndarray
    # "pretokenized" if tokens and sentences are already separated, or to keep such tokens as they
    # are "separated"
    segmenter: str
    keys: np.ndarray  # uint64 (n_documents,), see document_keys
    # the text with its sentences before jieba divided it; else text and sentences themselves
    original: np.ndarray
    original_sentences: np.ndarray
    heads: np.ndarray | None = None  # as of TextBlock
    n_joined: int = 0  # words that were divided at the ends of lines
    n_unmatched: int = 0  # characters that no token of a pattern matches


@dataclass(frozen=True)
class EncodedBlock:
    """A block as token ids of one type table."""

    token_ids: np.ndarray  # int32 (n_tokens,)
    sentences: np.ndarray  # int64: token offsets of the starts of non-empty sentences
    paragraphs: np.ndarray  # int64: token offsets of the starts of non-empty paragraphs
    documents: np.ndarray  # int64 (n_documents,): token offsets of all starts, empty ones included
    keys: np.ndarray  # uint64 (n_documents,), see document_keys
    tally: dict[str, int]  # bytes, characters, and what was dropped
    texts: CompressedText | None  # of the sentences, if they are kept
    heads: np.ndarray | None = None  # int32 (n_tokens,), as of TextBlock


def parse(raw: RawBlock, settings: TextSettings) -> tuple[TextBlock, PreparedBlock]:
    """Parse and prepare one block, on a thread or in another process."""
    block = raw.parse()
    return block, prepare(block, settings)


def prepare(block: TextBlock, settings: TextSettings) -> PreparedBlock:
    """Find sentences and apply text changes that the kernel cannot do.

    The result is picklable: for jieba this runs in another process.
    """
    keys = document_keys(block)
    if settings.of_tokens and not block.pretokenized:
        return _sequences(block, keys, settings.pattern)
    n_joined = 0
    if not block.pretokenized and _MAY_BE_DIVIDED.search(block.text):
        joined = _map_documents(block, join_divided)
        n_joined = sum(block.text.count(each) - joined.text.count(each) for each in _DIVIDERS)
        block = joined
    if settings.strip_accents:
        block = _map_documents(block, partial(strip_accents, dotless=settings.dotless))
    segmenter = settings.segmenter
    if block.pretokenized:
        segmenter = "separated" if segmenter == "tokens" else "pretokenized"
    uncut = block
    if segmenter == "jieba":
        block = _map_documents(block, _cut_by_jieba)
        segmenter = "pretokenized"
    text = np.frombuffer(block.text, dtype=np.uint8)
    if block.pretokenized or segmenter == "pretokenized":
        paragraphs = split_offsets(text, "\n", block.documents)
        sentences = split_offsets(text, SENTENCE_SEPARATOR, paragraphs)
    else:
        paragraphs = split_offsets(text, "\n", block.documents, skip_empty=True)
        sentences = sentence_offsets(text, paragraphs)
    original, original_sentences = text, sentences
    if uncut is not block:
        uncut_text = np.frombuffer(uncut.text, dtype=np.uint8)
        offsets = sentence_offsets(uncut_text, split_offsets(uncut_text, "\n", uncut.documents))
        if len(offsets) == len(sentences):  # else the divided text is kept
            original, original_sentences = uncut_text, offsets
    return PreparedBlock(
        text, sentences, paragraphs, block.documents, segmenter, keys, original,
        original_sentences, block.heads, n_joined,
    )  # fmt: skip


def _sequences(block: TextBlock, keys: np.ndarray, pattern: str | None) -> PreparedBlock:
    """Prepare documents of tokens, each of which is one sentence, which a pattern divides."""
    original, original_documents = np.frombuffer(block.text, dtype=np.uint8), block.documents
    n_unmatched = 0

    def separate(text: str) -> str:
        nonlocal n_unmatched
        tokens = tokens_by(pattern or "")(text)
        n_unmatched += count_unmatched(text, tokens)
        return TOKEN_SEPARATOR.join([token for token, _, _ in tokens]) + "\n"

    if PAIRS.fullmatch(pattern or ""):
        _check_pairs(block)
    if pattern is not None:
        block = _map_documents(block, separate)
    text = np.frombuffer(block.text, dtype=np.uint8)
    return PreparedBlock(
        text, block.documents, block.documents, block.documents,
        "tokens" if pattern is None else "separated", keys, original, original_documents,
        n_unmatched=n_unmatched,
    )  # fmt: skip


def _check_pairs(block: TextBlock) -> None:
    """Raise for a line that is not a pair."""
    bounds = itertools.pairwise(block.documents.tolist())
    for number, (start, stop) in zip(block.positions.tolist(), bounds, strict=True):
        if problem := pair_problem(block.text[start:stop].decode()):
            raise SourceError(f"{block.source}:{number}: {problem}; correct or remove the line")


def encode(
    prepared: PreparedBlock, settings: TextSettings, table: TypeTable, *, keep_text: bool = False
) -> EncodedBlock:
    """Encode a prepared block as token ids, adding unseen types to the table."""
    characters = characters_of(settings, prepared.segmenter)
    parts, heads = prepared.sentences, prepared.heads
    if heads is not None:  # each token alone, since one whose characters are all dropped vanishes
        parts = split_offsets(prepared.text, TOKEN_SEPARATOR, prepared.sentences)
    segmented = table.segment(prepared.text, parts, characters)
    if heads is not None:
        heads = part_heads(heads, np.diff(segmented.offsets)).astype(np.int32)
    offsets = _token_offsets(segmented.offsets, parts, prepared.sentences)
    return EncodedBlock(
        token_ids=segmented.token_ids,
        sentences=_starts(offsets),
        paragraphs=_starts(_token_offsets(offsets, prepared.sentences, prepared.paragraphs)),
        documents=_token_offsets(offsets, prepared.sentences, prepared.documents[:-1]),
        keys=prepared.keys,
        tally={
            "bytes": len(prepared.text),
            "characters": segmented.n_characters,
            "unspaced_characters": segmented.n_unspaced,
            "dropped_bytes": segmented.n_dropped,
            **segmented.dropped,
            **({"divided_words": prepared.n_joined} if prepared.n_joined else {}),
            **({"unmatched_characters": prepared.n_unmatched} if prepared.n_unmatched else {}),
        },
        texts=_texts(prepared, offsets) if keep_text else None,
        heads=heads,
    )


def document_keys(block: TextBlock) -> np.ndarray:
    """Return a uniform hash (uint64) of the first bytes of each document."""
    keys = np.empty(len(block.documents) - 1, dtype=np.uint64)
    text = np.frombuffer(block.text, dtype=np.uint8)
    hash_documents(text, block.documents, _HASHED_BYTES, np.uint64(HELD_OUT_KEY), keys)
    return keys


def _texts(prepared: PreparedBlock, token_offsets: np.ndarray) -> CompressedText:
    """Compress the original text of the non-empty sentences."""
    filled = np.flatnonzero(np.diff(token_offsets))
    starts, stops = (prepared.original_sentences[filled + end] for end in (0, 1))
    is_text = prepared.segmenter == "separated" and prepared.original is prepared.text
    # a record of tokens may have line ends; other sentences have none
    separator = TOKEN_SEPARATOR if prepared.segmenter == "pretokenized" or is_text else "\n"
    return compress_sentences(prepared.original, starts, stops, separator)


def _token_offsets(
    token_offsets: np.ndarray, sentences: np.ndarray, starts: np.ndarray
) -> np.ndarray:
    """Map byte offsets that are sentence starts to token offsets."""
    return token_offsets[np.searchsorted(sentences, starts)]


def _starts(offsets: np.ndarray) -> np.ndarray:
    """Return the starts of non-empty parts; the last offset is the end."""
    return offsets[:-1][np.diff(offsets) > 0]


def _map_documents(block: TextBlock, change: Callable[[str], str]) -> TextBlock:
    """Apply a function to the text of each document."""
    bounds = block.documents.tolist()
    texts = [
        change(block.text[start:stop].decode()).encode()
        for start, stop in itertools.pairwise(bounds)
    ]
    documents = offsets_of(map(len, texts))
    return replace(block, text=b"".join(texts), documents=documents)


def _cut_by_jieba(text: str) -> str:
    """Segment a document with jieba and insert token and sentence separators."""
    cut = jieba_cutter()
    return "\n".join(
        SENTENCE_SEPARATOR.join(
            TOKEN_SEPARATOR.join(token for token in cut(sentence) if not token.isspace())
            for sentence in split_sentences(line)
        )
        for line in text.split("\n")
    )
