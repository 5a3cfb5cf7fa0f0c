"""Words of one text found in the space of another: our maps, and gensim's TranslationMatrix.

SVD and skip-gram vectors of two texts are mapped by the 2,000 or 5,000 most frequent shared words,
or by all of them; 1,500 shared words are only tested. The texts are the first 25 MB of AA and of
AC, of the reporting part; nothing is chosen by these figures. gensim's map is learned by gensim
from the same pairs and tested by our retrieval.
"""

import argparse
import lzma
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import harness
import numpy as np
import roles

import firth
from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.console import bare, print_table
from firth.embed.align.mapping import apply
from firth.embed.align.pairs import Pairs, shared_pairs
from firth.embed.align.retrieval import precision
from firth.embed.vectors.search import unit_matrix

ROLE = roles.REPORTING
TEXTS = ("enwiki2015-AA", "enwiki2015-AC")
DIM, EPOCHS = 100, 5
TESTED, BELOW = 1_500, 20_000  # words to test, and the last rank they may have
PAIRS = (2_000, 5_000, None)
SEED = 1


def options(parser: argparse.ArgumentParser) -> None:
    """Add the size of the texts."""
    parser.add_argument("--megabytes", type=int, default=25, help="of each text, from its start")


def train(folder: Path, megabytes: int) -> dict[str, list[Any]]:
    """Return the vectors of both texts by method."""
    made: dict[str, list[Any]] = {"svd": [], "skipgram": []}
    for name in TEXTS:
        text = folder / f"{name}.txt"
        with lzma.open(roles.open_text(name, role=ROLE)) as file:
            start = file.read(megabytes * 1_000_000)
        text.write_bytes(start[: start.rindex(b"</doc>") + 7])
        corpus = firth.build_corpus(text, folder / name)
        made["svd"].append(firth.train_svd(corpus, firth.SvdConfig(dim=DIM)))
        config = firth.SkipGramConfig(dim=DIM, epochs=EPOCHS)
        made["skipgram"].append(firth.train_skipgram(corpus, config))
    return made


def held_out(a: Any, b: Any, path: Path) -> Pairs:
    """Choose the words to test, write them as a dictionary and return their rows."""
    pairs = shared_pairs(a, b, None)
    possible = np.flatnonzero(np.maximum(pairs.a, pairs.b) < BELOW)
    chosen = np.random.default_rng(SEED).choice(possible, TESTED, replace=False)
    words = [a.vocabulary[row] for row in pairs.a[chosen].tolist()]
    path.write_text("".join(f"{word}\t{word}\n" for word in words), encoding="utf-8")
    return Pairs(pairs.a[chosen], pairs.b[chosen])


def by_gensim(a: Any, b: Any, tested: Pairs, most: int | None) -> dict[str, Any]:
    """Learn the map of gensim by the same pairs; test it as ours."""
    from gensim.models import TranslationMatrix

    pairs = shared_pairs(a, b, most)
    used = pairs.take(~np.isin(pairs.a, tested.a))
    words = [a.vocabulary[row] for row in used.a.tolist()]
    model = TranslationMatrix(a.to_gensim(), b.to_gensim(), [(word, word) for word in words])
    mapped = apply(unit_matrix(a.matrix), np.asarray(model.translation_matrix, np.float64))
    mapped /= np.linalg.norm(mapped, axis=1, keepdims=True)
    found = precision(mapped, unit_matrix(b.matrix), tested, len(b), SEED)
    return record(found, len(used))


def record(found: list[Any], used: int) -> dict[str, Any]:
    """Return one result as JSON."""
    scores = {f"{each.retrieval} {each.at}": asdict(each) for each in found}
    return {"pairs": used, **scores}


def main() -> None:
    """Train, map, test."""
    arguments = harness.parse(__doc__, more=options)
    results: dict[str, dict[str, Any]] = {}
    about: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        made = train(Path(name), arguments.megabytes)
        for method, (a, b) in made.items():
            file = Path(name) / f"{method}.txt"
            tested = held_out(a, b, file)
            about[method] = {
                "words": [len(a), len(b)], "shared": len(shared_pairs(a, b, None)),
                "tested": len(tested), "tokens": [int(v.counts.sum()) for v in (a, b)],
            }  # fmt: skip
            for most in PAIRS:
                for how in ("procrustes", "vecmap"):
                    config = firth.AlignConfig(
                        method=how, max_vocabulary=most, restrict=0, seed=SEED
                    )
                    found = firth.align_vectors(a, b, config, test=file)
                    used = found.about["pairs"]["used"]
                    results[f"{method} {most or 'all'} {how}"] = record(found.precision, used)
                results[f"{method} {most or 'all'} gensim"] = by_gensim(a, b, tested, most)
    keys = ["cosine 1", "cosine 5", "csls 1", "csls 5"]
    rows = [
        [name, each["pairs"], *(
            f"{bare(each[key]['score'])} [{bare(each[key]['low'])} {bare(each[key]['high'])}]"
            for key in keys
        )]
        for name, each in results.items()
    ]  # fmt: skip
    print_table(["vectors, pairs, map", "pairs", *keys], rows)
    print(about)
    if arguments.json:
        whole = {"benchmark": "Alignment", "results": results, "vectors": about}
        machine = harness.machine()
        machine["command"] = ["benchmarks/bench_align.py", "--json", "align.json"]
        write_json(arguments.json, {**whole, **machine})


if __name__ == "__main__":
    main()
