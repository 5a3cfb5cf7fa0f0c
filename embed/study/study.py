"""A study: what stands already of it, what is to be made, and in which order."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.build.open_or_build import up_to_date
from corpora.build.request import BuildOptions, Request, make_request
from corpora.common.console import no_option
from corpora.common.errors import ArtifactError, FirthError, SettingError
from corpora.common.reporting import note
from corpora.reading.sources import SourceFile, source_files
from corpora.reading.text_blocks import ReadOptions
from corpora.store.corpus import Corpus, is_corpus
from corpora.text.segment import TextSettings
from embed.compare.config import CompareConfig
from embed.compare.recommend import features_of
from embed.compare.scoring.comparison import read_tasks
from embed.study.choices import SETS, settle
from embed.study.folder import Folder
from embed.study.settings import BUILD, COMPARE, Study, config_of, typed_options
from embed.study.steps import Step, ended, run

if TYPE_CHECKING:
    from embed.vectors.word_vectors import WordVectors

REPORT = "report.html"
COMPARISON = "comparison"
_N_WORDS, _N_NEIGHBORS = 5, 5


@dataclass(frozen=True)
class Made:
    """What a study made."""

    corpus: Path  # the text
    runs: tuple[Path, ...]  # the vectors of each method that could be trained
    compared: bool  # whether the comparison and its page are of these
    failures: tuple[str, ...]  # what could not be done, a line each


def make_study(asked: Study, out: str | Path, *, force: bool = False) -> Made:
    """Do all that a study asks for and that does not stand yet.

    Each step is a command, shown as it is typed. Killed at any moment, the same study goes on
    where it was: ``study.json`` tells of each step, before it starts, what it is made from.

    Parameters
    ----------
    asked : Study
        Perhaps with choices left open, which are made once and kept in ``study.toml``.
    out : str or Path
        The folder of all of it.
    force : bool
        Make anew what other settings made there, and what is made from that.

    Returns
    -------
    Made
        What stands now.

    Raises
    ------
    ArtifactError
        ``out`` is no folder of a study, another is at work there, or it holds what other
        settings made.
    SourceError
        A text or an evaluation set cannot be read.
    FirthError
        The corpus could not be built, or no vectors trained.
    """
    out, request = Path(out), _request(asked)
    if request is not None:  # refuses what is missing or in the way, before there is any folder
        _refuse_inside(out, source_files(request.sources), asked.sources)
    if SETS & asked.options.get(COMPARE, {}).keys():
        read_tasks(config_of(CompareConfig, asked.options[COMPARE]))
    with Folder.open(out) as folder:
        folder.begin(asked, force)
        corpus_path = Path(asked.sources[0])
        if request is not None:
            corpus_path = _build(asked, request, folder, force)
        return _train_and_compare(asked, corpus_path, folder, force)


def _train_and_compare(asked: Study, corpus_path: Path, folder: Folder, force: bool) -> Made:
    """All that follows when the text is there."""
    corpus = Corpus.open(corpus_path)
    carried = folder.carried_over(asked, corpus.fingerprint)
    study = settle(carried, corpus, str(corpus_path), features_of(corpus))
    folder.keep(asked, study, corpus.fingerprint)
    runs, failures = [], []
    for method in study.methods:
        command, out = f"train-{method}", folder.path / method
        options = typed_options(study.options.get(command, {}), command)
        step = Step(command, (str(corpus_path),), tuple(options), out)
        status = folder.do(step, corpus.fingerprint, force)
        if status:
            failures.append(f"firth {command}: {ended(status)}")
        else:
            runs.append(out)
    if not runs:
        raise FirthError(f"{folder.path}: no method could be trained: {'; '.join(failures)}")
    status = _compare(study, folder, runs)
    if status:
        failures.append(f"firth {COMPARE}: {ended(status)}")
    _print_neighbors(study, runs)
    return Made(corpus_path, tuple(runs), status == 0, tuple(failures))


def _request(asked: Study) -> Request | None:
    """The corpus to be built; None where it stands already."""
    options = asked.options.get(BUILD, {})
    if len(asked.sources) == 1 and is_corpus(Path(asked.sources[0])):
        if options:
            raise SettingError(
                f"[{BUILD}]: {asked.sources[0]} is a corpus already, and is not built"
            )
        return None
    if "-" in asked.sources:
        raise SettingError("-: a study reads its text again; put it into a file")
    return make_request(
        asked.sources,
        read=config_of(ReadOptions, options),
        text=config_of(TextSettings, options),
        options=config_of(BuildOptions, options),
    )


def _build(asked: Study, request: Request, folder: Folder, force: bool) -> Path:
    """Build the corpus, unless it stands."""
    out, options = folder.path / "corpus", asked.options.get(BUILD, {})
    if up_to_date(out, request):
        note(f"{out}: kept")
        return out
    if is_corpus(out) and not force:
        raise ArtifactError(
            f"{out}: was built from other texts or with other settings; choose another `out`, or "
            "pass `force=True` to make the study anew"
        )
    step = Step(BUILD, tuple(asked.sources), tuple(typed_options(options, BUILD)), out)
    status = run(step.typed(force=is_corpus(out)), folder.lock)
    if status:
        raise FirthError(f"{out}: firth {BUILD} {ended(status)}")
    return out


def _refuse_inside(out: Path, files: Sequence[SourceFile], sources: Sequence[str]) -> None:
    """Refuse a study within the folder of its own texts: it would read what it makes."""
    folders = [Path(source).resolve() for source in sources if Path(source).is_dir()]
    inside = [folder for folder in folders if folder in (out.resolve(), *out.resolve().parents)]
    if inside and files:
        raise SettingError(f"`out={out}`: lies in {inside[0]}, which is read; choose another")


def _compare(study: Study, folder: Folder, runs: Sequence[Path]) -> int:
    """Score all runs, with a page; what was measured before comes out of the cache."""
    report = ["--report", no_option(str(folder.path / REPORT))]
    options = (*typed_options(study.options.get(COMPARE, {}), COMPARE), *report)
    step = Step(COMPARE, tuple(map(str, runs)), options, folder.path / COMPARISON)
    return run(step.typed(force=True), folder.lock)


def _print_neighbors(study: Study, runs: Sequence[Path]) -> None:
    """Some words' neighbors in every run."""
    from embed.compare.report.contents import choose_words
    from embed.vectors.word_vectors import WordVectors

    opened = [WordVectors.open(path) for path in runs]
    words = study.words or choose_words(opened, [], _N_WORDS)
    known = _known(words, opened)
    guard = ["--"] if any(word.startswith("-") for word in known) else []
    for path in runs if known else []:
        run(Step("neighbors", (str(path),), ("-k", str(_N_NEIGHBORS), *guard, *known)).typed())


def _known(words: Sequence[str], runs: "Sequence[WordVectors]") -> list[str]:
    """Those words that every run has; the others are told."""
    known = [word for word in words if all(run.row(word) is not None for run in runs)]
    for word in words:
        if word not in known:
            note(f"{word}: is not a word of every run; left out")
    return known
