"""Ctrl-C: deferred during work that must not be interrupted, and ignored by worker processes."""

import contextlib
import os
import signal
import sys
import threading
import types
from collections.abc import Iterator
from multiprocessing import resource_tracker

_SAFE_PATH = "PYTHONSAFEPATH"


@contextlib.contextmanager
def defer_interrupts() -> Iterator[None]:
    """Defer Ctrl-C until the block has ended.

    Training threads cannot be stopped and would keep updating the parameters, and a half-done
    step must not enter a checkpoint. No effect outside the main thread, which gets all signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    previous = signal.signal(signal.SIGINT, lambda number, _: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
    if received:
        signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Block SIGINT so that new workers ignore Ctrl-C; on Windows they do so once they run."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # which starts before it is blocked, since that unblocks it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def main_hidden() -> Iterator[None]:
    """Hide the main module, which new workers would otherwise import: a script would run again."""
    before = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        with safe_path():
            yield
    finally:
        sys.modules["__main__"] = before


@contextlib.contextmanager
def safe_path() -> Iterator[None]:
    """Let Python processes that start in the block import nothing from the current folder.

    It may be a stranger's, with a ``pickle.py`` beside the texts.
    """
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before
