"""Links: how well two vectors tell whether there is an edge between their nodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from firth.corpora.common.errors import require_torch
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.head import Head, Match
from firth.embed.compare.datasets.labeled_sentences import LabeledSentences
from firth.embed.compare.datasets.node_pairs import NodePair, looks_like_links, read_node_pairs
from firth.embed.compare.datasets.parts import set_name
from firth.embed.compare.inputs.lookup import raw_rows
from firth.embed.compare.probes.vector_probes import dense, label_scores, out_of_fold, ranks_within
from firth.embed.compare.statistics.roc import AveragePrecision, RocArea
from firth.embed.compare.task import Measurement
from firth.embed.compare.tasks.sentences.folds import fold_count, fold_numbers, groups_of
from firth.embed.compare.tasks.similarity import DIGITS
from firth.embed.compare.tasks.word_task import ItemRows, WordTask
from firth.embed.protocols import StaticVectors
from firth.embed.vectors.one_thread import ONE_THREAD
from firth.embed.vectors.search import unit_length

_AREAS = {"auc": RocArea, "ap": AveragePrecision}
_LEARNING = 20_000  # most pairs that the probe learns from, which bounds its time


@dataclass(frozen=True)
class LinksTask(WordTask):
    """Pairs of nodes, ranked by dot product, cosine and a probe (Grover and Leskovec 2016)."""

    pairs: Sequence[NodePair]
    folds: int
    seed: int
    by: str = ""  # the column of groups
    deals_folds = True
    key = "links"
    skill = "links of nodes"
    folds_case = False  # in names of nodes
    metrics: ClassVar = {
        "auc_cosine": "area under the ROC curve of cosines: the chance that the linked one of two "
        "pairs has the higher cosine",
        "auc_dot": "the same of dot products",
        "auc_probe": "the same of logistic regression on the products of each dimension",
        "ap_cosine": "mean over linked pairs of the share of linked ones among all pairs with a "
        "cosine as high",
        "ap_dot": "the same of dot products",
        "ap_probe": "the same of logistic regression on the products of each dimension",
    }

    @classmethod
    def recognize(cls, head: Head) -> Match:
        """Recognize a header with a column of links."""
        return Match.CERTAIN if looks_like_links(head) else Match.NO

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "LinksTask":
        """Read a table of pairs."""
        require_torch(f"{path}: a probe")
        pairs, by = read_node_pairs(path, config.groups)
        folds = fold_count(path, [pair.group for pair in pairs], by, config.folds)
        return cls(set_name(path), pairs, folds, config.seed, by)

    def items(self) -> Sequence[Sequence[str]]:
        """Return the nodes of each pair."""
        return [pair.nodes for pair in self.pairs]

    @cached_property
    def numbers(self) -> np.ndarray:
        """The fold of each pair, int64 (n_items,); each has its share of linked ones."""
        groups, links = zip(*((pair.group, str(pair.linked)) for pair in self.pairs), strict=True)
        return fold_numbers(LabeledSentences(groups, links), self.folds, self.seed)

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measurement]:
        """Rank pairs by three scores; the nodes are drawn, since pairs share them."""
        found = self._look_up(vectors, items, unknown)
        linked = np.array([self.pairs[item].linked for item in found.items.tolist()], dtype=bool)
        reason = None
        if linked.all() or not linked.any():
            one = "have" if linked.any() else "lack"
            reason = f"all known pairs {one} a link" if len(linked) else "no pair is known"
        scores = {} if reason else self._scores(vectors, found, linked)
        chances = {"auc": 0.5, "ap": float(linked.mean()) if len(linked) else None}
        units = self._word_numbers()[found.items]
        named = [self.pairs[item].group for item in found.items.tolist()]
        groups, grouped = groups_of(named, self.by, self.folds)
        if self.by:
            units = np.column_stack([units, groups + units.max(initial=0) + 1])
        return [
            self._measurement(
                metric,
                found.items,
                None if reason else _AREAS[area](linked, scores[by]),
                reason,
                chance=None if reason else chances[area],
                units=units,
                grouped=grouped,
                **found.counts,
            )
            for metric in self.metrics
            for area, by in [metric.split("_")]
        ]

    def _scores(
        self, vectors: StaticVectors, found: ItemRows, linked: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Return what pairs are ranked by."""
        # linked: bool (P,); returns float64 (P,) of each
        rows, at = np.unique(found.places, return_inverse=True)
        a, b = at.reshape(-1, 2).T
        raw: Any = raw_rows(vectors, rows, found.composed)
        units = unit_length(raw)
        lengths = _sums(_products(raw, units))
        products = _products(units[a], units[b])
        cosines = _sums(products).round(DIGITS)
        gold, folds = np.column_stack([~linked, linked]), self.numbers[found.items]
        with ONE_THREAD:
            predicted, _ = out_of_fold(_probe, dense(products), gold, folds)
        probe = ranks_within(folds, predicted)[:, 1]
        return {"cosine": cosines, "dot": cosines * lengths[a] * lengths[b], "probe": probe}


def _probe(rows: np.ndarray, gold: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return how likely new rows are linked, learned from a sample of the others."""
    step = -(-len(rows) // _LEARNING)
    return label_scores(rows[::step], gold[::step], new)


def _sums(products: Any) -> np.ndarray:
    """Return the sum of each row."""
    return np.asarray(products.sum(axis=1), dtype=np.float64).ravel()


def _products(a: Any, b: Any) -> Any:
    """Return the products of each dimension."""
    return a * b if isinstance(a, np.ndarray) else a.multiply(b).tocsr()
