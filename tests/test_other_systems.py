"""Commands without what Windows lacks: modules, functions, and files that move while in use.

It shows what can be seen on Linux alone: no test here has seen Windows.
"""

import json
import os
import re

import numpy as np
import pytest

from firth.corpora.common.system import file_name
from tests.as_windows import OpenFiles
from tests.run_python import run_python

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="needs /proc")

WORDS = "cat dog mat rug sat saw the a on under house tree red blue green ran fast Katze Hund 猫 Å"
BUILD = "build-corpus texts.jsonl --out corpus --keep dc:title,year --keep-text --threads 1"
COMMANDS = """
train-svd corpus --out svd --dim 4 --min-count 1
train-svd corpus --out svd --dim 4 --min-count 1 --force
train-skipgram corpus --out skipgram --dim 4 --min-count 1 --epochs 1
neighbors svd 猫 -k 2
compare svd skipgram pairs.tsv --out comparison
concordance corpus cat --csv
map svd cat dog mat --plot map.svg
export svd --format word2vec-text svd.txt
"""
MORE_COMMANDS = """
build-corpus texts.jsonl --dry-run
change corpus --by year --periods 1900-1910,1940-1960 --dim 4
train-mlm corpus --out mlm --preset 1/16/2 --steps 2 --min-count 1 --threads 1
export mlm --format huggingface folder
encode mlm text.txt --out words.npz
"""


def split(commands):
    return [line.split() for line in commands.splitlines() if line]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with texts of two periods, whose field has a colon, and with pairs of words."""
    folder, rng = tmp_path_factory.mktemp("windows"), np.random.default_rng(1)
    texts = [" ".join(rng.choice(WORDS.split(), 40)) + ". New York." for _ in range(200)]
    records = [
        {"text": text, "dc:title": f"t{number}", "year": str(1900 + number % 2 * 50)}
        for number, text in enumerate(texts)
    ]
    lines = "".join(f"{json.dumps(record)}\n" for record in records)
    (folder / "texts.jsonl").write_text(lines, encoding="utf-8")
    (folder / "text.txt").write_text("\n".join(texts[:9]), encoding="utf-8")
    pairs = "cat\tdog\t9\nmat\trug\t8\ncat\tmat\t2\nthe\ta\t7\nred\tblue\t6\n"
    (folder / "pairs.tsv").write_text(pairs, encoding="utf-8")
    return folder


@pytest.mark.process
def test_commands_run_without_what_windows_lacks(server, folder, root):
    commands = split(f"{BUILD} --phrases ratio{COMMANDS}")
    done = run_python(
        "-X", "warn_default_encoding", "-m", "tests.as_windows", json.dumps(commands), str(folder),
        cwd=root, env={**os.environ, "PYTHONIOENCODING": "cp1252"}, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []
    assert re.search("^猫 +2  ", done.stderr, re.MULTILINE)
    assert (folder / "corpus/shards/00000/field.dc%3Atitle.text.npy").exists()
    # torch has been imported by then, which has other code on Windows
    refused = server.call(
        "tests.as_windows:run_commands", split(MORE_COMMANDS), folder, workdir=folder
    )
    assert refused == []


def test_files_in_use_are_noticed_when_they_move(tmp_path):
    files = OpenFiles(tmp_path.resolve())
    np.save(tmp_path / "a.npy", np.arange(3))
    files("os.rename", (tmp_path / "a.npy", tmp_path / "b.npy", -1, -1))
    assert files.refused == []
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    files("os.rename", (tmp_path, tmp_path.with_name("b"), -1, -1))
    files("open", (str(tmp_path / "a.npy"), "wb", os.O_TRUNC))
    files("os.remove", ("a.npy", 7))
    assert [line.split()[0] for line in files.refused] == ["os.rename", "shortens"]
    del mapped


@pytest.mark.parametrize(
    ("text", "name"),
    [("dc:title", "dc%3Atitle"), ("a/b%", "a%2Fb%25"), ("Å ?", "Å %3F"), ("\t", "%09")],
)
def test_names_of_files_have_no_character_that_windows_refuses(text, name):
    assert file_name(text) == name
