"""Damage to every file of every artifact: a one-line error, or the same result."""

import shutil
import zlib

import pytest

from tests.faults.damage import INTACT, damages_of
from tests.faults.table import CALLS, SINGLE

RUN_COMMANDS = "tests.faults.damage:run_commands"
# without slow commands that read a corpus as the others do
COMMANDS = [name for name in SINGLE if name not in ("train-mlm", "train-cbow", "learning-curve")]
FILES = {
    "run": ("vectors.npy", "contexts.npy", "vocabulary.tsv", "config.json", "checksums.json"),
    "mlm": (
        "vectors.npy", "vocabulary.tsv", "config.json", "checksums.json", "model.safetensors",
        "tokenizer.json",
    ),
    "corpus": (
        "manifest.json", "checksums.json", "shards/00000/ids.npy", "shards/00000/documents.npy",
        "vocabulary/words.text.npy", "vocabulary/counts.npy",
    ),
}  # fmt: skip
# these map their files and do not verify checksums, or only before they are indexed
MAPPED = (
    "neighbors", "similarity", "analogy", "map", "concordance", "collocates", "why", "differ",
    "explore",
)  # fmt: skip


def some_of(file: str) -> list[str]:
    """Return three damages of a file, always the same; all files together cover all damages."""
    names = list(damages_of(file))
    first = zlib.crc32(file.encode())
    return [names[(first + step) % len(names)] for step in range(0, len(names), len(names) // 3)]


@pytest.mark.parametrize(
    ("artifact", "file"), [(artifact, file) for artifact, files in FILES.items() for file in files]
)
def test_a_damaged_file_gives_a_one_line_error_or_the_same_result(
    server, inputs, workdir, artifact, file
):
    damaged = shutil.copytree(
        inputs, workdir.parent / "damaged", ignore=shutil.ignore_patterns("cache")
    )
    names = [name for name in COMMANDS if artifact in CALLS[name].reads]
    lines = [[name, *CALLS[name].line(damaged, workdir)] for name in names]
    results = server.call(
        RUN_COMMANDS, lines, damaged / artifact / file, workdir, some_of(file), workdir=workdir
    )
    assert len(results) == len(lines) * (1 + len(some_of(file)))
    right = {number: stdout for damage, number, _, stdout, *_ in results if damage == INTACT}
    for damage, number, status, stdout, stderr, uncaught in results:
        name = names[number]
        assert uncaught == "", (damage, name)
        if status == 0:
            assert name in MAPPED or stdout == right[number], (damage, name)
        else:
            assert damage != INTACT, (name, stderr)
            last = stderr.rstrip("\n").splitlines()[-1]
            assert status == 1
            assert last.startswith("Error: "), (damage, name, stderr)
            assert f"{damaged / artifact}" in last, (damage, name, stderr)
