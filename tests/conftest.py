"""Fixtures and settings of all tests: real data beside the repository, separate caches."""

import enum
import gc
import importlib.util
import math
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from firth.corpora.common import console
from firth.corpora.common.errors import FirthError
from tests.limits import STARTED, skip_problem, unmarked_process
from tests.processes import ForkServer

ROOT = Path(__file__).resolve().parents[1]

# No deadline, since kernels compile during the first example. By default and in CI the examples
# are always the same; the profile `explore` tries new ones.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("ci", derandomize=True, print_blob=True, **_COMMON)
settings.register_profile("explore", max_examples=2000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# A shell without job control makes background processes and their children ignore Ctrl-C; tests
# that interrupt a process would wait forever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Collection creates a million long-lived objects; scanning them repeatedly takes a third of the
# collection time and a twentieth of each test.
gc.set_threshold(20_000, 50, 100)


def pytest_collection_finish() -> None:
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--missing-packages", action="store_true", help="skip tests whose packages are missing"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that start processes by the server; order the files.

    The file that compiles the common kernels is first, and short ones are last. So only one of two
    processes compiles them, and both are busy to the end.
    """
    for item in items:
        if "server" in getattr(item, "fixturenames", ()):
            item.add_marker("process")

    def rank(item: pytest.Item) -> int:
        if item.nodeid.startswith("tests/corpora/encoding/test_pipeline.py"):
            return 0
        return 2 if item.nodeid.startswith("tests/corpora/text/") else 1

    items.sort(key=rank)


def pytest_runtest_logstart() -> None:
    STARTED.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[pytest.TestReport]:
    """Fail tests that start processes without a mark, and skips for other reasons than allowed."""
    report: pytest.TestReport = yield
    missing = bool(item.config.getoption("missing_packages"))
    problem = skip_problem(report, missing) or unmarked_process(item)
    if problem and not report.failed:
        report.outcome, report.longrepr = "failed", problem
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Iterator[pytest.CollectReport]:
    """Fail files that are skipped for other reasons than allowed."""
    report: pytest.CollectReport = yield
    missing = bool(collector.config.getoption("missing_packages"))
    if problem := skip_problem(report, missing):
        report.outcome, report.longrepr = "failed", problem
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Skip tests that need gensim, or files of it that cannot be downloaded either."""
    try:
        return (yield)
    except FirthError as error:
        if "gensim" in str(error) and importlib.util.find_spec("gensim") is None:
            pytest.skip("gensim is not installed")
        raise


pytest_runtest_setup = pytest_runtest_call  # for fixtures


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the root of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real corpora and evaluation sets, listed in its README.md."""
    folder = Path(os.environ.get("FIRTH_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real data: missing folder {folder} (set FIRTH_SHARED_DATA)")
    return folder


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache folder for the whole session, so that tables are computed once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def server() -> Iterator[ForkServer]:
    """The server that forks a process for each command."""
    server = ForkServer()
    yield server
    server.end()


@pytest.fixture(autouse=True)
def _own_cache(shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep tests from using the user's cache."""
    monkeypatch.setenv("FIRTH_CACHE", str(shared_cache))


@pytest.fixture(autouse=True)
def _no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable progress output, which would depend on the speed of the machine."""
    monkeypatch.setattr(console, "_QUIET_SECONDS", math.inf)
    monkeypatch.setattr(console, "_SILENT_SECONDS", 1e6)


@pytest.fixture(autouse=True)
def _shown() -> Iterator[None]:
    """Notes go to standard error, where tests read them; by default the library is silent."""
    with console.show_progress():
        yield


@pytest.fixture
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache folder for a single test."""
    folder = tmp_path / "fresh-cache"
    monkeypatch.setenv("FIRTH_CACHE", str(folder))
    return folder


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name plain data by its content; refuse what pytest would number or name by raw bytes."""
    # xdist compares the ids of its workers, so an id must be the same in every process, and ASCII,
    # since a terminal may not show more.
    if isinstance(val, str | int | float | complex | None | enum.Enum | re.Pattern):
        return None
    if isinstance(val, dict | list | tuple):
        text = _plain(val)
        if text is not None:
            text = text.encode("unicode_escape").decode("ascii")
            return text if 0 < len(text) <= 60 else None
    elif getattr(val, "__name__", "<lambda>") != "<lambda>":
        return None
    raise pytest.UsageError(f"parameter {argname} = {val!r:.60} has no id; pass ids= or param(id=)")


def _plain(value: object) -> str | None:
    """Return containers of numbers and strings as a short text; None for other contents."""
    if isinstance(value, dict):
        parts = [_plain(list(pair)) for pair in value.items()]
        return None if None in parts else ",".join(part.replace(",", "=", 1) for part in parts)
    if isinstance(value, list | tuple):
        parts = [_plain(part) for part in value]
        return None if None in parts else ",".join(parts)
    if isinstance(value, str | int | float | None):
        return str(value)
    return None
