"""Wait policy of the OpenMP threads of torch and scikit-learn."""

import os

# GNU OpenMP, which both bundle on Linux, spins 300,000 times before a waiting thread sleeps. On a
# processor whose pause takes 140 cycles that is 16 ms, during which it can keep a core from the
# thread it waits for if there are more threads than cores. Fewer spins slow down a single training,
# more slow down two at once: see docs/performance.md.
_SPIN_COUNT = 10_000
_SETTINGS = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")


def set_wait_policy() -> None:
    """Make OpenMP threads sleep in long waits, unless the user's environment sets a policy.

    OpenMP reads the environment when it is loaded: no effect if torch is already imported.
    """
    if not any(name in os.environ for name in _SETTINGS):
        os.environ["GOMP_SPINCOUNT"] = str(_SPIN_COUNT)
