"""Inner loops of drawn rows: count a word's contexts in several draws at once, and weigh them.

A column of a table is one draw, in which each unit of text, such as a document, is there a number
of times.
"""

import math

import numpy as np

from firth.corpora.common.jit import compiled


@compiled
def count_drawn(
    text, positions, units, separator, weights, copies, row_of_context, contexts, counts
):
    """Count the contexts of a word in each draw; return their number."""
    # text: uint16 or uint32, laid out as for counting; positions: int32 (n,), of the word
    # units: uint16 or uint32 (n,), of each position; weights: uint32 or int64 (window + 1,)
    # copies: as weights (n_units, J): how often each unit is in each draw
    # row_of_context: int32 (n_words,), -1 before and after
    # contexts: int32 (capacity,), counts: as weights (capacity, J), output
    n_contexts, width = 0, copies.shape[1]
    for k in range(positions.shape[0]):
        unit = units[k]
        for step in (-1, 1):
            for distance in range(1, weights.shape[0]):
                context = text[positions[k] + step * distance]
                if context == separator:
                    break
                if context == separator - 1:  # all words that are not counted
                    continue
                row = row_of_context[context]
                if row < 0:
                    row = n_contexts
                    row_of_context[context] = row
                    contexts[row] = context
                    for x in range(width):
                        counts[row, x] = 0
                    n_contexts += 1
                weight = weights[distance]
                for x in range(width):
                    counts[row, x] += weight * copies[unit, x]
    for row in range(n_contexts):
        row_of_context[contexts[row]] = -1
    return n_contexts


@compiled
def weigh_drawn(counts, contexts, keep, log_factors, logs, values):
    """Write the positive PMI of counts, whose logarithms are looked up where they are small."""
    # counts: uint32 or int64 (n, W); contexts: int32 (n,); keep, log_factors: float64 (V,)
    # logs: float32 (m,): logarithms of 0, which is -inf, to m - 1; values: float32 (n, W), output
    totals = np.zeros(counts.shape[1])
    for row in range(counts.shape[0]):
        kept = keep[contexts[row]]
        for x in range(counts.shape[1]):
            totals[x] += kept * counts[row, x]
    log_totals = np.zeros(counts.shape[1], np.float32)
    for x in range(counts.shape[1]):
        if totals[x] > 0:
            log_totals[x] = math.log(totals[x])
    for row in range(counts.shape[0]):
        factor = np.float32(log_factors[contexts[row]])
        for x in range(counts.shape[1]):
            count = counts[row, x]
            log = logs[count] if count < logs.shape[0] else np.float32(math.log(count))
            values[row, x] = max(log + (factor - log_totals[x]), np.float32(0))
