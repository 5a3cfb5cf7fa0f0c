"""Collects tokens into sentences, paragraphs and documents, for formats that are tokenized."""

from collections.abc import Mapping

from firth.corpora.reading.text_blocks import RawBlock, tokenized


class TokenDocuments:
    """The documents of a block, filled line by line; those without tokens are dropped."""

    def __init__(self, raw: RawBlock) -> None:
        self.texts: list[bytes] = []
        self.positions: list[int] = []
        self.fields: list[Mapping[str, str]] = []
        self.continues = False
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
            self.continues |= continues
            self.texts.append(text.encode())
            self.positions.append(number)
            self.fields.append(fields)
        self._paragraphs = [[]]

    def values(self, names: list[str]) -> dict[str, list[str]]:
        """Return the values of fields, empty where a document lacks one."""
        return {name: [fields.get(name, "") for fields in self.fields] for name in names}
