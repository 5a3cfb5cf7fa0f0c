"""Inner loop of permutation: deal out a word's documents."""

import numpy as np

from firth.corpora.common.jit import compiled


@compiled
def deal(blocks, orders, ends, targets, labels):
    """Write the period of each block in each permutation, with a word's tokens as given.

    Blocks of each stratum are taken in the order of the permutation until a period has as many
    tokens of the word as it should have; the block in which the limit falls goes to the side of
    its larger part.
    """
    # blocks: uint16 (n,), of each token of the word; orders: uint16 (J, B), permutations of the
    # blocks of each stratum, one after another; ends: int64 (S,), where each ends
    # targets: int64 (S, K), tokens of each period; labels: int16 (J, B), output
    sizes = np.zeros(orders.shape[1], np.int64)
    for block in blocks:
        sizes[block] += 1
    for j in range(orders.shape[0]):
        stratum, done, period, limit = 0, 0, 0, targets[0, 0]
        for place in range(orders.shape[1]):
            if place == ends[stratum]:
                stratum += 1
                done, period, limit = 0, 0, targets[stratum, 0]
            block = orders[j, place]
            size = sizes[block]
            if size > 0:
                while period < targets.shape[1] - 1 and 2 * done + size > 2 * limit:
                    period += 1
                    limit += targets[stratum, period]
                labels[j, block] = period
                done += size
