"""Tokens by patterns, and the patterns that are refused."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.corpora.common.errors import SettingError
from firth.corpora.text.patterns import count_unmatched, tokens_by
from firth.corpora.text.segment import TextSettings

SEQUENCES = st.text("ACGT \n\x1f", max_size=30)


@given(SEQUENCES, st.integers(1, 5), st.integers(1, 7))
def test_k_mers_are_slices_of_the_text_without_white_space(text, length, step):
    joined = "".join(text.split())
    firsts = range(0, len(joined) - length + 1, step)

    tokens = tokens_by(f"kmer:{length}:{step}")(text)

    assert [token for token, _, _ in tokens] == [joined[at : at + length] for at in firsts]
    assert ["".join(text[start:stop].split()) for _, start, stop in tokens] == [
        token for token, _, _ in tokens
    ]
    covered = {at + n for at in firsts for n in range(length)}
    if step <= length:  # else a gap between two words, with its white space, is counted, too
        assert count_unmatched(text, tokens) == len(joined) - len(covered)


@given(SEQUENCES)
def test_the_whole_match_is_a_token_and_separators_become_spaces(text):
    tokens = tokens_by(r"A(C)?|\s|G(T)")(text)

    matches = [match[0] for match in re.finditer(r"AC?|\s|GT", text)]
    assert [token for token, _, _ in tokens] == [re.sub("[\n\x1f]", " ", m) for m in matches]


SAFE = [
    r"\[[^\]]+\]|Cl|Br|.", r"[KQRBN]?[a-h]?[1-8]?x?[a-h][1-8](?:=[QRBN])?[+#]?|O-O(?:-O)?",
    "[a-z]+(?:-[a-z]+)*+", r"-?\d++(?:\.\d++)?", r"\w+\s\w+", r"(a)\1+", "(?P<x>a)(?(x)b|c)",
    "(?>a*)b",
]  # fmt: skip


@pytest.mark.parametrize("pattern", SAFE)
def test_patterns_of_few_ways_are_taken(pattern):
    assert TextSettings(pattern=pattern).segmenter == "tokens"


KMER = "expected kmer:K or kmer:K:STEP with numbers from 1 to 9999, such as kmer:6 or kmer:6:3"
SLOW = "could take forever, since repeats are nested, or too many follow each other; make them"
EMPTY = "matches the empty string; a token has a character or more"
REFUSED = {
    "[a": "no regular expression (unterminated character set at position 0); correct it",
    "a(": "no regular expression (missing ), unterminated subpattern at position 1); correct it",
    "(" * 3000: "no regular expression (",
    "a*": EMPTY, "(?=a)": EMPTY, "": EMPTY,
    "kmer:0": KMER, "kmer:": KMER, "kmer:3:0": KMER, "kmer:-1": KMER, "kmer:99999": KMER,
    "(a+)+b": SLOW, "(a|a)*b": SLOW, "(a|b?)+c": SLOW, "a*b*c*d": SLOW, "a?" * 30 + "a" * 30: SLOW,
    "(?:a?){30}a": SLOW, "(?:){2000000000}a": SLOW, "(a{1,50}){1,50}b": SLOW, "a" * 1001: SLOW,
}  # fmt: skip


@pytest.mark.parametrize(("pattern", "reason"), REFUSED.items(), ids=range(len(REFUSED)))
def test_patterns_that_are_wrong_or_slow_are_refused(pattern, reason):
    with pytest.raises(SettingError) as refusal:
        TextSettings(pattern=pattern)
    shown = f"`pattern={pattern[:80]}{'...' if len(pattern) > 80 else ''}`"
    assert str(refusal.value).startswith(f"{shown}: {reason}")


def test_a_pattern_and_another_segmenter_contradict_each_other():
    with pytest.raises(SettingError, match=r"^`pattern` and `segmenter=jieba`: drop one of them$"):
        TextSettings(pattern="smiles", segmenter="jieba")


def test_settings_with_a_pattern_are_restored():
    settings = TextSettings(pattern="kmer:6")
    assert TextSettings.from_json(settings.to_json()) == settings
