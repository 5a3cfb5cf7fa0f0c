"""Corpora of sequences of tokens, which are kept as they are."""

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from firth.corpora.commands.build_corpus import command
from firth.corpora.commands.corpus_info import command as corpus_info
from firth.corpora.common.errors import FirthError, SettingError
from firth.corpora.encoding.build import build_corpus
from firth.corpora.encoding.phrase_options import PhraseOptions
from firth.corpora.encoding.request import BuildOptions
from firth.corpora.reading.text_blocks import ReadOptions
from firth.corpora.store.concordance import concordance
from firth.corpora.text.segment import TextSettings
from firth.corpora.tokenizer.json_format import save_pieces
from firth.corpora.tokenizer.pieces import learn_pieces
from tests.corpora.small_corpora import words_of

TOKENS = TextSettings(segmenter="tokens")
# What words of a language would lose: capitals, marks, controls, soft hyphens, dots, entities
ODD = (
    "A a ( = Mr. Smith. The\u00ad ¬ I\u0307 ΑΣ &amp; \x01q \ufffd \ue000 <b>x</b> ##k _ \u200bx 1.5"
)
LINES = [ODD, "", "a\u00a0b\tA\u2003c\u200c  d", "  \t ", "one\u00ad", "line"]


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_a_query_is_split_at_white_space_and_nothing_else(text):
    assert TOKENS.words(text) == text.split()


def test_each_line_is_one_sequence_of_the_tokens_between_white_space(tmp_path):
    (tmp_path / "lines.txt").write_bytes("\r\n".join(LINES * 2).encode())

    corpus = build_corpus(tmp_path / "lines.txt", tmp_path / "corpus", words=TOKENS)

    assert words_of(corpus, "sentences") == [line.split() for line in LINES * 2 if line.strip()]
    sizes = ("documents", "paragraphs", "sentences")
    assert [corpus.manifest[name] for name in sizes] == [8, 8, 8]
    assert not corpus.vocabulary.punctuation.any()
    assert "(" in corpus.view(punctuation="drop").words
    assert corpus.text == TOKENS
    assert [line for line in corpus.advice() if "held-out" not in line] == []


def test_each_record_is_one_sequence_whatever_it_contains(tmp_path):
    texts = ["A b.\nC Mr. D\n\nE", None, "", ODD]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"items": t}) + "\n" for t in texts))

    corpus = build_corpus(tmp_path / "a.jsonl", tmp_path / "corpus", text="items", words=TOKENS)

    assert words_of(corpus, "sentences") == [["A", "b.", "C", "Mr.", "D", "E"], ODD.split()]
    assert corpus.n_documents == 4


def test_lists_of_tokens_are_kept_with_their_spaces():
    lists = [["whole milk", "(", "\x01Q"], ["Whole", "("]]

    corpus = build_corpus(lists, words=TOKENS)

    assert words_of(corpus, "sentences") == lists
    assert corpus.text == TOKENS


def test_the_kept_text_of_a_sequence_is_found_token_by_token(tmp_path):
    (tmp_path / "a.txt").write_text("A  b. = C\nb. A\n")
    runner, out = CliRunner(), tmp_path / "corpus"
    options = [str(tmp_path / "a.txt"), "--tokens", "--keep-text"]

    assert runner.invoke(command, [*options, "--out", str(out)]).exit_code == 0

    line = concordance(out, "=").lines[0]
    assert (line.left, line.found, line.right) == ("A b.", "=", "C")


def test_tokens_that_follow_each_other_are_joined_as_phrases():
    phrases = PhraseOptions(phrases="npmi", phrase_min_count=2, phrase_threshold=0.5)

    corpus = build_corpus(["( = a", "b ( =", "a b"] * 4, words=TOKENS, phrases=phrases)

    assert "(_=" in corpus.vocabulary.words()
    assert corpus.text.words("b ( =") == ["b", "(_="]


@pytest.mark.parametrize(
    ("read", "words", "message"),
    [
        ({"wrapped": True}, {}, "`wrapped=True`: `segmenter=tokens` reads each line or record as"),
        ({"unescape": True}, {}, "`unescape=True`: `segmenter=tokens` reads each line or record"),
        ({"documents": "block"}, {}, "`documents=block`: `segmenter=tokens` reads each line or "),
        ({}, {"lemmatize": "de"}, "`lemmatize=de`: `segmenter=tokens` keeps tokens as they are"),
        ({}, {"fold_digits": True}, "`fold_digits=True`: `segmenter=tokens` keeps tokens as they"),
    ],
)  # fmt: skip
def test_options_that_change_tokens_or_sequences_are_refused(read, words, message):
    with pytest.raises((SettingError, FirthError)) as refusal:
        settings = TextSettings(segmenter="tokens", **words)
        build_corpus(["a b"], words=settings, read=ReadOptions(**read))
    assert str(refusal.value).startswith(message)


def test_the_flag_and_another_segmenter_contradict_each_other(tmp_path):
    options = ["lee", "--tokens", "--segmenter", "jieba", "--out", str(tmp_path)]

    result = CliRunner().invoke(command, options)

    assert str(result.exception) == "`tokens` and `segmenter=jieba`: drop one of them"


SMILES = ["C[C@@H](N)C(=O)O", "Clc1ccc(Br)cc1.[Na+]", "C%12/C=C\\C%12"]


def test_a_pattern_divides_records_and_queries_alike(tmp_path):
    lines = [*SMILES, "", "C1 ?CC1?"]
    (tmp_path / "a.txt").write_text("\n".join(lines), encoding="utf-8")
    options = BuildOptions(keep_text=True, held_out=0)

    corpus = build_corpus(tmp_path / "a.txt", words=TextSettings(pattern="smiles"), options=options)

    cut = [corpus.text.words(line) for line in lines]
    assert words_of(corpus, "sentences") == [tokens for tokens in cut if tokens]
    assert ["".join(tokens) for tokens in cut] == [*SMILES, "", "C1CC1"]
    assert corpus.text.words("[C@@H]") == ["[C@@H]"]
    assert corpus.advice() == ["2 characters match no token of the pattern"]
    assert concordance(corpus, "[C@@H]").lines[0].right == "(N)C(=O)"
    found = concordance(corpus, "C1").lines
    assert [(line.found, line.right) for line in found] == [("C1 ?", "CC1?"), ("C1?", "")]


def test_k_mers_overlap_and_span_line_ends(tmp_path):
    records = ["ACGT\nACG", "AC", None]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in records))

    corpus = build_corpus(tmp_path / "a.jsonl", words=TextSettings(pattern="kmer:3:2"))

    assert words_of(corpus, "sentences") == [["ACG", "GTA", "ACG"]]
    assert corpus.n_documents == 3
    assert "2 characters match no token of the pattern" in corpus.advice()


def test_a_pattern_that_matches_nothing_is_named(tmp_path):
    (tmp_path / "a.txt").write_text("CCO\n")
    message = "contains no token that `pattern=smile` matches; correct it"
    with pytest.raises(FirthError, match=message):
        build_corpus(tmp_path / "a.txt", words=TextSettings(pattern="smile"))


def test_a_pattern_does_not_apply_to_lists_of_tokens():
    with pytest.raises(FirthError, match="already tokenized, so `pattern=kmer:3` does not apply"):
        build_corpus([["ACGT"]], words=TextSettings(pattern="kmer:3"))


def test_tokenizer_json_separates_tokens_as_the_corpus_does(tmp_path):
    lines = [*LINES, ODD.replace(" ", "\u3000"), "##k #k k##"]
    words = TOKENS.words("\n".join(lines))
    pieces = learn_pieces(sorted(set(words)), np.ones(len(set(words))), size=1000, exact=False)
    save_pieces(pieces, tmp_path / "tokenizer.json", TOKENS)

    library = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))

    for line in lines:
        ids = pieces.split(TOKENS.words(line))[0].tolist()
        assert library.encode(line, add_special_tokens=False).ids == ids


def test_output_calls_types_of_sequences_tokens(tmp_path):
    corpus = build_corpus(["a = b", "c a"], tmp_path / "corpus", words=TOKENS)
    result = CliRunner().invoke(corpus_info, [str(corpus.path)])
    assert re.search(r"^ *token +tokens +documents", result.output, re.MULTILINE)
    assert (TOKENS.noun, TextSettings().noun) == ("token", "word")
