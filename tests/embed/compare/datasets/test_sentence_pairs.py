"""Minimal pair files: all forms, refusals, and samples."""

import gzip
import json
import lzma

import pytest

from firth.embed.compare.datasets.sentence_pairs import (
    MinimalPair,
    read_minimal_pairs,
    sample_pairs,
)
from tests.embed.compare.datasets.set_files import refusal, write

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
    windows = b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n\r\n")
    write(tmp_path / "data", content(PAIRS[:2]), "a.jsonl")
    write(tmp_path / "data", gzip.compress(content(PAIRS[2:]).encode()), "b.jsonl.gz")
    write(tmp_path / "data", "pairs", "README.md")
    files = {"": text, ".xz": lzma.compress(text), ".gz": gzip.compress(text), ".win": windows}
    paths = [write(tmp_path, packed, f"set.jsonl{end}") for end, packed in files.items()]

    for path in (*paths, tmp_path / "data"):
        assert read_minimal_pairs(path) == PAIRS


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ('{"sentence_good": "I eat.", "sentence_bad": "I devour."}',
         ("drop_argument", "I eat.", "I devour.")),  # named by its file
        (line(MinimalPair("p", "I see.", "I see.")), ("p", "I see.", "I see.")),
    ],
)  # fmt: skip
def test_pairs_without_a_paradigm_or_a_difference_are_kept(tmp_path, text, pair):
    path = write(tmp_path, gzip.compress(text.encode()), "drop_argument.jsonl.gz")

    assert read_minimal_pairs(path) == [MinimalPair(*pair)]


EWOK = {
    "Domain": "spatial", "Concept1": "left", "ContextDiff": "negation", "Context1": "She is left.",
    "Context2": "She is right.", "Target1": "Turn left.", "Target2": " Turn right.",
}  # fmt: skip


def test_each_target_of_ewok_is_a_pair_of_contexts(tmp_path):
    lefts, rights = (EWOK["Context1"], EWOK["Context2"]), (EWOK["Context2"], EWOK["Context1"])
    assert read_minimal_pairs(write(tmp_path, json.dumps(EWOK), "ewok.jsonl")) == [
        MinimalPair("spatial", "Turn left.", "Turn left.", lefts),
        MinimalPair("spatial", "Turn right.", "Turn right.", rights),
    ]


CUT = lzma.compress(content(PAIRS).encode())[:-20]
BOMB = lzma.compress(b"\n" * (5 << 20), preset=0)
NO_BAD, NO_GOOD = (
    '{"sentence_good": "I eat.", "sentence_bad": " "}',
    '{"sentence_good": 3, "sentence_bad": "I eat."}',
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ": contains no pairs; expected a JSON object on each line"),
        (line(PAIRS[0]) + "\nIt bark.\tIt barks.\n", r":2: 'It bark.\tIt barks.' is not a JSON ob"),
        ('["I eat.", "I devour."]', ':1: \'["I eat.", "I devour."]\' is not a JSON object with'),
        ("[" * 100_000, ":1: '" + "[" * 59 + "…' is not a JSON object with sentence_good"),
        (NO_BAD, f":1: '{NO_BAD}' has no sentence_bad; add it"),
        (NO_GOOD, f":1: '{NO_GOOD}' has no sentence_good; add it"),
        (line(PAIRS[0], UID=7), ":1: the UID 7 is not a paradigm name; correct it"),
        (json.dumps({**EWOK, "Target2": ""}), f":1: {json.dumps(EWOK)[:59]!r}"[:-1] + "…' has no"),
        (json.dumps({**EWOK, "Domain": 3}), ":1: the Domain 3 is not a paradigm name; correct it"),
        (line(PAIRS[0], sentence_bad="caf\udce9"), ":1: sentence_bad contains half a surrogate"),
        pytest.param(CUT, ": the xz data is truncated; download the file again", id="cut"),
        pytest.param(BOMB, ": expands to more than 100 times its size, so", id="bomb"),
    ],
)
def test_malformed_files_are_refused(tmp_path, text, said):
    assert refusal(read_minimal_pairs, tmp_path, text).startswith(said)


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
