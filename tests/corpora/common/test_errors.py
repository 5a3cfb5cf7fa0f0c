"""Packages that are missing."""

import sys

import pytest

from firth.corpora.common.errors import FirthError, MissingPackageError, needed_packages


@pytest.mark.parametrize(
    ("module", "kind", "message"),
    [
        (
            "sklearn", MissingPackageError,
            "this needs the package scikit-learn; pip install scikit-learn",
        ),
        (
            "_lzma", FirthError,
            "this needs lzma, which this Python was built without; use another Python",
        ),
    ],
)  # fmt: skip
def test_a_missing_package_is_named_with_its_remedy(monkeypatch, module, kind, message):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(kind) as refused, needed_packages():
        __import__(module)
    assert str(refused.value) == message
