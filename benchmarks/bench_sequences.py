"""Next items of sessions beside gensim's item2vec, and properties of molecules beside counts.

Settings are chosen on groceries, whose baskets have no order, and on ESOL; visits of a web site
(msweb) and BBBP are only reported.

    python benchmarks/bench_sequences.py --json benchmarks/results/sequences.json
"""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import harness
import roles

from firth.corpora.artifacts.artifact import write_json
from firth.embed.compare.api import compare
from firth.embed.compare.config import CompareConfig

FOLDER = "sequences"
FIRTH = [sys.executable, str(harness.ROOT / "cli.py")]
DIM = 100
COUNTS = f"train-svd --dim {DIM} --window all --subsample 0 --singular-power 1"
SKIPGRAM = f"train-skipgram --dim {DIM} --window all --subsample 0 --unigram-exponent"
EXPONENTS, EPOCHS = (0.75, 0.25, 0.0), (5, 20, 100)
# gensim's item2vec: a window as long as the longest basket
GENSIM = f"""
import sys
from gensim.models import Word2Vec
sessions = [line.split() for line in open(sys.argv[1]) if line.strip()]
model = Word2Vec(sessions, vector_size={DIM}, window=1000, sg=1, min_count=1, workers=2, seed=1,
                 sample=0, epochs=int(sys.argv[3]), ns_exponent=float(sys.argv[4]))
model.wv.save_word2vec_format(sys.argv[2])
"""
KEPT = ("run", "dataset", "metric", "score", "low", "high", "items_used", "items_total", "chance")
MOLECULES = {  # a set to its file and the column that is predicted
    "BBBP": ("labels", "BBBP.csv.xz", "p_np"),
    "ESOL": (
        "ratings",
        "ESOL_delaney-processed.csv.xz",
        "measured log solubility in mols per litre",
    ),
}


def main() -> None:
    """Measure and write the results."""
    arguments = harness.parse(__doc__, more=own_options)
    document: dict[str, Any] = {"machine": harness.machine()}
    document["machine"].pop("command")  # has paths
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        document["groceries"] = baskets(folder, "groceries", *divided(folder))
        document["msweb"] = baskets(
            folder,
            "msweb",
            harness.unpacked(data("sessions/msweb_train.txt.xz")),
            harness.unpacked(data("sessions/msweb_test.txt.xz")),
        )
        document["molecules"] = molecules(folder, arguments.epochs)
    if arguments.json:
        write_json(arguments.json, document)
    for part in ("groceries", "msweb", "molecules"):
        print(part, *document[part], sep="\n")


def own_options(parser: argparse.ArgumentParser) -> None:
    """Add the budget of the masked LM."""
    parser.add_argument("--epochs", type=float, default=10, help="of the masked LM of molecules")


def baskets(folder: Path, name: str, train: Path, test: Path) -> list[dict[str, Any]]:
    """Train on sessions by count vectors, skip-gram and gensim, and predict last items."""
    corpus = folder / name
    command = [*FIRTH, "build-corpus", str(train), "--tokens", "--held-out", "0", "--out"]
    harness.run_process([*command, str(corpus)])
    runs = {"svd": COUNTS} | {f"skipgram {x}": f"{SKIPGRAM} {x}" for x in EXPONENTS}
    paths = {}
    for run, options in runs.items():
        paths[run] = folder / f"{name}-{run}"
        method, *settings = options.split()
        harness.run_process([*FIRTH, method, str(corpus), *settings, "--out", str(paths[run])])
    for epochs in EPOCHS:
        for exponent in EXPONENTS:
            run = f"gensim {epochs} {exponent}"
            paths[run] = folder / f"{name}-{run}.txt"
            values = [str(train), str(paths[run]), str(epochs), str(exponent)]
            harness.run_process([sys.executable, "-c", GENSIM, *values])
    return scored(paths, f"next-item={test}")


def molecules(folder: Path, epochs: float) -> list[dict[str, Any]]:
    """Train on molecules without labels, and predict properties of others."""
    corpus = folder / "hiv"
    build = [*FIRTH, "build-corpus", str(data("molecules/HIV.csv.xz")), "--field", "smiles"]
    harness.run_process([*build, "--pattern", "smiles", "--out", str(corpus)])
    methods = {
        "svd": "train-svd --dim 100 --window 5",
        "mlm": f"train-mlm --preset tiny --epochs {epochs}",
    }
    paths = {run: folder / f"hiv-{run}" for run in methods}
    for run, options in methods.items():
        method, *settings = options.split()
        harness.run_process([*FIRTH, method, str(corpus), *settings, "--out", str(paths[run])])
    return [
        row
        for task, file, column in MOLECULES.values()
        for row in scored(paths, f"{task}={data(f'molecules/{file}')}:{column}")
    ]


def scored(runs: dict[str, Path], dataset: str) -> list[dict[str, Any]]:
    """Score runs on a set, on the items that all of them know."""
    compared = compare(dict(runs), CompareConfig(sets=(dataset,)))
    if compared.failures:
        sys.exit("\n".join(compared.failures))
    rows = [row for row in compared.document["results"] if row["shared_items"]]
    return [{key: row[key] for key in KEPT if key in row} for row in rows]


def divided(folder: Path) -> tuple[Path, Path]:
    """Divide the baskets of groceries: every tenth is asked for."""
    lines = (
        harness.unpacked(data("sessions/groceries_baskets.txt.xz"))
        .read_text(encoding="utf-8")
        .splitlines(keepends=True)
    )
    parts = folder / "groceries-train.txt", folder / "groceries-test.txt"
    chosen = [n % 10 == 9 for n in range(len(lines))]
    for part, wanted in zip(parts, (False, True), strict=True):
        text = "".join(line for line, asked in zip(lines, chosen, strict=True) if asked is wanted)
        part.write_text(text, encoding="utf-8")
    return parts


def data(name: str) -> Path:
    """Return a file of the sequences."""
    return roles.open_file(f"{FOLDER}/{name}")


if __name__ == "__main__":
    main()
