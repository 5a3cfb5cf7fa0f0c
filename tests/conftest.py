"""What all tests share: real data where it lies beside the repository, caches kept apart."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]

# Kernels compile within the first example, so no deadline. Two profiles: by default and in CI
# the same examples every time; `explore` looks for new ones.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("ci", derandomize=True, print_blob=True, **_COMMON)
settings.register_profile("explore", max_examples=2000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


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


@pytest.fixture
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder for one test alone, empty."""
    folder = tmp_path / "fresh-cache"
    monkeypatch.setenv("FIRTH_CACHE", str(folder))
    return folder
