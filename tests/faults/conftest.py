"""Shared fixtures: small finished artifacts and a server of processes to damage."""

import functools
import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from firth.corpora.artifacts.artifact import CHECKSUMS, verify
from firth.corpora.encoding.build import build_corpus
from firth.corpora.text.segment import TextSettings
from firth.corpora.tokenizer.pieces import SPECIAL, Pieces
from tests.faults.table import CALLS
from tests.pretrain.small_run import small_encoder, small_pieces, write_run
from tests.pretrain.small_training import chains, corpus_of
from tests.processes import Fault, ForkServer, Result

# contain times, speeds, or object names of a pickle
_OTHER_EACH_TIME = (
    ".lock", "provenance.json", CHECKSUMS, "metrics.jsonl", "vectors.kv", "study.toml",
)  # fmt: skip


@pytest.fixture(scope="session")
def inputs(server, tmp_path_factory) -> Path:
    """Text, a corpus, a run, an encoder, evaluation sets and a cache; read-only."""
    folder = tmp_path_factory.mktemp("inputs")
    lines = chains(n_lines=1000, n_words=150)
    corpus = corpus_of(folder, lines, name="corpus")
    corpus_of(folder, chains(n_lines=500, n_words=150, seed=3), name="later")
    (folder / "later.txt").unlink()
    (folder / "corpus.txt").rename(folder / "text.txt")
    training = "--dim 8 --min-count 1 --epochs 1 --threads 1"
    result = server.run(
        ["train-skipgram", corpus.path, "--out", folder / "run", *training.split()], folder
    )
    assert result.status == 0, result.stderr
    encoder = small_encoder(pieces=small_pieces("\n".join(lines), 60))
    write_run(folder / "mlm", encoder, corpus)
    encoder = small_encoder(pieces=encoder.pieces, causal=True)
    write_run(folder / "clm", encoder, corpus)
    (folder / "verbs.tsv").write_text("ab\tba\tN\n" * 20 + "bc\tcb\tV\n" * 20)
    of_pairs = build_corpus(
        folder / "verbs.tsv", folder / "verbs", words=TextSettings(pattern="pairs")
    )
    pieces = Pieces([*SPECIAL, "⇥", *"abcNV+", *(f"##{letter}" for letter in "NV")])
    encoder = small_encoder(pieces=pieces, decoder_layers=2, sentinels=1)
    write_run(folder / "inflect", encoder, of_pairs)
    (folder / "lines.txt").write_text("\n".join(lines[:20]))
    options = ["--per", "sentence", "--device", "cpu", "--out"]
    encode = ["encode", folder / "mlm", folder / "lines.txt", *options, folder / "lines"]
    assert server.run(encode, folder).status == 0
    with open(folder / "speeches.jsonl", "w", encoding="utf-8") as file:
        for n, line in enumerate(lines[:300]):
            file.write(json.dumps({"text": line, "party": "AB"[n % 2]}) + "\n")
    keep = ["--keep", "party", "--keep-text", "--out", folder / "speeches"]
    assert server.run(["build-corpus", folder / "speeches.jsonl", *keep], folder).status == 0
    np.savetxt(folder / "matrix.txt", np.eye(8))
    (folder / "pairs.tsv").write_text(
        "".join(f"word{n}\tword{(n * 7 + 3) % 150}\t{n % 11}\n" for n in range(40))
    )
    rated = (f"word{n}\t{n % 7}\n" for n in range(60))
    (folder / "ratings.tsv").write_text("word\tvalence\n" + "".join(rated))
    labeled = (f"{n % 2} word{n} word{n + 2 * (n % 7)} word{n * 3 % 150}\n" for n in range(60))
    (folder / "labels.txt").write_text("".join(labeled))
    return folder


@pytest.fixture
def workdir(inputs, tmp_path) -> Path:
    """A working folder whose cache has what takes seconds to compute."""
    shutil.copytree(inputs / "cache", tmp_path / "workdir" / "cache")
    return tmp_path / "workdir"


@dataclass(frozen=True)
class Reference:
    """A command without faults: its result, hashes of its outputs, and their greatest size."""

    result: Result
    contents: dict[str, str]
    largest: int


@dataclass(frozen=True)
class Work:
    """A command in a working folder, which is run with and without faults."""

    server: ForkServer
    inputs: Path
    folder: Path
    name: str
    expected: Reference

    def words(self, place: object = None) -> list[str]:
        """Return the command with outputs in a place, by default the working folder."""
        return [self.name, *CALLS[self.name].line(self.inputs, place or self.folder)]

    def run(self, fault: Fault | None = None, *more: str, place: object = None) -> Result:
        """Run the command."""
        return self.server.run([*self.words(place), *more], self.folder, fault)

    def contents(self) -> dict[str, str]:
        """Return the hashes of its outputs."""
        return {each: content_hash(self.folder / each) for each in CALLS[self.name].makes}


@pytest.fixture
def work(server, inputs, workdir, reference, name) -> Work:
    """The command ``name``, to be run in the working folder."""
    return Work(server, inputs, workdir, name, reference(name))


@pytest.fixture(scope="session")
def reference(server, inputs, tmp_path_factory) -> Callable[[str], Reference]:
    """Return a function that runs a command without faults, once."""

    @functools.cache
    def ask(name: str) -> Reference:
        folder = tmp_path_factory.mktemp(name) / "workdir"
        shutil.copytree(inputs / "cache", folder / "cache")
        result = server.run([name, *CALLS[name].line(inputs, folder)], folder)
        assert result.status == 0, result.stderr
        assert leftovers(folder, CALLS[name].makes) == []
        outputs = [folder / each for each in CALLS[name].makes]
        files = [file for path in outputs for file in (path, *path.rglob("*")) if file.is_file()]
        largest = max((file.stat().st_size for file in files), default=0)
        return Reference(result, {path.name: content_hash(path) for path in outputs}, largest)

    return ask


def content_hash(path: Path) -> str:
    """Hash a file or folder, ignoring times, speeds and its location."""
    files = [path] if path.is_file() else sorted(path.rglob("*"))
    digest = hashlib.sha256()
    for file in files:
        if file.is_file() and file.name not in _OTHER_EACH_TIME:
            digest.update(f"{file.relative_to(path)}\n".encode())
            digest.update(file.read_bytes().replace(str(path.parent).encode(), b"PLACE"))
    return digest.hexdigest()


def is_intact(path: Path) -> bool:
    """Return whether a file exists or a folder matches its checksums."""
    if (path / CHECKSUMS).is_file():
        verify(path)
        return True
    return path.is_file()


def leftovers(workdir: Path, names: tuple[str, ...]) -> list[str]:
    """Return what a folder contains besides a command's outputs and the cache."""
    return sorted({path.name for path in workdir.iterdir()} - {"cache", *names})
