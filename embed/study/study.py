"""A study: what stands already of it, what is to be made, and in which order."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.blocks import ReadOptions
from corpora.console import note
from corpora.corpus import Corpus, is_corpus
from corpora.errors import ArtifactError, FirthError
from corpora.opening import up_to_date
from corpora.request import BuildOptions, Request, make_request
from corpora.segment import TextSettings
from corpora.sources import source_files
from embed.compare.advice import features_of
from embed.study.choices import settle
from embed.study.folder import Folder
from embed.study.settings import BUILD, COMPARE, Study, config_of, typed_options
from embed.study.steps import Step, run

if TYPE_CHECKING:
    from embed.vectors import WordVectors

REPORT = "report.html"
COMPARISON = "comparison"
_N_WORDS, _N_NEIGHBORS = 5, 5


@dataclass(frozen=True)
class Made:
    """What a study made.

    Attributes
    ----------
    corpus : Path
        The text.
    runs : tuple of Path
        The vectors of each method that could be trained.
    failures : tuple of str
        What could not be done, a line each.
    """

    corpus: Path
    runs: tuple[Path, ...]
    failures: tuple[str, ...]


def make_study(asked: Study, out: Path, *, force: bool = False) -> Made:
    """Do all that a study asks for and that does not stand yet.

    Each step is a command, shown as it is typed. Killed at any moment, the same study goes on
    where it was: ``study.json`` tells of each step, before it starts, what it is made from.

    Parameters
    ----------
    asked : Study
        Perhaps with choices left open, which are made once and kept in ``study.toml``.
    out : Path
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
        ``out`` is no folder of a study, or holds what other settings made.
    FirthError
        The corpus could not be built, or no vectors trained.
    """
    request = _request(asked)
    if request is not None:
        source_files(request.sources)  # refuses what is missing, before there is any folder
    folder = Folder.open(out)
    folder.begin(asked, force)
    corpus_path = Path(asked.sources[0])
    if request is not None:
        corpus_path = _build(asked, request, folder, force)
    corpus = Corpus.open(corpus_path)
    study = folder.settled(corpus.fingerprint)
    if study is None:
        study = settle(asked, corpus, str(corpus_path), features_of(corpus))
        folder.keep(study, corpus.fingerprint)
    runs, failures = [], []
    for method in study.methods:
        command = f"train-{method}"
        options = typed_options(study.options.get(command, {}), command)
        step = Step(command, (str(corpus_path), *options), out / method)
        if folder.do(step, corpus.fingerprint, force):
            runs.append(out / method)
        else:
            failures.append(f"firth {command}: failed, see above")
    if not runs:
        raise FirthError(f"{out}: no method could be trained, see above")
    if not _compare(study, folder, runs):
        failures.append("firth compare: failed in part, see above")
    _print_neighbors(study, runs)
    return Made(corpus_path, tuple(runs), tuple(failures))


def _request(asked: Study) -> Request | None:
    """The corpus to be built; None where it stands already."""
    if len(asked.sources) == 1 and is_corpus(Path(asked.sources[0])):
        return None
    options = asked.options.get(BUILD, {})
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
            f"{out}: was built from other texts or with other settings; choose another --out, or "
            "pass --force to make the study anew"
        )
    step = Step(BUILD, (*asked.sources, *typed_options(options, BUILD)), out)
    if run(step.typed(force=is_corpus(out))):
        raise FirthError(f"{out}: could not be built, see above")
    return out


def _compare(study: Study, folder: Folder, runs: Sequence[Path]) -> bool:
    """Score all runs, with a page; what was measured before comes out of the cache."""
    options = typed_options(study.options.get(COMPARE, {}), COMPARE)
    report = ["--report", str(folder.path / REPORT)]
    step = Step(COMPARE, (*map(str, runs), *options, *report), folder.path / COMPARISON)
    return not run(step.typed(force=True))


def _print_neighbors(study: Study, runs: Sequence[Path]) -> None:
    """Some words' neighbors in every run."""
    from embed.compare.page_parts import choose_words
    from embed.vectors import WordVectors

    opened = [WordVectors.open(path) for path in runs]
    words = study.words or choose_words(opened, [], _N_WORDS)
    known = _known(words, opened)
    for path in runs if known else []:
        run(Step("neighbors", (str(path), *known, "-k", str(_N_NEIGHBORS))).typed())


def _known(words: Sequence[str], runs: "Sequence[WordVectors]") -> list[str]:
    """Those words that every run has; the others are told."""
    known = [word for word in words if all(run.row(word) is not None for run in runs)]
    for word in words:
        if word not in known:
            note(f"{word}: is not a word of every run; left out")
    return known
