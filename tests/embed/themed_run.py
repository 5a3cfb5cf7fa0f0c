"""A run on documents about themes, in which all words but one are frequent enough for intervals."""

import json
from pathlib import Path

import numpy as np

from firth.corpora.encoding.pipeline import encode_corpus
from firth.corpora.encoding.request import BuildOptions, make_request
from firth.embed.svd.train import SvdConfig, make_svd_run

WORDS = [f"sea{n}" for n in range(24)]  # near to those of the next numbers, in a circle
RARE = "rare"  # in too few documents for intervals


def themed_run(folder: Path) -> Path:
    """Return a run of SVD whose corpus lies beside it."""
    rng = np.random.default_rng(3)
    with open(folder / "a.jsonl", "w", encoding="utf-8") as file:
        for n in range(240):
            numbers = np.round(rng.normal(n, 3, 24)).astype(int) % len(WORDS)
            words = [WORDS[each] for each in numbers] + [RARE] * 4 * (n == 30)
            file.write(json.dumps({"text": " ".join(words)}) + "\n")
    request = make_request([folder / "a.jsonl"], options=BuildOptions(held_out=0))
    corpus = encode_corpus(request, folder / "corpus")
    config = SvdConfig(dim=6, window=3, min_count=1, threads=1, device="cpu", subsample=0)
    return make_svd_run(corpus, config, folder / "run")
