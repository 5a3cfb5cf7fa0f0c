"""A barrier for threads in compiled code: none continues before all have arrived."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from firth.corpora.common.jit import compiled

_LONG = ir.IntType(64)
_INT = ir.IntType(32)

# A waiting thread first spins, then yields its core between spins, then sleeps between them. All
# spins before the first sleep take about as long as a sleep: on an idle machine rounds seldom get
# that far, and if another program has taken a partner's core, the waiting thread frees its own.
_SPINS = 2000  # a few microseconds
_YIELDS = 40
_SLEEP_MICROSECONDS = 50  # Linux takes about 100


@intrinsic
def _arrive(_context: Any, counter: Any) -> Any:
    """Add 1 to ``counter[0]`` with release order: who sees the count sees all earlier writes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        builder.atomic_rmw("add", data, _LONG(1), "acq_rel")
        return context.get_dummy_value()

    return types.void(counter), generate


@intrinsic
def _arrived(_context: Any, counter: Any) -> Any:
    """Read ``counter[0]`` atomically."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.load_atomic(data, "acquire", 8)

    return types.int64(counter), generate


@intrinsic
def _yield_core(_context: Any) -> Any:
    """Call sched_yield() of POSIX."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(_INT, [])
        builder.call(cgutils.get_or_insert_function(builder.module, kind, "sched_yield"), [])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def _sleep(_context: Any, microseconds: Any) -> Any:
    """Call usleep() of POSIX."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(_INT, [_INT])
        function = cgutils.get_or_insert_function(builder.module, kind, "usleep")
        builder.call(function, [builder.trunc(arguments[0], _INT)])
        return context.get_dummy_value()

    return types.void(types.int64), generate


@compiled
def wait_for_all(counter: Any, expected: Any) -> None:
    """Count this thread and wait until there have been ``expected`` arrivals.

    The counter is not reset: the n-th barrier expects n times the number of threads.
    """
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
