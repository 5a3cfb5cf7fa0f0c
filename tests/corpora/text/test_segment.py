"""The segmentation kernel against the library, under all settings."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from firth.corpora.artifacts.arrays import read_strings
from firth.corpora.common.errors import SettingError
from firth.corpora.encoding.type_table import TypeTable
from firth.corpora.text.characters import N_CODE_POINTS, character_table, punctuation_characters
from firth.corpora.text.segment import TextSettings, strip_accents, unspaced_advice

ARBITRARY = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
# Short words over few letters repeat; the others cover every character class.
TEXTS = st.lists(
    st.one_of(ARBITRARY, st.text("abAB .,'\u0301ÄİǅßΣ中か한क्ที\u00ad\ufffd\t", max_size=40)),
    max_size=8,
).map(" ".join)


def by_kernel(text: str, settings: TextSettings) -> list[str]:
    """Segment a text with the kernel and a fresh type table."""
    raw = np.frombuffer(text.encode(), dtype=np.uint8)
    table = TypeTable()
    characters = character_table(settings.segmenter, settings.keep_case, settings.fold_digits)
    done = table.segment(raw, np.array([0, len(raw)]), characters)
    types = read_strings(table.text, table.offsets, 0, len(table))
    assert table.counts().sum() == len(done.token_ids)
    return [types[i] for i in done.token_ids.tolist()]


def by_library(text: str) -> list[str]:
    """Segment a text with the library, as described in architecture.md."""
    normalized = BertNormalizer(lowercase=True, strip_accents=False).normalize_str(text)
    return [word for word, _ in BertPreTokenizer().pre_tokenize_str(normalized)]


@given(TEXTS)
def test_default_segmentation_equals_the_librarys(text):
    assert by_kernel(text, TextSettings()) == by_library(text)
    assert TextSettings().words(text) == by_library(text)


@given(TEXTS, st.sampled_from(["words", "whitespace", "characters"]), st.booleans(), st.booleans())
def test_kernel_and_query_path_agree(text, segmenter, keep_case, fold_digits):
    settings = TextSettings(segmenter=segmenter, keep_case=keep_case, fold_digits=fold_digits)
    assert by_kernel(text, settings) == settings.words(text)


@given(TEXTS)
def test_corpora_and_queries_strip_accents_alike(text):
    settings = TextSettings(strip_accents=True)
    assert by_kernel(strip_accents(text), settings) == settings.words(text)


@pytest.mark.slow
def test_every_assigned_character_is_treated_as_by_the_library():
    assert len(character_table("words", False, False).entries) == N_CODE_POINTS
    # of unassigned and private ones, nine in ten of all, some
    characters = [
        chr(c)
        for c in range(N_CODE_POINTS)
        if (kind := unicodedata.category(chr(c))) != "Cs"
        and (kind not in ("Cn", "Co") or c % 41 == 0)
    ]
    text = "".join(f" x{character}y" for character in characters)
    assert by_kernel(text, TextSettings()) == by_library(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Die Bücher hätte's GRÖSSER", ["die", "bücher", "hätte", "'", "s", "grösser"]),
        ("Её дом — й.", ["её", "дом", "—", "й", "."]),
        ("東京は大きい。", ["東", "京", "は", "大", "きい", "。"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("हिन्दी में।", ["हिन्दी", "में", "।"]),
    ],
)
def test_scripts_keep_their_marks(text, words):
    assert TextSettings().words(text) == words
    assert by_kernel(text, TextSettings()) == words


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (TextSettings(keep_case=True), ["Café", "-", "20", "MP"]),
        (TextSettings(strip_accents=True), ["cafe", "-", "20", "mp"]),
        (TextSettings(fold_digits=True), ["café", "-", "00", "mp"]),
        (TextSettings(segmenter="whitespace"), ["café-20", "mp"]),
        (TextSettings(segmenter="characters"), list("café-20mp")),
    ],
    ids=["keep_case", "strip_accents", "fold_digits", "whitespace", "characters"],
)
def test_each_setting_has_its_effect(settings, words):
    assert settings.words("Café-20 MP") == words


@pytest.mark.slow
def test_jieba_finds_chinese_words():
    pytest.importorskip("jieba", reason="the extra zh is not installed")
    assert TextSettings(segmenter="jieba").words("我来到北京 清华大学") == [
        "我", "来到", "北京", "清华大学",
    ]  # fmt: skip


def test_a_type_table_grows():
    words = [f"w{i}" for i in range(70_000)] * 2
    text = " ".join(words) + " " + "y" * 3_000_000
    assert by_kernel(text, TextSettings()) == [*words, "y" * 3_000_000]


def test_long_types_with_a_common_prefix_are_distinct():
    words = [f"{'x' * n}{end}" for n in range(1, 40) for end in "abc"]
    assert by_kernel(" ".join(words), TextSettings()) == words


def test_punctuation_is_unicode_p_and_ascii_symbols():
    punctuation = punctuation_characters()
    assert all(punctuation[ord(c)] for c in "!$+<=>^`|~—„“”…。、।")
    assert not any(punctuation[ord(c)] for c in "a0中é €°\u0301")


def test_settings_survive_json():
    settings = TextSettings(keep_case=True, segmenter="characters")
    assert TextSettings.from_json(settings.to_json()) == settings
    with pytest.raises(SettingError, match="are from another version"):
        TextSettings.from_json({"lowercase": True})


@pytest.mark.parametrize("segmenter", ["words", "whitespace", "characters", "jieba"])
@pytest.mark.parametrize("half", [0xD800, 0xDCE9, 0xDFFF])
def test_lone_surrogates_are_refused_by_every_segmenter(segmenter, half):
    with pytest.raises(SettingError) as refusal:
        TextSettings(segmenter=segmenter).words(f"caf{chr(half)} \U0001f600")
    assert str(refusal.value) == f"'caf\\u{half:x} \U0001f600' is not UTF-8; pass UTF-8"


def test_characters_adjacent_to_surrogates_are_words():
    words = ["\ud7fb", "\uf900", "\U0001d54f"]  # next to the surrogates, and beyond the BMP
    assert TextSettings(keep_case=True, segmenter="whitespace").words(" ".join(words)) == words


def test_text_without_spaces_gives_advice():
    assert unspaced_advice(40, 100, 49, "words") is None
    assert unspaced_advice(90, 100, 90, "characters") is None
    assert unspaced_advice(40, 100, 90, "whitespace") is None, "divided before"
    assert unspaced_advice(5, 100, 90, "whitespace") is not None
    advice = unspaced_advice(40, 100, 90, "words")
    assert advice is not None
    assert "`segmenter=jieba`" in advice
