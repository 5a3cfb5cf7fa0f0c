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
from firth.corpora.text import characters
from firth.corpora.text.characters import (
    DROPPED,
    N_CODE_POINTS,
    SYMBOL,
    character_table,
    punctuation_characters,
)
from firth.corpora.text.segment import (
    TextSettings,
    characters_of,
    join_divided,
    split_offsets,
    strip_accents,
    unspaced_advice,
)
from firth.corpora.text.type_table import Segmented, TypeTable, segment_short
from tests.corpora.text.naive_segment import naive_pieces

# What is not treated as by the library: white space that it drops, symbols that it joins, and
# characters that depend on their neighbors.
CHANGED = set("\x0b\x0c\x1c\x1d\x1e\x1f\x85\u200b\u200c\u200dİΣ\u0307\u00ad¬")
CHANGED |= set(map(chr, np.flatnonzero(character_table("words", False, False).entries & SYMBOL)))
ARBITRARY = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
# Short words over few letters repeat; the others cover every character class, and neighbors on
# which characters depend.
TEXTS = st.lists(
    st.one_of(
        ARBITRARY,
        st.text("abAB .,'\u0301ÄİǅßΣ中か한क्ที\u00ad\ufffd\t", max_size=40),
        st.text("aiIİı\u0307\u0301Σσ'ʰ.\u00ad 1", max_size=20),
        st.text("یخa\u200c\u200d\u0dc1\u0dca\u0d4d\u00ad 1", max_size=20),
        st.text("👩❤€🇩🇪🏴\U0001f3fd\ufe0f\u0301\u200d\u00ada 1", max_size=20),
    ),
    max_size=8,
).map(" ".join)
SETTINGS = st.builds(
    TextSettings,
    segmenter=st.sampled_from(["words", "whitespace", "characters"]),
    keep_case=st.booleans(),
    fold_digits=st.booleans(),
    strip_accents=st.booleans(),
    language=st.sampled_from([None, "tr", "de"]),
)


def segmented(text: str, settings: TextSettings, table: TypeTable) -> Segmented:
    """Segment a text with the kernel, after what is done to a block beforehand."""
    text = join_divided(text)
    if settings.strip_accents:
        text = strip_accents(text, settings.dotless)
    raw = np.frombuffer(text.encode(), dtype=np.uint8)
    return table.segment(raw, np.array([0, len(raw)]), characters_of(settings))


def by_kernel(text: str, settings: TextSettings) -> list[str]:
    """Segment a text with the kernel and a fresh type table."""
    table = TypeTable()
    done = segmented(text, settings, table)
    types = read_strings(table.text, table.offsets, 0, len(table))
    assert table.counts().sum() == len(done.token_ids)
    return [types[i] for i in done.token_ids.tolist()]


def by_library(text: str) -> list[str]:
    """Segment a text with the library, as described in architecture.md."""
    normalized = BertNormalizer(lowercase=True, strip_accents=False).normalize_str(text)
    return [word for word, _ in BertPreTokenizer().pre_tokenize_str(normalized)]


@given(TEXTS)
def test_default_segmentation_equals_the_librarys_but_for_what_is_changed(text):
    text = "".join(character for character in text if character not in CHANGED)
    assert by_kernel(text, TextSettings()) == by_library(text)


@given(TEXTS, SETTINGS)
def test_the_kernel_and_queries_divide_as_defined(text, settings):
    text = join_divided(text)
    if settings.strip_accents:
        text = strip_accents(text, settings.dotless)
    pieces = naive_pieces(text, characters_of(settings))
    assert segment_short(text, characters_of(settings)) == pieces
    words = [word for word, _, _ in pieces]
    assert by_kernel(text, settings) == words
    assert settings.words(text) == words


@pytest.mark.slow
def test_every_assigned_character_is_treated_as_by_the_library():
    assert len(character_table("words", False, False).entries) == N_CODE_POINTS
    # of unassigned and private ones, nine in ten of all, some
    characters = [
        chr(c)
        for c in range(N_CODE_POINTS)
        if (kind := unicodedata.category(chr(c))) != "Cs"
        and (kind not in ("Cn", "Co") or c % 41 == 0)
        and chr(c) not in CHANGED
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


TURKISH, CASED = TextSettings(language="tr"), TextSettings(keep_case=True)


@pytest.mark.parametrize(
    ("settings", "text", "words"),
    [
        pytest.param(
            TextSettings(),
            "a\x0bb\x0cc\x1cd\x1de\x1ef\x1fg\x85h\u2028i\u2029j\u200bk",
            list("abcdefghijk"),
            id="white space",
        ),
        pytest.param(
            TextSettings(segmenter="whitespace"),
            "a\x0bb!\x85c\x1fd",
            ["a", "b!", "c", "d"],
            id="white space of tokens",
        ),
        pytest.param(
            TextSettings(),
            "glad😊😊 €3 20°C x™",
            ["glad", "😊", "😊", "€", "3", "20", "°", "c", "x", "™"],
            id="emoji and currency",
        ),
        pytest.param(
            TextSettings(),
            "👩\u200d👩\u200d👧x👍🏽ok ❤\ufe0f",
            ["👩\u200d👩\u200d👧", "x", "👍🏽", "ok", "❤\ufe0f"],
            id="emoji sequences",
        ),
        pytest.param(
            TextSettings(), "🇩🇪🇫🇷🇪 🫨🪿", ["🇩🇪", "🇫🇷", "🇪", "🫨", "🪿"], id="flags and new emoji"
        ),
        pytest.param(
            TextSettings(), "∞!¬ Ⓐb ⠃⠗", ["∞", "!", "¬", "ⓐb", "⠃⠗"], id="signs and letters"
        ),
        pytest.param(
            TextSettings(segmenter="whitespace"),
            "glad😊 €3",
            ["glad😊", "€3"],
            id="tokens as they are",
        ),
        pytest.param(
            TextSettings(),
            "ΟΔΟΣ ΣΟΦΟΣ, Σ ΣΣ ΑΣ\u0301",
            ["οδος", "σοφος", ",", "σ", "σς", "ας\u0301"],
            id="final sigma",
        ),
        pytest.param(
            TextSettings(),
            "STRAẞE ĲSSEL J\u0307\u0301 ᲐᲑ Ⴀ Ꭳ 𐐔𐐯 ǅ 𞤀 ᾈ Ω",
            ["straße", "ĳssel", "j\u0307\u0301", "აბ", "ⴀ", "ꭳ", "𐐼𐐯", "ǆ", "𞤢", "ᾀ", "ω"],
            id="capitals of many scripts",
        ),
        pytest.param(
            TextSettings(segmenter="characters"), "ΑΣ", ["α", "σ"], id="single characters"
        ),
        pytest.param(CASED, "ΟΔΟΣ I\u0307 İ", ["ΟΔΟΣ", "I\u0307", "İ"], id="capitals kept"),
        pytest.param(
            TextSettings(),
            "İyi I\u0307yi i\u0307yi IŞIK",
            ["iyi", "iyi", "iyi", "işik"],
            id="dot above i",
        ),
        pytest.param(
            TURKISH,
            "İyi I\u0307yi i\u0307yi IŞIK Işık",
            ["iyi", "iyi", "iyi", "ışık", "ışık"],
            id="Turkish",
        ),
        pytest.param(
            TextSettings(lemmatize="tr")._after_lemmas, "IŞIK", ["ışık"], id="Turkish lemmas"
        ),
        pytest.param(
            TextSettings(language="tr", strip_accents=True),
            "İI\u0307Iğ",
            ["iiıg"],
            id="Turkish without accents",
        ),
        pytest.param(
            TextSettings(),
            "می\u200cخواهم نمی\u200c می\u200c\u200cخورم",
            ["می\u200cخواهم", "نمی", "می\u200cخورم"],
            id="Persian",
        ),
        pytest.param(
            TextSettings(),
            "ශ\u0dca\u200dරී അവന\u0d4d\u200d, र\u094d\u200dय",
            ["ශ\u0dca\u200dරී", "അവന\u0d4d\u200d", ",", "र\u094d\u200dय"],
            id="Sinhala and Malayalam",
        ),
        pytest.param(TextSettings(), "ex\u200cam\u200dple", ["example"], id="joiners in Latin"),
        pytest.param(
            TextSettings(),
            "Po\u00ad\nlitik lang¬\n fristig a¬b",
            ["politik", "langfristig", "a", "¬", "b"],
            id="divided words",
        ),
        pytest.param(
            TextSettings(strip_accents=True),
            "hätte Ό й ё हिन्दी ที่ בּ 한글",
            ["hatte", "ο", "и", "е", "हिन्दी", "ที่", "בּ", "한글"],
            id="accents of three scripts",
        ),
        pytest.param(TURKISH, "İ\u0307\u0307 ı\u0307\u0307", ["i", "i"], id="two dots above i"),
        pytest.param(CASED, "aΣ\u0307", ["aΣ\u0307"], id="capitals with dots"),
    ],
)
def test_characters_have_their_meaning_in_unicode(settings, text, words):
    assert settings.words(text) == words
    assert by_kernel(text, settings) == words


@given(st.text("AbΣσs\u0301ʰ'.:", max_size=12))
def test_a_capital_sigma_is_final_as_in_python(text):
    words = by_kernel(text, TextSettings(segmenter="whitespace"))
    assert words == [text.lower()][: len(text)]


def test_what_is_dropped_is_counted_once_by_kind_while_the_table_grows():
    word = "a\u00ad\u200dی\u200cخ\x01\ufeff\ufffd\ue000"
    text = " ".join(f"{word}{n}" for n in range(40_000)) + f" {word}" + "y" * 3_000_000
    done = segmented(text, TextSettings(), TypeTable())
    assert done.dropped == dict.fromkeys(DROPPED, 40_001)
    assert done.n_dropped == (2 + 3 + 1 + 3 + 3 + 3) * 40_001
    assert done.n_characters == len(text)
    symbols = segmented("\u00ad👩\u200d👧🏴\u200d", TextSettings(), TypeTable())
    assert symbols.dropped == {"soft_hyphens": 1, "joiners": 1}
    assert symbols.n_characters == 6


def test_a_symbol_with_a_megabyte_of_marks_is_a_word():
    text = "❤" + "\ufe0f" * 400_000 + "\u200d" * 400_000 + "ی" + "\u200c" * 400_000
    assert by_kernel(text, TextSettings()) == TextSettings().words(text)


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
    pytest.importorskip("rjieba", reason="the extra zh is not installed")
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
    settings = TextSettings(keep_case=True, segmenter="characters", language="tr")
    assert TextSettings.from_json(settings.to_json()) == settings
    assert "language" not in TextSettings().to_json()
    with pytest.raises(SettingError, match="are from another version"):
        TextSettings.from_json({"lowercase": True})


def test_unknown_segmenter_is_refused():
    with pytest.raises(SettingError) as refusal:
        TextSettings(segmenter="word")
    assert str(refusal.value) == (
        "TextSettings.segmenter must be one of words, whitespace, characters, jieba, tokens, "
        "got 'word'"
    )


def test_a_language_is_a_code():
    with pytest.raises(SettingError) as refusal:
        TextSettings(language="turkish")
    assert str(refusal.value) == (
        "TextSettings.language must be a code such as tr or en, got 'turkish'"
    )


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


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("lowered", lambda array: array[:5]), ("lowered", lambda array: array + (1 << 21)),
        ("lowered", lambda array: -array), ("dropped", lambda array: array + 6),
        ("digits", lambda array: array.astype(np.uint8)), ("symbols", None),
    ],
    ids=["short", "beyond", "negative", "unknown count", "other type", "missing"],
)  # fmt: skip
def test_a_cached_table_that_does_not_fit_is_made_again(tmp_path, monkeypatch, name, change):
    whole = characters._characters()
    monkeypatch.setenv("FIRTH_CACHE", str(tmp_path))
    monkeypatch.setattr(characters, "_probe_library", lambda: {"classes": whole["classes"]})
    monkeypatch.setattr(characters, "_unicode", lambda classes: dict(whole))
    characters._characters.__wrapped__()
    [file] = (tmp_path / "characters").iterdir()
    changed = {n: array for n, array in whole.items() if n != name}
    with open(file, "wb") as opened:
        np.savez(opened, **changed, **({name: change(whole[name])} if change else {}))
    again = characters._characters.__wrapped__()
    assert again.keys() == whole.keys()
    assert all(np.array_equal(again[n], whole[n]) for n in whole)


def test_empty_lines_are_part_of_the_line_before():
    text = np.frombuffer(b"\n\na\n\n\nb\n\n", np.uint8)
    starts = np.array([0, 4, len(text)])
    assert split_offsets(text, "\n", starts, skip_empty=True).tolist() == [0, 2, 4, 6, 9]
    assert split_offsets(text, "\n", starts).tolist() == [0, 1, 2, 4, 5, 6, 8, 9]
    nothing = np.empty(0, np.uint8)
    assert split_offsets(nothing, "\n", np.array([0]), skip_empty=True).tolist() == [0]


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({}, "(a cat, 3.5 of them)"),
        ({"segmenter": "characters"}, "thecat,"),
        ({"pattern": "smiles"}, "CC(=O)Cl"),
        ({"pattern": "kmer:3"}, "ACG CGT"),
        ({"pattern": r"\S+"}, "e4 e5 Nf3"),
        ({"segmenter": "tokens"}, "milk ( rolls"),
        ({"segmenter": "whitespace"}, "a , b ( c )"),
    ],
)
def test_words_are_written_as_the_text_has_them(settings, text):
    settings = TextSettings(**settings)
    assert (
        settings.written(text.split() if "kmer" in str(settings.pattern) else settings.words(text))
        == text
    )
