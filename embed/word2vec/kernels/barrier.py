"""A barrier for threads in compiled code: none continues before all have arrived."""

from functools import partial
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from firth.corpora.common.jit import compiled, emitted

_LONG = ir.IntType(64)
_INT = ir.IntType(32)

# A waiting thread first spins, then yields its core between spins, then sleeps between them. All
# spins before the first sleep take about as long as a sleep: on an idle machine rounds seldom get
# that far, and if another program has taken a partner's core, the waiting thread frees its own.
_SPINS = 2000  # a few microseconds
_YIELDS = 40
_SLEEP_MICROSECONDS = 50  # Linux takes about 100


@emitted
def _arrive(builder: Any, counter: Any) -> None:
    """Add 1 to ``counter[0]`` with release order: who sees the count sees all earlier writes."""
    builder.atomic_rmw("add", counter, _LONG(1), "acq_rel")


@partial(emitted, result=types.int64)
def _arrived(builder: Any, counter: Any) -> Any:
    """Read ``counter[0]`` atomically."""
    return builder.load_atomic(counter, "acquire", 8)


@emitted
def _yield_core(builder: Any) -> None:
    """Call sched_yield() of POSIX."""
    kind = ir.FunctionType(_INT, [])
    builder.call(cgutils.get_or_insert_function(builder.module, kind, "sched_yield"), [])


@emitted
def _sleep(builder: Any, microseconds: Any) -> None:
    """Call usleep() of POSIX."""
    kind = ir.FunctionType(_INT, [_INT])
    function = cgutils.get_or_insert_function(builder.module, kind, "usleep")
    builder.call(function, [builder.trunc(microseconds, _INT)])


@compiled
def wait_for_all(counter: Any, expected: Any) -> None:
    """Count this thread and wait for ``expected`` arrivals, those of earlier barriers included."""
    # counter: int64 (1,)
    _arrive(counter)
    spins = 0
    while _arrived(counter) < expected:
        spins += 1
        if spins % _SPINS == 0:
            if spins <= _YIELDS * _SPINS:
                _yield_core()
            else:
                _sleep(_SLEEP_MICROSECONDS)
