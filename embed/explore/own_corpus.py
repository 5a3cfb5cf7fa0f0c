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
    """Open the corpus of a run: one of ``corpora``, or else where it was when the run was trained.

    Runs of earlier versions do not record that place, but the arguments of their command.
    """
    file = run / PROVENANCE
    made: Any = read_json(file) if file.is_file() else {}
    known = [made.get("corpus_path"), *made.get("command", [])] if recorded else []
    places = [Path(each) for each in known if isinstance(each, str)]
    for corpus in map(Corpus.open, [*corpora, *filter(is_corpus, places)]):
        found = corpus.restore_sample(made["sample"]) if "sample" in made else corpus
        if found.fingerprint == made.get("corpus"):
            return found
    if recorded:
        raise ArtifactError(f"{run}: its corpus was not found; {remedy}")
    raise ArtifactError(f"{corpora[0]}: is not the corpus of {run}; pass the one it is of")
