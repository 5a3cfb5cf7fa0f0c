"""Settings chosen by timing: once per run, on throw-away models."""

import dataclasses
import json
from types import SimpleNamespace

import pytest
import torch

from firth.corpora.common.errors import ArtifactError, SettingError
from firth.pretrain.config import MlmConfig
from firth.pretrain.training import autotune
from firth.pretrain.training.autotune import (
    StepTimer,
    TunedSettings,
    batch_rows,
    check_settings,
    read_tuned,
    tune,
    tune_once,
)
from firth.pretrain.training.distributed import ProcessGroup
from firth.pretrain.training.prepare import TrainingData
from firth.pretrain.training.schedule import Budget
from tests.waiting import PATIENCE

CPU = torch.device("cpu")


@dataclasses.dataclass(frozen=True)
class FakeTimer(StepTimer):
    """Steps with given durations, by dtype and compiling."""

    times: dict = dataclasses.field(default_factory=dict)
    asked: list = dataclasses.field(default_factory=list)

    def seconds(self, settings):
        """Return the duration in the table."""
        key = (str(settings.dtype).removeprefix("torch."), settings.compile)
        self.asked.append(key)
        found = self.times[key]
        if isinstance(found, Exception):
            raise found
        return found


def data_of(steps=100, batches=None, n_pieces=50, **options):
    """Return data whose pieces and rows are only counted."""
    config = MlmConfig(**options).resolved()
    batches = batches or SimpleNamespace(batch_rows=8)
    return TrainingData(config, range(n_pieces), None, None, None, batches, Budget(steps=steps), 3)


def timer(times, steps=100, **options):
    """A timer of steps of 8 rows."""
    return FakeTimer(data_of(steps, **options), CPU, 8, times=times)


def tuned(given):
    """Tune for one thread."""
    return tune(given, 1, ProcessGroup())


F32, BF16 = ("float32", False), ("bfloat16", False)


@pytest.mark.parametrize(
    ("f32", "bf16", "dtype"),
    [(1.0, 0.5, "bfloat16"), (1.0, 0.97, "float32"), (1.0, 3.0, "float32")],
)
def test_auto_takes_the_type_that_is_clearly_faster(f32, bf16, dtype):
    found = tuned(timer({F32: (f32, f32), BF16: (bf16, bf16)}, compile="off"))
    assert found.dtype == dtype
    assert found.step_seconds == min(f32, bf16 if dtype == "bfloat16" else f32)
    assert not found.compile


def test_given_settings_are_not_timed():
    given = timer({}, dtype="bfloat16", compile="off")
    found = tuned(given)
    assert given.asked == []
    assert (found.dtype, found.compile, found.micro_batch, found.step_seconds) == (
        "bfloat16", False, 8, None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("steps", "compiled", "expected"),
    [
        (1000, (0.5, 60.0), True),  # saves 500 seconds for 60
        (1000, (0.5, 600.0), False),  # for 600
        (1000, (0.97, 1.0), False),  # hardly saves
        (1000, (2.0, 1.0), False),
        (250, None, False),  # too short to try
        (1000, RuntimeError("no such\nheader"), False),
    ],
    ids=["saves", "costs more", "hardly saves", "slower", "short", "fails"],
)
def test_auto_compiles_where_that_saves_more_than_it_takes(
    monkeypatch, capsys, steps, compiled, expected
):
    monkeypatch.setattr(autotune, "compile_problem", lambda device: None)
    given = timer({F32: (1.0, 1.0), ("float32", True): compiled}, steps, dtype="float32")
    found = tuned(given)
    assert found.compile is expected
    assert found.step_seconds == (0.5 if expected else 1.0)
    assert (("float32", True) in given.asked) == (compiled is not None)
    note = "torch.compile failed and is not used: RuntimeError: no such\n"
    assert capsys.readouterr().err == (note if isinstance(compiled, RuntimeError) else "")


def test_auto_does_not_try_to_compile_without_a_compiler(monkeypatch):
    monkeypatch.setattr(autotune, "compile_problem", lambda device: "none")
    assert not tuned(timer({F32: (1.0, 1.0)}, 10**6, dtype="float32")).compile


def test_compiling_without_a_compiler_is_refused(monkeypatch):
    monkeypatch.setattr(autotune, "compile_problem", lambda device: "there is none")
    with pytest.raises(SettingError) as refused:
        check_settings(MlmConfig(compile="on"), CPU)
    assert str(refused.value) == "`compile=on`: there is none; pass `compile=off`"
    check_settings(MlmConfig(compile="auto"), CPU)


@pytest.mark.parametrize(
    "error",
    [torch.OutOfMemoryError(), RuntimeError("MPS backend out of memory (MPS allocated: 7 GiB)")],
    ids=["cuda", "mps"],
)
def test_a_micro_batch_too_large_for_the_memory_is_halved(error):
    class Full(FakeTimer):
        def seconds(self, settings):
            if settings.micro_batch > 2:
                raise error
            return 1.0, 1.0

    full = Full(data_of(1, dtype="float32"), CPU, 8)
    assert tuned(full).micro_batch == 2
    with pytest.raises(SettingError) as refused:
        tuned(dataclasses.replace(full, rows=7))
    assert (
        str(refused.value) == "7 rows at once do not fit the memory of cpu; pass a smaller `batch`"
    )


def test_timing_uses_throw_away_models():
    from tests.pretrain.training.test_step import T, random_batch

    rates = []

    class SomeBatches:
        batch_rows = 4

        def batch(self, step, rate):
            rates.append(rate)
            return random_batch(step)

    data = data_of(
        batches=SomeBatches(), n_pieces=30, sequence_length=T, preset="1/8/2",
        dtype="float32", compile="off", mask_rate="0.4:0.2",
    )  # fmt: skip
    some = StepTimer(data, CPU, 4, 0.0)
    step, first = some.seconds(tuned(some).step_settings)
    assert 0 < step < PATIENCE
    assert 0 < first < PATIENCE
    assert rates[0] == 0.4  # as much memory as any step takes
    assert rates[1:] == pytest.approx([0.3] * (len(rates) - 1))  # its mean time


@pytest.mark.parametrize(
    ("options", "group", "rows"),
    [
        ({}, ProcessGroup(), 32),
        ({"batch": 6}, ProcessGroup(), 6),
        ({}, ProcessGroup(size=3), 33),  # the least that can be shared
    ],
    ids=["default", "batch", "3 processes"],
)
def test_the_rows_of_a_step_can_be_shared(options, group, rows):
    assert batch_rows(MlmConfig(**options), CPU, group) == rows


def test_rows_that_cannot_be_shared_are_refused():
    with pytest.raises(SettingError, match="`batch=7` is not divisible by 2 processes"):
        batch_rows(MlmConfig(batch=7), CPU, ProcessGroup(size=2))


def once(path, given):
    """Tune for 100 steps of 8 rows, unless it was done; a timer without times must not be asked."""
    return tune_once(path, given, 1, ProcessGroup())


def test_tuned_settings_are_kept(tmp_path):
    path = tmp_path / "decided.json"
    assert read_tuned(path) is None
    first = once(path, timer({F32: (1.0, 1.0), BF16: (0.5, 0.5)}, compile="off"))
    assert json.loads(path.read_text())["dtype"] == "bfloat16"

    assert once(path, timer({})) == first == read_tuned(path)


@pytest.mark.parametrize("changed", [{"device": "cuda"}, {"processes": 2}])
def test_another_device_or_process_count_is_tuned_again(tmp_path, changed):
    path = tmp_path / "decided.json"
    old = TunedSettings("cpu", 1, 1, 8, 8, "bfloat16", False, False)
    path.write_text(json.dumps(dataclasses.asdict(old) | changed))
    new = once(path, timer({}, dtype="float32", compile="off"))
    assert new == dataclasses.replace(old, dtype="float32") == read_tuned(path)


def test_a_gpu_with_less_memory_gets_a_smaller_micro_batch(tmp_path, capsys):
    class Small(FakeTimer):
        def seconds(self, settings):
            assert not settings.compile, "compiling takes long"
            if settings.micro_batch > 2:
                raise torch.cuda.OutOfMemoryError
            return 1.0, 1.0

    path, gpu = tmp_path / "decided.json", torch.device("cuda")
    old = TunedSettings("cuda", 1, 1, 8, 8, "bfloat16", True, False)
    path.write_text(json.dumps(dataclasses.asdict(old)))
    given = Small(data_of(dtype="bfloat16"), gpu, 8)
    assert once(path, given) == dataclasses.replace(old, micro_batch=2) == read_tuned(path)
    assert capsys.readouterr().err == "8 rows at once do not fit cuda any more; now 2\n"


def test_a_failing_candidate_is_reported_and_not_used(capsys):
    given = timer({F32: (1.0, 1.0), BF16: RuntimeError("no such\nkernel")}, compile="off")
    assert tuned(given).dtype == "float32"
    assert capsys.readouterr().err == (
        "a faster kernel failed and is not used: RuntimeError: no such\n"
    )


@pytest.mark.parametrize(("rows", "tried"), [(65_535 // 3, True), (65_536 // 3 + 1, False)])
def test_the_varlen_kernel_is_not_tried_with_too_many_segments(rows, tried, monkeypatch):
    monkeypatch.setattr(autotune, "varlen_works", lambda device, head_dim: True)
    given = dataclasses.replace(timer({}), rows=rows)
    assert autotune._varlens(given, "bfloat16") == ([False, True] if tried else [False])


@pytest.mark.parametrize("text", ["", "{}", '{"device": "cpu"}'])
def test_a_damaged_settings_file_is_refused(tmp_path, text):
    (tmp_path / "decided.json").write_text(text)
    with pytest.raises(ArtifactError, match=r"decided\.json"):
        read_tuned(tmp_path / "decided.json")


def test_the_time_of_an_uncompiled_step_is_not_stored_for_a_compiled_one():
    given = timer({F32: (1.0, 1.0), BF16: (0.5, 0.5)}, compile="on")
    found = tuned(given)
    assert (found.compile, found.dtype, found.step_seconds) == (True, "bfloat16", None)
