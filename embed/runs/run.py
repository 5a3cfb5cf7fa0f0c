"""Read what a run says of itself, and find the corpus that it was trained on."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from firth.corpora.artifacts.artifact import MAKER, artifact_paths, read_json
from firth.corpora.artifacts.provenance import PROVENANCE
from firth.corpora.common.errors import ArtifactError
from firth.corpora.common.options import take
from firth.embed.runs.writer import CHANGEABLE, CONFIG, FORMAT

if TYPE_CHECKING:  # it imports numba
    from firth.corpora.store.corpus import Corpus

ConfigT = TypeVar("ConfigT")

_UNFINISHED = "is unfinished; run its command again to complete it"
# Options that may differ between runs of one training: the seed, and those without effect.
FREE = frozenset({"seed", *CHANGEABLE})
CONTINUED = "continued"  # losses before and after a training that goes on from weights
_NO_OPTIONS = frozenset({"decided", "pooling", CONTINUED})  # what a training found out
INIT = "init"  # a path in the options, a fingerprint in the provenance


@dataclass(frozen=True)
class Training:
    """The training behind the vectors of a finished run."""

    method: str  # ``svd``, ``skipgram``, ``pool``
    corpus: str  # fingerprint of the text
    seed: int
    options: dict[str, Any]  # as JSON; all other options that affect the vectors


class Run:
    """A folder of vectors, and what it says of itself; nothing if it has no ``config.json``."""

    def __init__(self, path: Path, config: Mapping[str, Any]) -> None:
        self.path = path
        self.config = config
        self.options = dict(config)  # as JSON
        self.options.pop("format", None)
        self.method: str | None = self.options.pop("method", None)
        self.text: dict[str, Any] | None = self.options.pop("text", None)  # of TextSettings

    @classmethod
    def open(cls, path: Path) -> "Run":
        """Read the settings of a run; raise ArtifactError if they are damaged."""
        file = path / CONFIG
        config = read_json(file) if file.is_file() else {}
        if not isinstance(config, dict) or not isinstance(config.get("text"), dict | None):
            raise ArtifactError(f"{file}: not the configuration of a run; train the run again")
        # other programs have files of this name, which name no method
        if "method" in config and config.get("format", FORMAT) != FORMAT:
            raise ArtifactError(
                f"{file}: has format {config['format']}, not {FORMAT}; use the version of "
                "Firth that wrote it, or train the run again"
            )
        return cls(path, config)

    @classmethod
    def finished(cls, path: Path) -> "Run":
        """Read the settings of a run; raise ArtifactError unless it is there and finished."""
        if not (path / MAKER).is_file():
            if path.is_dir():
                return cls.open(path)
            if path.exists():
                raise ArtifactError(f"{path}: is a file; pass the directory of a run")
            if not artifact_paths(path)[1].is_dir():
                raise ArtifactError(f"{path}: no such run")
        raise ArtifactError(f"{path}: {_UNFINISHED}")

    def settings(self, config_class: type[ConfigT]) -> ConfigT:
        """Return the options as a config."""
        return take(config_class, self.options)

    def entries(self, name: str) -> dict[str, Any]:
        """Return an option that has entries of its own, such as ``pooling``; empty without it."""
        value = self.options.get(name)
        return value if isinstance(value, dict) else {}

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """How the run was made; empty if it does not say so."""
        file = self.path / PROVENANCE
        made = read_json(file) if file.is_file() else {}
        return made if isinstance(made, dict) else {}

    @property
    def training(self) -> Training | None:
        """The training of a run; None if it was not trained."""
        made, seed = self.provenance, self.options.get("seed")
        corpus = made.get("corpus")
        if not (isinstance(self.method, str) and isinstance(seed, int) and isinstance(corpus, str)):
            return None
        options = {name: self.options[name] for name in self.options.keys() - FREE - _NO_OPTIONS}
        if decided := self.entries("decided"):  # the automatic batch size depends on the device
            options["batch"] = decided.get("batch")
        if isinstance(made.get(INIT), str):
            options[INIT] = made[INIT]
        return Training(self.method, corpus, seed, options)

    def moved(self, path: Path) -> Path:
        """Return a recorded path, or what has its name beside this run if nothing is there."""
        beside = self.path.absolute().parent / path.name
        return beside if beside.exists() and not path.exists() else path

    @property
    def corpus_checksum(self) -> str | None:
        """The checksum of the corpus that this run was trained on; None if it does not say so."""
        wanted = self.provenance.get("corpus")  # with that of a sample, if it is of one
        return wanted.partition(":")[0] if isinstance(wanted, str) else None

    def corpus(
        self, places: Sequence[str | Path] = (), *, remedy: str = "pass `corpus`"
    ) -> "Corpus":
        """Find the corpus, or sample, of this run by its checksum.

        Each of the ``places`` is a corpus or a folder of corpora. After them comes the place where
        it was trained on, and what has that name beside this run.
        """
        from firth.corpora.store.corpus import is_corpus

        made, checksum = self.provenance, self.corpus_checksum
        if checksum is None:
            raise ArtifactError(f"{self.path}: does not record its training corpus; {remedy}")
        place = made.get("corpus_path")  # a published run has none
        last = self.moved(Path(place)) if isinstance(place, str) else None
        recorded = last is not None and is_corpus(last)
        for corpus in _corpora([*places, *([last] if last and recorded else [])]):
            if corpus.fingerprint == checksum:
                return corpus.restore_sample(made["sample"]) if "sample" in made else corpus
        problem = "has changed" if recorded else "was not found"
        where = f" {place}" if last else ""
        raise ArtifactError(
            f"{self.path}: its corpus{where} (checksum {checksum}) {problem}; {remedy}"
        )


def trained(path: Path) -> Training | None:
    """Return the training of a run; None if it is unfinished, damaged or not trained."""
    try:
        return Run.finished(path).training
    except ArtifactError:
        return None


def corpus_at(place: str | Path, runs: Sequence[Run]) -> "Corpus":
    """Return the corpus at a place, or the one in a folder that the first of some runs is of."""
    from firth.corpora.store.corpus import Corpus

    wanted = {run.corpus_checksum: run.path for run in runs if run.corpus_checksum}
    if not wanted:
        return Corpus.open(place)
    corpora = {corpus.fingerprint: corpus for corpus in _corpora([place])}
    for checksum in wanted:
        if checksum in corpora:
            return corpora[checksum]
    whose = " or ".join(f"{path} (checksum {checksum})" for checksum, path in wanted.items())
    raise ArtifactError(f"{place}: is not the corpus of {whose}; pass that one")


def _corpora(places: Sequence[str | Path]) -> Iterator["Corpus"]:
    """Yield the corpora at some places, or in those folders; raise for a place without any."""
    from firth.corpora.store.corpus import Corpus, is_corpus

    for place in map(Path, places):
        inside = sorted(filter(is_corpus, place.iterdir())) if place.is_dir() else []
        if is_corpus(place) or not inside:
            yield Corpus.open(place)
            continue
        for path in inside:
            with contextlib.suppress(ArtifactError):  # a damaged one hides no other
                yield Corpus.open(path)
