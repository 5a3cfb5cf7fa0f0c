"""Mutated files and how readers handle them; called in a process of limited memory.

A reader may read any file or raise FirthError. Tests look for everything else: another exception, a
hang, unlimited memory, a crash.
"""

import argparse
import contextlib
import io
import json
import pkgutil
import random
import signal
import struct
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.faults.fuzz_seeds import SETS, SOURCES, VECTORS

CPU_SECONDS = 20  # limit per file
READ, REFUSED = "read", "refused in one line"

# Values to put in the at of a number or a string in JSON.
STRANGE: tuple[Any, ...] = (
    None, True, -1, 0, 1e308, 10**18, 10**400, "", "../../etc/passwd", "x" * 300, [], {}, [[]],
    "\ud800", {"a": None},
)  # fmt: skip


def _archive() -> bytes:
    """Return a valid zip archive, which numpy takes for an .npz."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("../a.npy", b"a")
    return held.getvalue()


_ARCHIVE = _archive()


def _open_vectors(path: Path) -> object:
    from firth.embed.formats.vector_files import load_vectors

    return load_vectors(path)


def _open_run(path: Path) -> object:
    import numpy as np

    from firth.embed.formats.vector_files import load_vectors

    vectors = load_vectors(path)
    _ = vectors.contexts
    return np.asarray(vectors.matrix[:1]), vectors.counts, vectors.words("Some text"), vectors.text


def _open_encoder(path: Path) -> object:
    from firth.pretrain.inference.mlm_encoder import open_run

    return open_run(path, device="cpu")


def _open_corpus(path: Path) -> object:
    from firth.corpora.store.corpus import Corpus

    corpus = Corpus.open(path)
    corpus.verify()
    return corpus.advice(), [len(shard.documents) for shard in corpus.shards], corpus.text


def _read_source(path: Path) -> object:
    from firth.corpora.reading.readers import read
    from firth.corpora.reading.text_blocks import ReadOptions

    return [raw.parse() for raw in read([path], ReadOptions())]


def _read_replaced(path: Path) -> object:
    """Read a source in small blocks, with invalid bytes replaced."""
    from firth.corpora.reading.readers import read
    from firth.corpora.reading.text_blocks import ReadOptions

    encoding = "utf-16" if "utf16" in path.name else "utf-8"
    options = ReadOptions(errors="replace", encoding=encoding, unescape=True)
    return [raw.parse() for raw in read([path], options, block_bytes=200)]


OPENERS: dict[str, Callable[[Path], object]] = {
    "vectors": _open_vectors,
    "run": _open_run,
    "encoder": _open_encoder,
    "corpus": _open_corpus,
    "source": _read_source,
}


def problem(opener: str, path: str | Path) -> str:
    """Describe how reading a file failed; empty if it was read or refused in one line."""
    found = outcome(OPENERS[opener], path)
    return "" if found in (READ, REFUSED) else found


def outcome(open_file: Callable[[Path], object], path: str | Path) -> str:
    """Return whether a file is read, or refused in one line, or else describe how that failed."""
    from firth.corpora.common.errors import FirthError

    def late(*_: object) -> None:
        raise TimeoutError("timed out")

    signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    try:
        open_file(Path(path))
    except FirthError as error:
        line = str(error)
        is_short = len(line) < 2000 and "\n" not in line
        return REFUSED if is_short else f"a long message: {line[:200]!r}"
    except BaseException as error:  # a Rust panic is not an Exception  # noqa: BLE001
        return repr(error)[:300]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return READ


def problems(opener: str, file: str, target: str, seed: int, count: int) -> list[tuple[str, str]]:
    """Mutate one file in ``count`` ways and return each mutation with the problem it caused.

    ``target`` is what is opened: the file itself or the folder that contains it.
    """
    content = Path(file).read_bytes()
    found = []
    for description, mutated in mutations(content, seed, count):
        Path(file).unlink(missing_ok=True)
        Path(file).write_bytes(mutated)
        if message := problem(opener, Path(target)):
            found.append((description, message))
    Path(file).write_bytes(content)
    return found


def resealed_problems(opener: str, folder: str, file: str) -> list[tuple[str, str]]:
    """Put strange values at every position of an artifact's JSON file, with correct checksums."""
    from firth.corpora.artifacts.artifact import CHECKSUMS, checksums, write_json

    path = Path(folder) / file
    content = path.read_bytes()
    found = []
    for description, value in replacements(json.loads(content), STRANGE):
        path.write_text(json.dumps(value))
        write_json(Path(folder) / CHECKSUMS, checksums(Path(folder)))
        if message := problem(opener, Path(folder)):
            found.append((description, message))
    path.write_bytes(content)
    write_json(Path(folder) / CHECKSUMS, checksums(Path(folder)))
    return found


def replacements(value: Any, values: Sequence[Any], at: str = "") -> Iterator[tuple[str, Any]]:
    """Yield variants of a JSON value with one position missing or replaced by each value."""
    for strange in values:
        yield f"{at or '/'} = {strange!r:.40}", strange
    if isinstance(value, dict):
        for key, inside in value.items():
            yield f"{at}/{key} missing", {k: v for k, v in value.items() if k != key}
            for description, other in replacements(inside, values, f"{at}/{key}"):
                yield description, {**value, key: other}
    elif isinstance(value, list) and value:
        for description, other in replacements(value[0], values, f"{at}/0"):
            yield description, [other, *value[1:]]


def mutations(content: bytes, seed: int, count: int) -> Iterator[tuple[str, bytes]]:
    """Yield mutated copies of some bytes; most mutations are near the start."""
    rng = random.Random(seed)
    yield "a zip archive", _ARCHIVE
    yield "the head of a zip archive", _ARCHIVE[:30]
    for number in range(count):
        data = bytearray(content)
        mutate = _MUTATIONS[number % len(_MUTATIONS)]
        at = min(int(len(data) * rng.random() ** 4), len(data) - 1)
        mutate(data, at, rng)
        yield f"{mutate.__name__} at {at} (number {number})", bytes(data)


def _flip(data: bytearray, at: int, rng: random.Random) -> None:
    data[at] ^= 1 << rng.randrange(8)


def _cut(data: bytearray, at: int, _: random.Random) -> None:
    del data[at:]


def _huge(data: bytearray, at: int, rng: random.Random) -> None:
    """Overwrite four or eight bytes by an extreme integer."""
    form, value = rng.choice(
        [("<i", 2**31 - 1), ("<i", -1), ("<q", 2**63 - 1), ("<q", 2**40), ("<I", 2**32 - 1)]
    )
    data[at : at + struct.calcsize(form)] = struct.pack(form, value)


def _digits(data: bytearray, at: int, rng: random.Random) -> None:
    data[at:at] = rng.choice([b"9" * 30, b"1e999", b"nan", b"-", b" ", b"\n"])


def _repeat(data: bytearray, at: int, _: random.Random) -> None:
    data[at:at] = data[at : at + 50] * 20


def _remove(data: bytearray, at: int, _: random.Random) -> None:
    del data[at : at + 7]


def _noise(data: bytearray, at: int, rng: random.Random) -> None:
    data[at : at + 16] = rng.randbytes(16)


def _token(data: bytearray, at: int, rng: random.Random) -> None:
    """Insert what means something in a format, or a character that is seldom thought of."""
    data[at:at] = rng.choice(_TOKENS)


def _swap(data: bytearray, _: int, rng: random.Random) -> None:
    """Exchange two lines."""
    lines = data.split(b"\n")
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    data[:] = b"\n".join(lines)


_TOKENS = [
    each.encode()
    for each in (
        "\t", "\r", "\0", "\x0b", "\x1c", "\x1d", "\x85", "\u2028", "\ufeff", "\u00ad\n", '"', "'",
        "<s>", "</doc>", "<doc ", "<page>", "</page>", "<TEI>", "<!--", "]]>", "&#0;",
        "&#99999999;", "&amp;", "&lt;", "[[", "]]", "{{", "}}", "{|", "|}", "-{", "}-", "__A__",
        "#", "# newdoc", "1-2\t", "1.1\t", "-DOCSTART- O\n", "{", "[", "\\ud800", "null", "İ", "ǆ",
        "\U0001f60a", ": ", "nan", "1e999", "½", "٣", "²",
    )
]  # fmt: skip
_MUTATIONS = (_flip, _cut, _huge, _digits, _repeat, _remove, _noise, _token, _swap)


def _cases() -> Iterator[tuple[str, Callable[[Path], object], bytes]]:
    """Yield the name, the reader and the contents of each seed."""
    for name, text in SOURCES.items():
        content = text if isinstance(text, bytes) else text.encode()
        yield f"source {name}", _read_source, content
        yield f"replaced {name}", _read_replaced, content
    for name, content in VECTORS.items():
        yield f"vectors {name}", _open_vectors, content
    model = Path(__file__).parents[1] / "embed" / "formats" / "data" / "fasttext-small.bin"
    yield "vectors fasttext", _open_vectors, model.read_bytes()
    for name, (reader, text) in SETS.items():
        read = pkgutil.resolve_name(f"firth.embed.compare.datasets.{reader}")
        yield f"set {name}", read, text.encode()


def count_outcomes(count: int, seed: int, folder: Path) -> dict[str, Any]:
    """Mutate every seed in turn, ``count`` times in all, and count what its reader does."""
    rng, cases = random.Random(seed), list(_cases())
    counts: dict[str, Counter[str]] = {name: Counter() for name, *_ in cases}
    failures: list[tuple[str, str, str]] = []
    for number in range(count):
        name, read, content = cases[number % len(cases)]
        data = bytearray(content)
        for _ in range(rng.choice((1, 1, 2, 5))):
            if data:
                at = min(int(len(data) * rng.random() ** 2), len(data) - 1)
                rng.choice(_MUTATIONS)(data, at, rng)
        path = folder / name.partition(" ")[2]
        path.write_bytes(data)
        found = outcome(read, path)
        if found not in (READ, REFUSED):
            failed = folder / f"failure-{seed}-{number}"
            failed.write_bytes(data)
            failures.append((name, found, str(failed)))
            found = "anything else"
        counts[name][found] += 1
    totals = sum(counts.values(), Counter[str]())
    return {"seed": seed, **totals, "by reader": counts, "failures": failures[:100]}


def main() -> None:
    """Print what readers do with mutated files, as a line of JSON."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=None, help="folder of files that failed")
    options = parser.parse_args()
    folder = options.out or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.redirect_stderr(io.StringIO()):
        found = count_outcomes(options.count, options.seed, folder)
    print(json.dumps(found, ensure_ascii=False))


if __name__ == "__main__":
    main()
