"""Collects tokens into sentences, paragraphs and documents, for formats that are tokenized."""

from collections.abc import Mapping
from typing import Any

from firth.corpora.reading.text_blocks import RawBlock, TextBlock, text_block, tokenized


class TokenDocuments:
    """The documents of a block, filled line by line; those without tokens are dropped."""

    def __init__(self, raw: RawBlock) -> None:
        self._raw = raw
        self._texts: list[bytes] = []
        self._positions: list[int] = []
        self._fields: list[Mapping[str, str]] = []
        self._continues = False
        self.tokens: list[str] = []  # of the current sentence
        self._open: tuple[int, Mapping[str, str], bool] = (raw.first_line, {}, raw.continues)
        self._paragraphs: list[list[list[str]]] = [[]]  # of sentences

    def begin_document(self, number: int, fields: Mapping[str, str]) -> None:
        """Finish the current document and begin one at a line."""
        self.end_document()
        self._open = (number, fields, False)

    def begin_paragraph(self) -> None:
        """Finish the current paragraph."""
        self.end_sentence()
        self._paragraphs.append([])

    def end_sentence(self) -> None:
        """Finish the current sentence, if any."""
        if self.tokens:
            self._paragraphs[-1].append(self.tokens)
        self.tokens = []

    def end_document(self) -> None:
        """Finish the current document."""
        self.end_sentence()
        number, fields, continues = self._open
        text = "".join(tokenized(sentences) for sentences in self._paragraphs if sentences)
        if text:
            self._continues |= continues
            self._texts.append(text.encode())
            self._positions.append(number)
            self._fields.append(fields)
        self._paragraphs = [[]]

    def block(self, names: list[str], counts: dict[str, int], **about: Any) -> TextBlock:
        """Return all documents, with fields that are empty where a document lacks one."""
        self.end_document()
        values = {name: [fields.get(name, "") for fields in self._fields] for name in names}
        return text_block(
            self._raw, self._texts, self._positions, values, counts, continues=self._continues,
            pretokenized=True, **about,
        )  # fmt: skip
