"""Derived views, and views that keep given words; basic views are in build/test_pipeline."""

import numpy as np
import pytest

from firth.corpora.common.errors import SettingError
from firth.corpora.store import vocabulary
from firth.corpora.store.corpus import Corpus
from tests.corpora.small_corpora import build, parts_of

LINES = [f"common {'few ' * (n % 4)} w{n} . unseen{n % 3}" for n in range(60)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Corpus:
    """Return a corpus of sixty documents, some held out."""
    folder = tmp_path_factory.mktemp("view")
    return build(folder, "\n".join(LINES), documents="line", held_out=0.3, threads=1)


@pytest.mark.parametrize("size", [1, 20, 1 << 20])
def test_types_are_decoded_in_order_whatever_the_size_of_a_block(corpus, monkeypatch, size):
    monkeypatch.setattr(vocabulary, "_BLOCK_BYTES", size)
    assert list(corpus.vocabulary) == corpus.vocabulary.words()


def test_rare_kept_words_are_included_and_missing_ones_come_last(corpus):
    plain = corpus.view(min_count=5, punctuation="drop")
    kept = ["lacks", "w7", ".", "common", "nowhere"]

    view = corpus.view(min_count=5, punctuation="drop", keep=kept)

    assert set(view.words) == {*plain.words, *kept}
    assert len(view.words) == len(set(view.words))
    assert view.words[-2:] == ["lacks", "nowhere"]
    assert view.counts[-2:].tolist() == [0, 0]
    assert (np.diff(view.counts) <= 0).all()
    tokens = [word for part in parts_of(view) for word in part]
    assert view.counts.tolist() == [tokens.count(word) for word in view.words]
    assert view.n_tokens == len(tokens)


@pytest.mark.parametrize("limit", [0, 2, 3, 4])
def test_kept_words_count_towards_the_limit(corpus, limit):
    view = corpus.view(keep=["w7", "lacks"], max_vocabulary=limit)
    assert sorted(view.words) == sorted(["lacks", "w7", *["few", "."][: max(0, limit - 2)]])


def test_a_view_may_have_only_missing_kept_words(corpus):
    view = corpus.view(min_count=1000, keep=["lacks"])
    assert (view.words, view.n_tokens, parts_of(view)) == (["lacks"], 0, [])
    with pytest.raises(SettingError, match="no word occurs 1000 times or more"):
        corpus.view(min_count=1000)


def test_select_keeps_the_rows_for_other_documents(corpus):
    train = corpus.view(min_count=2, keep=["lacks"])

    held_out = train.select("held-out")

    assert held_out.words == train.words
    tokens = [word for part in parts_of(held_out) for word in part]
    assert held_out.counts.tolist() == [tokens.count(word) for word in train.words]
    assert held_out.n_tokens == len(tokens) > 0
    every = train.select("all")
    assert np.array_equal(every.counts, train.counts + held_out.counts)
    assert np.array_equal(held_out.select("train").counts, train.counts)


def test_ordered_changes_only_the_order_of_rows(corpus):
    view = corpus.view(min_count=2, keep=["lacks"])
    order = np.random.default_rng(1).permutation(len(view.words))

    ordered = view.ordered(order)

    assert ordered.words == [view.words[row] for row in order]
    assert np.array_equal(ordered.counts, view.counts[order])
    assert parts_of(ordered) == parts_of(view)
