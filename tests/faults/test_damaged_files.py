"""Every file of every artifact, damaged: commands say so in one line, or do not need it."""

import shutil
import zlib

import pytest

from tests.faults.damage import WHOLE, damages_of
from tests.faults.table import ALONE, CALLS

ANSWERS = "tests.faults.damage:answers"
# the slow ones, whose reading of a corpus is that of the others
TAKEN = [name for name in ALONE if name not in ("train-mlm", "train-cbow", "learning-curve")]
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
# what is mapped and asked for one word is not read as a whole, and so not held against checksums
MAPPED = ("neighbors", "similarity", "analogy", "map")


def some_of(file: str) -> list[str]:
    """Three damages of a file, the same every time; over all files, all of them."""
    names = list(damages_of(file))
    first = zlib.crc32(file.encode())
    return [names[(first + step) % len(names)] for step in range(0, len(names), len(names) // 3)]


@pytest.mark.parametrize(
    ("artifact", "file"), [(artifact, file) for artifact, files in FILES.items() for file in files]
)
def test_a_damaged_file_is_told_in_one_line_or_not_needed(warm, shelf, place, artifact, file):
    hurt = shutil.copytree(shelf, place.parent / "hurt", ignore=shutil.ignore_patterns("cache"))
    names = [name for name in TAKEN if artifact in CALLS[name].reads]
    lines = [[name, *CALLS[name].line(hurt, place)] for name in names]
    told = warm.call(ANSWERS, lines, hurt / artifact / file, place, some_of(file), place=place)
    assert len(told) == len(lines) * (1 + len(some_of(file)))
    right = {number: printed for damage, number, _, printed, *_ in told if damage == WHOLE}
    for damage, number, status, printed, said, escaped in told:
        name = names[number]
        assert escaped == "", (damage, name)
        if status == 0:
            assert name in MAPPED or printed == right[number], (damage, name)
        else:
            assert damage != WHOLE, (name, said)
            last = said.rstrip("\n").splitlines()[-1]
            assert status == 1
            assert last.startswith("Error: "), (damage, name, said)
            assert f"{hurt / artifact}" in last, (damage, name, said)
