"""Where, when and with what something was made."""

import contextlib
import datetime
import importlib.metadata
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

_PACKAGES = (
    "firth", "numpy", "scipy", "numba", "torch", "tokenizers", "scikit-learn", "gensim",
    "jieba",
)  # fmt: skip


def provenance(started: datetime.datetime, **about: Any) -> dict[str, Any]:
    """Tell where, when and with what an artifact was made."""
    return {
        "command": sys.argv,
        "git": _git_state(),
        "python": platform.python_version(),
        "packages": _package_versions(),
        "machine": {"platform": platform.platform(), "cores": os.cpu_count()},
        "start": started.isoformat(timespec="seconds"),
        "end": now().isoformat(timespec="seconds"),
        **about,
    }


def now() -> datetime.datetime:
    """Tell the time in UTC."""
    return datetime.datetime.now(datetime.UTC)


def _package_versions() -> dict[str, str]:
    """Versions of the packages that results may depend on."""
    versions = {}
    for name in _PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions


def _git_state() -> dict[str, Any] | None:
    """Commit and dirty flag of the checkout that runs, if it is one."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    try:
        commit = _git(root, "rev-parse", "HEAD")
        return {"commit": commit, "dirty": bool(_git(root, "status", "--porcelain"))}
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(root: Path, *words: str) -> str:
    """Output of one git command."""
    done = subprocess.run(
        ["git", "-C", str(root), *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()
