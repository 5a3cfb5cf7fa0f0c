"""compare_runs: a comparison in one call, and all that can be made of it."""

import datetime
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.artifacts.provenance import now
from corpora.common.reporting import note
from embed.compare.config import EXAMPLE, CompareConfig
from embed.compare.intrinsic.measures import Geometry, measure_geometry
from embed.compare.report.contents import (
    ReportParts,
    choose_words,
    find_neighbors,
    first_of_seeds,
    make_maps,
    read_facts,
)
from embed.compare.report.examples import find_in_context, read_attention
from embed.compare.report.html.page import write_report
from embed.compare.report.intrinsic_table import geometry_json, print_geometry
from embed.compare.report.saved import store_comparison
from embed.compare.report.score_picture import draw_scores
from embed.compare.report.table import print_report, short_names, to_json
from embed.compare.scoring.comparison import readable_tasks
from embed.compare.scoring.open_runs import Opened, compare_opened, open_runs
from embed.compare.scoring.results import Comparison
from embed.compare.task import Task


@dataclass(frozen=True, eq=False)
class Compared:
    """Runs that were compared, of :func:`compare_runs`.

    Attributes
    ----------
    document : dict
        What ``firth compare --json`` prints: ``document["results"]`` is a list of rows, ready for
        a data frame. ``document["failures"]`` is there if something could not be scored.
    config : CompareConfig
        How it was made.
    comparison : Comparison
        All that was found.
    geometry : Geometry or None
        Of the vectors themselves; with ``CompareConfig(intrinsic=True)``.
    opened : Opened
        The runs.
    tasks : list of Task
        The sets.
    started : datetime
        When it began.
    """

    document: dict[str, Any]
    config: CompareConfig
    comparison: Comparison
    geometry: Geometry | None
    opened: Opened
    tasks: list[Task]
    started: datetime.datetime

    @property
    def failures(self) -> list[str]:
        """Why sets and runs could not be scored, a line each."""
        return list(self.document.get("failures", []))

    def show(self) -> None:
        """Print the tables that ``firth compare`` prints; failures go to standard error."""
        self.print_tables()
        for failure in self.failures:
            print(f"Error: {failure}", file=sys.stderr)

    def print_tables(self) -> None:
        """Print the tables alone."""
        print_report(self.comparison, self.config.unknown)
        if self.geometry is not None:
            print_geometry(self.geometry, short_names(self.comparison.runs))

    def write_report(
        self,
        path: str | Path,
        *,
        examples: Sequence[str] = (),
        curve: Mapping[str, Any] | None = None,
        force: bool = False,
    ) -> None:
        """Write a page for the browser: scores, maps and neighbors side by side, settings.

        Parameters
        ----------
        path : str or Path
            The file of HTML.
        examples : sequence of str
            What encoders read, with words in [brackets]; by default
            :data:`~embed.compare.config.EXAMPLE`.
        curve : mapping, optional
            A learning curve to show on it, of :func:`~embed.compare.report.contents.read_curve`.
        force : bool
            Replace a file that stands there.

        Raises
        ------
        ArtifactError
            ``path`` exists, or cannot be written.
        """
        runs = first_of_seeds(self.opened.vectors, self.opened.groups)
        words = choose_words(list(runs.values()), [task.texts() for task in self.tasks])
        asked = list(dict.fromkeys(examples)) or [EXAMPLE]
        attention = read_attention(runs, asked)
        if examples and not attention:
            note("`example`: no RUN has an encoder that could read it")
        contexts = find_in_context(runs, asked)
        found = (each for each in contexts.values() if not isinstance(each, str))
        marked = [a.word for answers in found for a in answers if not isinstance(a, str)]
        parts = ReportParts(
            config=self.config,
            maps=make_maps(runs, words),
            neighbors=find_neighbors(runs, [*marked, *words]),
            facts=read_facts({run: self.opened.paths[run] for run in runs}),
            curve=curve,
            attention=attention,
            contexts=contexts,
        )
        write_report(self.document, parts, Path(path), force=force)

    def draw(self, path: str | Path, *, force: bool = False) -> None:
        """Draw the scores with their intervals; needs the extra ``plots``.

        Parameters
        ----------
        path : str or Path
            A file ending in ``.svg`` or ``.png``.
        force : bool
            Replace a file that stands there.

        Raises
        ------
        ArtifactError
            ``path`` exists, or cannot be written.
        SettingError
            It has another ending, or the package that draws is not there.
        """
        draw_scores(self.document, Path(path), force=force)

    def store(self, out: str | Path, *, force: bool = False) -> Path:
        """Keep the comparison as a run of its own, which names what was compared.

        Parameters
        ----------
        out : str or Path
            Where it will stand.
        force : bool
            Replace a run that stands there.

        Returns
        -------
        Path
            ``out``, as of :func:`~embed.compare.report.saved.store_comparison`.

        Raises
        ------
        ArtifactError
            ``out`` exists, is being made, or cannot be written.
        """
        return store_comparison(
            self.document, self.config, Path(out), started=self.started, force=force
        )


def compare_runs(
    runs: str | Path | Sequence[str | Path],
    config: CompareConfig | None = None,
    *,
    add_contexts: bool = False,
) -> Compared:
    """Score runs against each other and against vectors that know nothing, as ``firth compare``.

    Sets and runs that cannot be scored stand among the ``failures``; all others are scored.

    Parameters
    ----------
    runs : str, Path or sequence of these
        Runs of any method, files of vectors, Hugging Face folders.
    config : CompareConfig, optional
        Which sets, and how; by default the sets that gensim carries.
    add_contexts : bool
        Add each word's context vector to its own, in the runs that have both.

    Returns
    -------
    Compared
        To be shown, drawn, stored, or written as a page.

    Raises
    ------
    ArtifactError
        A run is missing or damaged.
    FirthError
        No set can be read; tells of the first.
    """
    config = config or CompareConfig()
    tasks, failures = readable_tasks(config)
    each = [runs] if isinstance(runs, str | Path) else runs
    opened, started = open_runs([str(run) for run in each], add_contexts=add_contexts), now()
    comparison = compare_opened(opened, tasks, config)
    document = to_json(comparison, config, opened.about)
    failures += comparison.failures
    geometry = measure_geometry(opened.vectors, config) if config.intrinsic else None
    if geometry is not None:
        document |= geometry_json(geometry)
        failures += geometry.failures
    if failures:
        document["failures"] = failures
    return Compared(document, config, comparison, geometry, opened, tasks, started)
