"""Removal of wiki markup by kind: tags, links, templates, entities, empty parentheses.

Each function removes one kind of markup and keeps the text that the rendered page shows.
"""

import html
import re
from collections.abc import Callable, Collection
from functools import partial

from firth.corpora.reading.wiki.namespaces import NAMES

# Elements whose content is not prose and is removed.
_HIDDEN_NAMES = (
    "ref|references|math|chem|ce|gallery|timeline|imagemap|score|source|syntaxhighlight|pre|hiero|"
    "graph|templatedata|templatestyles|mapframe|maplink|categorytree|inputbox|includeonly|style|script"
)
# Elements whose tags are removed and whose content is kept. Others, such as <stdio.h>, are text.
_INLINE_NAMES = (
    "(?-i:[biqsu])|abbr|bdi|bdo|big|br|cite|code|data|del|dfn|em|font|hr|indicator|ins|kbd|mark|"
    "noinclude|nowiki|onlyinclude|poem|rb|rp|rt|ruby|samp|section|small|span|strike|strong|sub|sup|"
    "time|tt|var|wbr"
)
_BLOCK_NAMES = (
    "(?-i:p)|blockquote|caption|center|dd|div|dl|dt|h[1-6]|li|ol|table|tbody|td|tfoot|th|thead|"
    "tr|ul"
)
_EMPTY_ELEMENT = re.compile(rf"<(?:{_HIDDEN_NAMES})\b[^<>]*/>", re.IGNORECASE)
_HIDDEN = re.compile(
    # stops at a second opening tag, so that an unclosed <ref> removes only itself
    rf"<({_HIDDEN_NAMES})\b[^<>]*>[^<]*(?:<(?!/?\1\b)[^<]*)*</\1\s*>",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_BLOCK = re.compile(rf"</?(?:{_BLOCK_NAMES})(?:\s[^<>]*)?/?>", re.IGNORECASE)
_BREAK = re.compile(r"</?br\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(
    rf"</?(?:{_HIDDEN_NAMES}|{_INLINE_NAMES}|{_BLOCK_NAMES})(?:[\s/][^<>]*)?>|<!--|-->"
    r"|<(?:span|div|ref|table|td|tr)(?:\s+[\w-]+\s*=[^<>\n]*)?$",
    re.IGNORECASE | re.MULTILINE,
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]\w{1,31});")

_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z-]+)?|simple")
_EXTERNAL = re.compile(r"\[(?:(?:https?:|ftp:|irc:)?//|mailto:)[^\s\[\]]*+[ \t]*+([^\[\]\n]*+)\]")
_LINK = re.compile(r"\[\[([^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*)\]\]")
_TEMPLATE = re.compile(r"\{\{([^{}]*)\}\}")
_PARAMETER = re.compile(r"\{\{\{[^{}]*\}\}\}")
_LINE_TEMPLATE = re.compile(r"\{\{(\s*[#:]?[A-Za-z][\w&][^{}]*)\}\}")
_MAIN_ARGUMENT = re.compile(r"\s*(?:1|2|text|quote)\s*=")
_BRACES = re.compile(r"\{\{|\}\}")
# -{zh-hans:a;zh-hant:b}- of a wiki with language variants; of its flags, these hide the text
_VARIANTS = re.compile(r"-\{(?!\{)(?:([A-Za-z;\s-]*)\|)?([^{}]*)\}-")
_HIDDEN_VARIANTS = re.compile(r"\s*[HT-]\s*(?:;|$)")
_VARIANT_NAME = r"\s*[a-z]{2,3}(?:-[a-z]+)*\s*:"
_VARIANT = re.compile(rf"{_VARIANT_NAME}(.*?)(?:;(?={_VARIANT_NAME}|\s*\Z)|\Z)", re.DOTALL)
_MAX_NESTING = 8  # links in captions, templates in templates

_EMPTY_WORDS = r"(?:\s*\b(?:or|and)\b)*"
_OPENING = re.compile(rf"\({_EMPTY_WORDS}(?:\s*[,;](?=[\s),;\"]))+\s*")
_PARENTHESES = re.compile(r"\([^()]*\)")
_REVERSED_END = re.compile(r"\)(?:(?:[,;]\s++)++|(?:\s++[,;])++|;)")
_EMPTY_PARENTHESES = rf"\({_EMPTY_WORDS}\s*\)"
_EMPTY = re.compile(
    rf"(?:(?<=\s)|^){_EMPTY_PARENTHESES}(?:\s+|$)|\s{_EMPTY_PARENTHESES}(?=[^\s\w(])"
)
_BRACKET = re.compile(r"[\[\]]")
_STRAY = re.compile(r"(?<!\s)(?:\s*(?:[,;]\s*)?\x00)+")


def untag(text: str, block: str = "\n\n") -> str:
    """Remove comments and known tags; references, formulas and code lose their content."""
    if "<" not in text:
        return text
    closed = text.rfind("-->") + 3  # past it, each opening would be sought to the end
    text = _EMPTY_ELEMENT.sub("", _COMMENT.sub("", text[:closed]) + text[closed:])
    text = _HIDDEN.sub("", text)
    return _TAG.sub("", _BREAK.sub(" ", _BLOCK.sub(block, text)))


def unescape(text: str) -> str:
    """Replace entities by their characters; whitespace and control characters become spaces."""
    return _ENTITY.sub(_character, text) if "&" in text else text


def unlink(text: str, hidden: Collection[str] = NAMES) -> str:
    """Replace links by their visible text: ``[[Mars|the planet]]`` becomes ``the planet``.

    Links to pages of the hidden namespaces (in lower case) and interwiki links are removed.
    """
    if "[" not in text:
        return text
    text = _EXTERNAL.sub(r"\1", text)
    return _innermost_first(_LINK, partial(_link_text, hidden), text)


def untemplate(text: str) -> str:
    """Replace known templates by their text, ``{{convert|5|km|mi}}`` by ``5 km``; remove others.

    Resolve links first: a bar inside a link would split an argument.
    """
    if "{{" not in text:
        return text
    text = _PARAMETER.sub("", text)
    return _without_braces(_innermost_first(_TEMPLATE, _template_text, text))


def untemplate_line(line: str) -> str:
    """Resolve templates within one line; nested sets such as ``{{1, 2}, {3}}`` are kept."""
    return _innermost_first(_LINE_TEMPLATE, _template_text, line)


def unvary(text: str) -> str:
    """Replace text in several variants of a language by the first one that it names."""
    return _VARIANTS.sub(_variant, text) if "-{" in text else text


def tidy(line: str) -> str:
    """Clean up parentheses after removed templates: ``(; Greek: x ])`` becomes ``(Greek: x)``.

    Empty parentheses are removed, except those of a call ``f()``.
    """
    if "]" in line:
        line = _without_stray_brackets(line)
    if "(" in line:
        line = _PARENTHESES.sub(_without_end, _OPENING.sub("(", line))
        line = _EMPTY.sub("", line)
    return line


def _without_end(parentheses: re.Match[str]) -> str:
    """Remove ``,`` and ``;`` with spaces from the end of parentheses; read backwards, once."""
    return _REVERSED_END.sub(")", parentheses[0][::-1], count=1)[::-1]


def _without_stray_brackets(line: str) -> str:
    """Remove unmatched closing brackets, left over from pronunciations."""
    opened = 0
    characters = list(line)
    for bracket in _BRACKET.finditer(line):
        at = bracket.start()
        if bracket[0] == "[":
            opened += 1
        elif opened:
            opened -= 1
        elif at and line[at - 1] in " (,;":
            characters[at] = "\0"
    return _STRAY.sub("", "".join(characters)) if "\0" in characters else line


def _variant(variants: re.Match[str]) -> str:
    """Return the text of a variant; nothing if it is only a rule for the rest of the page."""
    if _HIDDEN_VARIANTS.match(variants[1] or "") or "=>" in variants[2]:
        return ""
    first = _VARIANT.match(variants[2])
    return first[1].strip() if first else variants[2]


def _character(entity: re.Match[str]) -> str:
    """Return the character of an entity; unknown names are kept."""
    character = html.unescape(entity[0])
    invisible = any(c.isspace() or c < " " or "\x7f" <= c <= "\x9f" for c in character)
    return " " if invisible else character


def _innermost_first(
    pattern: re.Pattern[str], replacement: Callable[[re.Match[str]], str], text: str
) -> str:
    """Replace nested matches from the inside out, up to a fixed depth."""
    for _ in range(_MAX_NESTING):
        text, count = pattern.subn(replacement, text)
        if not count:
            break
    return text


def _link_text(hidden: Collection[str], link: re.Match[str]) -> str:
    """Return the visible text of a link."""
    target, bar, label = link[1].partition("|")
    namespace, colon, _ = target.partition(":")
    if colon:
        namespace = " ".join(namespace.replace("_", " ").split())
        if namespace.lower() in hidden or (not bar and _LANGUAGE.fullmatch(namespace)):
            return ""
    if bar:
        return label or re.sub(r"^[^:]*:|(?<!\s)\s*\([^()]*\)$", "", target)
    return target.lstrip(": ")


def _template_text(template: re.Match[str]) -> str:
    """Return the text of a known template, else the empty string."""
    name, *parts = template[1].split("|")
    name = name.strip().lower().replace("_", " ")
    render = _RENDERERS.get(name)
    if name.startswith("lang-"):
        render = _first
    if name.startswith("formatnum:"):
        return name.partition(":")[2]
    if render is None:
        return ""
    plain = [part.strip() for part in parts if "=" not in part]
    named = [part.partition("=")[2].strip() for part in parts if _MAIN_ARGUMENT.match(part)]
    return render(plain or named)


def _without_braces(text: str) -> str:
    """Remove balanced double braces with their content, and unbalanced ones alone."""
    kept: list[str] = []
    opened: list[tuple[int, int]] = []  # offset in the text, length of ``kept``
    last = 0
    for braces in _BRACES.finditer(text):
        kept.append(text[last : braces.start()])
        last = braces.end()
        if braces[0] == "{{":
            opened.append((braces.start(), len(kept)))
        elif opened:
            del kept[opened.pop()[1] :]
    kept.append(text[last:])
    return "".join(kept)


def _argument(place: int) -> Callable[[list[str]], str]:
    """Return a renderer of one argument, empty if there are fewer."""
    return lambda arguments: "".join(arguments[place:][:1])


_first = _argument(0)


def _circa(arguments: list[str]) -> str:
    """Render ``{{circa|1200}}``."""
    return f"c. {_first(arguments)}".rstrip()


def _quantity(arguments: list[str]) -> str:
    """Render ``{{convert|5|km|mi}}`` and ``{{convert|5|to|6|km}}`` in the source unit."""
    if len(arguments) > 3 and arguments[1] in ("to", "and", "-", "–", "by", "x", "or"):
        return " ".join(arguments[:4])
    return " ".join(arguments[:2])


def _fraction(arguments: list[str]) -> str:
    """Render ``{{frac|1|2}}`` and ``{{frac|3|1|2}}``."""
    whole = arguments[0] + " " if len(arguments) == 3 else ""
    return whole + "/".join(arguments[-2:])


def _constant(text: str) -> Callable[[list[str]], str]:
    """Return a renderer that ignores its arguments."""
    return lambda arguments: text


_RENDERERS: dict[str, Callable[[list[str]], str]] = {
    "as of": lambda arguments: f"as of {arguments[0]}" if arguments else "",
    "circa": _circa,
    "c.": _circa,
    "convert": _quantity,
    "cvt": _quantity,
    "frac": _fraction,
    "fraction": _fraction,
    "lang": _argument(1),
    "transl": _argument(-1),
    "transliteration": _argument(-1),
    **dict.fromkeys(
        (
            "abbr", "angbr", "blockquote", "cquote", "em", "ill", "interlanguage link", "larger",
            "linktext", "nihongo", "nobold", "nobr", "nowrap", "quotation", "quote", "sic", "small",
            "smallcaps", "smaller", "sc", "sub", "sup", "strong", "unicode", "polytonic", "script",
            "val", "vanchor", "visible anchor",
        ),
        _first,
    ),
    **dict.fromkeys(("ndash", "spaced ndash", "snd", "snds", "spnd", "–"), _constant(" – ")),
    **dict.fromkeys(("mdash", "spaced mdash", "—"), _constant(" — ")),
    **dict.fromkeys(("nbsp", "space", "sp", "·", "•"), _constant(" ")),
    "'": _constant("'"),
    "okina": _constant("ʻ"),
}  # fmt: skip
