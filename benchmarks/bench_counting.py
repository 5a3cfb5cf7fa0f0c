"""Co-occurrence counting against a plain numba version of the same method on the same text.

The plain version is what one writes first: single-threaded, positions grouped by word, a 64-bit
dense accumulator, a list of touched columns, sorted.
"""

import argparse

import harness
import numpy as np
import roles
from numba import njit

from firth.embed.svd.cooccurrence import count_cooccurrences
from firth.embed.svd.window_weights import window_weights

ROLE = roles.REPORTING


@njit
def plain_invert(rows, counts):
    """Return positions grouped by word."""
    free = np.zeros(len(counts) + 1, np.int64)
    free[1:] = np.cumsum(counts)
    positions = np.empty(len(rows), np.int64)
    for i in range(len(rows)):
        positions[free[rows[i]]] = i
        free[rows[i]] += 1
    return positions


@njit
def plain_count(rows, offsets, counts, weights):
    """Return the sorted rows of the symmetric co-occurrence matrix."""
    unit = np.empty(len(rows), np.int32)
    for u in range(len(offsets) - 1):
        unit[offsets[u] : offsets[u + 1]] = u
    positions = plain_invert(rows, counts)
    window = len(weights) - 1
    sums = np.zeros(len(counts), np.int64)
    touched = np.empty(len(counts), np.int32)
    starts = np.zeros(len(counts) + 1, np.int64)
    columns, values = np.empty(1 << 20, np.int32), np.empty(1 << 20, np.int64)
    begin = end = 0
    for row in range(len(counts)):
        n_touched = 0
        for k in range(begin, begin + counts[row]):
            i = positions[k]
            for j in range(max(0, i - window), min(len(rows), i + window + 1)):
                if j != i and unit[j] == unit[i]:
                    column = rows[j]
                    if sums[column] == 0:
                        touched[n_touched] = column
                        n_touched += 1
                    sums[column] += weights[abs(i - j)]
        begin += counts[row]
        if end + n_touched > len(columns):
            columns = np.append(columns, np.empty(len(columns) + n_touched, np.int32))
            values = np.append(values, np.empty(len(values) + n_touched, np.int64))
        for column in np.sort(touched[:n_touched]):
            columns[end] = column
            values[end] = sums[column]
            sums[column] = 0
            end += 1
        starts[row + 1] = end
    return starts, columns[:end], values[:end]


class InMemory:
    """A view whose text is read before timing starts."""

    def __init__(self, view):
        self.counts = view.counts
        self.n_tokens = view.n_tokens
        shards = list(view.shards())
        self.rows = np.concatenate([rows for rows, _ in shards])
        ends = np.cumsum([0] + [len(rows) for rows, _ in shards])
        starts = [offsets[:-1] + end for (_, offsets), end in zip(shards, ends[:-1], strict=True)]
        self.offsets = np.concatenate([*starts, ends[-1:]])

    def shards(self):
        """Yield all of it as one shard."""
        yield self.rows, self.offsets


def read(max_vocabulary):
    """Return the reference corpus as the SVD method reads it."""
    from firth.corpora.encoding.build import open_or_build

    corpus = open_or_build(harness.unpacked(roles.open_text("enwiki2015-AA", role=ROLE)))
    return InMemory(
        corpus.view(
            min_count=5, max_vocabulary=max_vocabulary, punctuation="drop", boundary="paragraph"
        )
    )


def same(view, window, weights):
    """Return whether both versions count alike."""
    starts, columns, values = plain_count(view.rows, view.offsets, view.counts, weights)
    ours = count_cooccurrences(view, window=window)
    return all(
        np.array_equal(a, b)
        for a, b in ((starts, ours.starts), (columns, ours.columns), (values, ours.counts))
    )


def main():
    """Run the benchmark."""
    arguments = harness.parse(__doc__, repeats=5, more=_own_options)
    view = read(arguments.max_vocabulary)
    window, threads = arguments.window, arguments.threads
    weights = np.array(window_weights(window, "dynamic")[0], np.int64)
    if not same(view, window, weights):
        raise SystemExit("the two versions count differently")

    def ours(threads, **options):
        return lambda: count_cooccurrences(
            view, **{"window": window, "threads": threads, **options}
        )

    name = f"firth, {threads} threads"
    measured = harness.time_functions(
        {
            name: ours(threads),
            "firth, 1 thread": ours(1),
            f"firth, {threads} threads, window 10 harmonic (64-bit)": ours(
                threads, window=10, weighting="harmonic"
            ),
            "plain numba, 1 thread": lambda: plain_count(
                view.rows, view.offsets, view.counts, weights
            ),
        },
        arguments.repeats,
    )
    harness.report(
        f"counting, {len(view.counts)} words, window {window}",
        measured,
        ours=name,
        work=view.n_tokens / 1e6,
        unit="M tokens",
        arguments=arguments,
    )


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--window", type=int, default=5)
    parser.add_argument("--max-vocabulary", type=int, default=50_000)
    parser.add_argument("--threads", type=int, default=2)


if __name__ == "__main__":
    main()
