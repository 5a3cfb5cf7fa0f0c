"""What all vectors formats share when they are written: whole or absent, nothing bent."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from corpora.errors import ArtifactError

_DISK_BLOCK = 1 << 24


def refuse_unholdable(words: Sequence[str], format: str, gaps: str = " \t\r\n") -> None:
    """Refuse words that a format cannot hold.

    Parameters
    ----------
    words : sequence of str
        By row.
    format : str
        Its name, for the message.
    gaps : str
        Characters that separate words there.

    Raises
    ------
    ArtifactError
        Names the first such word and its row.
    """
    joined = "\x00".join(words)
    if not any(gap in joined for gap in gaps) and "" not in words:
        return
    for row, word in enumerate(words):
        if not word or any(gap in word for gap in gaps):
            why = "white space separates words there" if word else "a word cannot be empty there"
            raise ArtifactError(
                f"format {format} cannot hold the word {word!r} (row {row}): {why}; "
                "choose another format"
            )


def dense_block(matrix: Any, start: int, stop: int) -> np.ndarray:
    """Take rows of a matrix as floats, whatever it is.

    Parameters
    ----------
    matrix : float32 (V, D) or scipy.sparse CSR (V, D)
        The vectors.
    start, stop : int
        Which rows.

    Returns
    -------
    float32 (stop - start, D)
        Dense.
    """
    block = matrix[start:stop]
    return np.asarray(block if isinstance(block, np.ndarray) else block.toarray(), np.float32)


def blocks(matrix: Any) -> Iterator[np.ndarray]:
    """Walk over a matrix in blocks of a few MB.

    Parameters
    ----------
    matrix : float32 (V, D) or scipy.sparse CSR (V, D)
        The vectors.

    Yields
    ------
    float32 (R, D)
        The next rows.
    """
    step = max(1, _DISK_BLOCK // (4 * max(1, matrix.shape[1])))
    for start in range(0, matrix.shape[0], step):
        yield dense_block(matrix, start, start + step)


@contextlib.contextmanager
def replacing(out: Path, force: bool, may_replace: Sequence[str] = ()) -> Iterator[Path]:
    """Make ``out`` (a file or a folder) in a folder of its own, and move it when it is whole.

    Parameters
    ----------
    out : Path
        What shall stand there in the end.
    force : bool
        Replace a file that stands there, or a folder that holds nothing but
        files named in ``may_replace``.
    may_replace : sequence of str
        Names of the files of such a folder.

    Yields
    ------
    Path
        Where to write: of the same name, in a new folder beside ``out``, which
        is removed afterwards with all that is left in it.

    Raises
    ------
    ArtifactError
        ``out`` exists, or cannot be written.
    """
    _refuse_existing(out, force, may_replace)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as folder:
            partial = Path(folder) / out.name
            yield partial
            _sync(partial)
            if out.is_dir():
                shutil.rmtree(out)
            os.replace(partial, out)
    except OSError as error:
        raise ArtifactError(f"{out}: cannot be written: {error.strerror or error}") from error


def _refuse_existing(out: Path, force: bool, may_replace: Sequence[str]) -> None:
    """A run or a folder of other things is not replaced, force or not."""
    if not out.exists():
        return
    if not force:
        raise ArtifactError(f"{out}: exists already; choose another OUT or pass --force")
    if out.is_dir() and not {path.name for path in out.iterdir()} <= set(may_replace):
        raise ArtifactError(f"{out}: is a folder that no export made; choose another OUT")


def _sync(path: Path) -> None:
    """Bring a file, or the files of a folder, to the disk."""
    for each in [*path.iterdir(), path] if path.is_dir() else [path]:
        descriptor = os.open(each, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
