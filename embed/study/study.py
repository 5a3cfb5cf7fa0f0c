"""Running a study: build, train, compare, and reuse what is up to date."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from firth.corpora.common.console import escape_leading_dash
from firth.corpora.common.display import html_table
from firth.corpora.common.errors import ArtifactError, FirthError, SettingError, SourceError
from firth.corpora.common.reporting import note
from firth.corpora.encoding.build import open_or_build
from firth.corpora.encoding.phrase_options import PhraseOptions
from firth.corpora.encoding.request import BuildOptions, Request, make_request
from firth.corpora.encoding.up_to_date import up_to_date
from firth.corpora.reading.in_memory import TextSource, paths_of
from firth.corpora.reading.sources import source_files
from firth.corpora.reading.text_blocks import ReadOptions
from firth.corpora.store.corpus import Corpus, is_corpus
from firth.corpora.text.segment import TextSettings
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.recommend import features_of
from firth.embed.compare.scoring.comparison import read_tasks
from firth.embed.study.choices import SETS, choose_settings
from firth.embed.study.folder import StudyFolder
from firth.embed.study.settings import BUILD, COMPARE, Study, command_options, make_config
from firth.embed.study.steps import Step, run_command, shows_output
from firth.embed.vectors.training import warn_of_little_text
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

    Each step runs as a command, which is printed. Steps whose output is up to date are skipped, so
    a study that was interrupted or killed at any moment resumes when it is run again.

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
    if SETS & settings.options.get(COMPARE, {}).keys():
        read_tasks(make_config(CompareConfig, settings.options[COMPARE]))
    with StudyFolder.open(out) as folder:
        folder.begin(settings, force)
        corpus_path = Path(settings.sources[0])
        if request is not None:
            corpus_path = _build(settings, request, folder, force)
        return _train_and_compare(settings, corpus_path, folder, force)


def _sources_of(source: Corpus | TextSource) -> tuple[str, ...]:
    """Return the paths of a corpus, or of texts; text in memory is first built in the cache."""
    paths = None if isinstance(source, Corpus) else paths_of(source)
    return tuple(map(str, [open_or_build(source).path] if paths is None else paths))


def _train_and_compare(
    requested: Study, corpus_path: Path, folder: StudyFolder, force: bool
) -> StudyResult:
    """Choose open settings, train every method and compare the runs."""
    corpus = Corpus.open(corpus_path)
    reused = folder.reuse_choices(requested, corpus.fingerprint)
    features = features_of(corpus)
    if not shows_output():  # otherwise every training says it
        warn_of_little_text(corpus)
    study, impossible = choose_settings(
        reused, str(corpus_path), features, held_out=corpus.held_out_units > 0
    )
    left_out = [f"firth {step}: {reason}" for step, reason in impossible.items()]
    folder.save_choices(requested, study, corpus.fingerprint)
    runs, failures = [], []
    for method in study.methods:
        command, out = f"train-{method}", folder.path / method
        if command in impossible:
            continue
        options = command_options(study.options.get(command, {}), command)
        step = Step(command, (str(corpus_path),), tuple(options), out)
        if failure := folder.run_step(step, corpus.fingerprint, force):
            failures.append(f"firth {command}: {failure}")
        else:
            runs.append(out)
    if not runs:
        reasons = "; ".join([*failures, *left_out])
        raise FirthError(f"{folder.path}: no method could be trained: {reasons}")
    opened = [WordVectors.open(path) for path in runs]
    words = _known_words(study, opened)
    failure = _compare(study, folder, runs, words, [*left_out, *failures])
    if failure:
        failures.append(f"firth {COMPARE}: {failure}")
    if shows_output():
        _print_neighbors(runs, opened, words)
    return StudyResult(corpus_path, tuple(runs), not failure, tuple(failures), tuple(left_out))


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


def _build(study: Study, request: Request, folder: StudyFolder, force: bool) -> Path:
    """Build the corpus unless it is up to date."""
    out, options = folder.path / "corpus", study.options.get(BUILD, {})
    if up_to_date(out, request):
        note(f"{out}: kept")
        return out
    if is_corpus(out) and not force:
        raise ArtifactError(
            f"{out}: was built from other texts or with other settings; choose another `out`, or "
            "pass `force=True` to redo the study"
        )
    step = Step(BUILD, tuple(study.sources), tuple(command_options(options, BUILD)), out)
    if failure := run_command(step.arguments(force=is_corpus(out)), folder.lock):
        raise FirthError(f"{out}: firth {BUILD}: {failure}")
    return out


def _refuse_inside(out: Path, sources: Sequence[str]) -> None:
    """Raise if the study is inside the folder of its texts: it would read its own output."""
    folders = [Path(source).resolve() for source in sources if Path(source).is_dir()]
    inside = [folder for folder in folders if folder in (out.resolve(), *out.resolve().parents)]
    if inside:
        raise SettingError(f"`out={out}`: inside the source {inside[0]}; choose another")


def _known_words(study: Study, opened: Sequence[WordVectors]) -> list[str]:
    """Return the words that were asked for, as the runs spell them; note those in no run."""
    from firth.embed.compare.report.contents import find_asked

    found, unknown = find_asked(opened, dict.fromkeys(study.words))
    if unknown:
        note(f"`words`: no run has a vector of {', '.join(unknown)}")
    return list(found)


def _compare(
    study: Study,
    folder: StudyFolder,
    runs: Sequence[Path],
    words: Sequence[str],
    left_out: Sequence[str],
) -> str:
    """Compare all runs and write the report, with unchanged scores cached; return why it failed."""
    report = ["--report", escape_leading_dash(str(folder.path / REPORT))]
    report += [f"--words={','.join(words)}"] if words else []
    report += [f"--left-out={line}" for line in left_out]
    options = (*command_options(study.options.get(COMPARE, {}), COMPARE), *report)
    step = Step(COMPARE, tuple(map(str, runs)), options, folder.path / COMPARISON)
    return run_command(step.arguments(force=True), folder.lock)


def _print_neighbors(
    runs: Sequence[Path], opened: Sequence[WordVectors], words: Sequence[str]
) -> None:
    """Print the neighbors of words, by default of some chosen ones, in every run."""
    from firth.embed.compare.report.contents import choose_words

    asked = words or choose_words(opened, [], _N_WORDS)
    shared = [word for word in asked if all(run.row(word) is not None for run in opened)]
    skipped = [word for word in asked if word not in shared]
    if skipped:
        note(f"`words`: neighbors are only in the report for {', '.join(skipped)}: not in all runs")
    guard = ["--"] if any(word.startswith("-") for word in shared) else []
    for path in runs if shared else []:
        step = Step("neighbors", (str(path),), ("-k", str(_N_NEIGHBORS), *guard, *shared))
        run_command(step.arguments())
