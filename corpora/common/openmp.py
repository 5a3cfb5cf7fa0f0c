"""How the threads of torch and scikit-learn wait: settled before their libraries are loaded."""

import os

# GNU's OpenMP, which both bring along on Linux, looks 300,000 times before a waiting thread sleeps.
# On a processor whose pause takes 140 cycles that is 16 ms, in which it keeps a core from the
# thread that it waits for, wherever more threads want to run than there are cores: two trainings
# of a small masked LM then took 4.5 times as long as one. With these looks, 0.5 ms there, they take
# 1.9 times as long, and one alone on a quiet machine 3 % more; with 30,000 it is 3 times and 2 %,
# with 2,000 it is 1.4 times and 8 %.
_LOOKS = 10_000
_SETTINGS = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")


def sleep_in_long_waits() -> None:
    """Have OpenMP's threads sleep in long waits, unless the user's environment says otherwise.

    OpenMP reads the environment once, when it is loaded: where torch was imported before, this
    changes nothing in this process.
    """
    if not any(name in os.environ for name in _SETTINGS):
        os.environ["GOMP_SPINCOUNT"] = str(_LOOKS)
