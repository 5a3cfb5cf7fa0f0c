"""Types on disk: sorting, merging, numbering and lookup, against plain Python."""

import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.corpora.artifacts.arrays import write_array
from firth.corpora.encoding.vocabulary_writer import TypeRuns, write_lemmas, write_tsv
from firth.corpora.store.vocabulary import PRUNED, Vocabulary
from firth.corpora.store.vocabulary_kernels import sort_types
from firth.corpora.text.characters import character_table
from firth.corpora.text.type_table import TypeTable

WORDS = st.lists(
    st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs"]), min_size=1, max_size=12)
    | st.sampled_from(["a", "abcdefgh", "abcdefghi", "abcdefghj", "ä", "中"]),
    min_size=1,
    max_size=60,
)


def table_of(words: list[str]) -> TypeTable:
    """Return a table filled with the words, not normalized."""
    text = np.frombuffer("\x1f".join(words).encode(), dtype=np.uint8)
    table = TypeTable()
    table.segment(text, np.array([0, len(text)]), character_table("pretokenized", True, False))
    return table


def runs_of(directory: Path, table: TypeTable) -> TypeRuns:
    """Return one run, the types of a table."""
    runs = TypeRuns(directory / "scratch")
    runs.add(0, table.text, table.offsets, table.counts())
    return runs


def kept(words: list[str]) -> list[str]:
    """Return the words without characters that the normalizer drops."""
    allowed = character_table("pretokenized", True, False).entries >> 21 & 7
    return [word for word in words if all(allowed[ord(c)] == 0 for c in word)]


@given(WORDS)
def test_types_sort_by_code_point(words):
    table = table_of(words)
    order = np.empty(len(table), dtype=np.int64)
    sort_types(table.text, table.offsets, order)
    raw = [table.text[a:b].tobytes().decode() for a, b in itertools.pairwise(table.offsets)]
    assert [raw[i] for i in order] == sorted(raw)


@pytest.mark.slow
@given(st.lists(WORDS.map(kept), min_size=1, max_size=4), st.none() | st.integers(1, 9))
def test_runs_merge_to_the_counts_of_all_words(tmp_path_factory, parts, max_types):
    if not any(parts):
        return
    directory = tmp_path_factory.mktemp("vocabulary")
    runs = TypeRuns(directory / "scratch")
    tables = [table_of(words) for words in parts]
    for number, table in enumerate(tables):
        runs.add(number, table.text, table.offsets, table.counts())
    new_ids = runs.merge(directory, max_types)
    counts = Counter(word for words in parts for word in words)
    expected = sorted(counts, key=lambda word: (-counts[word], word))[:max_types]
    write_array(directory, "document_counts", np.zeros(len(counts), dtype=np.int64))

    vocabulary = Vocabulary(directory)

    pruned = len(expected) < len(counts)
    assert vocabulary.words() == expected + [PRUNED] * pruned
    assert vocabulary.counts[: len(expected)].tolist() == [counts[word] for word in expected]
    assert vocabulary.counts.sum() == sum(counts.values())
    for word in counts:
        assert vocabulary.id_of(word) == (expected.index(word) if word in expected else None)
    assert vocabulary.id_of("no such word") is None
    for number, table in enumerate(tables):
        raw = [table.text[a:b].tobytes().decode() for a, b in itertools.pairwise(table.offsets)]
        last = len(expected)
        new = [expected.index(w) if w in expected else last for w in raw]
        assert new_ids[number].tolist() == new


def test_lemmas_have_the_counts_of_their_forms(tmp_path):
    words = ["cats", "cat", "dogs", "Cats", "cats", "rat", "dog", "dogs", "cats"]
    runs_of(tmp_path / "a", table_of(words)).merge(tmp_path / "forms", None)
    forms, runs = Vocabulary(tmp_path / "forms"), TypeRuns(tmp_path / "scratch")
    ids = write_lemmas(tmp_path, runs, forms, lambda form: form.lower().rstrip("s"), 2, 2)
    write_array(tmp_path, "document_counts", np.zeros(3, dtype=np.int64))
    lemmas = Vocabulary(tmp_path)
    assert (lemmas.words(), lemmas.counts.tolist()) == (["cat", "dog", PRUNED], [5, 3, 1])
    found = {form: lemmas[i] for form, i in zip(forms.words(), ids, strict=True)}
    assert found == {
        "cats": "cat", "dogs": "dog", "Cats": "cat", "cat": "cat", "dog": "dog", "rat": PRUNED,
    }  # fmt: skip


def test_the_tsv_escapes_special_characters(tmp_path):
    text = np.frombuffer(b"plaina\tb\nback\\s\r", dtype=np.uint8)
    runs = TypeRuns(tmp_path / "scratch")
    runs.add(0, text, np.array([0, 5, 9, 16]), np.array([2 << 40, 1, 1]))
    runs.merge(tmp_path, None)
    write_array(tmp_path, "document_counts", np.array([1, 12, 123], dtype=np.int64))
    write_tsv(tmp_path, tmp_path / "vocabulary.tsv")
    rows = [("plain", 2 << 40, 1), (r"a\tb\n", 1, 12), (r"back\\s\r", 1, 123)]
    expected = "".join("\t".join(map(str, row)) + "\n" for row in rows)
    assert (tmp_path / "vocabulary.tsv").read_bytes() == expected.encode()


def test_punctuation_types_are_marked(tmp_path):
    runs = runs_of(tmp_path, table_of([".", "--", "a.", "…", "中", "$"]))
    runs.merge(tmp_path, None)
    write_array(tmp_path, "document_counts", np.ones(6, dtype=np.int64))
    vocabulary = Vocabulary(tmp_path)
    found = [w for w, p in zip(vocabulary.words(), vocabulary.punctuation, strict=True) if p]
    assert sorted(found) == sorted([".", "--", "…", "$"])
