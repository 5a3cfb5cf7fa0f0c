"""Ctrl-C, held back until what must not be cut in two is done."""

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def defer_interrupts() -> Iterator[None]:
    """Let Ctrl-C wait until the block is done; then it comes.

    Threads that train cannot be stopped, and go on to move what they train; and a
    step that was taken by half belongs to no checkpoint. Outside the main thread,
    where no signal arrives, nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        signal.raise_signal(signal.SIGINT)
