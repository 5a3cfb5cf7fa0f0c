"""What all tests share: real data where it lies beside the repository, caches kept apart."""

import enum
import gc
import math
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from corpora.common import console

ROOT = Path(__file__).resolve().parents[1]

# Kernels compile within the first example, so no deadline. Two profiles: by default and in CI
# the same examples every time; `explore` looks for new ones.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("ci", derandomize=True, print_blob=True, **_COMMON)
settings.register_profile("explore", max_examples=2000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# A shell without job control has what it starts in the background ignore Ctrl-C, and its children,
# too; tests that interrupt a process would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Collecting makes a million objects that live to the end; looking through them again and again
# takes a third of that time, and a twentieth of each test's.
gc.set_threshold(20_000, 50, 100)


def pytest_collection_finish() -> None:
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the file that compiles what most others need, and end with short ones.

    Of two processes only one then compiles it, and both have work to the end.
    """

    def turn(item: pytest.Item) -> int:
        if item.nodeid.startswith("tests/corpora/build/test_pipeline.py"):
            return 0
        return 2 if item.nodeid.startswith("tests/corpora/text/") else 1

    items.sort(key=turn)


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real corpora and evaluation sets; its README.md lists them."""
    folder = Path(os.environ.get("FIRTH_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"real data is not here: no folder {folder} (FIRTH_SHARED_DATA names another)")
    return folder


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder for the whole session, so that tables are derived once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _own_cache(shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the person's own cache."""
    monkeypatch.setenv("FIRTH_CACHE", str(shared_cache))


@pytest.fixture(autouse=True)
def _no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a command prints depends on no speed: on a slow machine it would tell how far it is."""
    monkeypatch.setattr(console, "_QUIET_SECONDS", math.inf)
    monkeypatch.setattr(console, "_SILENT_SECONDS", 1e6)


@pytest.fixture(autouse=True)
def _shown() -> Iterator[None]:
    """Notes go to standard error, where tests read them; by default the library is silent."""
    with console.show_progress():
        yield


@pytest.fixture
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder for one test alone, empty."""
    folder = tmp_path / "fresh-cache"
    monkeypatch.setenv("FIRTH_CACHE", str(folder))
    return folder


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name plain data by its content; refuse what pytest names by place or by raw bytes."""
    # xdist compares the ids of its workers, so an id must be the same in every process; and ASCII,
    # as pytest makes them of texts, since a terminal may show no more.
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
    """Numbers and texts in containers as a short text; None if something else is among them."""
    if isinstance(value, dict):
        parts = [_plain(list(pair)) for pair in value.items()]
        return None if None in parts else ",".join(part.replace(",", "=", 1) for part in parts)
    if isinstance(value, list | tuple):
        parts = [_plain(part) for part in value]
        return None if None in parts else ",".join(parts)
    if isinstance(value, str | int | float | None):
        return str(value)
    return None
