"""The text of a corpus for pretraining: its splits, its pieces, its packed rows."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import torch

from firth.corpora.common.errors import SettingError
from firth.corpora.common.reporting import note
from firth.corpora.text.segment import TextSettings
from firth.corpora.tokenizer.pieces import CLS, Pieces, auto_vocabulary_size, learn_pieces
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.packing import PackedRows

if TYPE_CHECKING:
    from firth.corpora.store.corpus import Corpus
    from firth.corpora.store.view import Boundary, View

_MIN_SHARE_WITH_HEADS = 0.5  # less is no treebank: a tree of two words has as much


@dataclass(frozen=True)
class TextSplits:
    """Training and held-out text of a corpus, with one vocabulary of words and punctuation."""

    train: "View"
    held_out: "View"
    settings: TextSettings


def open_text(corpus: "Corpus", config: MlmConfig) -> TextSplits:
    """Open a corpus for pretraining; raise if it lacks held-out text, trees or a word to pool."""
    # raises here, since pooling would do so only after the training
    corpus.view(
        min_count=config.min_count, max_vocabulary=config.max_vocabulary, punctuation="drop"
    )
    if not corpus.manifest["held_out_tokens"]:
        raise SettingError(
            f"{corpus.path}: has no held-out text to evaluate on; build it from more text, "
            "without `held_out=0`"
        )
    if config.reads_trees and not corpus.keeps_heads:
        raise SettingError(
            f"{corpus.path}: keeps no heads of words, which `attention="
            f"{config.attention}` needs; build it again (`force=True`) from CoNLL-U "
            "files with heads, without phrases"
        )
    if config.reads_trees and corpus.share_with_heads < _MIN_SHARE_WITH_HEADS:
        note(
            f"{corpus.path}: only {corpus.share_with_heads:.1%} of its tokens have a known head; "
            "the others attend to themselves and to what depends on them"
        )
    every = corpus.view(
        min_count=1,
        punctuation="keep",
        boundary=cast("Boundary", config.boundary),
        documents="all",
    )
    return TextSplits(every.select("train"), every.select("held-out"), corpus.text)


def learn_text_pieces(text: TextSplits, config: MlmConfig) -> Pieces:
    """Learn pieces from the training documents; with ``auto``, fewer if the text has no more."""
    words, counts, auto = text.train.words, text.train.counts, config.pieces == "auto"
    size = auto_vocabulary_size(text.train.n_tokens) if auto else int(config.pieces)
    # a rare character may be that of a token, such as [Zn]
    coverage = {"coverage": 1.0} if text.settings.of_tokens else {}
    return learn_pieces(words, counts, size=size, exact=not auto, **coverage)


def pack_text(
    text: TextSplits, pieces: Pieces, config: MlmConfig, device: torch.device
) -> tuple[PackedRows, PackedRows]:
    """Pack training and held-out text into rows, on the device."""
    length, tree, whole = config.sequence_length, config.reads_trees, config.objective_kind.whole
    train = PackedRows.pack(text.train, pieces, length, device, tree=tree, whole=whole)
    return train, PackedRows.pack(
        text.held_out, pieces, length, device, clusters=True, tree=tree, whole=whole
    )


def max_segments(*texts: PackedRows) -> int:
    """Return the most segments of any row, counting padding as one."""
    return 1 + max(int((chunk == CLS).sum(1).max()) for rows in texts for chunk in rows.chunks())
