"""Hugging Face folders as vectors: the input embedding table, read without running model code.

A folder contains ``config.json``, safetensors weights and ``tokenizer.json``. Words that are a
single piece have a row; any other word is the mean of its pieces. Pickles are never opened.
"""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.artifact import checksum, read_json
from firth.corpora.common.errors import ArtifactError
from firth.corpora.common.reporting import note
from firth.corpora.tokenizer.external import ExternalTokenizer
from firth.embed.vectors.piece_table import PieceTable
from firth.embed.vectors.word_vectors import WordVectors

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
TOKENIZER = "tokenizer.json"
HUGGINGFACE = "huggingface"
_TOKENIZER_OPTIONS = "tokenizer_config.json"
# Names of modules that look pieces up, and of others with as many rows.
_TABLE = re.compile(r"embed|^wte$|^shared$")
_OTHER_TABLE = re.compile(r"position|type|out")
_SAVE = "AutoModel.from_pretrained(...).save_pretrained(...)"
_DOWNLOAD = "download it again"
MODEL2VEC = "embeddings"  # the name of its table


class HuggingFaceVectors(WordVectors):
    """Input embeddings of a model, as :class:`~firth.embed.protocols.StaticVectors`."""

    def __init__(self, pieces: ExternalTokenizer, table: np.ndarray, *, name: str) -> None:
        # table: float32 (R, D)
        words, ids = pieces.whole_words()
        composed = PieceTable(pieces, table[: len(pieces)], name=name)
        super().__init__(words, table[ids], name=name, pieces=composed)
        self._tokenizer = pieces

    def __reduce__(self) -> tuple[Any, ...]:
        assert isinstance(self.pieces, PieceTable)
        return partial(HuggingFaceVectors, name=self.name), (self._tokenizer, self.pieces.rows)

    def words(self, text: str) -> list[str]:
        """Split text into words by the tokenizer's own normalizer and pre-tokenizer."""
        return self._tokenizer.words(text)


def is_huggingface(folder: Path) -> bool:
    """Return whether a folder's ``config.json`` is that of a Hugging Face model."""
    if not (folder / CONFIG).is_file():
        return False
    config = read_json(folder / CONFIG)
    named = isinstance(config, dict) and "method" not in config
    return named and bool({"model_type", "architectures"} & config.keys())


def model_type(folder: Path) -> str:
    """Return the model type that a Hugging Face folder names."""
    config = read_json(folder / CONFIG)
    architectures = config.get("architectures")
    first = architectures[0] if isinstance(architectures, list) and architectures else HUGGINGFACE
    return str(config.get("model_type") or first)


def model_checksums(folder: Path) -> dict[str, str]:
    """Return checksums of the files that determine a folder's vectors and states."""
    require_files(folder)
    names = {CONFIG, TOKENIZER, *_weight_files(folder)}
    names |= {name for name in (INDEX, _TOKENIZER_OPTIONS) if (folder / name).is_file()}
    return {name: checksum(folder / name) for name in sorted(names)}


def require_files(folder: Path) -> None:
    """Raise if a Hugging Face folder lacks a needed file or lists files outside itself."""
    if not (folder / WEIGHTS).is_file() and not (folder / INDEX).is_file():
        if pickled := sorted(path.name for path in folder.glob("pytorch_model*.bin")):
            raise ArtifactError(
                f"{folder / pickled[0]}: a pickle is never opened because it can run any code; "
                f"if you trust it, convert it to {WEIGHTS} with {_SAVE}"
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

    The table is the only tensor of ``vocab_size`` rows whose name is that of an embedding, but not
    of positions, types or outputs. Words are ordered by piece id: for most tokenizers, frequent
    words come first.
    """
    require_files(folder)
    pieces = ExternalTokenizer(folder / TOKENIZER)
    name, table = _table(folder, len(pieces))
    if len(table) < len(pieces):
        raise ArtifactError(
            f"{folder / TOKENIZER}: has {len(pieces)} pieces, but {name} only {len(table)} rows; "
            "take both from the same model"
        )
    if not (finite := np.isfinite(table).all(axis=1)).all():
        row = int(np.argmin(finite))
        raise ArtifactError(f"{folder}: row {row} of {name} contains NaN or infinity; {_DOWNLOAD}")
    vectors = HuggingFaceVectors(pieces, table, name=str(folder))
    if not len(vectors.vocabulary):
        raise ArtifactError(f"{folder / TOKENIZER}: no piece is a whole word")
    if name != MODEL2VEC:
        note(
            f"{folder}: using the context-free input embeddings of {model_type(folder)}; "
            "`pool_run()` makes vectors from its states"
        )
    return vectors


def _table(folder: Path, n_pieces: int) -> tuple[str, np.ndarray]:
    """Return the name and values of the input embedding table."""
    n_rows = read_json(folder / CONFIG).get("vocab_size")
    shapes = {name: (path, shape) for name, path, shape in _embeddings(folder)}
    fitting = [
        name
        for name, (_, shape) in shapes.items()
        if len(shape) == 2
        and (name == MODEL2VEC or (shape[0] == n_rows if n_rows else shape[0] >= n_pieces))
    ]
    if not fitting:
        raise ArtifactError(
            f"{folder}: no tensor is an embedding table of {n_rows or n_pieces} pieces "
            f"(found: {', '.join(sorted(shapes)) or 'none'}); this model cannot be read"
        )
    table = _floats(shapes[fitting[0]][0], fitting[0])
    for other in fitting[1:]:  # one at a time: tied copies of large models take gigabytes
        if not np.array_equal(table, _floats(shapes[other][0], other), equal_nan=True):
            raise ArtifactError(
                f"{folder}: {' and '.join(fitting)} differ and either could be the input "
                "embeddings; save only the submodel that has one of them"
            )
    if fitting[0] == MODEL2VEC:
        table = _model2vec(shapes[MODEL2VEC][0], table)
    return fitting[0], table


def _model2vec(path: Path, table: np.ndarray) -> np.ndarray:
    """Return the vectors of the pieces of a Model2Vec model: rows, perhaps shared, by weights."""
    with _open_safetensors(path) as tensors:
        names = {"mapping", "weights"} & set(tensors.keys())
        found = {name: tensors.get_tensor(name) for name in names}
    rows = found.get("mapping", np.arange(len(table)))
    weights = found.get("weights", np.ones(len(rows)))
    if rows.shape != (weights.size,) or not ((rows >= 0) & (rows < len(table))).all():
        raise ArtifactError(f"{path}: mapping and weights do not fit {MODEL2VEC}; {_DOWNLOAD}")
    weighted: np.ndarray = table[rows.astype(np.int64)]
    weighted *= weights.astype(np.float32).reshape(-1, 1)
    return weighted


def _embeddings(folder: Path) -> Iterator[tuple[str, Path, list[int]]]:
    """Yield name, file and shape of the tensors named like an input embedding table."""
    for file in _weight_files(folder):
        path = folder / file
        with _open_safetensors(path) as tensors:
            for name in sorted(tensors.keys()):
                module = name.removesuffix(".weight").rpartition(".")[2]
                if _TABLE.search(module) and not _OTHER_TABLE.search(module):
                    yield name, path, tensors.get_slice(name).get_shape()


def _weight_files(folder: Path) -> list[str]:
    """Return the single weights file, or those that the index lists."""
    if (folder / WEIGHTS).is_file():
        return [WEIGHTS]
    index = read_json(folder / INDEX)
    listed = index.get("weight_map") if isinstance(index, dict) else None
    files = sorted(set(map(str, listed.values()))) if isinstance(listed, dict) else []
    if not files or any(Path(file).name != file for file in files):
        raise ArtifactError(f"{folder / INDEX}: lists no files of this folder; {_DOWNLOAD}")
    for file in files:
        if not (folder / file).is_file():
            raise ArtifactError(f"{folder / file}: listed in {INDEX} but missing; {_DOWNLOAD}")
    return files


def _open_safetensors(path: Path, framework: str = "np") -> Any:
    """Open a safetensors file, reading only its header."""
    from safetensors import SafetensorError, safe_open

    try:
        return safe_open(path, framework)
    except (SafetensorError, OSError) as error:
        raise ArtifactError(f"{path}: damaged ({error}); {_DOWNLOAD}") from None


def _floats(path: Path, name: str) -> np.ndarray:
    """Read one tensor as float32; raise if it is quantized."""
    with _open_safetensors(path) as tensors:
        stored = tensors.get_slice(name).get_dtype()
        # Model2Vec's integers need no scale, since all have the same
        if stored in ("F16", "F32", "F64") or (stored == "I8" and name == MODEL2VEC):
            return np.asarray(tensors.get_tensor(name).astype(np.float32, copy=False))
    if stored != "BF16":
        raise ArtifactError(
            f"{path}: {name} is quantized (stored as {stored}); use the unquantized model"
        )
    with _open_safetensors(path, "pt") as tensors:  # NumPy has no bfloat16; torch is slow to import
        return tensors.get_tensor(name).float().numpy()
