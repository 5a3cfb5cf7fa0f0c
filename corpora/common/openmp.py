"""How the threads of torch and scikit-learn wait: settled before their libraries are loaded."""

import os

# GNU's OpenMP, which both bring along on Linux, looks 300,000 times before a waiting thread sleeps.
# On a processor whose pause takes 140 cycles that is 16 ms, in which it keeps a core from the
# thread that it waits for, wherever more threads want to run than there are cores. Fewer looks
# cost a training that is alone, more cost two at once: docs/performance.md has the figures.
_LOOKS = 10_000
_SETTINGS = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")


def sleep_in_long_waits() -> None:
    """Have OpenMP's threads sleep in long waits, unless the user's environment says otherwise.

    OpenMP reads the environment once, when it is loaded: where torch was imported before, this
    changes nothing in this process.
    """
    if not any(name in os.environ for name in _SETTINGS):
        os.environ["GOMP_SPINCOUNT"] = str(_LOOKS)
