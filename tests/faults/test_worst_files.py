"""Files made to take long: the work of every reader is linear in its input."""

import pkgutil

import pytest

from tests.faults.fuzz_seeds import SETS
from tests.faults.fuzzing import OPENERS, READ, REFUSED, outcome

SIZE = 1 << 16  # bytes; anything quadratic would take minutes, and is stopped after 20 s
WORD = "1\tword\tw\tNOUN\tNN\tA=B\t0\troot\t_\t_\n"
TEI, TEI_END = "<TEI><teiHeader/><text><body>", "</body></text></TEI>"
WIKI, PAGE = "<mediawiki>", "<page><title>a</title></page>"
CLOSED = {"[": "]", "<p>": "</p>", "<a>": "</a>", "<hi>": "</hi>"}


def repeated(piece, before="", after=""):
    """Return a piece as often as fits, and its closing counterpart as often, if it has one."""
    count = SIZE // len(piece)
    return before + piece * count + CLOSED.get(piece, "") * count + after


NUMBERS = range(SIZE // 16)
SOURCES = {
    "conllu": [
        (WORD, ""), ("# a\n", WORD), ("# newpar\n", WORD), ("# newdoc\n" + WORD + "\n", ""),
        ("\n", WORD), ("#\n", ""), ("1-999999\tw" + "\t_" * 8 + "\n", ""), ("\t", WORD),
        ("1", ""), ("A ", "# global.columns = ID FORM "),
    ],
    "xml": [
        ("<p>", TEI), ("<hi>", TEI + "<p>"), ("<div>", TEI), ("-<lb/>", TEI + "<p>"),
        ("- ", TEI + "<p>a"), (" ", TEI + "<p>a-"), ("&amp;", TEI + "<p>"), ("<?a?>", ""),
        ("<!-- a ", ""), ("<!DOCTYPE ", ""), ("<!--a-->", "<!DOCTYPE TEI ["),
        ("<a>", "<TEI><teiHeader>"), ("<page>", WIKI), ("</page>", WIKI), ("<a>", WIKI + "<page>"),
        ('<namespace key="', WIKI), (PAGE, WIKI), (" ", "<?xml "),
    ],
    "csv": [
        ("a,", 'text,b\n"'), ("a,", "text,"), ("\n", "text\n"), ('""\n', "text\n"),
        ('"', "text\n"), ('"",', "text,b\n"), ("\r", "text\n"), ("\n", 'text\n"'),
    ],
    "tsv": [("\n", 'text\n"'), ("\t", "text"), ('"', "text\tb\n"), ('"\t', "text\tb\n")],
    "jsonl": [
        ("[", '{"text": "a", "b": '), ("1", '{"text": "a", "b": '), ("&a", '{"text": "'),
        ('{"text":null}\n', ""), ('"a",', '{"text": ['), ("\\n ", '{"text": "'), (" ", ""),
        ('"a":1,', "{"),
    ],
    "vert": [
        ("<", ""), ("<s>\n", ""), ("a=", "<doc "), ("a:", "<doc "), ("\t", "<s>\n"),
        ("<doc a=1>\na\n</doc>\n", ""), ("<p>\na\n", ""), ("<a>\n\n", "a\tN\n.\tN\n"),
    ],
    "txt": [
        ("\u00ad\n", ""), ("a¬\n", ""), (" ", ""), (" \n", ""), ("\r", ""), ("&lt", ""),
        ("<a ", ""), ("\n", "<a>\n"), (" ", "<a>\n"), ("(A ", ""), ("a/b ", ""), ("a_", ""),
        ("1 1\n", ""), ("1", ""), (" 1.1", "a"), ("1:", ""), ("1\n", ""), ("a", '{"'),
        ('<doc id="1">\n', ""), ('a" b="', '<doc id="'), ("</doc>", '<doc id="1">\n'),
    ],
}  # fmt: skip
NUMBERED = {  # names, numbers and heads that all differ
    "conllu": "".join(f"{n}\tw\tw\tN\t_\t_\t{SIZE - n}\tx\t_\t_\n" for n in NUMBERS),
    "xml": TEI + "<p " + " ".join(f'a{n}=""' for n in NUMBERS) + "/>" + TEI_END,
    "csv": "text," + ",".join(f"a{n}" for n in NUMBERS),
    "jsonl": "{" + ",".join(f'"a{n}":1' for n in NUMBERS) + ',"text": "a"}',
    "vert": "<doc " + " ".join(f"a{n}=1" for n in NUMBERS) + ">\n<s>\na\n</s>",
}
PIECES = [
    "a", "a ", "a\n", "\n", " ", "\t", "a\tb\n", '"', '",', ":", ": a\n", "/", "[", '{"a":1}\n',
    "1 ", "1\t1\n", "9", "<b> a </b> ", "\u2028", "||", "a\tb\t1\n", "1\ta b c\n", "a b c d\n",
]  # fmt: skip
VECTORS = [*PIECES, "1 1\n", "1.", "-", "0,5 ", "(", "a 1 1\n"]


@pytest.mark.parametrize("ending", SOURCES)
def test_a_source_of_one_piece_is_read_in_linear_time(ending, tmp_path):
    path = tmp_path / f"a.{ending}"
    contents = [repeated(*case) for case in SOURCES[ending]] + [NUMBERED.get(ending, "")]
    for content in contents:
        path.write_text(content, "utf-8", newline="")
        assert outcome(OPENERS["source"], path) in (READ, REFUSED), content[:60]


@pytest.mark.parametrize("header", ["", "3 2\n", "a "])
def test_vectors_of_one_piece_are_read_in_linear_time(header, tmp_path):
    path = tmp_path / "vectors"
    for piece in VECTORS:
        path.write_text(repeated(piece, header), "utf-8")
        assert outcome(OPENERS["vectors"], path) in (READ, REFUSED), piece


@pytest.mark.parametrize("reader", sorted({reader for reader, _ in SETS.values()}))
def test_a_set_of_one_piece_is_read_in_linear_time(reader, tmp_path):
    read = pkgutil.resolve_name(f"firth.embed.compare.datasets.{reader}")
    path = tmp_path / "set"
    for piece in PIECES:
        path.write_text(repeated(piece)[: SIZE // 2], "utf-8")
        assert outcome(read, path) in (READ, REFUSED), piece
