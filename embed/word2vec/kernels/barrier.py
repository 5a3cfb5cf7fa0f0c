"""A barrier for threads that run compiled code: none goes on before all have come."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from corpora.common.jit import compiled

_LONG = ir.IntType(64)
_INT = ir.IntType(32)

# A waiting thread first looks again and again, then lets others have its core between looks, and
# then sleeps between them. Together the looks before the first sleep take about as long as a sleep
# does: rounds on a quiet machine seldom come so far, and a thread whose partner lost its core to
# another program leaves its own to whoever has work.
_LOOKS = 2000  # some microseconds
_YIELDS = 40
_MICROSECONDS = 50  # of a sleep; Linux makes it about 100


@intrinsic
def _arrive(_context: Any, counter: Any) -> Any:
    """Add 1 to ``counter[0]``; what was written before is seen by who sees the count."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        builder.atomic_rmw("add", data, _LONG(1), "acq_rel")
        return context.get_dummy_value()

    return types.void(counter), generate


@intrinsic
def _arrived(_context: Any, counter: Any) -> Any:
    """Read ``counter[0]`` as the other threads have left it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.load_atomic(data, "acquire", 8)

    return types.int64(counter), generate


@intrinsic
def _let_others_run(_context: Any) -> Any:
    """sched_yield() of POSIX."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(_INT, [])
        builder.call(cgutils.get_or_insert_function(builder.module, kind, "sched_yield"), [])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def _sleep(_context: Any, microseconds: Any) -> Any:
    """usleep() of POSIX."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(_INT, [_INT])
        function = cgutils.get_or_insert_function(builder.module, kind, "usleep")
        builder.call(function, [builder.trunc(arguments[0], _INT)])
        return context.get_dummy_value()

    return types.void(types.int64), generate


@compiled
def wait_for_all(counter: Any, expected: Any) -> None:
    """Count this thread, and wait until ``expected`` arrivals have been counted."""
    # counter: int64 (1,)
    _arrive(counter)
    looks = 0
    while _arrived(counter) < expected:
        looks += 1
        if looks % _LOOKS == 0:
            if looks <= _YIELDS * _LOOKS:
                _let_others_run()
            else:
                _sleep(_MICROSECONDS)
