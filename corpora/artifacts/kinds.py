"""What a folder holds, for messages about a corpus in the place of a run and the like."""

import os
from pathlib import Path

from firth.corpora.artifacts.artifact import CHECKSUMS, MAKER

CORPUS, RUN = "corpus", "run"
_WITH_RUNS = ("study", "learning curve")
_UNFINISHED = "unfinished output"
# a file that only this kind of folder has; a finished output with none of them is a run
_MARKS = {
    "study.json": "study",
    "curve.json": "learning curve",
    "comparison.json": "comparison",
    "manifest.json": CORPUS,
}
_INSTEAD = {  # by the wanted kind, then by the given one
    CORPUS: {
        RUN: "pass the corpus that it was trained on",
        "comparison": "pass the corpus that its runs were trained on",
        "learning curve": "pass the corpus that its runs were trained on",
        "study": "pass its corpus, {path}/corpus",
    },
    RUN: {
        CORPUS: "train one with `train_{method}()`",
        "comparison": "pass the runs that it compares",
        "learning curve": "pass a run in it",
        "study": "pass a run in it, such as {path}/{method}",
    },
}


def kind_of(path: str | os.PathLike[str]) -> str | None:
    """Return the kind of output that a folder holds: run, corpus, study ...; None for others."""
    path = Path(path)
    if path.name.endswith(".partial") and os.path.isfile(path / MAKER):
        return _UNFINISHED
    finished = os.path.isfile(path / CHECKSUMS)
    for mark, kind in _MARKS.items():
        if os.path.isfile(path / mark) and (finished or kind in _WITH_RUNS):
            return kind
    return RUN if finished and os.path.isfile(path / "config.json") else None


def wrong_kind(path: str | os.PathLike[str], wanted: str, method: str = "svd") -> str | None:
    """Return why an output is not of the wanted kind, and the remedy; None if it may be."""
    kind = kind_of(path)
    if kind is None or kind == wanted:
        return None
    instead = _INSTEAD[wanted].get(kind, "").format(path=path, method=method)
    part = Path(path, CORPUS if wanted == CORPUS else method)
    if kind == _UNFINISHED or (kind == "study" and not part.is_dir()):
        instead = "run its command again to complete it"
    return f"{path}: {with_article(kind)}, not a {wanted}; {instead}"


def with_article(kind: str) -> str:
    """Return a kind with its article."""
    return f"{'an' if kind == _UNFINISHED else 'a'} {kind}"
