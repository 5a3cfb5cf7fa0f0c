"""The fixtures of the other tests."""

from tests.conftest import *  # noqa: F403
