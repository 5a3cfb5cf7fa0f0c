"""Wiki text: the kernel against a naive twin, and examples of leftovers and pages."""

import lzma
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from firth.corpora.reading.wiki.paragraphs import clean_line, clean_lines, page_text

# What flags a line, in the slow words of a regular expression.
DEFINITIONS = {
    TAG: r"<[A-Za-z/!]",
    ENTITY: r"&#?[A-Za-z0-9]{1,32};",
    LINK: r"\[\[|\]\]|\{\{|\}\}|\[ \[|\[ht|\[ft|\[//|\[ma|__[A-Z]|::::",
    GAP: r"\([ ),;\]]|[ ,;\]]\)|[ (,;]\](?!\])",
    CELL: r"^ *[|!]|\|\}|\{\||mb\||=\"|#if[:e]|^ *(?:File|Image):",
    QUOTES: r"''",
}
SIGNS = "<&[]{}|!=#()_':;, \n/a1Z\"é中"
STRINGS = "File: Image: <doc </doc> <docs [http [ma #if mb| &amp; &#160; :::: __TOC__ () ]] ''"
PIECES = st.sampled_from([*SIGNS, "<doc ", "\n\n", " ]", *STRINGS.split()])

LEFTOVERS = {
    # tags
    "He came.<br>": "He came.",
    '<br>"total:"': '"total:"',
    "</dl>": "",
    'the <dfn id=">shape</dfn> that allows': "the shape that allows",
    'largest consumer.<ref name="DDTBP.1/2"></ref> It is': "largest consumer. It is",
    "see <ref name=x>Koenig, p. 2</ref>here": "see here",
    "an unclosed <ref name=abba/ref>ABBA": "an unclosed ABBA",
    "<poem>Who really knows?": "Who really knows?",
    'online at Google Books<span class="Z3988"': "online at Google Books",
    "water<!-- really? --> is wet": "water is wet",
    # entities
    "Batman &amp; Robin": "Batman & Robin",
    "100&nbsp;km &ndash; far": "100 km – far",
    "history of &quot;Catholic&quot;": 'history of "Catholic"',
    "a note&lt;ref&gt;p. 3&lt;/ref&gt; here": "a note here",
    # links and templates
    "[[Dunes]] on [[Titan (moon)|Titan]]": "Dunes on Titan",
    "[[File:a.jpg|thumb|left|The [[Scot|Scotsman]] Hutton]]": "",
    "[[Category:Curves]]": "",
    "signed the Treaty of Amity]], which": "signed the Treaty of Amity, which",
    "text {{citation needed|date=May 2010}} goes on": "text  goes on",
    "see [http://example.org the site] for it": "see the site for it",
    "s of 2013[ [update]], it is so": "As of 2013, it is so",
    "It is. s of March 2004[ [update]], most": "It is. As of March 2004, most",
    "as of June 2010[ [update]], fifteen": "as of June 2010, fifteen",
    "__NOTOC__": "",
    "BULLET::::- an item": "an item",
    "Section::::History.": "History.",
    # rows of tables, parts of templates, pictures
    ' |style="padding-left:0;"| 1900 est.': "",
    " |DateFormat=none": "",
    " | , {{#ifeq: | no": "",
    " #if: |&rft.au={{urlencode:}}{{": "",
    " }}{{": "",
    ' class="Z3988"': "",
    '!colspan="70" class="navbox-title"': "",
    "{| class=wikitable": "",
    "File:Old-oak.jpg|Oak tree in autumn": "",
    "thumb|right|A dog": "A dog",
    # what removed templates leave
    "Cyprus (; Greek: Κύπρος ]; Turkish: x ]), is": "Cyprus (Greek: Κύπρος; Turkish: x), is",
    "Guangzhou (, also known as Canton) is": "Guangzhou (also known as Canton) is",
    "Syunik' ()": "Syunik'",
    "the Protectorate (), declared": "the Protectorate, declared",
    "Compost ( or ) is": "Compost is",
    "Guinea-Bissau (, ), officially": "Guinea-Bissau, officially",
    "David Hilbert (]; 23 January 1862)": "David Hilbert (23 January 1862)",
    "BMW are pronounced ] in German": "BMW are pronounced in German",
    "Masuhito (益仁;), but": "Masuhito (益仁), but",
    # quotes
    "the '''bold''' and the ''slanted''": "the bold and the slanted",
}

PAGES = {
    "'''Mars''' is ''the'' [[planet]].": "Mars is the planet.",
    "#REDIRECT [[Other page]]": "",
    "#пренасочване [[Друга]]": "",
    # headings, lists, paragraphs
    "== One ==\nIt began.\n=== Two ===\nIt ended.": "One\nIt began.\nTwo\nIt ended.",
    "Text.\n== Empty ==\n{{reflist}}\n== See ==\n=== Deep ===\nx": "Text.\nSee\nDeep\nx",
    "one\ntwo\n\nthree": "one two\nthree",
    "* one\n** [[two]]\n# three": "one\ntwo\nthree",
    "; term : meaning\n: indented": "term : meaning\nindented",
    # tables
    "a\n{| class=x\n! h\n|-\n| b\n{| \n| c\n|}\n|}\nd": "a\nd",
    "a\n{| never closed\n| b\n== H ==\nc": "a\nH\nc",
    # links
    "[[File:A.jpg|thumb|A [[b|c]] [http://x d] [e]]]\nText": "Text",
    "[[Категория:Х]][[de:Mars]][[Bild:a.png]]Text": "Text",
    "[[:Category:Rivers|rivers]] [[w:Mars|Mars]]": "rivers Mars",
    "[[Titan (moon)|]] [[:de:Mars]] [[#Part|part]]": "Titan de:Mars part",
    # templates
    "a{{x|{{y|{{z}}}}|b={{{c}}}}}d": "ad",
    "{{Infobox\n| name = {a}\n| b = {{c}}\n}}\nText": "Text",
    "{{lang|fr|mot}}, {{convert|5|km|mi}}, {{lang-de|Wort}}": "mot, 5 km, Wort",
    "{{convert|5|to|6|km}} {{frac|1|2}} {{frac|3|1|2}}": "5 to 6 km 1/2 3 1/2",
    "{{quote|text=so}} {{circa|1200}} {{formatnum:12345}}": "so c. 1200 12345",
    "a{{ndash}}b {{as of|2010}} {{transl|ar|x}} {{okina}}": "a – b as of 2010 x ʻ",
    "It (pronounced {{IPA|x}}; {{audio|y}}) is ({{z}}) fine": "It (pronounced) is fine",
    # tags and entities
    "x<ref name=a /> y<ref>z {{cite|a=b}} [[q]]</ref>.": "x y.",
    "a &lt;b&gt; &amp; c&nbsp;d &alpha; &#x27; &#10; e": "a <b> & c d α ' e",
    "<nowiki>[[not a link]] ''x''</nowiki>": "[[not a link]] ''x''",
    "<!-- hidden\n-->shown <math>x^2</math>, <code>y</code>": "shown, y",
    "E = mc<sup>2</sup>": "E = mc2",
    "<gallery>\nFile:a.jpg|b\n</gallery>\n<pre>\ncode\n</pre>\nText __NOTOC__": "Text",
    "<div>one</div><p>two</p>three<br />four": "one\ntwo\nthree four",
    "": "",
}

PROSE = """\
Nothing (nothing at all) is marked here; "quoted", it's [sic] plain.
If a < b and b > c then a <b, |x| < 3 and 1 << 2; x | y || z, but ||v|| = 1.
|x| + |y| is a norm, {1, 2} a set, {{1}, {1, 2}} a pair, [[1, 2], [3]] a table, [3[4]] a group.
In C++ one writes v[0], std::vector<int> v; a[i][j], f() and main(int argc, char** argv);
AT&T and R&D; Smith &c; Q&A: true & false; &unknown things; &&; a&b;
Python has (1,) and [1, 2, [3]] and {'a': {}} and "" and '' and __init__ and a == b != c.
It is 5' 3'' tall; f''(x) = g''(x); rock 'n' roll; 'tis ''.
Write to <me@example.org>, see <https://example.org/a_b>, http://example.org/?a=b&c=d#e.
BNF: <S> ::= <S> "+" <M> | <M>; #include <stdio.h>, #ifdef X, #if defined(X), #endif
formula_1 and codice_2 hold places. ! What? What! = nothing. :-) ;-) :) 1:2::3:4
Deutsch „so“, français « ainsi », 中文（这里）。 日本語「はい」 देवनागरी। \u200f"""


def naive_kinds(text: str) -> list[tuple[int, int, int]]:
    """Return byte bounds and kinds of each flagged line, by regular expressions."""
    found = []
    start = 0
    for line in text.split("\n"):
        n_bytes = len(line.encode())
        kind = sum(bit for bit, pattern in DEFINITIONS.items() if re.search(pattern, line))
        if kind and not re.match(r"</?doc[ >]", line):
            found.append((start, start + n_bytes, kind))
        start += n_bytes + 1
    return found


def kernel_kinds(text: str, capacity: int) -> list[tuple[int, int, int]]:
    """Return the same from the kernel, resumed whenever its output is full."""
    data = np.frombuffer(text.encode(), np.uint8)
    starts, ends = np.empty((2, capacity), np.int64)
    kinds = np.empty(capacity, np.uint8)
    found = []
    position = 0
    while position < len(data):
        n, position = flag_lines(data, position, SPECIAL, starts, ends, kinds)
        found += zip(starts[:n].tolist(), ends[:n].tolist(), kinds[:n].tolist(), strict=True)
    return found


@given(st.lists(PIECES, max_size=40).map("".join), st.integers(1, 4))
def test_the_kernel_flags_the_lines_that_the_definition_flags(text: str, capacity: int) -> None:
    assert kernel_kinds(text, capacity) == naive_kinds(text)


@pytest.mark.parametrize(("before", "after"), LEFTOVERS.items())
def test_leftovers_are_removed(before: str, after: str) -> None:
    cleaned, changed = clean_lines(f"before\n{before}\nafter\n".encode())

    assert cleaned.decode() == f"before\n{after}\nafter\n"
    assert changed == 1


def test_text_without_markup_is_returned_itself() -> None:
    text = PROSE.encode()

    assert clean_lines(text) == (text, 0)
    assert clean_lines(text)[0] is text
    assert clean_lines(b"") == (b"", 0)


@pytest.mark.parametrize("line", PROSE.split("\n"))
def test_plain_lines_are_unchanged_for_every_kind(line: str) -> None:
    assert clean_line(line) == line


def test_document_tags_are_kept() -> None:
    text = b'<doc id="1" url="http://x?curid=1" title="[[A]]">\nA<br>\n</doc>\n'

    assert clean_lines(text) == (text.replace(b"<br>", b""), 1)


@given(st.lists(st.one_of(PIECES, st.text(max_size=3)), max_size=40).map("".join))
def test_the_number_of_lines_never_changes(text: str) -> None:
    raw = text.encode(errors="replace")
    cleaned, changed = clean_lines(raw)
    before, after = raw.split(b"\n"), cleaned.split(b"\n")

    assert len(after) == len(before)
    assert changed == sum(a != b for a, b in zip(after, before, strict=True))


def test_a_full_output_is_resumed() -> None:
    assert clean_lines(b"a<br>\nplain\n" * 7, lines_at_once=2) == (b"a\nplain\n" * 7, 7)


def test_invalid_utf8_passes_through() -> None:
    assert clean_lines(b"\xff<br>\xe9\n") == (b"\xff \xe9\n", 1)


def test_wikiextractor_text_loses_its_markup_and_nothing_else(shared_data: Path) -> None:
    with lzma.open(shared_data / "corpora" / "enwiki2015-AA.txt.xz") as file:
        text = file.read(8 << 20).rpartition(b"\n")[0]
    cleaned, changed = clean_lines(text)
    n_lines = text.count(b"\n")

    assert 0.01 * n_lines < changed < 0.1 * n_lines
    assert cleaned.count(b"\n") == n_lines
    assert len(cleaned) > 0.995 * len(text)
    body = re.sub(rb"^</?doc.*$", b"", cleaned, flags=re.MULTILINE)
    for sign in (b"[[", b"<br", b"</", b"{|", b"style=", b"thumb|", b"&amp;", b"[update", b" ()\n"):
        assert sign not in body


@pytest.mark.parametrize(("wikitext", "text"), PAGES.items())
def test_pages_become_plain_paragraphs(wikitext: str, text: str) -> None:
    assert page_text(wikitext) == text


@given(st.lists(st.one_of(PIECES, st.text(max_size=3)), max_size=60).map("".join))
def test_pages_never_raise_or_contain_empty_lines(wikitext: str) -> None:
    text = page_text(wikitext)

    assert text == "" or all(line.strip() for line in text.split("\n"))


@pytest.mark.slow
def test_deep_and_unclosed_markup_takes_linear_time() -> None:
    for piece in ("[[", "{{", "{|", "<ref>", "[http://x ", "''", "(", "<!--", "{{a|", "[[a|[b"):
        page_text(piece * 3000)
        clean_lines((piece * 3000).encode())


WORST = [
    "<!-- a ", "<nowiki>a", "<ref>a", "<ref><math>", "{{a|", "{|\n", "[[a|", "[[File:a|", "''a ",
    "= a ", "=", "a\n", "__AA_", "(", " ,", "( ;", "a", " ", 'a="b', "[[[", "&#", "*",
]  # fmt: skip


@pytest.mark.parametrize("piece", WORST)
@pytest.mark.parametrize(
    ("before", "after"), [("", ""), ("(", ")x"), ("[[", " x|]]"), ("#a", "]x")]
)
def test_text_without_its_ends_is_read_once(piece, before, after):
    """Anything quadratic in the length would take minutes."""
    text = before + piece * (60_000 // len(piece)) + after
    page_text(text)
    clean_line(text.replace("\n", " "))


@pytest.mark.parametrize(
    "redirect",
    ["#WEITERLEITUNG [[A]]", "#अनुप्रेषित [[A]]", "#đổi hướng [[A]]", "#Đổi hướng: [[A]]",
     "#перенаправление [[A]]"],
)  # fmt: skip
def test_redirects_and_magic_words_of_other_languages_are_no_text(redirect):
    assert page_text(redirect + "\n") == ""
    assert page_text("__БЕЗ_ОГЛАВЛЕНИЯ__Слово __目次非表示__ __init__") == "Слово __init__"


def test_names_of_namespaces_are_those_of_all_languages_and_of_the_dump():
    text = "[[Luokka:A]][[Tập_tin:B|C]][[thể  loại:D]]x [[Meine Bilder:E|F]]"
    assert page_text(text) == "x F"
    assert page_text(text, {"meine bilder"}) == "Luokka:AC" + "thể loại:D" + "x"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("-{zh-hans:计算机;zh-hant:電腦}-是-{机}-", "计算机是机"),
        ("a-{zh-cn: b; zh-tw: c; }-", "ab"),
        ("a-{H|zh:b;zh-tw:c}--{T|zh:d}--{A=>B}-", "a"),
        ("a -{R|raw}- -{A|sr-ec:б;sr-el:c}- -{zh-hans;zh-hant|d}-", "a raw б d"),
        ("a -{ b }", "a -{ b }"),
        ("[[A|-{zh:a;zh-tw:b}-]] {{lang|zh|-{zh:c}-}}", "a c"),
        ("-{zh-cn:[[A|b]]; zh-tw:[[C|d]]}- -{A|zh:[[e]]}- -{[[F|g]]}-", "b e g"),
        ("-{zh-cn:a&amp;b; c;zh-tw:d}-", "a&b; c"),
    ],
)
def test_the_first_variant_of_a_language_is_read(text, read):
    assert page_text(text) == read
    assert clean_lines(text.encode())[0].decode() in (read, text)
