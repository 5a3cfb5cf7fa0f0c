"""What `firth regress` finds: differences that were made, none where there are none; its speed.

- guide: the printed figures of conText's guide, from its texts, vectors and matrix.
- null: covariates of real speeches that are dealt out anew to documents, by kind of covariate:
  the share of p <= .05.
- planted: generated text, in which the company of some words differs between two parties in a
  share of paragraphs, and the frequency of others; the share of p <= .05 by occurrences.
- coverage: how often intervals from texts of 200,000 and a million tokens contain what a text of 32
  million has, with the same vectors and matrix.
- matrices: the mean cosine of words that the matrix was not estimated from, by its settings.
- case: *labor* in the State of the Union addresses by party and date.
- speed: a word of 54,000 occurrences in 20 million tokens of Wikipedia (enwiki2015-AB), with two
  made-up fields, 200 permutations and 100 groups, as a process, without and with a kept matrix.
"""

import argparse
import csv
import json
import lzma
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import harness
import numpy as np
import roles

import tests.embed.change.planted_changes as synthetic
from firth import ReadOptions, build_corpus, load_vectors
from firth.corpora.artifacts.artifact import read_json, write_json
from firth.corpora.datasets.synthetic import SyntheticConfig
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.search import Search
from firth.corpora.text.segment import TextSettings
from firth.embed.regress.config import RegressConfig
from firth.embed.regress.least_squares import Cells, Fit
from firth.embed.regress.occurrences import Surroundings, find_topic
from firth.embed.regress.regress import regress
from firth.embed.regress.transform import KEPT, TransformSettings, estimate
from firth.embed.svd.train import SvdConfig, make_svd_run
from firth.embed.vectors.word_vectors import WordVectors

ROLE = roles.REPORTING
PERMUTATIONS = 199
OCCURRENCES = (50, 100, 200, 400)
SHARES = (0.1, 0.2, 0.3, 0.5)
SPEED_WORD = "this"


def options(parser: argparse.ArgumentParser) -> None:
    """Add sizes."""
    parser.add_argument("--trials", type=int, default=2000, help="of each kind of covariate")
    parser.add_argument("--texts", type=int, default=20, help="generated texts of each kind")
    parser.add_argument("--repeats", type=int, default=5, help="of the timed process")
    parser.add_argument("--part", choices=PARTS, action="append", help="only these")


def main() -> None:
    """Measure everything, or some parts beside what the file has of others, and write it down."""
    arguments = harness.parse(__doc__, more=options)
    with tempfile.TemporaryDirectory() as name:
        parts = arguments.part or PARTS
        found = {part: PARTS[part](Path(name), arguments) for part in parts}
    print(json.dumps(found, indent=1, ensure_ascii=False))
    if arguments.json:
        old = read_json(arguments.json) if arguments.part else {"benchmark": "Regression"}
        write_json(arguments.json, {**old, **found, **harness.machine()})


def speeches(name: str) -> Iterator[dict[str, str]]:
    """Yield texts with their fields."""
    csv.field_size_limit(1 << 30)
    with lzma.open(roles.open_file(f"regression/{name}.tsv.xz"), "rt", encoding="utf-8") as lines:
        yield from csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)


def corpus_of(
    path: Path, documents: Any, keep: Sequence[str], text: TextSettings | None = None
) -> Corpus:
    """Build a corpus of documents with fields."""
    with open(path.with_suffix(".jsonl"), "w", encoding="utf-8") as lines:
        for document in documents:
            lines.write(json.dumps(document) + "\n")
    return build_corpus(
        path.with_suffix(".jsonl"), path, words=text, read=ReadOptions(keep=tuple(keep))
    )


def congress(folder: Path) -> tuple[Corpus, dict[str, Path]]:
    """Return the corpus of conText's guide, of words of three letters, and its vectors."""
    given = {}
    for key, name in (("vectors", "cr_glove_subset"), ("transform", "cr_transform")):
        source = roles.open_file(f"regression/congress/{name}.txt.xz")
        given[key] = folder / f"{name}.txt"
        given[key].write_bytes(lzma.decompress(source.read_bytes()))
    texts = [
        row | {"text": " ".join(word for word in row["text"].split() if len(word) > 2)}
        for row in speeches("congress/cr_sample_corpus")
    ]
    keep = ("party", "gender", "nominate_dim1")
    plain = TextSettings(segmenter="whitespace")
    return corpus_of(folder / "congress", texts, keep, plain), given


def guide(folder: Path, _: argparse.Namespace) -> list[dict[str, Any]]:
    """Return figures of the guide beside ours."""
    corpus, given = congress(folder)
    config = RegressConfig(window=6, cluster="occurrence", permutations=100)
    [fields] = regress(corpus.path, "immigration", "party,gender", config, **given)
    words = ["reform", "enforcement"]
    [party] = regress(corpus.path, "immigr*", "party", config, words=words, **given)
    rows = []
    for each, squared, debiased in zip(
        fields.coefficients, (10.139940, 6.908761), (8.668252, 5.154713), strict=True
    ):
        rows.append((f"squared length, {each.name}", squared, each.squared))
        rows.append((f"less bias, {each.name}", debiased, each.debiased))
    cosines = [(group.name, near) for group in party.groups for near in group.words]
    printed = (0.5949757, 0.6059709, 0.4270958, 0.5968879)
    for (name, near), theirs in zip(cosines, printed, strict=True):
        rows.append((f"cosine of {near.word}, {name}", theirs, near.cosine))
    ratios = {each.word: each.ratio for each in party.ratios}
    for word, theirs in (
        ("illegal", 1.1834716),
        ("amnesty", 1.1716428),
        ("illegally", 1.1232888),
        ("immigrants", 1.0070933),
        ("undocumented", 0.9008638),
        ("broken", 0.7631982),
    ):
        rows.append((f"ratio of {word}, R by D", theirs, ratios[word]))
    return [{"figure": n, "guide": a, "firth": round(b, 7)} for n, a, b in rows]


def null(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the shares of p <= .05 of dealt out covariates, by their kind."""
    corpus, given = congress(folder)
    search, vectors = Search(corpus), load_vectors(given["vectors"])
    hits = find_topic(search, "immigration")
    surroundings = Surroundings(search, vectors, 6)
    means = surroundings.means(*surroundings.around(hits))
    documents, places = np.unique(search.documents_of(hits.starts), return_inverse=True)
    sums = np.zeros((len(documents), vectors.dim))
    np.add.at(sums, places, means @ np.loadtxt(given["transform"]).T)
    sums = sums @ np.linalg.qr(sums.T)[0]  # as long, in fewer dimensions
    sizes = np.bincount(places).astype(float)
    rng = np.random.default_rng(0)
    rows = [row for n, row in enumerate(speeches("congress/cr_sample_corpus")) if n in {*documents}]
    party = np.array([row["party"] == "R" for row in rows], float)
    gender = np.array([row["gender"] == "M" for row in rows], float)
    score = np.array([float(row["nominate_dim1"]) for row in rows])
    level = rng.integers(0, 3, len(rows))
    one, few = np.ones(len(rows)), np.arange(len(rows)) < 8
    clusters = np.sort(rng.integers(0, 90, len(rows)))
    own = np.arange(len(rows))
    kinds = {
        "two levels": ([one, party], 1, own),
        "two levels, beside another field": ([one, party, gender], 1, own),
        "one of three levels": ([one, level == 1, level == 2], 1, own),
        "a level of 8 documents": ([one, few], 1, own),
        "number": ([one, score], 1, own),
        "product of a level and a number": ([one, party, score, party * score], 3, own),
        "number, clusters of 3 documents": ([one, score], 1, clusters),
    }
    found = []
    for number, (name, (columns, tested, units)) in enumerate(kinds.items()):
        design = np.stack(columns, axis=1).astype(float)
        weights = np.eye(design.shape[1])[tested]
        small = 0
        for trial in range(arguments.trials):
            dealt = np.random.default_rng([number, trial]).permutation(len(design))
            cells = Cells(design[dealt], sizes, sums, np.unique(units, return_inverse=True)[1])
            small += Fit(cells, 2, trial).contrast(weights, weights, PERMUTATIONS).p <= 0.05
        share = small / arguments.trials
        half = 1.96 * np.sqrt(share * (1 - share) / arguments.trials)
        ends = {"low": round(share - half, 4), "high": round(share + half, 4)}
        found.append({"covariate": name, "share": share, **ends})
    return {"trials": arguments.trials, "permutations": PERMUTATIONS, "kinds": found}


def planted(folder: Path, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the share of p <= .05 by what differs, its share of paragraphs, and occurrences."""
    company = [word for pair in synthetic.company_pairs() for word in pair]
    frequency = [word for pair in synthetic.frequency_pairs() for word in pair]
    found: list[dict[str, Any]] = []
    for share in SHARES:
        p: dict[tuple[str, int], list[float]] = {}
        for seed in range(arguments.texts):
            texts = synthetic.changing_documents(
                SyntheticConfig(n_tokens=1_000_000, seed=seed), share
            )
            documents = ({"text": text, "party": party} for party, text in texts)
            place = folder / f"planted-{share}-{seed}"
            corpus = corpus_of(place, documents, ["party"])
            run = folder / f"svd-{share}-{seed}"
            make_svd_run(corpus, SvdConfig(dim=100), run)
            for n in OCCURRENCES:
                config = RegressConfig(permutations=PERMUTATIONS, occurrences=n, seed=seed)
                for kind, words in (("company", company), ("frequency", frequency)):
                    for each in regress(run, words, "party", config, lines=0, k=1):
                        if abs(each.occurrences - n) <= n // 10:
                            p.setdefault((kind, n), []).append(each.coefficients[0].p or 1.0)
        for kind in ("company", "frequency"):
            of_kind = {n: np.array(p.get((kind, n), [])) for n in OCCURRENCES}
            found.append(
                {"differs": kind, "paragraphs": share}
                | {str(n): round(float((each <= 0.05).mean()), 3) for n, each in of_kind.items()}
                | {"words": {str(n): len(each) for n, each in of_kind.items()}}
            )
    return found


def coverage(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return how often intervals of small texts contain what a large one has."""
    topics = [word for pair in synthetic.company_pairs() for word in pair]

    def corpus(name: str, n_tokens: int, seed: int) -> Corpus:
        texts = synthetic.changing_documents(SyntheticConfig(n_tokens=n_tokens, seed=seed), 0.3)
        documents = ({"text": text, "party": party} for party, text in texts)
        return corpus_of(folder / name, documents, ["party"])

    large, run = corpus("large", 32_000_000, 1000), folder / "large-svd"
    make_svd_run(large, SvdConfig(dim=100), run)
    matrix = estimate(WordVectors.open(run), large, TransformSettings(5, "log", None)).matrix
    np.save(folder / "matrix.npy", matrix)
    given: dict[str, Any] = {"vectors": run, "transform": folder / "matrix.npy", "lines": 0}
    config = RegressConfig(permutations=19, occurrences=1_000_000)
    first = regress(large.path, topics, "party", config, **given)
    words = sorted({near.word for each in first for near in each.groups[0].nearest})
    given |= {"words": words, "k": 1}
    truth = regress(large.path, topics, "party", config, **given)
    rows = []
    for n_tokens in (200_000, 1_000_000):
        inside: dict[str, list[bool]] = {"squared length": [], "cosine": [], "ratio": []}
        occurrences = []
        for seed in range(arguments.texts):
            small = corpus(f"small-{n_tokens}-{seed}", n_tokens, seed)
            for found, true in zip(
                regress(small.path, topics, "party", config, **given), truth, strict=True
            ):
                if found.coefficients[0].low is None:  # too rare
                    continue
                occurrences += [group.occurrences for group in found.groups]
                length = true.coefficients[0].debiased
                inside["squared length"].append(contains(found.coefficients[0], length))
                for ours, theirs in zip(found.groups, true.groups, strict=True):
                    cosines = zip(ours.words, theirs.words, strict=True)
                    inside["cosine"] += [
                        contains(a, b.cosine) for a, b in cosines if a.low is not None
                    ]
                ratios = {each.word: each.ratio for each in true.ratios}
                shared = [each for each in found.ratios if each.word in ratios]
                inside["ratio"] += [contains(each, ratios[each.word]) for each in shared]
        rows.append(
            {"tokens": n_tokens, "occurrences": round(float(np.median(occurrences)))}
            | {name: round(float(np.mean(each)), 3) for name, each in inside.items()}
            | {"words": len(inside["squared length"])}
        )
    return {"texts": arguments.texts, "sizes": rows}


def contains(interval: Any, number: float) -> bool:
    """Return whether an interval contains a number."""
    return bool(interval.low <= number <= interval.high)


def matrices(folder: Path, _: argparse.Namespace) -> list[dict[str, Any]]:
    """Return how well words left out are found, by weights and threshold."""
    corpus, vectors = wikipedia(folder)
    rows = []
    for weights, min_count in (
        ("log", None), ("log", 20), ("log", 500), ("none", None), ("count", None),
    ):  # fmt: skip
        found = estimate(vectors, corpus, TransformSettings(5, weights, min_count))
        rows.append({
            "weights": weights, "min_count": min_count, "words": found.words,
            "cosine": round(found.cosine or 0, 3),
        })  # fmt: skip
    return rows


def wikipedia(folder: Path) -> tuple[Corpus, WordVectors]:
    """Return a corpus of Wikipedia with made-up fields, and vectors of it."""
    place, run = folder / "wikipedia", folder / "wikipedia-svd"
    if not run.is_dir():
        rng = np.random.default_rng(1)
        documents = (
            {"text": text, "party": "DRI"[rng.integers(3)], "year": str(1900 + rng.integers(100))}
            for text in roles.articles("enwiki2015-AB", role=ROLE)
        )
        make_svd_run(corpus_of(place, documents, ["party", "year"]), SvdConfig(dim=300), run)
    return Corpus.open(place), WordVectors.open(run)


def speed(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Time the command, without and with a kept matrix."""
    corpus, vectors = wikipedia(folder)
    assert vectors.path is not None
    command = [
        sys.executable, "-m", "firth", "regress", str(vectors.path), SPEED_WORD,
        "--by", "party,year", "--permutations", "200",
    ]  # fmt: skip
    harness.run_process(command)  # indexes the corpus

    def before(name: str) -> None:
        if name == "matrix estimated":
            (vectors.path / KEPT).unlink()  # type: ignore[operator]

    timed = harness.time_processes(
        {"matrix estimated": command, "matrix kept": command}, arguments.repeats, before=before
    )
    return {
        "tokens": corpus.n_tokens,
        "documents": corpus.n_documents,
        "occurrences": len(Search(corpus).find(SPEED_WORD)),
        "runs": [
            {
                "run": name,
                "seconds": round(each.median, 1),
                "peak_gb": round(max(each.peak_bytes) / 1e9, 2),
            }
            for name, each in timed.items()
        ],
    }


def case(folder: Path, _: argparse.Namespace) -> dict[str, Any]:
    """Regress *labor* in the State of the Union addresses by party and date."""
    corpus = corpus_of(folder / "sotu", addresses(), ["President", "party", "Date"])
    make_svd_run(corpus, SvdConfig(), folder / "sotu-svd")
    [found] = regress(folder / "sotu-svd", "labor", "party,Date", words=["wages"])
    return {
        "occurrences": found.occurrences,
        "documents": found.documents,
        "coefficients": [
            {
                "covariate": each.name, "squared length": float(f"{each.squared:.3g}"),
                **{name: value if value is None else float(f"{value:.3g}")
                   for name, value in (("less bias", each.debiased), ("low", each.low),
                                       ("high", each.high), ("p", each.p))},
            }
            for each in found.coefficients
        ],
    }  # fmt: skip


def addresses() -> Iterator[dict[str, str]]:
    """Yield the addresses, a line for each paragraph."""
    for row in speeches("speeches/sotu"):
        yield row | {"text": row["text"].replace(" \N{PILCROW SIGN} ", "\n")}


PARTS = {
    "guide": guide, "null": null, "planted": planted, "coverage": coverage, "matrices": matrices,
    "speed": speed, "case": case,
}  # fmt: skip

if __name__ == "__main__":
    main()
