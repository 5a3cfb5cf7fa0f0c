"""Finds whether a text is Turkish or Azerbaijani, of which I and İ have other small letters."""

import dataclasses
import itertools
import re
from collections.abc import Iterator

from firth.corpora.reading.tei import parse_tei
from firth.corpora.reading.text_blocks import RawBlock, TextBlock
from firth.corpora.text.segment import DOTLESS_LANGUAGE, TextSettings

_LEAST_LETTERS, _SAMPLE_BYTES = 10_000, 1 << 17  # of each block
_MOST_BYTES = 4 << 20  # of blocks without so many letters
# In Turkish ı is 5 % of the letters, in Azerbaijani 4 %; a part may be in another language.
_LEAST_SHARE = 0.02
_DECLARED = re.compile(rb'<mediawiki\b[^>]*\bxml:lang="(\w+)')


def with_language(
    blocks: Iterator[RawBlock], text: TextSettings
) -> tuple[Iterator[RawBlock], TextSettings]:
    """Return the blocks and the settings, with the language if it is Turkish or Azerbaijani.

    A dump or TEI declares it; else it is seen in the letters of the first blocks, 10,000 or more.
    """
    if text.keep_case or text.language or text.lemmatize:
        return blocks, text
    read: list[RawBlock] = []
    n_bytes = n_letters = n_dotless = n_schwas = 0
    language = None
    for raw in blocks:
        parsed = raw.parse()
        read.append(dataclasses.replace(raw, state=parsed, parser=_parsed, heavy=False))
        dump = _DECLARED.search(raw.data[:1000]) if isinstance(raw.data, bytes) else None
        declared = {dump[1].decode()} if dump else set[str]()
        if raw.parser is parse_tei:  # a field of records may tell languages one by one
            declared = set(parsed.fields.get("language", ()))
        if len(declared) == 1 and (name := declared.pop()):
            language = found[0].lower() if (found := DOTLESS_LANGUAGE.match(name)) else None
            break
        sample = parsed.text[:_SAMPLE_BYTES].decode(errors="ignore")
        n_bytes += len(parsed.text)
        n_letters += sum(map(str.isalpha, sample))
        n_dotless += sample.count("ı")
        n_schwas += sample.count("ə")
        if n_letters >= _LEAST_LETTERS or n_bytes >= _MOST_BYTES:
            if n_dotless >= _LEAST_SHARE * max(n_letters, _LEAST_LETTERS):
                language = "az" if n_schwas > n_dotless else "tr"
            break
    return itertools.chain(read, blocks), dataclasses.replace(text, language=language)


def _parsed(raw: RawBlock) -> TextBlock:
    """Return a block that is parsed already."""
    block: TextBlock = raw.state
    return block
