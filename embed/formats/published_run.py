"""Copy a run without what is of its text but words and their numbers."""

import shutil
from pathlib import Path
from typing import Any

from firth.corpora.artifacts.artifact import CHECKSUMS, checksums, read_json, verify, write_json
from firth.corpora.artifacts.kinds import RUN, wrong_kind
from firth.corpora.artifacts.provenance import PROVENANCE
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.embed.runs.run import INIT, Run
from firth.embed.runs.writer import CONFIG, LINES, new_run
from firth.embed.vectors.piece_table import START
from firth.embed.vectors.wordlist import VOCABULARY

# What is copied, by name, so that nothing is published which is not known to hold no text.
_FILES = {
    VOCABULARY, CONFIG, PROVENANCE, "vectors.npy", "vectors.npz", "vectors.int8.npy", "scales.npy",
    "inputs.npy", "buckets.npy", "contexts.npy", "centers.npy", "untrained.npy", "pieces.npy",
    "first_vectors.npy", "ngram-means.npy", "ngram-buckets.npy", "tokenizer.json",
    "model.safetensors", "change.tsv", "metrics.jsonl", "held_out.npy",
}  # fmt: skip
_MADE = ("python", "packages", "seeds", "threads", "corpus", "sample", INIT)  # of the provenance
_SIZES = ("tokens", "documents", "n_sources")  # of the text
_PLACES = {INIT, "path", "source", "run", "name"}  # options whose value is a path or its end
_CHOICES = {"auto", "none", "joined", "states", "masked", "input-embeddings"}  # and no path
_HIDDEN = "(left out)"


def publish_run(run: Path, out: Path, *, force: bool = False) -> list[str]:
    """Write a copy of a run without text, paths or URLs; return the files and folders it lacks."""
    if problem := wrong_kind(run, RUN):
        raise ArtifactError(problem)
    opened = Run.finished(run)
    if opened.method is None or not (run / VOCABULARY).is_file():
        raise ArtifactError(f"{run}: has no words with vectors to publish; pass a run of vectors")
    if opened.method == LINES:
        raise ArtifactError(
            f"{run}: its words are the places of lines; publish the run that encoded them"
        )
    if run.resolve() == out.resolve():
        raise SettingError(f"{out}: is the run to copy; choose another OUT")
    verify(run)
    copied = [name for name in read_json(run / CHECKSUMS) if _is_copied(Path(name))]
    with new_run(out, {"command": "publish"}, force=force) as writer:
        for name in copied:
            (writer.path / name).parent.mkdir(exist_ok=True)
            _copy(run / name, writer.path / name)
        if (start := writer.path / START).is_dir():
            write_json(start / CHECKSUMS, checksums(start))
    files = (each for each in run.rglob("*") if each.is_file())
    every = {each.relative_to(run).as_posix() for each in files}
    missing = every - {*copied, CHECKSUMS, f"{START}/{CHECKSUMS}"}
    return sorted({Path(name).parts[0] for name in missing})


def _is_copied(name: Path) -> bool:
    """Return whether a file of a run, or of the run that a masked LM starts from, is copied."""
    return name.parts[:-1] in ((), (START,)) and name.name in _FILES


def _copy(source: Path, target: Path) -> None:
    """Copy a file; of settings and provenance what says nothing about places."""
    if source.name == CONFIG:
        config = read_json(source)
        write_json(target, {**_without_places(config), "text": config.get("text")})
    elif source.name == PROVENANCE:
        made = read_json(source)
        kept = {name: made[name] for name in _MADE if name in made}
        if "text" in made:
            kept["text"] = {name: made["text"].get(name) for name in _SIZES}
        if "corpora" in made:  # of changes, which open without them
            kept["corpora"] = []
        write_json(target, kept)
    else:
        shutil.copyfile(source, target)


def _without_places(value: Any, key: str = "") -> Any:
    """Return settings with paths and URLs replaced."""
    if isinstance(value, dict):
        return {name: _without_places(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_without_places(each, key) for each in value]
    if not isinstance(value, str) or value in _CHOICES:
        return value
    is_shape = not value.strip("0123456789/")  # of an encoder, such as 4/256/4
    is_place = key in _PLACES or "\\" in value or ("/" in value and not is_shape)
    return _HIDDEN if is_place else value
