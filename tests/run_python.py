"""Python run in a process of its own."""

import subprocess
import sys
from typing import Any


def run_python(*arguments: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run Python with some arguments, and capture what it prints."""
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, **options
    )
