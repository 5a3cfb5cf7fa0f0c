"""The delete-a-group jackknife: a text without each of some groups of documents in turn.

Words have many contexts that occur once, which another text would have others of. A bootstrap
draws from those that were seen, and finds a quarter of such a context's variance; leaving it out
once finds all (Efron and Stein 1981, "The jackknife estimate of variance"; Kott 2001, "The
delete-a-group jackknife"). Groups are by hashes of seed and unit: the same for all words, and on
all machines.
"""

import numpy as np

from firth.corpora.common.hashing import STRIDE, mix


def groups_of_units(n_units: int, n_groups: int, seed: int) -> np.ndarray:
    """Return the group of each unit, uint16 (n_units,): groups are equally large, or by one."""
    with np.errstate(over="ignore"):
        start = mix(np.uint64(seed) + STRIDE)
        hashes = mix(start + np.arange(n_units, dtype=np.uint64) * STRIDE)
    groups = np.empty(n_units, np.uint16)
    groups[np.argsort(hashes, kind="stable")] = np.arange(n_units) % n_groups
    return groups
