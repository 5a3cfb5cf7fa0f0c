"""Deferral of Ctrl-C during work that must not be interrupted."""

import contextlib
import signal
import threading
from collections.abc import Iterator


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
