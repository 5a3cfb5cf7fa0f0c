"""The held-out slice: against a naive twin, its size and unit, and independence of the build."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firth.corpora.artifacts.artifact import CHECKSUMS, read_json
from firth.corpora.encoding.encode import document_keys
from firth.corpora.reading.text_blocks import TextBlock
from firth.corpora.store.corpus import Corpus
from tests.corpora.small_corpora import build as build_one
from tests.corpora.small_corpora import naive_mixed, parts_of

UNITS = ("document", "paragraph", "sentence")
SMALL = {"shard_tokens": 300, "block_bytes": 700}  # many shards and blocks


def build(folder: Path, text: str, name="a", documents="line", **options: Any) -> Corpus:
    """Build a corpus of one text file."""
    return build_one(folder, text, name, documents=documents, **{"threads": 1, **options})


def text_of(rng, documents: int, paragraphs: int, sentences: int, words: int) -> str:
    """Documents between blank lines; sizes are uniform between 1 and twice the mean."""

    def sizes(mean):
        return range(int(rng.integers(1, 2 * mean + 1)))

    return "\n\n".join(
        "\n".join(
            " ".join(
                " ".join(f"w{word}" for word in rng.integers(5000, size=len(sizes(words)))) + "."
                for _ in sizes(sentences)
            )
            for _ in sizes(paragraphs)
        ).capitalize()
        for _ in range(documents)
    ).replace(". w", ". W")


def held_out(corpus: Corpus) -> list[bool]:
    """Return the mask of units over the whole text."""
    return np.concatenate([shard.held_out for shard in corpus.shards]).tolist()


def sizes_of(corpus: Corpus, unit: str) -> list[int]:
    """Return the tokens of every unit of one kind."""
    return np.concatenate([np.diff(shard.offsets(unit)) for shard in corpus.shards]).tolist()


def naive_take(sizes: list[int], keys: list[int], wanted: int, most: int) -> set[int]:
    """The definition: groups of one key in order, until there is enough; too large ones skipped."""
    goal = min(wanted, most - sum(sizes) // sum(size > 0 for size in sizes) + 1)
    taken: set[int] = set()
    for key in sorted(set(keys)):
        group = {n for n, other in enumerate(keys) if other == key and sizes[n]}
        tokens = sum(sizes[n] for n in taken)
        n_groups = len({keys[n] for n in taken})
        if tokens >= goal and n_groups >= 5:
            break
        if group and sum(sizes[n] for n in group) <= most - tokens:
            taken |= group
    return taken


def naive_slice(corpus: Corpus, texts: list[str], share: float | None) -> tuple[str, set[int]]:
    """Return the unit and the units that are to be held out."""
    n = corpus.n_tokens
    most = int((0.1 if share is None else share) * n)
    wanted = min(max(int(0.02 * n), 20_000), most) if share is None else most
    found = []
    for unit in UNITS if wanted else ():
        sizes = sizes_of(corpus, unit)
        if unit == "document":
            block = TextBlock("".join(texts).encode(), ends_of(texts), np.ones(len(texts)), "", {})
            keys = document_keys(block).tolist()
        else:
            keys = [
                naive_mixed((0x9AE16A3B2F90404F + k * 0x9E3779B97F4A7C15) % 2**64)
                for k in range(1, len(sizes) + 1)
            ]
        taken = naive_take(sizes, keys, wanted, most)
        n_distinct, tokens = len({keys[k] for k in taken}), sum(sizes[k] for k in taken)
        if n_distinct >= 5 and tokens >= min(wanted, 0.8 * most):
            return unit, taken
        found.append((n_distinct, unit, taken))
    return max(found, key=lambda choice: choice[0], default=(0, "document", set()))[1:]


def ends_of(texts: list[str]) -> np.ndarray:
    """Return the byte offsets of documents."""
    return np.cumsum([0, *(len(text.encode()) for text in texts)], dtype=np.int64)


LINE = st.lists(st.sampled_from(["a", "b c.", "D e f. G.", "", "h i j k l m n o p."]), max_size=4)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(
    st.lists(LINE.map(" ".join), min_size=1, max_size=40),
    st.sampled_from([None, 0.0, 0.05, 0.2, 0.6, 0.97]),
)
def test_the_slice_matches_the_naive_twin(tmp_path_factory, lines, share):
    lines = [*lines, "some words."]
    folder = tmp_path_factory.mktemp("twin")
    corpus = build(folder, "\n".join(lines), held_out=share, sizes={"shard_tokens": 9})

    unit, expected = naive_slice(corpus, [line + "\n" for line in lines if line.strip()], share)

    assert corpus.held_out_unit == unit
    assert {n for n, flag in enumerate(held_out(corpus)) if flag} == expected
    sizes = sizes_of(corpus, unit)
    assert corpus.held_out_units == len(expected)
    assert corpus.manifest["held_out_tokens"] == sum(sizes[n] for n in expected)
    assert corpus.view(documents="train").n_tokens == corpus.training_tokens > 0
    assert not list(corpus.path.rglob("document_keys*"))
    corpus.verify()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "unit", "least", "most"),
    [
        # documents, paragraphs each, sentences each, words each: all means
        pytest.param((400, 2, 3, 8), "document", 0.08, 0.1, id="at-most-a-tenth"),
        pytest.param((2_000, 3, 4, 15), "document", 20_000, 23_000, id="20000-tokens"),
        pytest.param((6_500, 2, 3, 20), "document", 0.02, 0.0203, id="2-percent"),
        pytest.param((1, 600, 4, 12), "paragraph", 0.08, 0.1, id="one-file"),
        pytest.param((8, 300, 4, 12), "paragraph", 0.08, 0.1, id="few-documents"),
        pytest.param((4, 2, 300, 9), "sentence", 0.08, 0.1, id="few-paragraphs"),
    ],
)
def test_the_default_holds_out_enough_text_in_enough_units(tmp_path, shape, unit, least, most):
    text = text_of(np.random.default_rng(4), *shape)
    corpus = build(tmp_path, text, documents="block")
    least, most = (x * corpus.n_tokens if x < 1 else x for x in (least, most))
    assert corpus.held_out_unit == unit
    assert corpus.held_out_units >= 5
    assert least <= corpus.manifest["held_out_tokens"] <= min(most, 0.1 * corpus.n_tokens)
    whole = corpus.manifest["held_out_documents"]
    assert whole == (corpus.held_out_units if unit == "document" else 0)
    assert corpus.advice() == []


@pytest.mark.slow
def test_a_tiny_text_holds_out_what_stays_within_a_tenth(tmp_path):
    one = build(tmp_path, "Just these few words.", "one")
    assert one.manifest["held_out_tokens"] == 0
    assert one.advice() == ["too little text for a held-out slice: all of it is used for training"]
    few = build(tmp_path, "\n".join(f"line {n}" for n in range(25)), "few")
    # one sentence a line: the larger unit is named
    assert (few.held_out_unit, few.held_out_units) == ("document", 2)


@pytest.mark.slow
def test_a_document_too_large_is_skipped(tmp_path):
    lines = [f"word{n} follows word{n + 1}" for n in range(60)]
    for n in range(20):  # some of these have the smallest key
        corpus = build(tmp_path, "\n".join([*lines, f"word{n} " * 200]), f"a{n}")
        assert corpus.held_out_unit == "document"
        assert not held_out(corpus)[-1]


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.05, 0.3, 0.9])
@pytest.mark.parametrize("shape", [(300, 2, 2, 6), (1, 300, 2, 6)], ids=["documents", "one"])
def test_a_given_share_is_exact_to_one_unit(tmp_path, shape, share):
    text = text_of(np.random.default_rng(5), *shape)
    corpus = build(tmp_path, text, documents="block", held_out=share)
    missing = share * corpus.n_tokens - corpus.manifest["held_out_tokens"]
    assert 0 <= missing <= max(sizes_of(corpus, corpus.held_out_unit))


def test_held_out_documents_depend_on_their_text_and_not_on_their_order(tmp_path):
    lines = [f"document number {n} has its own words w{n}" for n in range(3000)]
    slices = []
    for name, order in (("forward", lines), ("backward", lines[::-1])):
        corpus = build(tmp_path, "\n".join(order), name, held_out=0.1)
        slices.append({text for text, f in zip(order, held_out(corpus), strict=True) if f})
        sizes = {d: corpus.view(documents=d).n_tokens for d in ("train", "held-out", "all")}
        assert sizes["train"] + sizes["held-out"] == sizes["all"] == corpus.n_tokens
    assert slices[0] == slices[1]
    assert 250 < len(slices[0]) <= 300


def test_identical_documents_are_on_the_same_side(tmp_path):
    lines = [f"text {n // 3} of three copies w{n // 3}" for n in range(900)]
    np.random.default_rng(6).shuffle(lines)
    corpus = build(tmp_path, "\n".join(lines), held_out=0.2)
    sides: dict[str, set[bool]] = {}
    for line, side in zip(lines, held_out(corpus), strict=True):
        sides.setdefault(line, set()).add(side)
    assert {len(side) for side in sides.values()} == {1}
    assert 150 < sum(held_out(corpus)) <= 180


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(200, 2, 2, 6), (1, 300, 2, 6)], ids=["documents", "one"])
def test_the_slice_depends_neither_on_shards_nor_threads_nor_memory(tmp_path, shape):
    text = text_of(np.random.default_rng(7), *shape)
    variants = [
        {},
        {"sizes": SMALL, "threads": 3},
        {"sizes": SMALL, "memory": "1K"},
    ]
    corpora = [
        build(tmp_path, text, f"v{n}", documents="block", **options)
        for n, options in enumerate(variants)
    ]
    assert sum(held_out(corpora[0])) >= 5
    assert held_out(corpora[0]) == held_out(corpora[1]) == held_out(corpora[2])
    assert len({corpus.fingerprint for corpus in corpora}) == 1


def test_paragraphs_are_held_out_uniformly(tmp_path):
    # 100 of 1,000 equal paragraphs; the number among the first 500 is hypergeometric with mean 50
    # and deviation 4.7: five deviations occur by chance once in two million changes of the hash
    lines = "\n".join(f"w{n} w{n + 1} w{n + 2}" for n in range(1_000))
    flags = held_out(build(tmp_path, lines, documents="file", held_out=0.1))
    assert sum(flags) == 100
    assert abs(sum(flags[:500]) - 50) < 5 * 4.7


@pytest.mark.parametrize("boundary", UNITS)
def test_no_part_crosses_held_out_text(tmp_path, boundary):
    text = text_of(np.random.default_rng(8), 1, 8, 20, 4)
    corpus = build(tmp_path, text, documents="file", sizes=SMALL)
    assert corpus.held_out_unit == "sentence"
    flags, sizes = held_out(corpus), sizes_of(corpus, "sentence")
    starts = np.cumsum([0, *sizes])
    marks = set(np.cumsum([0, *sizes_of(corpus, boundary)]).tolist())
    tokens = np.concatenate([shard.ids for shard in corpus.shards]).tolist()
    for documents, side in (("train", False), ("held-out", True)):
        expected: list[list[int]] = []
        before = None  # the end of the last sentence on this side
        for start, stop, flag in zip(starts[:-1], starts[1:], flags, strict=True):
            if flag is side:
                if start != before or int(start) in marks:
                    expected.append([])
                expected[-1] += tokens[start:stop]
                before = stop
        view = corpus.view(boundary=boundary, documents=documents)
        types = {word: n for n, word in enumerate(corpus.vocabulary.words())}
        assert [[types[word] for word in part] for part in parts_of(view)] == expected
        assert view.n_tokens == sum(map(len, expected))


@pytest.mark.parametrize(("boundary", "joined"), [("sentence", False), ("document", True)])
def test_clusters_are_the_held_out_units(tmp_path, boundary, joined):
    text = text_of(np.random.default_rng(9), 1, 60, 3, 6)
    corpus = build(tmp_path, text, documents="file", sizes=SMALL, held_out=0.3)
    assert corpus.held_out_unit == "paragraph"
    flags, sizes = held_out(corpus), sizes_of(corpus, "paragraph")
    expected = [[]] if joined else []
    for flag, size in zip(flags, sizes, strict=True):
        if joined:  # adjacent paragraphs are one part without boundaries between them
            expected += [[]] if not flag and expected[-1] else []
            expected[-1] += [size] if flag else []
        elif flag:
            expected.append([size])
    view = corpus.view(boundary=boundary, documents="held-out")
    lengths = [np.diff(clusters) for clusters in view.clusters()]
    assert np.concatenate(lengths).tolist() == [sum(group) for group in expected if group]


def test_a_sample_of_one_file_takes_paragraphs(tmp_path):
    text = text_of(np.random.default_rng(10), 1, 300, 2, 6)
    corpus = build(tmp_path, text, documents="file", sizes=SMALL)
    assert corpus.held_out_unit == "paragraph"
    small, large = corpus.sample(400), corpus.sample(1_500)
    for sample, least in ((small, 400), (large, 1_500)):
        assert least <= sample.training_tokens < least + max(sizes_of(corpus, "paragraph"))
        assert sample.view(documents="train").n_tokens == sample.training_tokens
        assert sample.n_documents == sample.training_documents == 1
        taken = sum(int(mask.sum()) for mask in sample.sampled)
        assert sample.fingerprint == f"{corpus.fingerprint}:{taken}-paragraphs-of-seed-1"
        again = Corpus.open(corpus.path).restore_sample(sample.reference["sample"])
        assert again.fingerprint == sample.fingerprint
    masks = [np.concatenate(sample.sampled) for sample in (small, large)]
    assert (masks[0] <= masks[1]).all()
    assert not (masks[1] & held_out(corpus)).any()


def test_another_slice_of_the_same_text_is_another_corpus(tmp_path):
    text = text_of(np.random.default_rng(12), 200, 2, 2, 6)
    one, two, none = (
        build(tmp_path, text, f"s{n}", documents="block", held_out=share)
        for n, share in enumerate((0.1, 0.2, 0.0))
    )
    assert len({one.fingerprint, two.fingerprint, none.fingerprint}) == 3
    assert none.manifest["held_out_tokens"] == 0
    assert CHECKSUMS in {path.name for path in none.path.iterdir()}
    assert read_json(none.path / "manifest.json")["held_out_unit"] == "document"
