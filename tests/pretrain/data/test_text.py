"""The text of a corpus for pretraining: every word, all documents, limited pieces."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from firth.corpora.common.errors import SettingError
from firth.corpora.encoding.pipeline import encode_corpus
from firth.corpora.encoding.request import BuildOptions, make_request
from firth.corpora.tokenizer.pieces import CLS, FIRST_PIECE
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.packing import PackedRows
from firth.pretrain.data.text import learn_text_pieces, max_segments, open_text, pack_text
from tests.pretrain.small_training import SMALL, conllu, corpus_of

CONFIG = MlmConfig(**{**SMALL, "pieces": "auto"})
LINES = [*(f"w{n % 7} w{n % 5} , w{n % 3} ." for n in range(60)), "once"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Lines with punctuation, a fifth of them held out."""
    return corpus_of(tmp_path_factory.mktemp("corpus"), LINES, held_out=0.2)


def test_the_text_has_all_words_and_punctuation(corpus):
    text = open_text(corpus, CONFIG)
    assert set(text.train.words) == {*(f"w{n}" for n in range(7)), ",", ".", "once"}
    assert text.train.words == text.held_out.words
    manifest = corpus.manifest
    assert text.held_out.n_tokens == manifest["held_out_tokens"]
    assert text.train.n_tokens == manifest["tokens"] - manifest["held_out_tokens"]
    assert text.held_out.n_tokens > 0


def test_segments_follow_the_boundary(corpus):
    n_units = {}
    for boundary in ("sentence", "document"):
        config = dataclasses.replace(CONFIG, boundary=boundary, sequence_length=64)
        text = open_text(corpus, config)
        train, _ = pack_text(text, learn_text_pieces(text, config), config, torch.device("cpu"))
        n_units[boundary] = sum(int((chunk == CLS).sum()) for chunk in train.chunks())
    assert n_units["sentence"] >= n_units["document"] >= len(LINES) * 0.7


def test_auto_takes_as_many_pieces_as_a_small_text_yields(corpus):
    text = open_text(corpus, CONFIG)
    pieces = learn_text_pieces(text, CONFIG)
    with pytest.raises(SettingError, match=f"yields at most {len(pieces)} pieces"):
        learn_text_pieces(text, MlmConfig(**{**SMALL, "pieces": str(len(pieces) + 1)}))
    assert (
        learn_text_pieces(text, MlmConfig(**{**SMALL, "pieces": str(len(pieces))})).names
        == pieces.names
    )


def test_pieces_are_learned_from_training_documents_only(corpus):
    text = open_text(corpus, CONFIG)
    names = set("".join(learn_text_pieces(text, CONFIG).names[FIRST_PIECE:]).replace("#", ""))
    unseen = [w for w, n in zip(text.train.words, text.train.counts, strict=True) if n == 0]
    seen = set("".join(w for w in text.train.words if w not in unseen))
    assert names <= seen


def test_the_most_segments_of_a_row_with_one_for_padding():
    C, S, P = CLS, 3, 0
    first, second = (
        PackedRows(torch.tensor(rows, dtype=torch.int32), 10, 0, torch.device("cpu"))
        for rows in ([[C, 9, S, C, 9, S], [C, 9, 9, 9, S, P]], [[C, 9, S, P, P, P]])
    )
    assert max_segments(first, second) == max_segments(second, first) == 3
    assert max_segments(second) == 2


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_text_that_is_mostly_without_trees_is_told(tmp_path, capsys, share):
    trees = conllu(["a", "b"], [2, 0]), conllu(["c", "."], ["_" if share < 0.5 else 2, 0])
    (tmp_path / "trees.conllu").write_text("".join(f"# newdoc\n{tree}" for tree in trees * 20))
    options = BuildOptions(held_out=0.1, threads=1)
    with ThreadPoolExecutor(1) as executor:
        corpus = encode_corpus(
            make_request([tmp_path / "trees.conllu"], options=options),
            tmp_path / "corpus",
            executor=executor,
        )
    open_text(corpus, dataclasses.replace(CONFIG, attention="tree"))
    told = f"{corpus.path}: only 25.0% of its tokens have a known head"
    assert (told in capsys.readouterr().err) == (share < 0.5)
