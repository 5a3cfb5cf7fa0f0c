"""Write a run: the files of its method, and then what it is and how it was made."""

import contextlib
import dataclasses
import datetime
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firth.corpora.artifacts.artifact import new_artifact, write_json
from firth.corpora.artifacts.atomic import write_whole
from firth.corpora.artifacts.provenance import PROVENANCE, now, provenance

if TYPE_CHECKING:  # it imports numba
    from firth.corpora.store.corpus import Corpus
    from firth.corpora.text.segment import TextSettings

FORMAT = 1
CONFIG = "config.json"
LINES = "encode"  # the method of a run of lines, whose words are their places
# settings that may differ when an interrupted training is resumed
CHANGEABLE = ("device", "threads", "memory")


class RunWriter:
    """An unfinished run, to write in."""

    def __init__(self, path: Path, started: datetime.datetime | None = None) -> None:
        self.path = path
        self._started = started or now()

    def describe(
        self, method: str, options: Mapping[str, Any], text: "TextSettings | None", /, **made: Any
    ) -> None:
        """Write the method, its options and the text settings, and how the run was ``made``."""
        write_json(self.path / PROVENANCE, provenance(self._started, **made))
        config = {"format": FORMAT, "method": method, **options}
        config["text"] = None if text is None else text.to_json()
        write_whole(self.path / CONFIG, lambda path: write_json(path, config))

    def describe_training(self, method: str, config: Any, corpus: "Corpus", /, **made: Any) -> None:
        """Write the settings of a training on a corpus, which has the text, and how it was made."""
        made = {"seeds": [config.seed], **made, **corpus.trained_on}
        self.describe(method, settings_for(config, corpus), corpus.text, **made)


@contextlib.contextmanager
def new_run(
    out: Path,
    maker: Mapping[str, Any],
    *,
    force: bool = False,
    resume: str | None = None,
    started: datetime.datetime | None = None,
) -> Iterator[RunWriter]:
    """Yield a run to write in, as ``new_artifact`` does; its work ``started`` now, or before."""
    with new_artifact(out, maker, force=force, resume=resume) as partial:
        yield RunWriter(partial, started)


def training_maker(method: str, config: Any, corpus: "Corpus", **resolved: Any) -> dict[str, Any]:
    """Return what a training must have in common to resume; ``resolved`` overrides settings."""
    options = {**settings_for(config, corpus), **resolved}
    fixed = {name: value for name, value in options.items() if name not in CHANGEABLE}
    return {"command": f"train-{method}", "corpus": corpus.fingerprint, **fixed}


def settings_for(config: Any, corpus: "Corpus") -> dict[str, Any]:
    """Return the settings of a training, with the default of what depends on the corpus."""
    options = dataclasses.asdict(config)
    if "min_count" in options and options["min_count"] is None:
        options["min_count"] = corpus.default_min_count
    return options
