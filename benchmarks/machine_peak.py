"""Peak performance of the machine: arithmetic, memory bandwidth and random access to rows.

Arithmetic is float32, the better of BLAS and a loop of fused multiply-adds in registers. Many short
runs are made and the best one counts, which reduces disturbance by other programs. A benchmark
calls :func:`measure`; as a script it prints a table.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import harness
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from threadpoolctl import threadpool_limits

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.console import print_table

ROW = 112  # floats of a row: 448 bytes, of which 100 hold a vector in a table of whole cache lines
TABLES = (34, 300)  # MB: about what fits a large cache, and what does not
_FUSED_STEPS = 1 << 21
_SIDE = 1024  # of the matrices that BLAS multiplies
_AHEAD = (0, 4, 16)  # rows between prefetch and use; 0: the processor's own guess
_ROWS = 1 << 16  # read by each thread in a run


def measure(threads: Sequence[int] = (1, 2), seconds: float = 0.3) -> dict[str, dict[str, float]]:
    """Return the peak rates by number of threads (as text, as in JSON).

    ``flops`` in flop/s (a fused multiply-add counts two), ``read`` in bytes/s read in order, and
    for each table size ``gather_34MB`` in bytes/s of rows read at random and ``update_34MB`` in
    bytes/s of rows read, changed and written at random (counted once). Each of 18 measurements per
    number of threads takes ``seconds``.
    """
    rooms = {
        "flops": [*(_fused(lanes, sums) for lanes in (8, 16) for sums in (8, 12)), _blas()],
        "read": [_read(max(TABLES))],
    }
    for megabytes in TABLES:
        table = _table(megabytes)
        rooms[f"gather_{megabytes}MB"] = [_rows(table, gather, a) for a in _AHEAD]
        rooms[f"update_{megabytes}MB"] = [_rows(table, update, a) for a in _AHEAD]
    with threadpool_limits(1):  # BLAS, too, works in the threads that we start
        return {
            name: {str(n): max(_rate(work, n, seconds) for work in works) for n in threads}
            for name, works in rooms.items()
        }


def _rate(work: Callable[[int, int], float], threads: int, seconds: float) -> float:
    """Return the highest rate of all threads together."""
    best = 0.0
    with ThreadPoolExecutor(threads) as pool:

        def run() -> float:
            return sum(pool.map(work, range(threads), [threads] * threads))

        run()  # compiles
        begun = time.perf_counter()
        while (started := time.perf_counter()) < begun + seconds:
            amount = run()
            best = max(best, amount / (time.perf_counter() - started))
    return best


def _fused(lanes: int, sums: int) -> Callable[[int, int], float]:
    """Return a measurement of fused multiply-adds in this many registers, in flops."""
    multiply_add = _multiply_add(lanes, sums)

    @njit(nogil=True)
    def work(steps, factor, addend):
        return multiply_add(steps, factor, addend)

    def run(_thread: int, _threads: int) -> float:
        work(_FUSED_STEPS, np.float32(0.5), np.float32(1))
        return 2.0 * lanes * sums * _FUSED_STEPS

    return run


def _multiply_add(lanes: int, sums: int) -> Any:
    """Return a loop over ``sum = sum * factor + addend`` for many independent sums."""
    vector = ir.VectorType(ir.FloatType(), lanes)

    @intrinsic
    def multiply_add(_context, steps, factor, addend):
        def generate(_context, builder, _signature, arguments):
            def spread(value):
                lane = builder.insert_element(ir.Constant(vector, ir.Undefined), value, _zero)
                order = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
                return builder.shuffle_vector(lane, lane, order)

            _zero = ir.IntType(32)(0)
            factors, addends = spread(arguments[1]), spread(arguments[2])
            kind = ir.FunctionType(vector, [vector] * 3)
            fma = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{lanes}f32")
            places = [cgutils.alloca_once(builder, vector) for _ in range(sums)]
            for n, place in enumerate(places):  # unlike starts, or the compiler keeps only one
                builder.store(ir.Constant(vector, [float(n)] * lanes), place)
            with cgutils.for_range(builder, arguments[0]):
                for place in places:
                    builder.store(builder.call(fma, [builder.load(place), factors, addends]), place)
            total = builder.load(places[0])
            for place in places[1:]:
                total = builder.fadd(total, builder.load(place))
            result = builder.extract_element(total, _zero)
            for lane in range(1, lanes):
                result = builder.fadd(result, builder.extract_element(total, ir.IntType(32)(lane)))
            return result

        return types.float32(types.int64, types.float32, types.float32), generate

    return multiply_add


def _blas() -> Callable[[int, int], float]:
    """Return a measurement of a matrix product, in flops."""
    left, right = np.random.default_rng(1).random((2, _SIDE, _SIDE), np.float32)

    def run(_thread: int, _threads: int) -> float:
        _ = left @ right
        return 2.0 * _SIDE**3

    return run


def _read(megabytes: int) -> Callable[[int, int], float]:
    """Return a measurement of reading an array in order, a part per thread, in bytes."""
    data = np.ones(megabytes * 1_000_000 // 4, np.float32)

    def run(thread: int, threads: int) -> float:
        part = data[len(data) * thread // threads : len(data) * (thread + 1) // threads]
        total(part)
        return float(part.nbytes)

    return run


def _table(megabytes: int) -> np.ndarray:
    """Return rows of ones aligned to cache lines."""
    n_rows = megabytes * 1_000_000 // (4 * ROW)
    room = np.ones(n_rows * ROW + 16, np.float32)
    first = -room.ctypes.data % 64 // 4
    return room[first : first + n_rows * ROW]


def _rows(table: np.ndarray, kernel: Any, ahead: int) -> Callable[[int, int], float]:
    """Return a measurement of random rows, different ones per thread, in bytes."""
    n_rows = len(table) // ROW

    def run(thread: int, _threads: int) -> float:
        if thread not in chosen:
            chosen[thread] = np.random.default_rng(thread).integers(0, n_rows, _ROWS) * ROW
        kernel(table, chosen[thread], ahead)
        return 4.0 * ROW * _ROWS

    chosen: dict[int, np.ndarray] = {}
    return run


@intrinsic
def prefetch(_context, table, offset):
    """Prefetch the cache line of one float."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", (byte,), kind)
        place = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        builder.call(function, [place, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(table, types.int64), generate


@njit(nogil=True, fastmath=True)
def total(data):
    """Sum an array in the fastest order."""
    result = np.float32(0)
    for i in range(len(data)):
        result += data[i]
    return result


@njit(nogil=True, fastmath=True)
def gather(table, offsets, ahead):
    """Sum rows."""
    totals = np.zeros(ROW, np.float32)  # a sum of each row would be slower than the memory
    for i in range(len(offsets)):
        if ahead > 0:
            later = offsets[min(i + ahead, len(offsets) - 1)]
            for d in range(0, ROW, 16):
                prefetch(table, later + d)
        row = table[offsets[i] : offsets[i] + ROW]
        for d in range(ROW):
            totals[d] += row[d]
    return totals


@njit(nogil=True, fastmath=True)
def update(table, offsets, ahead):
    """Change rows."""
    for i in range(len(offsets)):
        if ahead > 0:
            later = offsets[min(i + ahead, len(offsets) - 1)]
            for d in range(0, ROW, 16):
                prefetch(table, later + d)
        row = table[offsets[i] : offsets[i] + ROW]
        for d in range(ROW):
            row[d] = np.float32(1) - row[d]


def main() -> None:
    """Print the table and write JSON."""
    arguments = harness.parse(__doc__, repeats=10)
    found = measure(seconds=arguments.repeats / 10)
    counts = list(next(iter(found.values())))
    rows = [
        [name, "Gflop/s" if name == "flops" else "GB/s", *(f"{by[n] / 1e9:.1f}" for n in counts)]
        for name, by in found.items()
    ]
    print_table(["", "unit", *(f"{n} threads" for n in counts)], rows, title="the machine's best")
    if arguments.json:
        value = {"peaks": found, **harness.machine()}
        write_json(arguments.json, value)


if __name__ == "__main__":
    main()
