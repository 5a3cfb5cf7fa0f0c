"""The message of a refusal."""

import pytest


def message_of(kind, function, *arguments, **options):
    """Call a function that refuses its arguments, and return what it says."""
    with pytest.raises(kind) as refused:
        function(*arguments, **options)
    return str(refused.value)
