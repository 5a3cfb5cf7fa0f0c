"""Read the text to label: sentences, tokens or words, with their labels if there are any."""

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.common.errors import SourceError
from firth.embed.compare.datasets.fields import quoted, read_lines
from firth.embed.compare.datasets.head import Head, Match
from firth.embed.compare.datasets.labeled_sentences import read_sentences, recognize_sentences
from firth.embed.compare.datasets.tagged_words import TaggedWords, looks_tagged, read_tagged
from firth.embed.compare.datasets.word_tables import WordTable
from firth.embed.contextual.encoded_text import SENTENCE, WORDS_AT_ONCE, batches

Source = str | os.PathLike[str] | Sequence[str]  # a file, ``-``, a corpus, or lines
_LONGEST = 3  # white-space tokens of a word, as tables of labels may have


NewText = tuple[Sequence[str], Sequence[str]]  # what to label, and labels that it has itself, or ()


def new_sentences(source: Source, per: str, classes: Collection[str]) -> NewText:
    """Read lines, or sentences with labels that are all among ``classes``."""
    head = _head(source)
    if head is not None and looks_tagged(head):
        raise SourceError(f"{source}: has a token a line, and TRAIN sentences; pass lines of text")
    if head is not None and recognize_sentences(replace(head, n_files=1)) is not Match.NO:
        labeled = read_sentences(head.path)
        if set(labeled.labels) <= set(classes):
            return labeled.texts, labeled.labels
    return _lines(source, per), ()


def new_tokens(source: Source, per: str) -> TaggedWords:
    """Read CoNLL-U, columns, a token a line with blank lines, or a sentence a line."""
    head = _head(source)
    if head is not None and looks_tagged(head):
        return read_tagged(head.path, labeled=False)
    cut = [line.split() for line in _lines(source, per)]
    if [] in cut and max(map(len, cut)) == 1:
        ends = [number for number, words in enumerate([*cut, []]) if not words]
        bounds = zip([0, *ends], ends, strict=False)
        cut = [[word for words in cut[start:stop] for word in words] for start, stop in bounds]
    sentences = [words for words in cut if words]
    tokens = [word for words in sentences for word in words]
    if not tokens:
        raise SourceError(f"{_name(source)}: has no words; pass sentences or tokens")
    return TaggedWords(tokens, [""] * len(tokens), offsets_of(map(len, sentences)))


def new_words(source: Source, per: str, *, sequences: bool) -> NewText:
    """Read words or sequences, one a line or in a table with a header."""
    head = _head(source)
    table = None if head is None else WordTable.of(head.rows)
    if head is not None and table is not None:
        return WordTable.read(head.path).words, ()
    lines = _lines(source, per)
    for number, line in enumerate(lines, 1):
        if len(line.split()) > _LONGEST and not sequences:
            raise SourceError(
                f"{_name(source)}:{number}: {quoted(line)} is not a word, and TRAIN "
                "labels words; pass one a line"
            )
    return lines, ()


def _head(source: Source) -> Head | None:
    """Return the first lines of a file, as of two so that it may be tagged; else None."""
    if not isinstance(source, str | os.PathLike) or not Path(source).is_file():
        return None
    return replace(Head.of(str(source)), n_files=2)


def _name(source: Source) -> str:
    """Return what messages call a source."""
    return str(source) if isinstance(source, str | os.PathLike) else "TEXT"


def _lines(source: Source, per: str) -> list[str]:
    """Return stripped lines, or the sentences or documents of a corpus."""
    if not isinstance(source, str | os.PathLike):
        lines = list(source)
    elif Path(source).is_file() and per == SENTENCE:
        lines = [row.text for row in read_lines(Path(source))]
        lines = lines[: -1 if lines[-1] == "" else None]
    else:
        read = batches(str.split, Path(source), WORDS_AT_ONCE, per)
        lines = [text for batch in read for text in batch.texts]
    if not any(map(str.strip, lines)):
        raise SourceError(f"{_name(source)}: has no text to label; pass lines")
    return [line.strip() for line in lines]
