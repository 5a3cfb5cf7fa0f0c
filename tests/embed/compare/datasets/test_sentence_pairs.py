"""Minimal pair files: all forms, refusals, and samples."""

import gzip
import json
import lzma

import pytest

from firth.corpora.common.errors import SourceError
from firth.embed.compare.datasets.sentence_pairs import (
    MinimalPair,
    read_minimal_pairs,
    sample_pairs,
)
from tests.embed.compare.refusals import message_of

PAIRS = [
    MinimalPair("agreement", "The dogs bark.", "The dogs barks."),
    MinimalPair("agreement", "A cat sleeps.", "A cat sleep."),
    MinimalPair("islands", "Who did Zoë see?", "Who did see Zoë?"),
]


def line(pair, **further):
    record = {"sentence_good": pair.good, "sentence_bad": pair.bad, "UID": pair.paradigm}
    return json.dumps({**record, **further})


def content(pairs):
    return "".join(line(pair, pairID="0", simple_LM_method=True) + "\n" for pair in pairs)


def many(n_paradigms=3, size=20):
    """A set in which every pair is another."""
    return [
        MinimalPair(f"p{number % n_paradigms}", f"right {number}", f"wrong {number}")
        for number in range(n_paradigms * size)
    ]


def test_plain_compressed_and_folder_sets_are_equal(tmp_path):
    text = content(PAIRS).encode()
    (tmp_path / "set.jsonl").write_bytes(text)
    (tmp_path / "set.jsonl.xz").write_bytes(lzma.compress(text))
    (tmp_path / "set.jsonl.gz").write_bytes(gzip.compress(text))
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "a.jsonl").write_text(content(PAIRS[:2]), encoding="utf-8")
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(content(PAIRS[2:]).encode()))
    (folder / "README.md").write_text("pairs", encoding="utf-8")

    for name in ("set.jsonl", "set.jsonl.xz", "set.jsonl.gz", "data"):
        assert read_minimal_pairs(tmp_path / name) == PAIRS


def test_blank_lines_byte_order_marks_and_line_ends_are_ignored(tmp_path):
    path = tmp_path / "set.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + content(PAIRS).replace("\n", "\r\n\r\n").encode())
    assert read_minimal_pairs(path) == PAIRS


def test_without_a_uid_the_file_name_is_the_paradigm(tmp_path):
    path = tmp_path / "drop_argument.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"sentence_good": "I eat.", "sentence_bad": "I devour."}'))
    assert read_minimal_pairs(path) == [MinimalPair("drop_argument", "I eat.", "I devour.")]


def test_a_pair_of_equal_sentences_is_kept(tmp_path):
    path = tmp_path / "set.jsonl"
    path.write_text(line(MinimalPair("p", "I see.", "I see.")), encoding="utf-8")
    assert read_minimal_pairs(path) == [MinimalPair("p", "I see.", "I see.")]


OBJECT = "is not a JSON object with sentence_good, sentence_bad and UID; correct it"
NO_BAD, NO_GOOD = (
    '{"sentence_good": "I eat.", "sentence_bad": " "}',
    '{"sentence_good": 3, "sentence_bad": "I eat."}',
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": contains no pairs; expected a JSON object on each line"),
        (line(PAIRS[0]) + "\nIt bark.\tIt barks.\n", rf":2: 'It bark.\tIt barks.' {OBJECT}"),
        ('["I eat.", "I devour."]', f':1: \'["I eat.", "I devour."]\' {OBJECT}'),
        ("[" * 100_000, ":1: '" + "[" * 59 + f"…' {OBJECT}"),
        (NO_BAD, f":1: '{NO_BAD}' has no sentence_bad; add it"),
        (NO_GOOD, f":1: '{NO_GOOD}' has no sentence_good; add it"),
        (line(PAIRS[0], UID=7), ":1: the UID 7 is not a paradigm name; correct it"),
        (
            line(PAIRS[0], sentence_bad="caf\udce9"),
            ":1: sentence_bad contains half a surrogate pair; correct it",
        ),
    ],
)
def test_malformed_lines_are_refused(tmp_path, text, message):
    path = tmp_path / "set.jsonl"
    path.write_text(text, encoding="utf-8")
    assert message_of(SourceError, read_minimal_pairs, path) == f"{path}{message}"


def test_a_truncated_file_and_a_folder_without_sets_are_refused(tmp_path):
    cut = tmp_path / "cut.jsonl.xz"
    cut.write_bytes(lzma.compress(content(PAIRS).encode())[:-20])

    assert message_of(SourceError, read_minimal_pairs, cut) == (
        f"{cut}: the xz data is truncated; download the file again"
    )
    cut.rename(tmp_path / "cut")
    assert message_of(SourceError, read_minimal_pairs, tmp_path) == (
        f"{tmp_path}: contains no .jsonl files; expected one for each part of the set"
    )


@pytest.mark.parametrize("limit", [1, 5, 19, 20, 25])
@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_a_sample_has_limit_pairs_of_each_paradigm_or_all(limit, seed):
    pairs = many()
    sample, larger = sample_pairs(pairs, limit, seed), sample_pairs(pairs, limit + 3, seed)

    for paradigm in ("p0", "p1", "p2"):
        assert sum(pair.paradigm == paradigm for pair in sample) == min(limit, 20)
    assert set(sample) <= set(larger)
    assert sample == [pair for pair in pairs if pair in sample]


def test_a_sample_does_not_depend_on_order_or_other_pairs():
    pairs = many()
    sample = sample_pairs(pairs, 5, 1)

    assert sample_pairs(pairs[::-1], 5, 1) == sample[::-1]
    alone = sample_pairs([pair for pair in pairs if pair.paradigm == "p1"], 5, 1)
    assert alone == [pair for pair in sample if pair.paradigm == "p1"]
    assert sample_pairs(pairs, 5, 2) != sample


def test_without_a_limit_all_pairs_are_taken_with_repeats():
    twice = [*many(), *many()]
    assert sample_pairs(twice, 0, 1) == twice
    assert len(sample_pairs(twice, 7, 1)) == 21


def test_all_pairs_are_equally_likely_to_be_drawn():
    pairs = many(n_paradigms=1)
    taken = [pair for seed in range(1_000) for pair in sample_pairs(pairs, 5, seed)]
    # binomial, 1,000 draws of 1/4: 180 to 320 are five deviations; false alarm 1e-5 in all
    assert all(180 < taken.count(pair) < 320 for pair in pairs)
