"""Provenance: command, code version, packages, machine and times of an artifact."""

import contextlib
import datetime
import functools
import importlib.metadata
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import firth
from firth.corpora.common.urls import public

PROVENANCE = "provenance.json"
_PACKAGES = (
    "firth", "numpy", "scipy", "numba", "torch", "tokenizers", "scikit-learn", "gensim",
    "rjieba", "simplemma",
)  # fmt: skip


def provenance(started: datetime.datetime, **about: Any) -> dict[str, Any]:
    """Return the provenance of an artifact that was started at ``started``."""
    return {
        "command": list(map(public, sys.argv)),
        "git": _git_state(),
        "python": platform.python_version(),
        "packages": package_versions(_PACKAGES),
        "machine": {"platform": platform.platform(), "cores": os.cpu_count()},
        "start": started.isoformat(timespec="seconds"),
        "end": now().isoformat(timespec="seconds"),
        **about,
    }


def now() -> datetime.datetime:
    """Return the current time in UTC."""
    return datetime.datetime.now(datetime.UTC)


@functools.cache  # packages and code of a process stay as they were when it started
def package_versions(names: tuple[str, ...]) -> dict[str, str]:
    """Return the versions of those packages that are installed."""
    versions = {}
    for name in names:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions


@functools.cache
def _git_state() -> dict[str, Any] | None:
    """Return commit and dirty flag; None outside a git checkout."""
    root = Path(firth.__file__).parent.parent
    if not (root / ".git").exists():
        return None
    try:
        commit = _git(root, "rev-parse", "HEAD")
        return {"commit": commit, "dirty": bool(_git(root, "status", "--porcelain"))}
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(root: Path, *words: str) -> str:
    """Return the output of a git command."""
    done = subprocess.run(
        ["git", "-C", str(root), *words], capture_output=True, encoding="utf-8", check=True
    )
    return done.stdout.strip()
