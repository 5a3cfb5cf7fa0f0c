"""compare: a comparison in one call, and its tables, drawings and pages."""

import datetime
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firth.corpora.artifacts.figures import Picture
from firth.corpora.artifacts.provenance import now
from firth.corpora.common.console import name_room
from firth.corpora.common.display import data_frame, html_table
from firth.corpora.common.errors import SettingError
from firth.corpora.common.keywords import suggesting
from firth.corpora.common.options import many
from firth.corpora.common.reporting import note
from firth.embed.compare.config import EXAMPLE, CompareConfig
from firth.embed.compare.intrinsic.measures import Geometry, measure_geometry
from firth.embed.compare.report.contents import (
    ReportParts,
    choose_words,
    find_asked,
    find_neighbors,
    has_direction,
    make_maps,
    read_facts,
)
from firth.embed.compare.report.document import held_out_json, to_json
from firth.embed.compare.report.examples import find_in_context, read_attention
from firth.embed.compare.report.html.page import write_report
from firth.embed.compare.report.intrinsic_table import geometry_json, print_geometry
from firth.embed.compare.report.names import short_names
from firth.embed.compare.report.saved import store_comparison
from firth.embed.compare.report.score_picture import draw_scores
from firth.embed.compare.report.summary import LEGEND, summarize
from firth.embed.compare.report.terminal import (
    COLUMNS,
    legend_lines,
    print_held_out,
    print_report,
    table_rows,
)
from firth.embed.compare.scoring.held_out import HeldOutRow, held_out_losses
from firth.embed.compare.scoring.open_runs import (
    Opened,
    Runs,
    compare_opened,
    distinct_runs,
    open_runs,
)
from firth.embed.compare.scoring.results import Comparison
from firth.embed.compare.scoring.seed_groups import first_of_seeds
from firth.embed.compare.scoring.sets import readable_tasks
from firth.embed.compare.task import Task
from firth.embed.protocols import StaticVectors
from firth.embed.vectors.wordlist import noun_of

_LONGEST = 18  # characters of a run in the tables of intrinsic measures


@suggesting
@dataclass(frozen=True, eq=False, repr=False)
class Compared:
    """A finished comparison, made by :func:`compare`; notebooks show it as a table.

    Attributes
    ----------
    document : dict
        The JSON that ``firth compare --json`` prints. ``document["results"]`` is a list of rows;
        ``document["failures"]`` exists if something could not be scored.
    config : CompareConfig
        The settings.
    comparison : Comparison
        Scores, differences and failures.
    geometry : Geometry or None
        Intrinsic measures of the vectors; with ``CompareConfig(intrinsic=True)``.
    opened : Opened
        The runs.
    tasks : list of Task
        The evaluation sets.
    started : datetime
        When the comparison began.
    held_out : list of list of HeldOutRow
        Held-out losses of runs that were measured on the same text; a list for each text.
    """

    document: dict[str, Any]
    config: CompareConfig
    comparison: Comparison
    geometry: Geometry | None
    opened: Opened
    tasks: list[Task]
    started: datetime.datetime
    held_out: list[list[HeldOutRow]]

    def __repr__(self) -> str:
        sets = {row["dataset"] for row in self.document["results"]}
        return f"<Compared: {len(self.opened.vectors)} runs on {len(sets)} sets>"

    def _repr_html_(self) -> str:
        """Return the table that notebooks show, with what its marks mean."""
        rows = list(table_rows(self.document))
        lines = [f"result: {sentence}" for sentence in self.document["summary"]]
        lines += [f"Error: {line}" for line in self.failures]
        legend = legend_lines(self.document, self.config.unknown) if self.tasks else ()
        return html_table(COLUMNS, rows, repr(self).strip("<>"), [*legend, *lines])

    @property
    def failures(self) -> list[str]:
        """Why sets and runs could not be scored, one line each."""
        return list(self.document.get("failures", []))

    def to_pandas(self) -> Any:
        """Return ``document["results"]``, a row per run, set and metric, as a pandas.DataFrame."""
        return data_frame(self.document["results"])

    def show(self) -> None:
        """Print the tables that ``firth compare`` prints; failures go to standard error."""
        self.print_tables()
        for failure in self.failures:
            print(f"Error: {failure}", file=sys.stderr)

    def print_tables(self) -> None:
        """Print the tables without the failures."""
        if self.tasks:
            print_report(self.document, self.config.unknown)
        if self.geometry is not None:
            print_geometry(
                self.geometry,
                short_names(
                    list(dict.fromkeys(self.comparison.runs.values())), name_room(_LONGEST)
                ),
            )
        for rows in self.held_out:
            print_held_out(rows)
        for sentence in self.document["summary"]:
            print(f"result: {sentence}")
        if self.tasks:
            print(f"({LEGEND})")

    def write_report(
        self,
        path: str | Path,
        *,
        words: Sequence[str] | Mapping[str, str | None] = (),
        examples: Sequence[str] = (),
        force: bool = False,
    ) -> None:
        """Write an HTML page: scores, word maps and neighbors side by side, settings.

        Parameters
        ----------
        path : str or Path
            The HTML file.
        words : sequence of str, or mapping of str to str
            Words of the maps and of the tables of neighbors, with intervals in runs that have
            them; a mapping names the group of each, which sets its color on the maps. By default
            some are chosen.
        examples : sequence of str
            Sentences for encoders, with words in [brackets]; by default
            :data:`~firth.embed.compare.config.EXAMPLE`.
        force : bool
            Overwrite the file.

        Raises
        ------
        ArtifactError
            If ``path`` exists or cannot be written.
        SettingError
            If no run has a vector of any of ``words``, or runs have a row for each ``pooling``.
        """
        if self.config.pooling:
            raise SettingError("`pooling`: a report has one row for each run; leave it out")
        runs, paths = first_of_seeds(self.opened.vectors, self.opened.groups), self.opened.paths
        shown, unknown = self._words_shown(runs, words)
        asked = list(dict.fromkeys(many(examples))) or [EXAMPLE]
        attention = read_attention(runs, asked)
        if examples and not attention:
            note("`example`: no run has an encoder to read it")
        contexts = find_in_context(runs, asked)
        marked = [a.word for found in contexts.values() for a in found if not isinstance(a, str)]
        parts = ReportParts(
            config=self.config,
            maps=make_maps(runs, shown),
            neighbors=find_neighbors(runs, [*shown, *marked], resampled=shown if words else ()),
            unknown=unknown,
            facts=read_facts({run: paths[run] for run in runs if run in paths}),
            attention=attention,
            contexts=contexts,
        )
        write_report(self.document, parts, Path(path), force=force)

    def _words_shown(
        self, runs: Mapping[str, StaticVectors], words: Sequence[str] | Mapping[str, str | None]
    ) -> tuple[dict[str, str | None], list[str]]:
        """Return the words of a page with their groups, and those asked for that no run has."""
        opened = list(runs.values())
        if not words:
            chosen = choose_words(opened, [task.texts() for task in self.tasks])
            return dict.fromkeys(chosen), []
        asked = words if isinstance(words, Mapping) else dict.fromkeys(many(words))
        found, unknown = find_asked(opened, asked)
        if not found:
            raise SettingError(f"`words`: no run has a vector of {', '.join(unknown)}; pass others")
        if unknown:
            note(f"`words`: no run has a vector of {', '.join(unknown)}")
        partly = [word for word in found if not all(has_direction(run, word) for run in opened)]
        if partly:
            note(f"`words`: not in every run, so not on the maps: {', '.join(partly)}")
        return found, unknown

    def draw(self, path: str | Path, *, force: bool = False) -> Picture:
        """Draw the scores with their confidence intervals; needs the extra ``plots``.

        Parameters
        ----------
        path : str or Path
            A file ending in ``.svg`` or ``.png``.
        force : bool
            Overwrite the file.

        Returns
        -------
        Picture
            The file; a notebook shows it.

        Raises
        ------
        ArtifactError
            If ``path`` exists or cannot be written.
        SettingError
            If it has another suffix, or matplotlib is not installed.
        """
        return draw_scores(self.document, Path(path), force=force)

    def store(self, out: str | Path, *, force: bool = False) -> Path:
        """Store the comparison as a run of its own, with the names of the compared runs.

        Parameters
        ----------
        out : str or Path
            Directory to make.
        force : bool
            Overwrite a comparison at ``out``.

        Returns
        -------
        Path
            ``out``.

        Raises
        ------
        ArtifactError
            If ``out`` exists, another process is making it, or it cannot be written.
        """
        return store_comparison(
            self.document, self.config, Path(out), started=self.started, force=force
        )


def compare(
    runs: str | os.PathLike[str] | Runs,
    config: CompareConfig | None = None,
    *,
    add_contexts: bool = False,
) -> Compared:
    """Score runs against each other and against one-hot and random vectors.

    Sets and runs that cannot be scored are listed in ``failures``; the others are scored.

    Parameters
    ----------
    runs : str, path or WordVectors; a sequence of these, or a mapping of names to these
        Runs of any method, vectors files, Hugging Face folders; also opened vectors, and encoders
        that were opened from a run. The names stand for the runs in tables. Measurements of
        vectors in memory are not cached.
    config : CompareConfig, optional
        Evaluation sets and settings; by default WS-353, SimLex-999 and the Google
        analogies, or no set with ``intrinsic=True``.
    add_contexts : bool
        Add each word's context vector to its word vector, in the runs that have both.

    Returns
    -------
    Compared
        Tables, drawings, an HTML report, and the results as JSON.

    Raises
    ------
    ArtifactError
        If a run is missing or damaged.
    FirthError
        If no set can be read.
    SettingError
        If two runs have the same name, or no run has context vectors to add.
    """
    config = config or CompareConfig()
    tasks, failures = readable_tasks(config)
    each = [runs] if isinstance(runs, str | os.PathLike) else runs
    opened = distinct_runs(open_runs(each, add_contexts=add_contexts, starts=True))
    started = now()
    held_out = list(held_out_losses(opened.paths, opened.groups))
    comparison = compare_opened(opened, tasks, config)
    about = {
        name: {**facts, "dim": opened.vectors[name].matrix.shape[1]}
        for name, facts in opened.about.items()
    }
    document = to_json(comparison, config, about)
    if held_out:
        document["held_out"] = [held_out_json(rows) for rows in held_out]
    document["summary"] = summarize(document, noun_of(next(iter(opened.vectors.values()))))
    failures += comparison.failures
    geometry = measure_geometry(opened.vectors, config) if config.intrinsic else None
    if geometry is not None:
        document |= geometry_json(geometry)
        failures += geometry.failures
    if failures:
        document["failures"] = failures
    return Compared(document, config, comparison, geometry, opened, tasks, started, held_out)
