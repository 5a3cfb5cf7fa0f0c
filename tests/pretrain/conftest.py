"""Settings of the tests of pretraining."""

from collections.abc import Iterator

import pytest

from firth.pretrain import device


@pytest.fixture(autouse=True, scope="package")
def _small_products() -> Iterator[None]:
    """Measure the speed of the CPU with small matrices; each training measures it anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(device._PEAK_SIZE, "cpu", 64)
        yield
