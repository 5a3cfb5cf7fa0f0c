"""learning_curve: train on nested samples of a corpus and score every run, in one call."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.artifacts.atomic import write_whole
from firth.corpora.artifacts.figures import Picture
from firth.corpora.common.display import data_frame
from firth.corpora.common.errors import FirthError
from firth.corpora.common.keywords import suggesting
from firth.corpora.common.options import config_of
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.curves.learning_curve import CURVE, CurveConfig, take_samples
from firth.embed.compare.curves.picture import draw_curve
from firth.embed.compare.curves.runs import (
    Point,
    check_points,
    lay_out,
    methods_of,
    train_points,
)
from firth.embed.compare.curves.table import html_curve, print_curve
from firth.embed.compare.datasets.word_pairs import frequent_words
from firth.embed.compare.report.document import result_entry
from firth.embed.compare.scoring.notes import warn_of_language
from firth.embed.compare.scoring.open_runs import compare_opened, open_runs
from firth.embed.compare.scoring.results import Comparison
from firth.embed.compare.scoring.sets import readable_tasks
from firth.embed.compare.task import Task

if TYPE_CHECKING:  # imports numba
    from firth.corpora.reading.in_memory import TextSource
    from firth.corpora.store.corpus import Corpus


@suggesting
@dataclass(frozen=True, eq=False, repr=False)
class LearningCurve:
    """Scores of methods by the size of the text, made by :func:`learning_curve`.

    Attributes
    ----------
    document : dict
        The JSON that ``firth learning-curve --json`` prints; ``document["results"]`` is a list
        of rows.
    failures : list of str
        What could not be trained or scored, one line each.
    """

    document: dict[str, Any]
    failures: list[str]

    def __repr__(self) -> str:
        methods, sizes = self.document["methods"], self.document["sizes"]
        return f"<LearningCurve: {', '.join(methods)} on {len(sizes)} sizes>"

    def _repr_html_(self) -> str:
        """Return the tables that notebooks show."""
        return html_curve(self.document)

    def to_pandas(self) -> Any:
        """Return all results as a pandas.DataFrame, as :meth:`Compared.to_pandas` does."""
        return data_frame(self.document["results"])

    def show(self) -> None:
        """Print the tables that ``firth learning-curve`` prints."""
        print_curve(self.document)

    def draw(self, path: str | Path, *, force: bool = False) -> Picture:
        """Draw scores against tokens to a file, as :meth:`Compared.draw` does."""
        return draw_curve(self.document, Path(path), force=force)


def learning_curve(
    corpus: "Corpus | TextSource",
    out: str | Path,
    config: CurveConfig | None = None,
    comparing: CompareConfig | None = None,
) -> LearningCurve:
    """Train methods on nested samples of a corpus and score all the runs.

    Existing runs in ``out`` are kept and interrupted ones are resumed, so calling it again
    finishes the work, and adding sizes trains only those.

    Parameters
    ----------
    corpus : Corpus, path or text
        A corpus, or text in files or in memory, as :func:`firth.build_corpus` takes it.
    out : str or Path
        Folder for the runs and ``curve.json``.
    config : CurveConfig, optional
        Methods, sizes and seeds.
    comparing : CompareConfig, optional
        Evaluation sets; by default WS-353, SimLex-999 and the Google analogies.

    Returns
    -------
    LearningCurve
        Tables, a drawing, and the results as JSON.

    Raises
    ------
    ArtifactError
        If ``out`` has runs of other settings, or a file cannot be written.
    SettingError
        If a method is unknown or a size is not a number of tokens.
    FirthError
        If no set can be read or no run trained.
    """
    from firth.corpora.encoding.build import open_or_build  # lazy: imports numba

    config, comparing = config_of(config, CurveConfig), config_of(comparing, CompareConfig)
    out = Path(out)
    methods = methods_of(config)
    tasks, unread = readable_tasks(replace(comparing, intrinsic=False))
    document = make_curve(open_or_build(corpus), out, config, methods, tasks, comparing)
    write_curve(document, out)
    return LearningCurve(document, [*unread, *document.get("failures", [])])


def make_curve(
    corpus: "Corpus",
    out: Path,
    config: CurveConfig,
    methods: Mapping[str, range],
    tasks: Sequence[Task],
    comparing: CompareConfig,
) -> dict[str, Any]:
    """Train missing runs, score all of them, and return the JSON document."""
    from firth.corpora.store.sampling import default_sizes, parse_sizes  # lazy: imports numba

    given = None if config.sizes is None else parse_sizes(config.sizes)
    sizes = default_sizes(corpus.training_tokens) if given is None else given
    samples = take_samples(corpus, sizes, config.seed)
    points = lay_out(methods, samples, out)
    check_points(points, out)
    warn_of_language({str(corpus.path): frequent_words(corpus)}, tasks)
    trained, failures = train_points(points)
    if not trained:
        raise FirthError(failures[0])
    opened = open_runs([str(point.run) for point in trained])
    comparison = compare_opened(opened, tasks, comparing)
    return to_document(corpus, trained, comparison, comparing.unknown, failures)


def write_curve(document: Mapping[str, Any], out: Path) -> None:
    """Write ``curve.json``."""
    write_whole(out / CURVE, lambda path: write_json(path, document))


def to_document(
    corpus: "Corpus",
    points: Sequence[Point],
    comparison: Comparison,
    unknown: str,
    failures: Sequence[str],
) -> dict[str, Any]:
    """Turn a comparison of all runs into the JSON of a learning curve."""
    by_run = {str(point.run): point for point in points}
    by_row = {  # a group of seeds takes the point of its first run
        row: by_run.get(comparison.groups.get(row, (row,))[0]) for row in comparison.rows
    }
    failed = [*failures, *comparison.failures]
    return {
        "corpus": str(corpus.path),
        "fingerprint": corpus.fingerprint,
        "methods": list(dict.fromkeys(point.method for point in points)),
        "sizes": sorted({point.sampled.corpus.training_tokens for point in points}),
        "results": [
            _about(score.run, by_row[score.run]) | result_entry(score, comparison, unknown)
            for score in comparison.scores
            if score.run in by_row
        ],
        **({"failures": failed} if failed else {}),
    }


def _about(row: str, point: Point | None) -> dict[str, Any]:
    """Return method and sample of a row; baselines have no point."""
    sample = None if point is None else point.sampled
    return {
        "method": row if point is None else point.method,
        "tokens": sample and sample.corpus.training_tokens,
        "documents": sample and sample.corpus.training_documents,
        "types": sample and sample.types,
    }
