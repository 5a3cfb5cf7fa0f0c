"""Pairs: their tokens, the units of columns, what is no pair, and corpora of them."""

import json

import pytest

from firth.corpora.common.errors import SettingError, SourceError
from firth.corpora.encoding.build import build_corpus
from firth.corpora.text.pairs import pair_problem, spelled, units_of
from firth.corpora.text.patterns import count_unmatched, tokens_by
from firth.corpora.text.segment import TextSettings

VERBS = ["holen\tholte\tV;PST", "ab holen\tholte ab\tV;PST", "gehen\tging\tV;PST"]


def tokens(text, pattern="pairs"):
    return " ".join(token for token, _, _ in tokens_by(pattern)(text))


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("holen\tholte\tV;PST\n", "pairs", "h o l e n ⇥ h o l t e ⇥ +V +PST"),
        ("ab holen\tholt\n", "pairs", "a b ␣ h o l e n ⇥ h o l t ⇥"),
        ("abby\ta b i", "pairs:characters:words", "a b b y ⇥ a b i ⇥"),
        ("B IY\tb e", "pairs:words:characters", "B IY ⇥ b ␣ e ⇥"),
        ("a\t\tN; PL ;", "pairs", "a ⇥ ⇥ +N +PL"),
        (" gehen ", "pairs", "g e h e n"),
    ],
)
def test_the_tokens_of_lines(text, pattern, expected):
    assert tokens(text, pattern) == expected
    assert count_unmatched(text, tokens_by(pattern)(text)) == 0


def test_tokens_are_where_they_say():
    text = VERBS[1]
    for token, start, stop in tokens_by("pairs")(text):
        expected = {"⇥": "\t", "␣": " "}.get(token, token.removeprefix("+"))
        assert text[start:stop].rstrip(";") == expected


@pytest.mark.parametrize(
    ("lines", "pattern"),
    [
        (VERBS, "pairs:characters:characters"),
        (["abby\ta b i", "ab\ta b", "a\ta"], "pairs:characters:words"),
        (["B IY\tb e", "no pair", "A B\ta"], "pairs:words:characters"),
        ([], "pairs:characters:characters"),
    ],
)
def test_columns_of_which_most_cells_have_blanks_are_words(lines, pattern):
    assert units_of(lines) == pattern


@pytest.mark.parametrize("unit", ["characters", "words"])
def test_units_spell_their_cell(unit):
    cell = "ab c d"
    written = [token for token, _, _ in tokens_by(f"pairs:{unit}:words")(cell)]
    assert spelled(written, unit) == cell


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("holen holte", "no source, target and perhaps tags, divided by tabs, in 'holen holte'"),
        ("a\tb\tc\td", "no source, target and perhaps tags, divided by tabs, in"),
        ("\tlief\tV", "no source in"),
        ("laufen\t \tV", "no target in"),
        ("a⇥b\tc", "has ⇥, which stands between columns"),
    ],
)
def test_what_is_no_pair_is_refused_with_its_line(tmp_path, line, problem):
    assert problem in pair_problem(line)
    (tmp_path / "pairs.tsv").write_text(f"{VERBS[0]}\n{line}\n", encoding="utf-8")
    with pytest.raises(SourceError, match=r"pairs\.tsv:2: .*; correct or remove the line"):
        build_corpus(tmp_path / "pairs.tsv", tmp_path / "c", words=TextSettings(pattern="pairs"))
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("pattern", ["pairs:words", "pairs:words:letters", "pairs:"])
def test_unknown_units_are_refused(pattern):
    with pytest.raises(
        SettingError, match="expected pairs:SOURCE:TARGET, each characters or words"
    ):
        TextSettings(pattern=pattern)


def test_a_corpus_of_pairs_has_a_document_for_each_in_the_units_of_its_columns(tmp_path):
    text = "".join(f"ab{n}\ta b {n}\n" for n in "1234567890")
    (tmp_path / "pairs.tsv").write_text(text)
    corpus = build_corpus(
        tmp_path / "pairs.tsv", tmp_path / "c", words=TextSettings(pattern="pairs")
    )
    assert corpus.text.pattern == "pairs:characters:words"
    assert corpus.text.words("ba") == ["b", "a"]
    assert json.loads((tmp_path / "c" / "manifest.json").read_text())["documents"] == 10
    in_memory = build_corpus(VERBS, tmp_path / "m", words=TextSettings(pattern="pairs"))
    assert in_memory.manifest["documents"] == 3


def test_what_separates_lines_elsewhere_is_part_of_a_cell(tmp_path):
    (tmp_path / "pairs.tsv").write_text("a\x0cb\tb\u2028\u0085c\tX\nd\te\n", encoding="utf-8")
    corpus = build_corpus(
        tmp_path / "pairs.tsv", tmp_path / "c", words=TextSettings(pattern="pairs")
    )
    assert corpus.manifest["documents"] == 2


def test_the_units_of_a_pipe_must_be_named(tmp_path):
    with pytest.raises(SourceError, match="a pipe can be read only once; name the units"):
        build_corpus("-", tmp_path / "c", words=TextSettings(pattern="pairs"))
