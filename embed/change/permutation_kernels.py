"""Inner loops of permutation: deal out a word's documents, count its contexts, weigh them.

A column of a table stands for one period in one permutation: column t * J + j is period t in
permutation j of J, of which the first may be the periods as they are.
"""

import math

import numpy as np

from firth.corpora.common.jit import compiled


@compiled
def deal(blocks, orders, targets, labels):
    """Write the period of each block in each permutation, with a word's tokens as given.

    Blocks are taken in the order of the permutation until a period has as many tokens of the word
    as it should have; the block in which the limit falls goes to the side of its larger part.
    """
    # blocks: uint16 (n,), of each token of the word; orders: uint16 (J, B), permutations
    # targets: int64 (K,), tokens of each period; labels: int16 (J, B), output
    sizes = np.zeros(orders.shape[1], np.int64)
    for block in blocks:
        sizes[block] += 1
    for j in range(orders.shape[0]):
        done, period, limit = 0, 0, targets[0]
        for block in orders[j]:
            size = sizes[block]
            if size > 0:
                while period < len(targets) - 1 and 2 * done + size > 2 * limit:
                    period += 1
                    limit += targets[period]
                labels[j, block] = period
                done += size


@compiled
def count_dealt(
    text, positions, blocks, separator, weights, masks, row_of_context, contexts, counts
):
    """Count the contexts of a word in each period of each permutation; return their number."""
    # text: uint16 or uint32, laid out as for counting; positions: int32 (n,), of the word
    # blocks: uint16 (n,), of each position; weights: uint32 or int64 (window + 1,), by distance
    # masks: as weights (B, K * J): all bits set if the block is in the period, else 0
    # row_of_context: int32 (n_words,), -1 before and after
    # contexts: int32 (capacity,), counts: as weights (capacity, K * J), output
    n_contexts, width = 0, masks.shape[1]
    for k in range(positions.shape[0]):
        block = blocks[k]
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
                    counts[row, x] += weight & masks[block, x]
    for row in range(n_contexts):
        row_of_context[contexts[row]] = -1
    return n_contexts


@compiled
def weigh_dealt(counts, contexts, keep, log_factors, logs, values):
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
