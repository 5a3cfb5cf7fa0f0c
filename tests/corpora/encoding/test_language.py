"""Turkish and Azerbaijani texts are recognized, and lower-cased by their rules."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from firth.corpora.encoding.build import up_to_date
from firth.corpora.encoding.pipeline import encode_corpus
from firth.corpora.encoding.request import make_request
from firth.corpora.reading.text_blocks import ReadOptions
from firth.corpora.text.segment import TextSettings

TURKISH = "Işık ve İstanbul ILGAZ dağında. Kırmızı balık gölde kıvrıla kıvrıla yüzüyor.\n"
AZERBAIJANI = "Bakı şəhəri Azərbaycanın paytaxtıdır və ən böyük şəhəridir. IŞIQ İki qız.\n"
ENGLISH = "I think that Irish Islands are fine, as İstanbul is.\n"


def build(folder, text, name="a.txt", executor=None, **settings):
    """Build a corpus of a text."""
    (folder / name).write_text(text, encoding="utf-8")
    words = TextSettings(**settings)
    return encode_corpus(
        make_request([folder / name], text=words), folder / "out", force=True, executor=executor
    )


@pytest.mark.parametrize(
    ("text", "settings", "language", "word"),
    [
        pytest.param(TURKISH * 200, {}, "tr", "ılgaz", id="Turkish"),
        pytest.param(AZERBAIJANI * 200, {}, "az", "ışıq", id="Azerbaijani"),
        pytest.param(TURKISH * 200 + ENGLISH * 200, {}, "tr", "ılgaz", id="half of it"),
        pytest.param(TURKISH, {}, None, "ilgaz", id="too little"),
        pytest.param(TURKISH, {"language": "tr-TR"}, "tr-TR", "ılgaz", id="declared"),
        pytest.param(TURKISH * 200, {"language": "en"}, "en", "ilgaz", id="declared English"),
        pytest.param(TURKISH * 200, {"keep_case": True}, None, "ILGAZ", id="with capitals"),
        pytest.param(ENGLISH * 300, {}, None, "islands", id="English"),
    ],
)
def test_the_language_is_declared_or_seen_in_many_letters(tmp_path, text, settings, language, word):
    corpus = build(tmp_path, text, **settings)
    assert corpus.manifest["text"].get("language") == language
    assert word in corpus.vocabulary
    assert corpus.text.words(word.upper() if language in ("tr", "az") else word) == [word]
    note = (
        "the text is Turkish or Azerbaijani, so I is lower-cased to ı and İ to i, in queries, too; "
        "`language=en` makes both i"
    )
    assert (note in corpus.advice()) == (language is not None and not settings)
    assert up_to_date(
        corpus.path, make_request([tmp_path / "a.txt"], text=TextSettings(**settings))
    )


@pytest.mark.parametrize("language", ["tr", "en"])
def test_dumps_and_tei_declare_their_language(tmp_path, language):
    dump = (
        f'<mediawiki xml:lang="{language}"><page><title>A</title><ns>0</ns><id>1</id><revision>'
        f"<id>1</id><model>wikitext</model><text>{TURKISH}</text></revision></page></mediawiki>"
    )
    tei = f'<TEI xml:lang="{language}"><text><body><p>{TURKISH}</p></body></text></TEI>'
    for text in (dump, tei):
        corpus = build(tmp_path, text, "a.xml")
        assert corpus.manifest["text"].get("language") == (language if language == "tr" else None)


def test_small_files_are_read_until_there_are_letters_enough(tmp_path):
    for number in range(300):
        (tmp_path / f"{number}.txt").write_text(TURKISH, encoding="utf-8")
    corpora = [
        encode_corpus(make_request([tmp_path], read=read), tmp_path / "out", force=True)
        for read in (ReadOptions(), ReadOptions(documents="line"))
    ]
    for corpus in corpora:
        assert corpus.manifest["text"]["language"] == "tr"
        assert corpus.n_documents == len(corpus.manifest["sources"]) == 300


def test_workers_of_a_cluster_get_the_language(tmp_path):
    alone = build(tmp_path, TURKISH * 200)
    words = list(alone.vocabulary)
    with ThreadPoolExecutor(1) as executor:
        shared = build(tmp_path, TURKISH * 200, executor=executor)
    assert shared.text == alone.text
    assert list(shared.vocabulary) == words


def test_numbers_have_no_language(tmp_path):
    assert "language" not in build(tmp_path, "1 2 3\n" * 1000).manifest["text"]


def test_a_field_of_records_declares_no_language_for_all(tmp_path):
    records = '{"text": "I AM HERE", "language": "tr"}\n' * 2  # others may follow
    (tmp_path / "a.jsonl").write_text(records)
    request = make_request([tmp_path / "a.jsonl"], read=ReadOptions(keep=("language",)))
    corpus = encode_corpus(request, tmp_path / "out")
    assert "language" not in corpus.manifest["text"]
    assert "i" in list(corpus.vocabulary)
