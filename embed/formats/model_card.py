"""The card of exported vectors: how they were made, and their scores where they were compared."""

from collections.abc import Iterator
from typing import Any

from firth.corpora.artifacts.artifact import CHECKSUMS, fingerprint, read_json
from firth.corpora.common.errors import ArtifactError
from firth.embed.runs.run import Run
from firth.embed.vectors.word_vectors import WordVectors

CARD = "README.md"
COMPARISON = "comparison.json"  # of a comparison that is kept as a run


def model_card(vectors: WordVectors) -> str:
    """Return Markdown about vectors, with the scores of comparisons that lie beside their run."""
    lines = [
        "---", "library_name: model2vec", "tags: [word-vectors, sentence-similarity]", "---",
        f"# {vectors.name}", "",
        f"{len(vectors):,} words, {vectors.dim} dimensions, exported by Firth.",
    ]  # fmt: skip
    if vectors.path is None or not (vectors.path / CHECKSUMS).is_file():
        return "\n".join(lines) + "\n"
    run = Run.open(vectors.path)
    made, text = run.provenance, run.provenance.get("text", {})
    about = {
        "method": run.method,
        "command": " ".join(map(str, made.get("command", [])[1:])),
        "Firth": made.get("packages", {}).get("firth"),
        "commit": made.get("git", {}).get("commit") if isinstance(made.get("git"), dict) else None,
        "made": made.get("end"),
        "text": ", ".join(map(str, text.get("sources", []))),
        "tokens": text.get("tokens"),
        "documents": text.get("documents"),
    }
    lines += ["", "## How they were made", ""]
    lines += [f"- {name}: {value}" for name, value in about.items() if value]
    if scores := list(_scores(run)):
        lines += ["", f"## Scores of the run {run.path.resolve().name}", ""]
        lines += ["In brackets 95 % intervals.", ""]
        lines += ["| set | metric | vectors | score | items |", "|---|---|---|---|---|", *scores]
    return "\n".join(lines) + "\n"


def _scores(run: Run) -> Iterator[str]:
    """Yield rows of scores of a run, and of one-hot vectors, in comparisons beside it."""
    checksum = fingerprint(read_json(run.path / CHECKSUMS))
    for file in sorted(run.path.parent.glob(f"*/{COMPARISON}")):
        try:
            document = read_json(file)
            names = [e["run"] for e in document["runs"] if e["fingerprint"] == checksum]
            yield from (
                f"| {each['dataset']} | {each['metric']} | {each['run']} | "
                f"{_number(each['score'])}{_interval(each)} | {each['items_used']:,} |"
                for each in (document["results"] if names else ())
                if each["run"] in (*names, "one-hot")
                and each["score"] is not None
                and each["shared_items"]
                and "section" not in each
            )
        except (ArtifactError, KeyError, TypeError):  # damaged, or of another version
            continue


def _interval(result: dict[str, Any]) -> str:
    """Return the interval of a result."""
    bounds = [result["low"], result["high"]]
    return "" if None in bounds else f" [{' '.join(map(_number, bounds))}]"


def _number(value: float) -> str:
    """Return a score with three decimals."""
    return f"{value:.3f}"
