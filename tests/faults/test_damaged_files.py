"""Damage to every file of every artifact: a one-line error, or the same result."""

import shutil
import zlib

import pytest

from tests.faults.damage import INTACT, damages_of
from tests.faults.table import CALLS, SINGLE

RUN_COMMANDS = "tests.faults.damage:run_commands"
# without slow commands that read a corpus as the others do
SLOW = ("train-mlm", "train-cbow", "learning-curve", "change")
COMMANDS = [name for name in SINGLE if name not in SLOW]
FILES = {
    "run": ("vectors.npy", "contexts.npy", "vocabulary.tsv", "config.json", "checksums.json"),
    "mlm": (
        "vectors.npy", "vocabulary.tsv", "config.json", "checksums.json", "model.safetensors",
        "tokenizer.json",
    ),
    "lines": (
        "vectors.npy", "vocabulary.tsv", "config.json", "texts.text.npy", "texts.offsets.npy",
    ),
    "corpus": (
        "manifest.json", "checksums.json", "shards/00000/ids.npy", "shards/00000/documents.npy",
        "vocabulary/words.text.npy", "vocabulary/counts.npy",
    ),
}  # fmt: skip
# these map their files and do not verify checksums, or only before they are indexed
MAPPED = (
    "neighbors", "similarity", "analogy", "map", "concordance", "collocates", "why", "differ",
    "explore", "search",
)  # fmt: skip


def some_of(file: str) -> list[str]:
    """Return three damages of a file, always the same; all files together cover all damages."""
    names = list(damages_of(file))
    first = zlib.crc32(file.encode())
    return [names[(first + step) % len(names)] for step in range(0, len(names), len(names) // 3)]


@pytest.mark.parametrize("artifact", FILES)
def test_a_damaged_file_gives_a_one_line_error_or_the_same_result(
    server, inputs, workdir, artifact
):
    ignored = shutil.ignore_patterns("cache")
    damaged = shutil.copytree(inputs, workdir.parent / "damaged", ignore=ignored)
    names = [name for name in COMMANDS if artifact in CALLS[name].reads]
    lines = [[name, *CALLS[name].line(damaged, workdir)] for name in names]
    victims = {str(damaged / artifact / file): some_of(file) for file in FILES[artifact]}
    results = server.call(RUN_COMMANDS, lines, victims, workdir, workdir=workdir)
    assert len(results) == len(lines) * (1 + sum(map(len, victims.values())))
    right = {number: stdout for _, damage, number, _, stdout, *_ in results if damage == INTACT}
    for *case, number, status, stdout, stderr, uncaught in results:
        name = names[number]
        assert uncaught == "", (case, name)
        if status == 0:
            assert name in MAPPED or stdout == right[number], (case, name)
        else:
            assert INTACT not in case, (name, stderr)
            last = stderr.rstrip("\n").splitlines()[-1]
            assert status == 1
            assert last.startswith("Error: "), (case, name, stderr)
            assert f"{damaged / artifact}" in last, (case, name, stderr)
