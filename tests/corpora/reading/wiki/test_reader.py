"""WikiExtractor files and MediaWiki dumps."""

from pathlib import Path

import pytest

from firth.corpora.common.errors import SourceError
from firth.corpora.encoding.build import build_corpus

EXTRACTED = """\
<doc id="12" url="http://x?curid=12" title="Anarchism">
Anarchism

First paragraph.
[[Second]] one.

</doc>
<doc id="13" url="http://x?curid=13" title=""Heroes" &amp; co">
</doc>

<doc id="14" revid="7" url="http://x?curid=14" title="Ä b">
Ä b
\x1d Last.</doc>
"""


def _page(title, text, more="<ns>0</ns>", number=1, model="<model>wikitext</model>"):
    return (
        f"  <page>\n    <title>{title}</title>\n    {more}\n    <id>{number}</id>\n"
        f"    <revision><id>99</id>{model}<text>old</text></revision>\n"
        f'    <revision><id>99</id>{model}<text xml:space="preserve">{text}</text></revision>\n'
        "  </page>\n"
    )


def _dump(*pages):
    return (
        '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" version="0.10">\n'
        '  <siteinfo><namespaces><namespace key="0" case="first-letter" />'
        '<namespace key="1" case="first-letter">Talk</namespace></namespaces></siteinfo>\n'
        + "".join(pages)
        + "</mediawiki>\n"
    )


@pytest.mark.parametrize("block_bytes", [1, 50, 120, 1 << 20])
def test_documents_are_extracted_from_their_tags(block_bytes, write, read_all):
    write("AA.txt", EXTRACTED)
    reading = read_all("AA.txt", block_bytes=block_bytes)
    assert reading.texts == [
        "Anarchism\n\nFirst paragraph.\nSecond one.\n\n",
        "",
        "Ä b\n  Last.\n",
    ]
    assert [document.position for document in reading.documents] == [1, 8, 11]
    assert [document.fields["id"] for document in reading.documents] == ["12", "13", "14"]
    titles = [document.fields["title"] for document in reading.documents]
    assert titles == ["Anarchism", '"Heroes" & co', "Ä b"]
    assert reading.documents[0].fields["url"] == "http://x?curid=12"
    assert reading.counts == {"markup_lines": 1}


def test_kept_fields_of_extracted_documents_can_be_chosen(write, read_all):
    write("AA", EXTRACTED)
    assert read_all("AA", keep=("title",)).documents[0].fields == {"title": "Anarchism"}


def test_lines_outside_documents_are_dropped_and_counted(write, read_all):
    write("AA", EXTRACTED + "stray\n\n" + EXTRACTED + "and more\nlines\n")
    reading = read_all("AA")
    assert len(reading.documents) == 6
    assert reading.counts == {"markup_lines": 2, "lines_outside_documents": 3}


def test_an_unclosed_document_is_kept(write, read_all):
    write("AA", EXTRACTED.rpartition("</doc>")[0] + "\nmore\n" * 9)
    for block_bytes in (1, 1 << 20):
        assert (
            read_all("AA", block_bytes=block_bytes).texts[2]
            == "Ä b\n  Last.\n" + "more\n\n" * 8 + "more\n"
        )


def test_text_may_stand_on_the_line_of_its_tag(write, read_all):
    lines = [
        '<doc id="1" title="Sea">The <b>sea</b>.</doc>', '<doc id="2" title="a ">b">', "Ship.",
        "</doc>", '<doc id="3" title="Bay">A bay.', "More.</doc>",
    ]  # fmt: skip
    write("AA", "\n".join(lines) + "\n")
    for block_bytes in (1, 1 << 20):
        reading = read_all("AA", block_bytes=block_bytes)
        assert reading.texts == ["The sea.\n", "Ship.\n", "A bay.\nMore.\n"]
        titles = [document.fields["title"] for document in reading.documents]
        assert titles == ["Sea", 'a ">b', "Bay"]


@pytest.mark.parametrize("block_bytes", [1, 300, 1 << 20])
def test_a_dump_yields_its_articles(block_bytes, write, read_all):
    write(
        "dump.xml",
        _dump(
            _page("One", "'''One''' is a [[number|figure]].\n\n== See ==\nTwo &amp;amp; three."),
            _page("Uno", "#REDIRECT [[One]]", '<ns>0</ns><redirect title="One" />', 2),
            _page("Eins", "#redirect [[One]]", number=3),
            _page("Talk:One", "Chat.", "<ns>1</ns>", 4),
            _page("Talk:Old", "Chat.", "", 5),
            _page("2001: A Space Odyssey", "Film.", "", 6),
            _page("Data", "{}", number=7, model="<model>json</model>"),
            _page("Ü", "Last.", number=8, model=""),
        ),
    )
    reading = read_all("dump.xml", block_bytes=block_bytes)
    assert reading.texts == ["One is a figure.\nSee\nTwo & three.\n", "Film.\n", "Last.\n"]
    assert reading.counts == {"redirects": 2, "other_namespaces": 2, "other_models": 1}
    titles = [document.fields["title"] for document in reading.documents]
    assert titles == ["One", "2001: A Space Odyssey", "Ü"]
    assert [document.fields["id"] for document in reading.documents] == ["1", "6", "8"]
    lines = Path("dump.xml").read_text(encoding="utf-8").split("\n")
    starts = [lines.index(f"    <title>{title}</title>") for title in titles]
    assert [document.position for document in reading.documents] == starts


def test_a_truncated_dump_is_an_error(write, read_all):
    content = _dump(_page("One", "Text."), _page("Two", "Text."))
    write("dump.xml", content[: content.index("<title>Two")])
    for block_bytes in (1, 1 << 20):
        with pytest.raises(SourceError) as caught:
            read_all("dump.xml", block_bytes=block_bytes)
        assert str(caught.value) == (
            "dump.xml:10: the last page is incomplete; the dump is truncated: download it again"
        )


def test_the_error_for_malformed_xml_names_its_line(write, read_all):
    write("dump.xml", _dump(_page("One", "Text."), _page("Two", "a <b> c\n")))
    for block_bytes in (1, 1 << 20):
        with pytest.raises(SourceError) as caught:
            read_all("dump.xml", block_bytes=block_bytes)
        assert str(caught.value) == (
            "dump.xml:16: malformed XML (mismatched tag); download the dump again"
        )


def test_a_dump_in_utf16_is_read(write, read_all):
    content = '<?xml version="1.0" encoding="utf-16"?>\n' + _dump(_page("Ü", "Über\r\nalles."))
    write("dump.xml", content.encode("utf-16"))
    reading = read_all("dump.xml", encoding="utf-16", block_bytes=10)
    assert [document.fields["title"] for document in reading.documents] == ["Ü"]


@pytest.mark.slow
def test_real_dump_excerpts_are_read(read_all):
    datapath = pytest.importorskip("gensim.test.utils").datapath
    name = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
    reading = read_all(datapath(name))
    assert (len(reading.documents), sum(reading.counts.values())) == (106, 100)
    assert reading.documents[0].fields == {"id": "12", "title": "Anarchism"}
    everything = "".join(reading.texts)
    assert 2.8e6 < len(everything) < 3.0e6
    signs = ["[[", "]]", "{{", "}}", "{|", "<ref", "<br", "''", "==", "&nbsp;", "|thumb", "()\n"]
    assert [sign for sign in signs if sign in everything] == []
    assert reading.texts[0].startswith(
        "Anarchism is a political philosophy that advocates self-governed societies based on "
        "voluntary institutions. These are often described as stateless societies, although"
    )


def test_a_dump_declares_the_names_of_its_files_and_categories(tmp_path):
    (tmp_path / "dump.xml").write_text(
        '<mediawiki><siteinfo><namespaces><namespace key="0" /><namespace key="6">Meine Bilder'
        '</namespace><namespace key="14">Q&amp;A</namespace></namespaces></siteinfo><page><title>T'
        "</title><ns>0</ns><revision><text>[[Meine_Bilder:a.jpg|A [[cat]]]]A word.[[Q&amp;A:b]]"
        "</text></revision></page></mediawiki>"
    )
    corpus = build_corpus(tmp_path / "dump.xml", tmp_path / "out")
    assert sorted(corpus.vocabulary) == [".", "a", "word"]
