"""Copies of runs with vectors in 8 bits."""

from pathlib import Path

from firth.corpora.common.errors import ArtifactError, SettingError
from firth.embed.runs.writer import new_run
from firth.embed.vectors.int8_rows import CODES, save_int8
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.vectors.wordlist import VOCABULARY, write_words


def write_int8_run(vectors: WordVectors, out: Path, force: bool) -> None:
    """Write a run with vectors in 8 bits; n-grams, pieces and context vectors are left out."""
    if vectors.path is not None and out.resolve() == vectors.path.resolve():
        raise SettingError(f"{out}: is the run to export; choose another OUT")
    if force and out.is_dir() and any(out.iterdir()) and not (out / CODES).is_file():
        raise ArtifactError(f"{out}: not an int8 export; choose another OUT")
    source = {"source": str(vectors.path or vectors.name)}
    with new_run(out, {"command": "export", **source}, force=force) as run:
        write_words(run.path / VOCABULARY, vectors.vocabulary, vectors.counts)
        save_int8(run.path, vectors.matrix, vectors.vocabulary, vectors.name)
        run.describe("int8", source, vectors.text)
