"""Encoding on a cluster: tasks over blocks of sentences, which write what is made of their states.

The sentences are in files, so that a worker needs neither corpus nor text; it opens the encoder
once. A task computes in one thread, as with more the last digits of states are others.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import open_array, write_array
from firth.corpora.artifacts.artifact import fingerprint, read_json, scratch_of_file, write_json
from firth.corpora.artifacts.atomic import refuse_overwrite
from firth.corpora.artifacts.tasks import TaskFolder, WorkerTask
from firth.corpora.common.cluster import open_executor
from firth.corpora.common.errors import SettingError
from firth.corpora.common.reporting import Progress, no_progress
from firth.corpora.text.joining import SpelledWords
from firth.corpora.text.trees import ParsedSentence
from firth.embed.contextual.encoded_text import (
    WORDS_AT_ONCE,
    EncodeConfig,
    Form,
    LineBatch,
    Lines,
    batches,
    new_output,
    refuse_trees,
    rows_of,
)
from firth.embed.contextual.encoders import encoder_fingerprint, encoder_run, open_encoder
from firth.embed.contextual.pooling import BlockSums, sum_states
from firth.embed.contextual.sentence_selection import Block
from firth.embed.protocols import ContextualEncoder
from firth.embed.vectors.one_thread import ONE_THREAD

_ARRAYS = ("words", "sums", "counts")
_ROWS = "rows"
Encoder = tuple[Path, str]  # its run, and the fingerprint of that


class EncodingTasks:
    """Encodes blocks of sentences on an executor, in the order of the blocks."""

    def __init__(self, executor: Executor, run: Path, scratch: Path) -> None:
        run = encoder_run(run).resolve()
        self.tasks = TaskFolder(executor, scratch)
        self._encoder = run, encoder_fingerprint(run)

    def sums(
        self,
        blocks: Iterable[Block],
        layers: Sequence[int],
        masked: bool,
        show: Progress,
        n_tokens: int,
    ) -> Iterator[BlockSums]:
        """Yield the sums of each block, as pooling does here."""
        made = ((_block_to_json(*block), len(block[1])) for block in blocks)
        for _, folder in self._run("pool", pool_block, made, (layers, masked), show):
            words, sums, counts = (open_array(folder, name) for name in _ARRAYS)
            yield words, sums, counts

    def rows(
        self, blocks: Iterable[Lines], layers: Sequence[int], form: Form, show: Progress
    ) -> Iterator[tuple[Lines, bytes]]:
        """Yield each block of lines with what is written of it, as encoding does here."""
        made = ((_lines_to_json(lines), sum(map(len, lines))) for lines in blocks)
        for path, folder in self._run("encode-lines", encode_block, made, (layers, form), show):
            yield _lines_from_json(read_json(path)), (folder / _ROWS).read_bytes()

    def finish(self) -> dict[str, Any]:
        """Remove the files of all tasks; return what the provenance says about the workers."""
        self.tasks.remove()
        return {"cluster": sorted(self.tasks.cpus)}

    def _run(
        self,
        name: str,
        function: Callable[..., None],
        blocks: Iterable[tuple[Any, int]],
        settings: tuple[Any, ...],
        show: Progress,
    ) -> Iterator[tuple[Path, Path]]:
        """Run a task for each block, of some size; then yield their files and folders in order."""
        text = self.tasks.new_folder("text")
        text.mkdir(parents=True)
        tasks, sizes, done = [], [], 0
        for number, (block, size) in enumerate(blocks):
            path = text / f"{number:05}.json"
            write_json(path, block)
            key = fingerprint([self._encoder[1], settings, block])
            arguments = path, self._encoder, *settings
            tasks.append(WorkerTask(f"{name}-{number:05}", function, arguments, key))
            sizes.append(size)
        for number, _ in self.tasks.run(tasks, exact=False):
            done += sizes[number]
            show(done, sum(sizes))
        for task in tasks:
            yield task.arguments[0], self.tasks.path_of(task)


def cluster_device(device: str) -> str:
    """Return where workers compute; raise if another device was asked for."""
    if device not in ("auto", "cpu"):
        raise SettingError(f"`device={device}`: a cluster encodes on CPUs; pass `device=cpu`")
    return "cpu"


def encode_on(
    cluster: str | Executor,
    run: Path,
    source: Path,
    out: Path,
    config: EncodeConfig,
    *,
    force: bool = False,
    show: Progress = no_progress,
) -> int:
    """Encode a text on a cluster; see ``encode_file``."""
    refuse_overwrite(out, force)  # before workers start
    if not out.suffix:
        raise SettingError(
            f"`out={out}`: a cluster writes no folder; pass a name in .npz or .jsonl"
        )
    run = encoder_run(run).resolve()
    encoder = open_encoder(run, "cpu")
    refuse_trees(encoder)
    maker = {"command": "encode", "run": encoder_fingerprint(run), **asdict(config)}
    with (
        open_executor(cluster) as executor,
        scratch_of_file(out, maker, force=force) as scratch,
        new_output(encoder, out, config, force) as (writer, layers),
    ):
        assert executor
        read = batches(encoder.words, source, WORDS_AT_ONCE, config.per)
        tasks = EncodingTasks(executor, run, scratch)
        for lines, rows in tasks.rows((b.lines for b in read), layers, writer.form, show):
            writer.add(LineBatch(lines, (), ()), rows)
    return writer.n_lines


def pool_block(
    folder: Path, path: Path, encoder: Encoder, layers: Sequence[int], masked: bool
) -> None:
    """Write the sums of a block's states by word."""
    block = _block_from_json(read_json(path))
    with ONE_THREAD:
        found = sum_states(_opened(*encoder), block, layers, masked)
    for name, array in zip(_ARRAYS, found, strict=True):
        write_array(folder, name, array)


def _block_to_json(sentences: Sequence[Sequence[str]], words: np.ndarray) -> dict[str, Any]:
    """Return a block as JSON, with the heads of its sentences if it has trees."""
    governors = [each.heads.tolist() for each in sentences if isinstance(each, ParsedSentence)]
    return {"sentences": sentences, "words": words.tolist(), "governors": governors}


def _block_from_json(made: dict[str, Any]) -> Block:
    """Return the block that was made into JSON."""
    sentences = made["sentences"]
    if made["governors"]:
        governors = (np.array(each, np.int64) for each in made["governors"])
        sentences = [*map(ParsedSentence, sentences, governors)]
    return sentences, np.array(made["words"], np.int32)


def _lines_to_json(lines: Lines) -> list[Any]:
    """Return lines as JSON, with their text if it is known."""
    return [
        {"words": line, **vars(line)} if isinstance(line, SpelledWords) else line for line in lines
    ]


def _lines_from_json(made: list[Any]) -> Lines:
    """Return the lines that were made into JSON."""
    return [SpelledWords(**line) if isinstance(line, dict) else line for line in made]


def encode_block(
    folder: Path, path: Path, encoder: Encoder, layers: Sequence[int], form: Form
) -> None:
    """Write what the output contains of some lines."""
    lines = _lines_from_json(read_json(path))
    with ONE_THREAD:
        states = _opened(*encoder).encode(lines, layers)
    (folder / _ROWS).write_bytes(rows_of(lines, states, form))


@functools.lru_cache(maxsize=1)
def _opened(run: Path, _fingerprint: str) -> ContextualEncoder:
    """Open an encoder once in a process; again if its run was replaced."""
    return open_encoder(run, "cpu")
