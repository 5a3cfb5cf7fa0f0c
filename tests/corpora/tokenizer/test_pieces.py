"""Pieces against a naive trainer and splitter, and tokenizer.json against our own encoding."""

import itertools
import json
import os
import random
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.store.vocabulary import PRUNED
from firth.corpora.text.segment import TextSettings
from firth.corpora.tokenizer.json_format import open_pieces, save_pieces, why_not_exportable
from firth.corpora.tokenizer.pieces import (
    CLS,
    FIRST_PIECE,
    MAX_CHARACTERS,
    SEP,
    SPECIAL,
    UNK,
    Pieces,
    auto_vocabulary_size,
    learn_pieces,
)

# Few letters, so that pairs tie and repeat; also marks, Han and characters beyond the BMP.
LETTERS = "ab#中é\u0301🙂"
VOCABULARIES = st.dictionaries(
    st.text(LETTERS, max_size=9)
    | st.sampled_from(["aaaa", "aaaaaaaa", "abababab", *SPECIAL, "##a"]),
    st.integers(0, 4),
    min_size=1,
    max_size=12,
)
MIXED = """Die Bücher hätten's GRÖSSER gemacht; Straße Nº 42.
Её дом — это «ещё» не всё: 1991 год.
東京は大きい。我喜欢读书，你呢？ 한국어 문장 हिन्दी में।
I don't, Zoë! e-mail: a_b@c.org $3.50 (x^2 + y) <tag> ~`|
naïve café e\u0301te\u0301 \u0301 ½ ¼ \u00ad soft ٣٤٥ ４２ \ufffd \u200d 🙂👍🏽 ## ##a a##b"""
IN_CONTEXT = """ΣΟΦΟΣ ΟΔΟΣ, Σ, İyi IŞIK i\u0307yi I\u0307 glad😊😊 €3 👩\u200d👧 👍🏽! 🇩🇪🇫🇷 ∞
می\u200cخواهم نمی\u200c ශ\u0dca\u200dරී a\u200cb a\x0bb\x85c\u200bd Po\u00ad\nlitik la¬\nng \ue000"""


def learnable(counts: dict[str, int]) -> dict[str, int]:
    """Return the training words when every character is covered."""
    return {
        word: count
        for word, count in counts.items()
        if word and count and not word.startswith((*SPECIAL, "##"))
    }


def singles(word: str) -> list[str]:
    """Return a word as characters, all but the first with the continuation prefix."""
    return [word[0], *("##" + character for character in word[1:])]


def merge(symbols: list[str], pair: tuple[str, str]) -> list[str]:
    """Merge all occurrences of a pair, from left to right."""
    out = []
    while symbols:
        if tuple(symbols[:2]) == pair:
            out.append(pair[0] + pair[1][2:])
            symbols = symbols[2:]
        else:
            out.append(symbols[0])
            symbols = symbols[1:]
    return out


def naive_names(counts: dict[str, int], n: int) -> list[str]:
    """Learn pieces by n merges, recounting all pairs; slow on purpose."""
    words = {word: singles(word) for word in learnable(counts)}
    begin = sorted({symbols[0] for symbols in words.values()})
    names = [*SPECIAL, *begin, *sorted({s for symbols in words.values() for s in symbols[1:]})]
    for _ in range(n):
        pairs: Counter[tuple[str, str]] = Counter()
        for word, symbols in words.items():
            for left, right in itertools.pairwise(symbols):
                pairs[left, right] += counts[word]
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], *map(names.index, pair)))
        names.append(best[0] + best[1][2:])
        words = {word: merge(symbols, best) for word, symbols in words.items()}
    return names


def naive_split(pieces: Pieces, word: str) -> list[int]:
    """Split one word by the definition."""
    if not word or word.startswith((*SPECIAL, "##")):
        return [UNK]
    ids = []
    rest = word
    while rest:
        prefix = "##" if ids else ""
        fits = [n for n in range(1, len(rest) + 1) if prefix + rest[:n] in pieces.names]
        if not fits or len(word) > MAX_CHARACTERS:
            return [UNK]
        ids.append(pieces.names.index(prefix + rest[: fits[-1]]))
        rest = rest[fits[-1] :]
    return ids


def learn(counts: dict[str, int], size: int, coverage: float = 1.0):
    """Learn pieces from a dictionary of counts."""
    numbers = np.array(list(counts.values()), dtype=np.int64)
    return learn_pieces(list(counts), numbers, size=size, coverage=coverage)


def size_named(counts: dict[str, int], size: int, coverage: float) -> int:
    """Return the size that the error for another size suggests."""
    with pytest.raises(SettingError, match=r"pass `pieces=\d+` or (more|less)$") as refusal:
        learn(counts, size, coverage=coverage)
    return int(str(refusal.value).rpartition("`pieces=")[2].partition("`")[0])


def learn_some(counts: dict[str, int], n: int, coverage: float = 1.0) -> Pieces:
    """Learn up to n merges."""
    least, most = (size_named(counts, size, coverage) for size in (0, 1 << 12))
    return learn(counts, min(least + n, most), coverage)


def lists(pieces: Pieces, words: list[str]) -> list[list[int]]:
    """Return the pieces of each word as a list."""
    ids, offsets = pieces.split(words)
    assert ids.dtype == np.int32
    assert offsets.dtype == np.int64
    return [part.tolist() for part in np.split(ids, offsets[1:-1])] if words else []


@pytest.fixture(scope="module")
def mixed() -> dict[str, int]:
    """Return the types of the mixed-script text with different counts."""
    words = TextSettings().words(MIXED) + TextSettings(keep_case=True).words(MIXED)
    return {word: 1 + 7 * i % 5 for i, word in enumerate(dict.fromkeys(words))}


@given(VOCABULARIES, st.integers(0, 12))
def test_merges_equal_those_of_recounting_all_pairs(counts, n):
    if not learnable(counts):
        return
    names = naive_names(counts, n)
    assert list(learn(counts, len(names)).names) == names
    assert len(set(names)) == len(names)  # each piece comes from a single pair


@pytest.mark.slow
def test_merges_over_many_words_equal_those_of_recounting():
    draw = random.Random(5)
    counts = {
        "".join(draw.choices("aabcde", k=draw.randint(1, 14))): draw.randint(1, 3)
        for _ in range(600)
    }
    names = naive_names(counts, 200)
    assert list(learn(counts, len(names)).names) == names


@pytest.mark.slow
@given(VOCABULARIES, st.lists(st.text(LETTERS + "q", max_size=9)))
def test_words_split_by_the_definition(counts, others):
    if not learnable(counts):
        return
    pieces = learn_some(counts, 8)
    words = [*counts, *others]
    assert lists(pieces, words) == [naive_split(pieces, word) for word in words]


@pytest.mark.slow
@given(VOCABULARIES, st.lists(st.text(LETTERS, max_size=9)))
def test_pieces_spell_their_word_and_only_the_first_is_initial(counts, others):
    if not learnable(counts):
        return
    pieces = learn_some(counts, 8)
    for word, ids in zip(others, lists(pieces, others), strict=True):
        if ids == [UNK]:
            continue
        assert min(ids) >= FIRST_PIECE
        assert pieces.continues[ids].tolist() == [False] + [True] * (len(ids) - 1)
        assert pieces.names[ids[0]] + "".join(pieces.names[i][2:] for i in ids[1:]) == word


def test_pieces_do_not_depend_on_word_order(mixed):
    backwards = dict(reversed(mixed.items()))
    assert learn(mixed, 180).names == learn(backwards, 180).names


@pytest.mark.process
def test_ids_do_not_depend_on_hash_seed_or_threads(mixed, tmp_path):
    (tmp_path / "types.json").write_text(json.dumps(mixed))
    program = (
        "import json, sys, numpy as np; from firth.corpora.tokenizer.pieces import learn_pieces;"
        "types = json.load(open(sys.argv[1]));"
        "pieces = learn_pieces(list(types), np.array(list(types.values())), size=180, coverage=1);"
        "print(json.dumps([pieces.names, pieces.split(list(types))[0].tolist()]))"
    )
    here = learn(mixed, 180)
    for seed, threads in (("1", "1"), ("2", "2")):
        environment = os.environ | {
            "PYTHONHASHSEED": seed, "NUMBA_NUM_THREADS": threads, "RAYON_NUM_THREADS": threads,
            "PYTHONPATH": os.pathsep.join(sys.path),
        }  # fmt: skip
        output = subprocess.run(
            [sys.executable, "-c", program, tmp_path / "types.json"],
            env=environment, capture_output=True, check=True, text=True,
        ).stdout  # fmt: skip
        assert json.loads(output) == [list(here.names), here.split(list(mixed))[0].tolist()]


def test_ties_go_to_the_older_piece():
    # all pairs occur once: (a, ##c) precedes (b, ##c), which precedes merged pieces
    pieces = learn({"bcd": 1, "acd": 1}, FIRST_PIECE + 4 + 3)
    assert pieces.names[5:] == ("a", "b", "##c", "##d", "##cd", "acd", "bcd")
    pieces = learn({"bc": 1, "ac": 1}, FIRST_PIECE + 3 + 2)
    assert pieces.names[5:] == ("a", "b", "##c", "ac", "bc")


def test_repeated_letters_merge_from_the_left():
    pieces = learn({"aaaaaa": 1}, FIRST_PIECE + 3)
    assert pieces.names[5:] == ("a", "##a", "##aa")
    assert [pieces.names[i] for i in lists(pieces, ["aaaaaa"])[0]] == ["a", "##aa", "##aa", "##a"]


def test_words_are_weighted_by_count():
    few_types = {"ax": 10, "by": 1, "cy": 1, "dy": 1}
    assert learn(few_types, FIRST_PIECE + 6 + 1).names[-1] == "ax"


def test_a_word_with_a_rare_character_is_unknown_and_not_trained_on():
    # 10,002 characters: ø is the last 0.0002 of them
    counts = {"ab": 4999, "abø": 1, "øab": 1}
    pieces = learn(counts, FIRST_PIECE + 2 + 1, coverage=0.9995)
    assert pieces.names[5:] == ("a", "##b", "ab")
    assert lists(pieces, ["ab", "abø", "øab", "ø", "b"]) == [[7], [UNK], [UNK], [UNK], [UNK]]
    all_covered = learn(counts, FIRST_PIECE + 5, coverage=1.0)
    assert set(all_covered.names[5:]) == {"a", "ø", "##a", "##b", "##ø"}


def test_coverage_keeps_the_fewest_sufficient_characters():
    # c and d tie; c comes first by code point: 6 + 3 of 10 characters are 0.9
    counts = {"a": 6, "b": 2, "c": 1, "d": 1}
    assert learn(counts, 7, coverage=0.8).names[5:] == ("a", "b")
    assert learn(counts, 8, coverage=0.9).names[5:] == ("a", "b", "c")
    assert learn(counts, 9, coverage=0.91).names[5:] == ("a", "b", "c", "d")


def test_words_that_look_like_special_pieces_or_continuations_are_unknown():
    lookalikes = [*SPECIAL, "[MASK]ed", "##", "##b", PRUNED]
    counts = {"ab": 3, "x[MASK]": 2, "#b": 1} | dict.fromkeys(lookalikes, 9)
    pieces = learn_some(counts, 99)
    assert lists(pieces, lookalikes) == [[UNK]] * len(lookalikes)
    names = [pieces.names[ids[0]] for ids in lists(pieces, ["ab", "x[MASK]", "#b"])]
    assert names == ["ab", "x[MASK]", "#b"]


def test_long_words_are_split_and_overlong_ones_unknown(tmp_path):
    pieces = learn({"aab": 1, "b": 1}, FIRST_PIECE + 4 + 1)
    save_pieces(pieces, tmp_path / "tokenizer.json", TextSettings())
    library = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for length in (MAX_CHARACTERS, MAX_CHARACTERS + 1):
        ids = lists(pieces, ["a" * length])[0]
        assert (ids == [UNK]) == (length > MAX_CHARACTERS)
        assert library.encode("a" * length, add_special_tokens=False).ids == ids


def test_batching_does_not_change_the_split(mixed):
    pieces = learn(mixed, 180)
    assert [part.tolist() for part in pieces.split([])] == [[], [0]]
    words = [*mixed, PRUNED, "[MASK]", "Ω"] * 300  # several rounds through the library
    assert lists(pieces, words) == lists(pieces, words[: len(mixed) + 3]) * 300


@pytest.mark.parametrize(
    ("words", "options", "message"),
    [
        ({"ab": 1}, {"size": 6}, "`pieces=6`: the characters and special pieces already need 7; p"),
        (
            {"ab": 1},
            {"size": 9},
            "`pieces=9`: this corpus yields at most 8 pieces; pass `pieces=8`",
        ),
        ({PRUNED: 5, "[MASK]": 1}, {"size": 9}, "`pieces=9`: the corpus has no words to learn"),
        ({"a": 1}, {"size": 6, "coverage": 0}, "coverage must be above 0 and at most 1, got 0"),
    ],
)
def test_impossible_settings_are_refused(words, options, message):
    with pytest.raises(SettingError) as refusal:
        learn(words, **options)
    assert str(refusal.value).startswith(message)


def test_the_size_suggested_by_an_error_is_accepted(mixed):
    most = size_named(mixed, 8000, 1.0)
    pieces = learn(mixed, most)
    assert len(pieces) == most
    assert set(learnable(mixed)) <= set(pieces.names)


@pytest.mark.parametrize(
    ("n_tokens", "size"),
    [(0, 8000), (19_999_999, 8000), (20_000_000, 16000), (199_999_999, 16000),
     (200_000_000, 32000)],
)  # fmt: skip
def test_the_automatic_size_depends_on_the_corpus(n_tokens, size):
    assert auto_vocabulary_size(n_tokens) == size


TEXTS = [
    TextSettings(),
    TextSettings(keep_case=True, fold_digits=True),
    TextSettings(strip_accents=True),
    TextSettings(segmenter="whitespace", language="tr"),
    TextSettings(segmenter="characters", fold_digits=True),
    TextSettings(language="tr", strip_accents=True),
]


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS, ids=str)
def test_the_file_encodes_raw_text_to_our_ids(text, tmp_path):
    counts = Counter(text.words(f"{MIXED} {IN_CONTEXT}"))
    raw = [MIXED, *MIXED.splitlines(), "", " ", MIXED[::-1], *MIXED.split()]
    raw += [IN_CONTEXT, *IN_CONTEXT.splitlines(), *IN_CONTEXT.split()]
    draw = random.Random(3)
    raw += ["".join(draw.choices(MIXED + "#  \t\u0301Ωж", k=40)) for _ in range(200)]
    for pieces in (learn_some(counts, 0), learn_some(counts, 60, 0.8)):
        save_pieces(pieces, tmp_path / "tokenizer.json", text)
        library = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
        for line in raw:
            ours = pieces.split(text.words(line))[0].tolist()
            assert library.encode(line).ids == [CLS, *ours, SEP], line


@pytest.mark.slow
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), st.sampled_from(TEXTS))
def test_the_file_encodes_any_text_to_our_ids(saved, raw, text):
    pieces, library = saved[text]
    ours = pieces.split(text.words(raw))[0].tolist()
    assert library.encode(raw).ids == [CLS, *ours, SEP]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Return pieces of each segmenter, with the library's tokenizer of their file."""
    path = tmp_path_factory.mktemp("pieces") / "tokenizer.json"
    out = {}
    for text in TEXTS:
        pieces = learn_some(Counter(text.words(MIXED)), 40)
        save_pieces(pieces, path, text)
        out[text] = pieces, Tokenizer.from_file(str(path))
    return out


def test_the_file_keeps_special_pieces_in_raw_text(mixed, tmp_path):
    save_pieces(learn(mixed, 180), tmp_path / "tokenizer.json", TextSettings())
    library = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert [library.token_to_id(name) for name in SPECIAL] == [0, 1, 2, 3, 4]
    assert 4 in library.encode("the [MASK].").ids
    ids = library.encode("Straße, дом").ids
    assert library.decode(ids) == "straße , дом"


@pytest.mark.parametrize("text", [None, TextSettings(), TextSettings(segmenter="jieba")], ids=str)
def test_pieces_survive_a_round_trip(text, mixed, tmp_path):
    pieces = learn(mixed, 180)
    save_pieces(pieces, tmp_path / "tokenizer.json", text)
    again = open_pieces(tmp_path / "tokenizer.json")
    assert again.names == pieces.names
    save_pieces(again, tmp_path / "again.json", text)
    content = (tmp_path / "tokenizer.json").read_bytes()
    assert (tmp_path / "again.json").read_bytes() == content


def test_lemmas_and_jieba_cannot_be_exported():
    assert all(why_not_exportable(text) is None for text in TEXTS)
    assert "the words of the corpus are lemmas" in why_not_exportable(TextSettings(lemmatize="en"))
    assert why_not_exportable(TextSettings(segmenter="jieba")) == (
        "the corpus was divided into words by jieba, which tokenizer.json cannot represent; "
        "build it with `segmenter=characters` or words instead"
    )


def damage(change):
    """Return a function that changes the model in a saved file."""

    def write(path):
        value = json.loads(path.read_text())
        change(value["model"])
        path.write_text(json.dumps(value))

    return write


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_text("[1, 2]"),
        lambda path: path.write_text("{}"),
        lambda path: path.write_text('{"model": 3}'),
        damage(lambda model: model.pop("vocab")),
        damage(lambda model: model.update(vocab=[1, 2])),
        damage(lambda model: model.update(type="Unigram")),
        damage(lambda model: model["vocab"].update(a="one")),
        damage(lambda model: model["vocab"].update(more=len(model["vocab"]) + 1)),
        damage(lambda model: model.update(continuing_subword_prefix="@@")),
        lambda path: path.write_bytes(path.read_bytes()[:-100]),
        lambda path: path.unlink(),
        lambda path: save_pieces(Pieces(["[UNK]", "[PAD]", *open_pieces(path).names[2:]]), path),
    ],
    ids=[
        "list", "empty object", "model is a number", "no vocabulary", "vocabulary is a list",
        "other type", "id is a text", "id beyond the others", "other prefix", "cut", "missing",
        "other pieces",
    ],
)  # fmt: skip
def test_a_damaged_file_is_refused(spoil, tmp_path, request):
    path = tmp_path / "tokenizer.json"
    save_pieces(learn({"abc": 1}, 9), path)
    spoil(path)
    with pytest.raises(ArtifactError) as refusal:
        open_pieces(path)
    message = {
        "cut": "cannot be read as JSON: ",
        "missing": "no such file; ",
        "other pieces": "the first pieces are [UNK] [PAD] [CLS] [SEP] [MASK], not [PAD] [UNK] ",
    }.get(request.node.callspec.id, f"is damaged or not written by Firth; recreate {tmp_path}")
    assert str(refusal.value).startswith(f"{path}: {message}")
    assert "\n" not in str(refusal.value)
