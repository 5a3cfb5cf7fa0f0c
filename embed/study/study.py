"""Running a study: build, train, compare, and reuse what is up to date."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from firth.corpora.common.console import in_notebook, shell_quoted
from firth.corpora.common.display import html_table
from firth.corpora.common.errors import ArtifactError, FirthError, SettingError, SourceError
from firth.corpora.common.options import as_command_line
from firth.corpora.common.reporting import is_silent, note
from firth.corpora.encoding.build import build, open_or_build, up_to_date
from firth.corpora.encoding.phrase_options import PhraseOptions
from firth.corpora.encoding.request import BuildOptions, Request, make_request
from firth.corpora.reading.in_memory import TextSource, paths_of
from firth.corpora.reading.sources import source_files
from firth.corpora.reading.text_blocks import ReadOptions
from firth.corpora.store.corpus import Corpus, is_corpus
from firth.corpora.text.segment import TextSettings
from firth.embed.compare.api import compare
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.recommend import features_of
from firth.embed.compare.report.contents import choose_words, find_asked
from firth.embed.compare.scoring.sets import read_tasks
from firth.embed.query.prompt import print_neighbors
from firth.embed.registry import find_method
from firth.embed.study.choices import choose_settings
from firth.embed.study.folder import StudyFolder
from firth.embed.study.settings import BUILD, COMPARE, Study, command_options, make_config
from firth.embed.vectors.neighbors import known_word, nearest
from firth.embed.vectors.word_vectors import WordVectors

REPORT = "report.html"
COMPARISON = "comparison"
_N_WORDS, _N_NEIGHBORS = 5, 5


@dataclass(frozen=True)
class StudyResult:
    """The outputs of a study."""

    corpus: Path
    runs: tuple[Path, ...]  # one per method that could be trained
    compared: bool  # whether the comparison and the report were written
    failures: tuple[str, ...]  # one line per step that failed unexpectedly
    left_out: tuple[str, ...] = ()  # one line per step that this text or machine does not allow

    @property
    def report(self) -> Path | None:
        """The report page, or None if the comparison failed."""
        return self.runs[0].parent / REPORT if self.compared else None

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        rows = [("report", str(self.report or "")), ("corpus", str(self.corpus))]
        rows += [("run", str(run)) for run in self.runs]
        rows += [("left out", line) for line in self.left_out]
        return html_table(["", ""], rows + [("failed", line) for line in self.failures], "Study")


def study(
    source: Study | Corpus | TextSource, out: str | Path, *, force: bool = False
) -> StudyResult:
    """Build the corpus, train every method, compare the runs and write a report.

    The command that does the same as a step is shown. Steps whose output is up to date are skipped,
    so a study that was interrupted or killed at any moment resumes when it is run again.

    Parameters
    ----------
    source : Study, Corpus, path or text
        The settings, or only a corpus or a text, as :func:`firth.build_corpus` takes it; text in
        memory is built in the cache, and the study refers to the corpus there. Open
        settings are chosen by the text and the budget, once (evaluation sets each time), and saved
        in ``study.toml``.
    out : str or Path
        The folder of all outputs.
    force : bool
        Redo what was made there with other settings, and what depends on it.

    Returns
    -------
    StudyResult
        The outputs and the failures.

    Raises
    ------
    ArtifactError
        If ``out`` is not a study folder, is in use, or was made with other settings.
    SourceError
        If a text or an evaluation set cannot be read.
    FirthError
        If the corpus cannot be built or no method can be trained.
    """
    settings = source if isinstance(source, Study) else Study(_sources_of(source))
    out, request = Path(out), _corpus_request(settings)
    if request is not None:  # before the folder is created
        _refuse_inside(out, settings.sources)
        files = source_files(request.sources)
        if all(file.size == 0 for file in files):
            raise SourceError(
                f"{settings.sources[0]}: the source is empty; pass one that contains text"
            )
    if "sets" in settings.options.get(COMPARE, {}):
        read_tasks(make_config(CompareConfig, settings.options[COMPARE]))
    with StudyFolder.open(out) as folder:
        folder.begin(settings, force)
        path = Path(settings.sources[0])
        if request is not None:
            path = folder.path / "corpus"
            _build(settings, request, path, force)
        return _train_and_compare(settings, open_or_build(path), folder, force)


def _sources_of(source: Corpus | TextSource) -> tuple[str, ...]:
    """Return the paths of a corpus, or of texts; text in memory is first built in the cache."""
    paths = None if isinstance(source, Corpus) else paths_of(source)
    return tuple(map(str, [open_or_build(source).path] if paths is None else paths))


def _train_and_compare(
    requested: Study, corpus: Corpus, folder: StudyFolder, force: bool
) -> StudyResult:
    """Choose open settings, train every method and compare the runs."""
    reused = folder.reuse_choices(requested, corpus.fingerprint)
    study, impossible = choose_settings(reused, corpus, features_of(corpus))
    left_out = [f"firth {step}: {reason}" for step, reason in impossible.items()]
    folder.save_choices(requested, study, corpus.fingerprint)
    runs, failures = [], []
    for method in study.methods:
        if f"train-{method}" in impossible:
            continue
        if failure := _train(method, study, corpus, folder, force):
            failures.append(failure)
        else:
            runs.append(folder.path / method)
    if not runs:
        reasons = "; ".join([*failures, *left_out])
        raise FirthError(f"{folder.path}: no method could be trained: {reasons}")
    opened = [WordVectors.open(run) for run in runs]
    words, unknown = find_asked(opened, dict.fromkeys(study.words))
    if unknown:
        note(f"`words`: no run has a vector of {', '.join(unknown)}")
    failure = _compare(study, folder, runs, list(words), [*left_out, *failures])
    if failure:
        failures.append(failure)
    if shows_tables():
        _print_neighbors(runs, opened, list(words))
    return StudyResult(corpus.path, tuple(runs), not failure, tuple(failures), tuple(left_out))


def _train(method: str, study: Study, corpus: Corpus, folder: StudyFolder, force: bool) -> str:
    """Train a run unless it is up to date; return why that failed, or nothing."""
    command, out = f"train-{method}", folder.path / method
    given = study.options.get(command, {})
    options = command_options(given, command)
    wanted = {"options": options, "corpus": corpus.fingerprint}
    if folder.is_current(out, wanted, force):
        note(f"{out}: kept")
        return ""
    overwrites = folder.start_step(out, wanted)
    _show_command(command, str(corpus.path), *options, "--out", str(out), *["--force"] * overwrites)
    trained = find_method(method)
    try:
        trained.train_function()(
            corpus, make_config(trained.config_class(), given), out, force=overwrites
        )
    except (FirthError, OSError) as error:
        return _failure(command, error)
    folder.write_step(out.name, wanted)
    return ""


def _show_command(*words: str) -> None:
    """Note the command that does the next step."""
    quoted = (word if word.startswith("--") else shell_quoted(word) for word in words)
    note(f"$ firth {' '.join(quoted)}")


def _failure(command: str, error: Exception | str) -> str:
    """Return the line about a step that failed."""
    return f"firth {command}: {as_command_line(str(error))}"


def shows_tables() -> bool:
    """Return whether tables are printed: neither if silent, nor into the cell of a notebook."""
    return not (is_silent() or in_notebook())


def _corpus_request(study: Study) -> Request | None:
    """Return the corpus to build; None if the source is a corpus."""
    options = study.options.get(BUILD, {})
    if len(study.sources) == 1 and is_corpus(Path(study.sources[0])):
        if options:
            raise SettingError(
                f"[{BUILD}]: {study.sources[0]} is a corpus already; remove these options"
            )
        return None
    if "-" in study.sources:
        raise SettingError("-: a study reads its text more than once; save it to a file")
    return make_request(
        study.sources,
        read=make_config(ReadOptions, options),
        text=make_config(TextSettings, options),
        options=make_config(BuildOptions, options),
        phrases=make_config(PhraseOptions, options),
    )


def _build(study: Study, request: Request, out: Path, force: bool) -> None:
    """Build the corpus unless it is up to date."""
    if up_to_date(out, request):
        note(f"{out}: kept")
        return
    outdated = is_corpus(out)
    if outdated and not force:
        raise ArtifactError(
            f"{out}: was built from other texts or with other settings; choose another `out`, or "
            "pass `force=True` to redo the study"
        )
    options = command_options(study.options.get(BUILD, {}), BUILD)
    _show_command(BUILD, *study.sources, *options, "--out", str(out), *["--force"] * outdated)
    build(request, out, force=outdated)


def _refuse_inside(out: Path, sources: Sequence[str]) -> None:
    """Raise if the study is inside the folder of its texts: it would read its own output."""
    folders = [Path(source).resolve() for source in sources if Path(source).is_dir()]
    inside = [folder for folder in folders if folder in (out.resolve(), *out.resolve().parents)]
    if inside:
        raise SettingError(f"`out={out}`: inside the source {inside[0]}; choose another")


def _compare(
    study: Study,
    folder: StudyFolder,
    runs: Sequence[Path],
    words: Sequence[str],
    left_out: Sequence[str],
) -> str:
    """Compare all runs and write the report, with unchanged scores cached; return why it failed."""
    given = study.options.get(COMPARE, {})
    out, report = folder.path / COMPARISON, folder.path / REPORT
    files = ("--out", str(out), "--report", str(report), "--force")
    _show_command(COMPARE, *map(str, runs), *command_options(given, COMPARE), *files)
    try:
        compared = compare([*map(str, runs)], make_config(CompareConfig, given))
        failures = [as_command_line(failure) for failure in compared.failures]
        if failures:
            compared.document["failures"] = failures
        if left_out:
            compared.document["left_out"] = list(left_out)
        compared.store(out, force=True)
        compared.write_report(report, words=words, force=True)
    except (FirthError, OSError) as error:
        return _failure(COMPARE, error)
    if shows_tables():
        compared.print_tables()
    return _failure(COMPARE, "; ".join(failures)) if failures else ""


def _print_neighbors(
    runs: Sequence[Path], opened: Sequence[WordVectors], words: Sequence[str]
) -> None:
    """Print the neighbors of words, by default of some chosen ones, in every run."""
    asked = words or choose_words(opened, [], _N_WORDS)
    shared = [
        word for word in asked if all(run.row(known_word(run, word)) is not None for run in opened)
    ]
    skipped = [word for word in asked if word not in shared]
    if skipped:
        note(f"`words`: neighbors are only in the report for {', '.join(skipped)}: not in all runs")
    for path, vectors in zip(runs, opened, strict=True):
        _show_command("neighbors", str(path), *shared)
        for word, neighbors in zip(shared, nearest(vectors, shared, _N_NEIGHBORS), strict=True):
            print_neighbors(word, neighbors)
