"""Ctrl-C is deferred until the block has ended."""

import signal
import threading

import pytest

from firth.corpora.common.interrupts import defer_interrupts


def test_an_interrupt_in_the_block_is_raised_after_it():
    done = []
    with pytest.raises(KeyboardInterrupt):
        with defer_interrupts():
            signal.raise_signal(signal.SIGINT)
            done.append("the rest of the block")
        done.append("what follows")
    assert done == ["the rest of the block"]
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_an_error_in_the_block_takes_precedence():
    with pytest.raises(ZeroDivisionError), defer_interrupts():
        signal.raise_signal(signal.SIGINT)
        raise ZeroDivisionError


def test_other_threads_are_unaffected():
    done = []

    def work():
        with defer_interrupts():
            done.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [1]
