"""Files that somebody bent, and what readers make of them: called in a process of bounded memory.

What a reader may do with any file is to read it or to refuse it by a FirthError. All else (another
exception, a hang, memory without bound, a crash of the process) is what the tests look for.
"""

import io
import json
import random
import signal
import struct
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

SECONDS = 20  # of a processor for one file

# What somebody may write in the place of a number or a text in JSON.
STRANGE: tuple[Any, ...] = (
    None, True, -1, 0, 1e308, 10**18, 10**400, "", "../../etc/passwd", "x" * 300, [], {}, [[]],
    "\ud800", {"a": None},
)  # fmt: skip


def _archive() -> bytes:
    """A sound zip archive, which numpy takes for one of its own."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("../a.npy", b"a")
    return held.getvalue()


_ARCHIVE = _archive()


def _open_vectors(path: Path) -> object:
    from embed.formats.vector_files import load_vectors

    return load_vectors(path)


def _open_run(path: Path) -> object:
    import numpy as np

    from embed.formats.vector_files import load_vectors

    vectors = load_vectors(path)
    _ = vectors.contexts
    return np.asarray(vectors.matrix[:1]), vectors.counts, vectors.words("Some text"), vectors.text


def _open_encoder(path: Path) -> object:
    from pretrain.inference.mlm_encoder import open_run

    return open_run(path, device="cpu")


def _open_corpus(path: Path) -> object:
    from corpora.store.corpus import Corpus

    corpus = Corpus.open(path)
    corpus.verify()
    return corpus.advice(), [len(shard.documents) for shard in corpus.shards], corpus.text


def _read_source(path: Path) -> object:
    from corpora.reading.readers import ReadOptions, read

    return [raw.parse() for raw in read([path], ReadOptions())]


OPENERS: dict[str, Callable[[Path], object]] = {
    "vectors": _open_vectors,
    "run": _open_run,
    "encoder": _open_encoder,
    "corpus": _open_corpus,
    "source": _read_source,
}


def complaint(opener: str, path: str | Path) -> str:
    """What is wrong with how a file was taken; empty where it was read, or refused in one line."""
    from corpora.common.errors import FirthError

    def late(*_: object) -> None:
        raise TimeoutError("it hangs")

    signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        OPENERS[opener](Path(path))
    except FirthError as error:
        line = str(error)
        return "" if len(line) < 2000 and "\n" not in line else f"a long message: {line[:200]!r}"
    except BaseException as error:  # a library's panic is no Exception  # noqa: BLE001
        return repr(error)[:300]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return ""


def complaints(opener: str, file: str, whole: str, seed: int, count: int) -> list[tuple[str, str]]:
    """Bend one file of what is opened in many ways; what is wrong with how each was taken.

    Parameters
    ----------
    opener : str
        A key of OPENERS.
    file : str
        The file to bend.
    whole : str
        What is opened: the file itself, or the folder that has it.
    seed, count : int
        Which ways, and how many.
    """
    content = Path(file).read_bytes()
    found = []
    for about, worse in bent(content, seed, count):
        Path(file).unlink(missing_ok=True)
        Path(file).write_bytes(worse)
        if wrong := complaint(opener, Path(whole)):
            found.append((about, wrong))
    Path(file).write_bytes(content)
    return found


def sealed_complaints(opener: str, folder: str, file: str) -> list[tuple[str, str]]:
    """Put strange values at every place of a JSON file of an artifact, and seal it anew."""
    from corpora.artifacts.artifact import CHECKSUMS, checksums, write_json

    path = Path(folder) / file
    content = path.read_bytes()
    found = []
    for about, value in replaced(json.loads(content), STRANGE):
        path.write_text(json.dumps(value))
        write_json(Path(folder) / CHECKSUMS, checksums(Path(folder)))
        if wrong := complaint(opener, Path(folder)):
            found.append((about, wrong))
    path.write_bytes(content)
    write_json(Path(folder) / CHECKSUMS, checksums(Path(folder)))
    return found


def replaced(value: Any, values: Sequence[Any], at: str = "") -> Iterator[tuple[str, Any]]:
    """A JSON value with one place after the other holding each of some values, or missing."""
    for strange in values:
        yield f"{at or '/'} = {strange!r:.40}", strange
    if isinstance(value, dict):
        for key, inside in value.items():
            yield f"{at}/{key} missing", {k: v for k, v in value.items() if k != key}
            for about, other in replaced(inside, values, f"{at}/{key}"):
                yield about, {**value, key: other}
    elif isinstance(value, list) and value:
        for about, other in replaced(value[0], values, f"{at}/0"):
            yield about, [other, *value[1:]]


def bent(content: bytes, seed: int, count: int) -> Iterator[tuple[str, bytes]]:
    """Copies of some bytes with damage of many sorts, most of it at the beginning."""
    chance = random.Random(seed)
    yield "a zip archive", _ARCHIVE
    yield "the head of a zip archive", _ARCHIVE[:30]
    for number in range(count):
        data = bytearray(content)
        sort = _SORTS[number % len(_SORTS)]
        place = min(int(len(data) * chance.random() ** 4), len(data) - 1)
        sort(data, place, chance)
        yield f"{sort.__name__} at {place} (number {number})", bytes(data)


def _flip(data: bytearray, place: int, chance: random.Random) -> None:
    data[place] ^= 1 << chance.randrange(8)


def _cut(data: bytearray, place: int, _: random.Random) -> None:
    del data[place:]


def _huge(data: bytearray, place: int, chance: random.Random) -> None:
    """Four or eight bytes become a number at a border of what such can hold."""
    form, value = chance.choice(
        [("<i", 2**31 - 1), ("<i", -1), ("<q", 2**63 - 1), ("<q", 2**40), ("<I", 2**32 - 1)]
    )
    data[place : place + struct.calcsize(form)] = struct.pack(form, value)


def _digits(data: bytearray, place: int, chance: random.Random) -> None:
    data[place:place] = chance.choice([b"9" * 30, b"1e999", b"nan", b"-", b" ", b"\n"])


def _repeat(data: bytearray, place: int, _: random.Random) -> None:
    data[place:place] = data[place : place + 50] * 20


def _remove(data: bytearray, place: int, _: random.Random) -> None:
    del data[place : place + 7]


def _noise(data: bytearray, place: int, chance: random.Random) -> None:
    data[place : place + 16] = chance.randbytes(16)


_SORTS = (_flip, _cut, _huge, _digits, _repeat, _remove, _noise)
