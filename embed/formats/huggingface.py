"""Hugging Face folders as vectors: the table of input embeddings, read without any model's code.

A folder holds ``config.json``, the weights as safetensors and ``tokenizer.json``. Words that are
a single piece have a row; all others are the mean of their pieces. A pickle is never opened.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from corpora.artifacts.artifact import checksum, read_json
from corpora.common.console import note
from corpora.common.errors import ArtifactError
from corpora.tokenizer.external import StockPieces
from embed.vectors.word_vectors import WordVectors

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
TOKENIZER = "tokenizer.json"
HUGGINGFACE = "huggingface"
_TOKENIZER_OPTIONS = "tokenizer_config.json"
# What a module is called that looks pieces up, and what others of as many rows are called.
_TABLE = re.compile(r"embed|^wte$|^shared$")
_OTHER_TABLE = re.compile(r"position|type|out")
_SAVE = "AutoModel.from_pretrained(...).save_pretrained(...)"
_FETCH = "fetch it again"


class HuggingFaceVectors(WordVectors):
    """Input embeddings of a model; a :class:`~embed.protocols.StaticVectors`."""

    composed_of = "pieces"

    def __init__(self, pieces: StockPieces, table: np.ndarray, *, name: str) -> None:
        # table: float32 (R, D)
        words, ids = pieces.whole_words()
        super().__init__(words, table[ids], name=name)
        self._pieces = pieces
        self._table = table

    def vector(self, word: str) -> np.ndarray | None:
        """Give the vector of a word, of one that has no row as composed of its pieces."""
        # returns float32 (D,) or None
        if self.row(word) is not None:
            return super().vector(word)
        if not self._pieces.knows([word])[0]:
            return None
        ids, _ = self._pieces.split([word])
        mean: np.ndarray = self._table[ids].mean(axis=0, dtype=np.float64)
        return mean.astype(np.float32)

    def words(self, text: str) -> list[str]:
        """Cut text into words by the tokenizer's own normaliser and pre-tokeniser."""
        return self._pieces.words(text)


def is_huggingface(folder: Path) -> bool:
    """Tell whether a folder is a model of Hugging Face's, by its ``config.json``."""
    if not (folder / CONFIG).is_file():
        return False
    config = read_json(folder / CONFIG)
    named = isinstance(config, dict) and "method" not in config
    return named and bool({"model_type", "architectures"} & config.keys())


def model_type(folder: Path) -> str:
    """Tell what a Hugging Face folder calls its kind of model."""
    config = read_json(folder / CONFIG)
    architectures = config.get("architectures")
    first = architectures[0] if isinstance(architectures, list) and architectures else HUGGINGFACE
    return str(config.get("model_type") or first)


def model_checksums(folder: Path) -> dict[str, str]:
    """Hash the files of a Hugging Face folder that make its vectors and states."""
    require_files(folder)
    names = {CONFIG, TOKENIZER, *_weight_files(folder)}
    names |= {name for name in (INDEX, _TOKENIZER_OPTIONS) if (folder / name).is_file()}
    return {name: checksum(folder / name) for name in sorted(names)}


def require_files(folder: Path) -> None:
    """Refuse a Hugging Face folder that lacks what is read of it, or leads out of itself."""
    if not (folder / WEIGHTS).is_file() and not (folder / INDEX).is_file():
        if pickled := sorted(path.name for path in folder.glob("pytorch_model*.bin")):
            raise ArtifactError(
                f"{folder / pickled[0]}: is a pickle, which may run any code and is never opened; "
                f"if you trust it, save it as {WEIGHTS} with {_SAVE}"
            )
        raise ArtifactError(f"{folder}: has no {WEIGHTS}; save the model with {_SAVE}")
    _weight_files(folder)
    if not (folder / TOKENIZER).is_file():
        raise ArtifactError(
            f"{folder}: has no {TOKENIZER}; save it with a fast tokenizer, "
            "AutoTokenizer.from_pretrained(...).save_pretrained(...)"
        )


def read_huggingface(folder: Path) -> HuggingFaceVectors:
    """Read the input embeddings of a Hugging Face folder.

    The table of pieces is the one tensor of ``vocab_size`` rows that is called an embedding, and
    not one of positions, types or outputs. Words stand by id, which puts frequent ones first as far
    as the tokenizer's learning did.
    """
    require_files(folder)
    pieces = StockPieces(folder / TOKENIZER)
    name, table = _table(folder, len(pieces))
    if len(table) < len(pieces):
        raise ArtifactError(
            f"{folder / TOKENIZER}: has {len(pieces)} pieces, and {name} only {len(table)} rows; "
            "take both from the same model"
        )
    if not (finite := np.isfinite(table).all(axis=1)).all():
        row = int(np.argmin(finite))
        raise ArtifactError(f"{folder}: row {row} of {name} holds NaN or infinity; {_FETCH}")
    vectors = HuggingFaceVectors(pieces, table, name=str(folder))
    if not len(vectors.vocabulary):
        raise ArtifactError(f"{folder / TOKENIZER}: has no piece that is a whole word")
    note(
        f"{folder}: input embeddings of {model_type(folder)}, which know no context; "
        f"firth pool {folder} makes vectors of its states"
    )
    return vectors


def _table(folder: Path, n_pieces: int) -> tuple[str, np.ndarray]:
    """The tensor that pieces are looked up in, and its name."""
    n_rows = read_json(folder / CONFIG).get("vocab_size")
    shapes = {name: (path, shape) for name, path, shape in _embeddings(folder)}
    fitting = [
        name
        for name, (_, shape) in shapes.items()
        if len(shape) == 2 and (shape[0] == n_rows if n_rows else shape[0] >= n_pieces)
    ]
    if not fitting:
        raise ArtifactError(
            f"{folder}: none of its tensors is an embedding of {n_rows or n_pieces} pieces "
            f"(found: {', '.join(sorted(shapes)) or 'none'}); such a model has no table to read"
        )
    table = _floats(shapes[fitting[0]][0], fitting[0])
    for other in fitting[1:]:  # one at a time: tied copies of large models take gigabytes
        if not np.array_equal(table, _floats(shapes[other][0], other), equal_nan=True):
            raise ArtifactError(
                f"{folder}: {' and '.join(fitting)} differ, and either could be the input "
                "embeddings; save the part of the model that has one of them"
            )
    return fitting[0], table


def _embeddings(folder: Path) -> Iterator[tuple[str, Path, list[int]]]:
    """Tensors by whose name pieces may be looked up: name, file and shape."""
    for file in _weight_files(folder):
        path = folder / file
        with _opened(path) as tensors:
            for name in sorted(tensors.keys()):
                module = name.removesuffix(".weight").rpartition(".")[2]
                if _TABLE.search(module) and not _OTHER_TABLE.search(module):
                    yield name, path, tensors.get_slice(name).get_shape()


def _weight_files(folder: Path) -> list[str]:
    """The one file of weights, or those that the index lists."""
    if (folder / WEIGHTS).is_file():
        return [WEIGHTS]
    index = read_json(folder / INDEX)
    listed = index.get("weight_map") if isinstance(index, dict) else None
    files = sorted(set(map(str, listed.values()))) if isinstance(listed, dict) else []
    if not files or any(Path(file).name != file for file in files):
        raise ArtifactError(f"{folder / INDEX}: lists no files of this folder; {_FETCH}")
    for file in files:
        if not (folder / file).is_file():
            raise ArtifactError(f"{folder / file}: is listed in {INDEX} and missing; {_FETCH}")
    return files


def _opened(path: Path, framework: str = "np") -> Any:
    """A file of safetensors, of which only the head is read."""
    from safetensors import SafetensorError, safe_open

    try:
        return safe_open(path, framework)
    except (SafetensorError, OSError) as error:
        raise ArtifactError(f"{path}: is damaged ({error}); {_FETCH}") from None


def _floats(path: Path, name: str) -> np.ndarray:
    """One tensor as float32, whatever it is stored as."""
    with _opened(path) as tensors:
        stored = tensors.get_slice(name).get_dtype()
        if stored in ("F16", "F32", "F64"):
            floats: np.ndarray = tensors.get_tensor(name).astype(np.float32, copy=False)
            return floats
    if stored != "BF16":
        raise ArtifactError(
            f"{path}: {name} is stored as {stored}, a quantized table; take the model unquantized"
        )
    with _opened(path, "pt") as tensors:  # NumPy has no such numbers; torch takes a second to come
        return tensors.get_tensor(name).float().numpy()
