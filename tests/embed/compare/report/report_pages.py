"""Documents and parts for tests of the report page."""

import numpy as np

from firth.embed.compare.config import CompareConfig
from firth.embed.compare.report.contents import Attention, ReportParts, RunFacts
from firth.embed.contextual.in_context import ContextAnswer
from firth.embed.query.word_map import WordMap
from firth.embed.vectors.neighbors import Neighbor


def result(run, score, low=None, high=None, **more):
    """A result on shared items."""
    return {
        "run": run, "task": "similarity", "dataset": "ws353", "metric": "spearman", "score": score,
        "low": low, "high": high, "items_used": 40, "items_total": 50, "unknown": "skip",
        "shared_items": True,
    } | more  # fmt: skip


def pair(a, b, difference, p, **more):
    """A difference of two runs."""
    return {
        "a": a, "b": b, "task": "similarity", "dataset": "ws353", "metric": "spearman",
        "difference": difference, "low": difference - 0.1, "high": difference + 0.1, "p": p,
    } | more  # fmt: skip


def plain_document(rows, pairs=()):
    """A document of these results, all of runs of one method."""
    runs = dict.fromkeys(row["run"] for row in rows)
    return {
        "runs": [{"run": run, "method": "m", "fingerprint": None} for run in runs],
        "results": rows,
        "pairs": list(pairs),
    }


def small_document(svd="out/svd", sg="out/sg", dataset="ws353"):
    """Two runs and a baseline: one set, whole and in a band, and intrinsic measures."""
    rows = ((svd, 0.5, 0.4, 0.6), (sg, 0.45, 0.3, 0.55), ("random", -0.02, -0.1, 0.1))
    results = [
        result(*row, dataset=dataset, **more)
        for more in ({}, {"section": "top 1,000"})
        for row in rows
    ]
    own = {"shared_items": False, "items_used": 45}
    results += [result(*row, dataset=dataset) | own for row in rows]
    pairs = [
        pair(svd, sg, 0.05, 0.4, dataset=dataset),
        pair(svd, "random", 0.52, 0.001, dataset=dataset),
        pair(sg, "random", 0.47, 0.03, dataset=dataset),
    ]
    about = {"metric": "mean_cosine", "low": 0.0, "high": 0.2, "words": 30}
    return {
        "runs": [
            {"run": svd, "method": "svd", "fingerprint": "a1"},
            {"run": sg, "method": "skipgram", "fingerprint": "b2"},
            {"run": "random", "method": "random", "fingerprint": None},
        ],
        "results": results,
        "pairs": pairs,
        "properties": [
            about | {"run": svd, "score": 0.1},
            about | {"run": sg, "score": None, "reason": f"odd {dataset}"},
            {"run": sg, "metric": "largest_hub", "score": 7.0, "low": None, "high": None,
             "words": 30, "word": dataset},
        ],
        "agreements": [
            {"a": svd, "b": sg, "metric": "neighbors", "score": 0.3, "low": 0.2, "high": 0.4,
             "words": 30},
        ],
        "failures": [f"{svd}: {dataset} is broken"],
    }  # fmt: skip


def all_parts(svd="out/svd", sg="out/sg", word="king"):
    """One example of every section of the page."""
    words = (word, "queen", "apple", "pear")
    places = np.array([[1.0, 0.0], [0.8, 0.3], [-1.0, 0.2], [-0.8, -0.5]])
    found = WordMap(words, ("people", "people", word, word), places, (0.4, 0.2))
    near = [Neighbor("queen", 0.7), Neighbor(word, 0.5)]
    weights = np.array([[[[0.9, 0.1], [0.25, 0.75]], [[0.5, 0.5], [0.5, 0.5]]]], np.float32)
    return ReportParts(
        config=CompareConfig(),
        maps={svd: found, sg: f"no map of {word}"},
        neighbors={word: {svd: near, sg: near[:1]}, "apple": {svd: near[1:], sg: []}},
        facts={
            svd: RunFacts({"method": "svd", "dim": 300, word: word}, {"command": ["a", word]}),
            sg: RunFacts({"method": "sg", "dim": 300, "text": {"case": True}}, {}),
        },
        attention={sg: [Attention(word, (word, "[SEP]"), (1,), weights)], svd: [f"no {word}"]},
        contexts={sg: [ContextAnswer(f"the [{word}] of", word, near)], svd: [f"no {word}"]},
    )
