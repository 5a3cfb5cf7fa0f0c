"""Converts wiki text to plain paragraphs: leftovers in extracted text, and whole pages."""

import re
from bisect import bisect_left
from collections.abc import Collection

import numpy as np

from firth.corpora.reading.wiki.markup import (
    tidy,
    unescape,
    unlink,
    untag,
    untemplate,
    untemplate_line,
    unvary,
)
from firth.corpora.reading.wiki.markup_kernels import (
    CELL,
    ENTITY,
    GAP,
    LINK,
    QUOTES,
    SPECIAL,
    TAG,
    flag_lines,
)
from firth.corpora.reading.wiki.namespaces import NAMES

# A table row, a template argument or a gallery picture.
_DEBRIS = re.compile(
    r"\s*+(?:"
    r"\|(?:$|\s|[-+}|,.:;&{]|[\w ()-]+=|\w+$|.*\{\{\s*$)"
    r"|\{\||!.*\w=\""
    r"|\#if\w*:"
    r"|\}\}\s*(?:$|[{|}#&])|\{\{\s*$|.*\brft(?:_val_fmt|_id|\.\w+)="
    r"|(?:\w*+(?:\"\s*+|\s++))?(?:[\w-]++=\"[^\"]*\"\s*)+>?$|\w*\"?\s*style=\"[^<>\"]*$"
    r"|(?:File|Image):[^|\[\]]+\.\w{2,4}\s*(?:\||$)"
    r")"
)
_MARKS = re.compile(r"(?:BULLET::::|Section::::|::::+)[-#*.]?\s*|__[A-Z]{3,}__")
_THUMB = re.compile(r"(?:\b(?:thumb|thumbnail|frame|frameless|left|right|center|upright|\d+px)\|)+")
_OPENING = re.compile(r"(?<![\w'])('{2,3}|'{5})(?=[^\s'])")
_CLOSING = re.compile(r"(?<=[^\s'])('{2,3}|'{5})(?![\w'])")
_UPDATE = re.compile(r"\s?\[\s*\[?update\]?\]")
_LOST_LETTER = re.compile(r"(^|[.!?\"] )s of (?=[\w ,]{4,20}\[\s*\[update\])")
_SINGLE_LINK = re.compile(r"(?<!\w)\[\[|\]\](?!\])")

# In all languages: a word, perhaps with combining marks, or one of these pairs.
_REDIRECT = re.compile(
    r"\s*#(?:\s?\w+|đổi hướng|رجوع مکرر|[^\W\d_][^\s!-,./:-@[-^`{-~]*+)\s*+:?\s*+\[\[[^\]\n]*\]\]",
    re.IGNORECASE,
)
_NOWIKI = re.compile(r"<nowiki>(.*?)</nowiki>", re.DOTALL | re.IGNORECASE)
_NOWIKI_END = re.compile(r"</nowiki>", re.IGNORECASE)
_RUN_OF_QUOTES = re.compile(r"'{2,}")
_MAGIC = re.compile(r"__(?:[^\s\d_!-/:-@[-`{-~]|_(?!_)){3,}+__")
_LIST = re.compile(r"[*#:;]+\s*")
_SPACE_BEFORE = re.compile(r" (?=[,.](?:\s|$))")
_GAP_SIGNS = re.compile(r"\([\s),;\]]|[\s,;\]]\)|[\s,;(]\]")


def clean_lines(text: bytes, lines_at_once: int = 1 << 14) -> tuple[bytes, int]:
    """Remove leftover markup from extracted wiki text; return it and the number of changed lines.

    A kernel scans every byte and flags the few lines to clean. Lines that are only a table row
    or part of a template become empty. Placeholders such as ``formula_1`` are kept, since they
    replace a noun, and so are ``<doc ...>`` and ``</doc>`` lines.
    """
    data = np.frombuffer(text, np.uint8)
    starts, ends = np.empty((2, lines_at_once), np.int64)
    kinds = np.empty(lines_at_once, np.uint8)
    pieces: list[bytes] = []
    position = copied = changed = 0
    while position < len(text):
        found, position = flag_lines(data, position, SPECIAL, starts, ends, kinds)
        flagged = (column[:found].tolist() for column in (starts, ends, kinds))
        for start, end, kind in zip(*flagged, strict=True):
            line = text[start:end]
            cleaned = clean_line(line.decode(errors="surrogateescape"), kind)
            encoded = cleaned.encode(errors="surrogateescape")
            if encoded != line:
                pieces += (text[copied:start], encoded)
                copied = end
                changed += 1
    if not changed:
        return text, 0
    pieces.append(text[copied:])
    return b"".join(pieces), changed


def clean_line(line: str, kinds: int = 255) -> str:
    """Remove leftover markup of the given kinds (bits of ``markup_kernels``) from one line."""
    before = line
    if kinds & ENTITY:
        line = unescape(line)
        kinds |= TAG if line != before else 0
    if kinds & (CELL | LINK) and _DEBRIS.match(line):
        return ""
    if kinds & TAG:
        line = untag(line, block=" ")
    if kinds & CELL:
        line = _THUMB.sub("", line)
    if kinds & LINK:
        line = _without_links(line)
    if kinds & QUOTES:
        line = _without_quotes(line)
    if kinds & GAP or line != before:
        line = tidy(line)
    # unchanged lines keep their spaces
    return line.strip(" ") if line != before else line


def page_text(wikitext: str, hidden: Collection[str] = NAMES) -> str:
    """Convert the source of a wiki page to plain paragraphs, one per line; empty for a redirect.

    Headings and list items become paragraphs. Tables, references, formulas, code, pictures,
    categories, interwiki links and empty sections are removed, and so are templates, except
    those that show an argument (``lang``, ``convert``, ``quote`` and others). ``hidden`` has the
    names of the namespaces of pictures and categories, in lower case.
    """
    if _REDIRECT.match(wikitext):
        return ""
    # past the last end, each opening would be sought to the end of the page
    closed = max((end.end() for end in _NOWIKI_END.finditer(wikitext)), default=0)
    text = _NOWIKI.sub(_literal, wikitext[:closed]) + wikitext[closed:]
    text = untemplate(unlink(unvary(untag(text)), hidden))
    text = _RUN_OF_QUOTES.sub("", text)
    if "__" in text:
        # magic words of all languages, not __init__
        text = _MAGIC.sub(lambda word: "" if word[0].upper() == word[0] else word[0], text)
    return "\n".join(_paragraphs(_without_tables(text.split("\n"))))


def _without_links(line: str) -> str:
    """Remove links, templates and unmatched halves of either from one line."""
    if "update]" in line:
        line = _UPDATE.sub("", _LOST_LETTER.sub(r"\1As of ", line))
    line = untemplate_line(unlink(unvary(_MARKS.sub("", line))))
    if "]]" in line and line.count("[") != line.count("]"):
        line = _SINGLE_LINK.sub("", line)
    return line


def _without_quotes(line: str) -> str:
    """Remove pairs of quotes around italic and bold text."""
    ends: dict[int, list[int]] = {2: [], 3: [], 5: []}  # offsets of closing quotes, by length
    for closing in _CLOSING.finditer(line):
        ends[len(closing[1])].append(closing.start())
    pieces: list[str] = []
    done = 0
    for opening in _OPENING.finditer(line):
        size = len(opening[1])
        after = bisect_left(ends[size], opening.end() + 1)
        if opening.start() >= done and after < len(ends[size]):
            stop = ends[size][after]
            pieces += (line[done : opening.start()], line[opening.end() : stop])
            done = stop + size
    return "".join([*pieces, line[done:]])


def _literal(nowiki: re.Match[str]) -> str:
    """Escape nowiki text as entities, which are resolved last."""
    return re.sub(r"[^\w\s]", lambda match: f"&#{ord(match[0])};", nowiki[1])


def _without_tables(lines: list[str]) -> list[str]:
    """Blank the lines of tables; a heading ends an unclosed table."""
    kept = []
    depth = 0
    for line in lines:
        bare = line.lstrip(" :*\t")
        if bare.startswith("{|"):
            depth += 1
        elif depth and bare.startswith("|}"):
            depth -= 1
            line = bare[2:]
        elif depth and _heading(line):
            depth = 0
        visible = not depth and not bare.startswith(("|", "!"))
        kept.append(line if visible else "")  # blank: text before and after a table must not join
    return kept


def _heading(line: str) -> tuple[int, str] | None:
    """Return the level and the text of a heading such as ``== History ==``."""
    line = line.rstrip()
    if len(line) < 3 or line[0] != "=" or line[-1] != "=":
        return None
    level = min(6, len(line) - len(line.lstrip("=")), len(line) - 2)
    return level, line[level:].rstrip("=").strip()


def _paragraphs(lines: list[str]) -> list[str]:
    """Join adjacent lines into paragraphs, and drop headings of empty sections."""
    paragraphs: list[list[str]] = []  # each in pieces
    headings: list[tuple[int, str]] = []
    joins = False
    for line in lines:
        line = line.rstrip()
        if heading := _heading(line):
            level, text = heading
            headings = [(other, text) for other, text in headings if other < level]
            headings.append((level, _plain(text)))
            joins = False
            continue
        item = _LIST.match(line)
        plain = _plain(line[item.end() :] if item else line)
        if not any(map(str.isalnum, plain)):
            joins = False
            continue
        paragraphs += [[text] for _, text in headings if text]
        joins = joins and not headings and not item
        headings = []
        if joins:
            paragraphs[-1].append(plain if plain[0] in ",.;" else " " + plain)
        else:
            paragraphs.append([plain])
        joins = not item
    return list(map("".join, paragraphs))


def _plain(line: str) -> str:
    """Resolve entities and clean up what removed templates left behind in one line."""
    line = " ".join(unescape(line).split())
    if _GAP_SIGNS.search(line):
        line = tidy(line).replace("( ", "(").replace(" )", ")")
    return _SPACE_BEFORE.sub("", line)
