"""The device: refusals and measurements."""

from types import SimpleNamespace

import pytest
import torch

from firth.corpora.common.errors import SettingError
from firth.pretrain import device
from firth.pretrain.device import (
    Stopwatch,
    choose_device,
    compile_problem,
    explain_out_of_memory,
    matmul_peak,
    peak_memory,
)

CPU = torch.device("cpu")


def test_each_process_of_a_machine_takes_its_own_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert choose_device("auto", 1) == choose_device("cuda", 1) == torch.device("cuda", 1)
    assert choose_device("cpu", 1) == CPU
    with pytest.raises(SettingError) as refused:
        choose_device("cuda", 2)
    assert str(refused.value) == (
        "`device=cuda`: 2 devices are too few for process 3 of this machine; start fewer"
    )


def test_without_a_compiler_there_is_a_reason(monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(device.shutil, "which", lambda name: None)
    assert compile_problem(CPU) == "there is no C++ compiler (g++ or clang++)"
    monkeypatch.setattr(device.shutil, "which", lambda name: f"/usr/bin/{name}")
    assert compile_problem(CPU) is None


@pytest.mark.parametrize(
    ("ends", "best"), [([0.1, 0.01, 0.1, 0.1, 0.1, 0.05], 0.01), ([0.3, 0.2], 0.2), ([3.0], 3.0)]
)
def test_the_peak_is_the_best_speed_of_products_within_half_a_second(monkeypatch, ends, best):
    clock = iter([time for end in ends for time in (0.0, end)])
    monkeypatch.setattr(device, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    assert matmul_peak(CPU, torch.float32, size=128) == 2 * 128**3 / best
    assert next(clock, None) is None


def test_memory_is_counted_in_bytes():
    before = peak_memory(CPU)
    block = torch.ones(1 << 26, dtype=torch.uint8)
    assert peak_memory(CPU) > block.nbytes
    assert peak_memory(CPU) >= before


def test_a_stopwatch_sums_the_time_of_each_part(monkeypatch):
    seconds = iter([1.0, 1.25, 4.0, 4.5, 5.0, 7.0, 8.0])
    monkeypatch.setattr(device, "time", SimpleNamespace(perf_counter=lambda: next(seconds)))
    watch = Stopwatch(CPU)
    for part in ("forward", "forward", "backward"):
        with watch.part(part):
            pass
    with pytest.raises(KeyboardInterrupt), watch.part("forward"):  # not counted
        raise KeyboardInterrupt
    assert watch.read() == {"forward": 0.75, "backward": 2.0}
    assert watch.read() == {}


def test_a_stopwatch_on_a_gpu_reads_events_of_whole_parts(monkeypatch):
    class Event:
        recorded = 0

        def __init__(self, enable_timing):
            assert enable_timing

        def record(self):
            Event.recorded += 1
            self.at = Event.recorded

        def elapsed_time(self, other):
            return 1000.0 * (other.at - self.at)

    monkeypatch.setattr(torch.cuda, "Event", Event)
    watch = Stopwatch(torch.device("cuda"))
    with watch.part("forward"), watch.part("data_wait"):
        pass
    with pytest.raises(KeyboardInterrupt), watch.part("forward"):  # its end is never recorded
        raise KeyboardInterrupt
    assert watch.read() == {"data_wait": 1.0, "forward": 3.0}
    assert watch.read() == {}


@pytest.mark.parametrize(
    ("error", "whose"),
    [
        (MemoryError(), "machine"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried ..."), "machine"),
        (torch.OutOfMemoryError("CUDA out of memory"), "GPU"),
    ],
    ids=["python", "torch on the CPU", "torch on a GPU"],
)
def test_missing_memory_is_reported_in_one_line(error, whose):
    with pytest.raises(SettingError) as refused, explain_out_of_memory():
        raise error
    assert str(refused.value) == (
        f"not enough memory on this {whose}; pass a smaller `batch`, `sequence_length` or `preset`"
    )
    with pytest.raises(RuntimeError, match="shapes"), explain_out_of_memory():
        raise RuntimeError("shapes do not fit")
