"""Finds the corpus that a run was trained on."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from firth.corpora.artifacts.artifact import read_json
from firth.corpora.artifacts.provenance import PROVENANCE
from firth.corpora.common.errors import ArtifactError
from firth.corpora.store.corpus import Corpus, is_corpus


def training_corpus(
    run: Path,
    corpora: Sequence[str | Path] = (),
    *,
    recorded: bool = True,
    remedy: str = "pass `corpus`",
) -> Corpus:
    """Open the corpus of a run: one of ``corpora``, or else that at its recorded place."""
    file = run / PROVENANCE
    made: Any = read_json(file) if file.is_file() else {}
    place = made.get("corpus_path") if recorded else None
    places = [place] if isinstance(place, str) and is_corpus(Path(place)) else []
    for corpus in map(Corpus.open, [*corpora, *places]):
        found = corpus.restore_sample(made["sample"]) if "sample" in made else corpus
        if found.fingerprint == made.get("corpus"):
            return found
    if recorded:
        raise ArtifactError(f"{run}: its corpus was not found; {remedy}")
    raise ArtifactError(f"{corpora[0]}: is not the corpus of {run}; pass the one it is of")
