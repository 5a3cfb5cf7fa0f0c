"""TEI XML: running text, documents, fields, and what is refused."""

import pytest

from firth.corpora.common.errors import SourceError

HEADER = """<teiHeader><fileDesc>
  <titleStmt><title type="sub">A tale</title><title type="main">The
    House</title><author><persName><surname>Doe</surname><forename>Jane</forename></persName></author>
    <author>Roe,  Richard</author></titleStmt>
  <publicationStmt><date>2020</date></publicationStmt>
  <sourceDesc><bibl><date when="1899-05">May</date></bibl>
    <bibl type="firstEdition"><date>ca. 1871/72</date></bibl></sourceDesc>
</fileDesc><profileDesc><langUsage><language ident="en"/></langUsage></profileDesc></teiHeader>
"""
PROLOG = """<?xml version="1.0" encoding="UTF-8"?>
<?xml-model href="x.rng"?><!-- > a comment < -->
<!DOCTYPE TEI>
"""


def tei(body, *, header=HEADER, around="{}", prolog=PROLOG):
    text = around.format(f"<body>{body}</body>")
    return f'{prolog}<TEI xmlns="http://www.tei-c.org/ns/1.0">{header}<text>{text}</text></TEI>'


SPEECHES = """<sp><speaker>FAUST.</speaker><l>Habe nun,</l><l>ach!</l></sp><stage>Ab.</stage>
<sp><speaker>W.</speaker><p>Nein <stage>(lacht)</stage>doch.</p></sp>"""
EDITED = """<p><choice><sic>hosue</sic><corr>house</corr></choice>
<choice><orig>olde</orig><reg>old</reg></choice> <sic>tow</sic>
<choice><abbr>Dr</abbr><expan>Doctor</expan></choice><del>x</del></p>
<p><app><lem>kept</lem><rdg>other</rdg></app></p>"""
TABLE = "<table><row><cell>a</cell><cell>b</cell></row><row><cell>c</cell></row></table>"
RUNNING_TEXT = [
    ("<p>One\n    two <hi>th</hi>ree.</p>\n <p/><p> </p><p>Four.</p>", "One two three. | Four."),
    ("<head>Title</head>stray<p>Text.</p>", "Title | stray | Text."),
    ("<lg><l>Rose,</l><l>oh</l></lg><lg><l>pure</l></lg>", "Rose, oh | pure"),
    ("<p>See:</p><l>one</l>\n<l>two</l><p>End.</p>", "See: | one two | End."),
    (SPEECHES, "Habe nun, ach! | Ab. | Nein (lacht) doch."),
    ("<p>Word<note>A <p>note</p>.</note>, <fw>Page 3</fw>end.</p>", "Word, end."),
    ("<p>a<figure><head>Fig.</head><figDesc>x</figDesc></figure>b</p>", "ab"),
    (EDITED, "house old tow Doctor | kept"),
    ("<p>one<lb/>two<pb n='3'/>\nthree</p>", "one two three"),
    ("<p>Wör-\n<lb break='no'/> ter Wör<lb break='no'/>ter</p>", "Wörter Wörter"),
    ("<p>Wör<pb/><fw>Kopf</fw>\n<lb break='no'/>ter a<lb type='inWord'/>b</p>", "Wörter ab"),
    ("<p>Ver-<lb/>\nbindung Ver¬<lb/>lag Nord-<lb/>Ost</p>", "Verbindung Verlag Nord- Ost"),
    ("<p>Haupt-<lb/>und Neben- oder A</p>", "Haupt- und Neben- oder A"),
    ("<p>well-known - and\nre-\nread</p>", "well-known - and re- read"),
    ("<s><w>No</w><pc>,</pc><w>yes</w></s>", "No , yes"),
    (TABLE, "a b | c"),
    ("<u>Hello.</u><u>Hi.</u>", "Hello. | Hi."),
    ("<p>See <bibl>Doe</bibl>, <label>2</label>.</p>", "See Doe, 2."),
    ("<addrLine>A</addrLine><addrLine>B</addrLine>", "A | B"),
    ("<list><label>a</label><item>b</item></list><bibl>c</bibl><bibl>d</bibl>", "a | b | c | d"),
    ("<p>&amp;&#228;&lt;</p><p>&eacute;</p>", "&ä< | é"),
]


@pytest.mark.parametrize(("body", "paragraphs"), RUNNING_TEXT)
def test_running_text_by_paragraphs(body, paragraphs, write, read_all):
    # an unread definition may declare entities, whose usual names are known
    write("a.xml", tei(body, prolog=PROLOG.replace("TEI>", 'TEI SYSTEM "tei.dtd">')))
    (text,) = read_all("a.xml").texts
    assert text == paragraphs.replace(" | ", "\n") + "\n"


def test_front_and_back_matter_are_read_only_on_request(write, read_all):
    around = "<front><titlePage>Book</titlePage></front>{}<back><p>Index.</p></back>"
    write("a.xml", tei("<p>Text.</p>", around=around))
    assert read_all("a.xml").texts == ["Text.\n"]
    assert read_all("a.xml", field="text").texts == ["Book\nText.\nIndex.\n"]
    with pytest.raises(SourceError, match=r"a.xml: no field 'p'; the fields are: body, text"):
        read_all("a.xml", field="p")


def test_fields_come_from_the_header(write, read_all):
    write("a.xml", tei("<p>Text.</p>"))
    (document,) = read_all("a.xml").documents
    assert document.fields == {
        "author": "Doe, Jane; Roe, Richard", "title": "The House", "year": "1871", "language": "en",
    }  # fmt: skip
    assert read_all("a.xml", keep=("year",)).documents[0].fields == {"year": "1871"}
    write("b.xml", tei("<p>Text.</p>", header="").replace("<text>", '<text xml:lang="la">'))
    assert set(read_all("b.xml").documents[0].fields.values()) == {"", "la"}


DIVISIONS = """<head>Book</head>
<div type="part"><head>First Part</head><p>Motto.</p>
<div n="1"><head>I</head><head>How</head><p>One.</p><p>Two.</p></div>
<div type="chapter" n="2"><p>Three.</p></div>
</div>
<div><head>Second Part</head>
<div><head>I</head><p>Four.</p></div><p>Five.</p></div>"""


def test_divisions_can_be_documents(write, read_all):
    write("a.xml", tei(DIVISIONS))
    reading = read_all("a.xml", documents="div")
    assert reading.texts == [
        "Book\nFirst Part\nMotto.\n", "I\nHow\nOne.\nTwo.\n", "Three.\n",
        "Second Part\nI\nFour.\n", "Five.\n",
    ]  # fmt: skip
    assert {document.fields["title"] for document in reading.documents} == {"The House"}
    assert "".join(reading.texts) == read_all("a.xml").texts[0]
    for name, content, wrong in (("a.txt", "a b\n", "div"), ("a.xml", tei("<p>x</p>"), "block")):
        write(name, content)
        with pytest.raises(SourceError, match=f"`documents={wrong}` is for"):
            read_all(name, documents=wrong)


def test_a_corpus_has_a_document_for_each_text(write, read_all):
    texts = [tei(f"<div><p>Text {n}.</p></div>", prolog="") for n in (1, 2)]
    write("a.xml", f"<teiCorpus>{HEADER}{''.join(texts)}</teiCorpus>")
    for documents in ("file", "div"):
        assert read_all("a.xml", documents=documents).texts == ["Text 1.\n", "Text 2.\n"]


def entities(subset, use="&a;"):
    return tei(f"<p>{use}</p>", prolog=f"<!DOCTYPE TEI [{subset}]>\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            entities('<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">', "&b;"),
            "a.xml:1: declares the entity 'a', which is not expanded for safety",
        ),
        (entities('<!ENTITY a SYSTEM "secret.txt">'), "a.xml:1: declares the entity 'a'"),
        (entities('<!ENTITY % p SYSTEM "http://localhost/p.dtd"> %p;'), "declares the entity 'p'"),
        (
            tei("<p>&other;</p>", prolog='<!DOCTYPE TEI SYSTEM "x.dtd">\n'),
            "unknown entity 'other'; write its text in its place",
        ),
        (
            tei("<p>&notit;</p>", prolog='<!DOCTYPE TEI SYSTEM "x.dtd">\n'),
            "unknown entity 'notit'; write its text in its place",
        ),
        (tei("<p>&other;</p>"), "malformed XML (undefined entity); fix the file"),
        (tei("<p>\n<p>"), "a.xml:13: malformed XML (mismatched tag); fix the file"),
        (tei("<p>x")[:-20], "malformed XML (no element found); fix the file"),
        (tei("<p>\xe9</p>").encode("latin-1"), "byte 0xE9 is not UTF-8"),
    ],
    ids=[
        "bomb", "external", "parameter", "unknown", "prefix", "undefined", "nested", "cut",
        "encoding",
    ],
)  # fmt: skip
def test_entities_and_malformed_files_are_refused(content, message, write, read_all):
    write("secret.txt", "secret")
    write("a.xml", content)
    with pytest.raises(SourceError) as caught:
        read_all("a.xml")
    assert message in str(caught.value)


def test_inclusions_are_counted(write, read_all):
    include = '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="a.txt"/>'
    write("a.xml", tei(f"<p>Text.</p>{include}"))
    assert read_all("a.xml").counts == {"inclusions": 1}


@pytest.mark.parametrize(("name", "divisions"), [("DEU060", 12), ("DEU083", 5)])
def test_novels_have_the_words_and_chapters_of_the_published_list(
    name, divisions, shared_data, read_all
):
    source = shared_data / f"corpora/tei/{name}.xml.xz"
    (document,) = read_all(source).documents
    rows = (shared_data / "corpora/eltec-de-novels.tsv").read_text("utf-8").splitlines()
    about = dict(
        zip(rows[0].split("\t"), next(r for r in rows if name in r).split("\t"), strict=True)
    )
    assert document.fields["author"].startswith(about["author"])
    assert document.fields["title"].startswith(about["title"])
    assert len(document.text.split()) == int(about["words"])
    assert len(read_all(source, documents="div").texts) == divisions
