"""The choice of a device, and refusals."""

import pytest
import torch

from firth.corpora.common.device import choose_device
from firth.corpora.common.errors import SettingError


@pytest.mark.parametrize("there_is_one", [False, True])
def test_auto_selects_cuda_if_available(monkeypatch, there_is_one):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there_is_one)

    assert choose_device("auto") == ("cuda" if there_is_one else "cpu")
    assert choose_device("cpu") == "cpu"


def test_an_unknown_device_is_refused():
    with pytest.raises(SettingError, match="device must be one of auto, cpu, cuda, mps, got 'gpu'"):
        choose_device("gpu")


def test_mps_is_refused_where_torch_sees_none(monkeypatch):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(SettingError, match=r"`device=mps`: torch .* sees no MPS device; pass `dev"):
        choose_device("mps")
