"""Small finished things to hurt, made once, and a warm process to hurt them in."""

import hashlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from corpora.artifacts.artifact import CHECKSUMS, verify
from tests.faults.children import Ended, Warm
from tests.faults.table import CALLS
from tests.pretrain.small_run import small_encoder, small_pieces, write_run
from tests.pretrain.small_training import chains, corpus_of

# times, speeds, and the names of objects in a pickle
_OTHER_EACH_TIME = (
    ".lock",
    "provenance.json",
    CHECKSUMS,
    "metrics.jsonl",
    "vectors.kv",
    "study.toml",
)


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    """The server of warm processes."""
    server = Warm()
    yield server
    server.end()


@pytest.fixture(scope="session")
def shelf(warm, tmp_path_factory) -> Path:
    """Text, a corpus, a run of vectors, an encoder, a set and a cache; nobody writes here."""
    folder = tmp_path_factory.mktemp("shelf")
    lines = chains(n_lines=1000, n_words=150)
    corpus = corpus_of(folder, lines, name="corpus")
    (folder / "corpus.txt").rename(folder / "text.txt")
    training = "--dim 8 --min-count 1 --epochs 1 --threads 1"
    ended = warm.run(
        ["train-skipgram", corpus.path, "--out", folder / "run", *training.split()], folder
    )
    assert ended.status == 0, ended.said
    encoder = small_encoder(pieces=small_pieces("\n".join(lines), 60))
    write_run(folder / "mlm", encoder, corpus)
    (folder / "lines.txt").write_text("\n".join(lines[:20]))
    (folder / "pairs.tsv").write_text(
        "".join(f"word{n}\tword{(n * 7 + 3) % 150}\t{n % 11}\n" for n in range(40))
    )
    labeled = (f"{n % 2} word{n} word{n + 2 * (n % 7)} word{n * 3 % 150}\n" for n in range(60))
    (folder / "labels.txt").write_text("".join(labeled))
    return folder


@pytest.fixture
def place(shelf, tmp_path) -> Path:
    """A folder to work in, whose cache has what takes seconds to derive."""
    folder = tmp_path / "place"
    folder.mkdir()
    shutil.copytree(shelf / "cache", folder / "cache")
    return folder


@pytest.fixture(scope="session")
def undisturbed(warm, shelf, tmp_path_factory) -> Callable[[str], tuple[Ended, dict[str, str]]]:
    """How a command ends to which nothing happens, and what it makes."""
    kept: dict[str, tuple[Ended, dict[str, str]]] = {}

    def ask(name: str) -> tuple[Ended, dict[str, str]]:
        if name not in kept:
            folder = tmp_path_factory.mktemp(name) / "place"
            shutil.copytree(shelf / "cache", folder / "cache")
            ended = warm.run([name, *CALLS[name].line(shelf, folder)], folder)
            assert ended.status == 0, ended.said
            assert beside(folder, CALLS[name].makes) == []
            kept[name] = ended, {each: made(folder / each) for each in CALLS[name].makes}
        return kept[name]

    return ask


def made(path: Path) -> str:
    """Name the content of a file, or of a folder, but for times and speeds and where it stands."""
    files = [path] if path.is_file() else sorted(path.rglob("*"))
    digest = hashlib.sha256()
    for file in files:
        if file.is_file() and file.name not in _OTHER_EACH_TIME:
            digest.update(f"{file.relative_to(path)}\n".encode())
            digest.update(file.read_bytes().replace(str(path.parent).encode(), b"PLACE"))
    return digest.hexdigest()


def whole(path: Path) -> bool:
    """Whether a file or folder is one that a reader may believe in: checksums of a folder hold."""
    if (path / CHECKSUMS).is_file():
        verify(path)
        return True
    return path.is_file()


def beside(place: Path, names: tuple[str, ...]) -> list[str]:
    """What lies in a place besides a command's output and the cache."""
    return sorted({path.name for path in place.iterdir()} - {"cache", *names})
