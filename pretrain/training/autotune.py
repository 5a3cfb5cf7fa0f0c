"""Choose how to compute training steps by timing a few, once per run."""

import dataclasses
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from firth.corpora.artifacts.artifact import read_json, write_json
from firth.corpora.artifacts.atomic import write_whole
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.common.reporting import note
from firth.corpora.common.threads import thread_count
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.stateless_random import keyed_bits
from firth.pretrain.device import by_device, compile_problem, lacks_gpu_memory, synchronize
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.model.varlen import MAX_SEGMENTS, varlen_works
from firth.pretrain.training.distributed import ProcessGroup
from firth.pretrain.training.optimizer import make_optimizer
from firth.pretrain.training.prepare import TrainingData
from firth.pretrain.training.step import Stepper, StepSettings, first_line

TUNED_FILE = "decided.json"
_BATCH = {"cpu": 32, "cuda": 1024}
_MIN_STEPS, _MAX_STEPS = 3, 20  # timed per candidate
_MIN_SECONDS_TO_COMPILE = 300.0  # shorter trainings never regain the time of compiling
_CLEARLY_FASTER = 0.95  # share of the other time; smaller differences may be noise


@dataclass(frozen=True)
class TunedSettings:
    """How training steps are computed, chosen once per run and kept when it is resumed."""

    device: str  # ``cpu``, ``cuda`` or ``mps``
    processes: int
    threads: int  # CPU threads per process
    batch: int  # rows per step, of all processes
    micro_batch: int  # rows per forward and backward pass
    dtype: str  # of large matrix products
    compile: bool  # see StepSettings
    varlen: bool  # see StepSettings
    step_seconds: float | None = None  # measured time per step; None if it was not measured

    def matches(self, device: torch.device, group: ProcessGroup) -> bool:
        """Return whether they were chosen for this kind of device and number of processes."""
        return (self.device, self.processes) == (device.type, group.size)

    @property
    def step_settings(self) -> StepSettings:
        """The part that a :class:`Stepper` needs."""
        dtype = getattr(torch, self.dtype)
        return StepSettings(dtype, self.compile, self.varlen, self.micro_batch)


@dataclass(frozen=True)
class StepTimer:
    """Times training steps on throw-away models."""

    data: TrainingData
    device: torch.device
    rows: int  # per step of one process
    min_seconds: float = 1.0  # time steps until they took this long in total

    def seconds(self, settings: StepSettings) -> tuple[float, float]:
        """Time steps of a new model: seconds of the fastest, and of the first, which compiles.

        The first one needs as much memory as any of the training, the others their mean time.
        """
        config, model = self.data.config, MaskedLanguageModel(self.data.shape).to(self.device)
        stepper = Stepper(
            model,
            make_optimizer(model, muon_share=config.muon_share, dtype=settings.dtype),
            settings,
            seed=config.seed,
            group=ProcessGroup(),
            max_segments=self.data.max_segments,
        )
        seconds = list[float]()
        while len(seconds) <= _MAX_STEPS:
            if len(seconds) > _MIN_STEPS and sum(seconds[1:]) >= self.min_seconds:
                break
            start = time.perf_counter()
            rate = config.mean_mask_rate if seconds else max(config.mask_rates)
            batch = self.data.batches.batch(len(seconds), rate).rows(0, self.rows)
            stepper.step(len(seconds), batch, 0.0)
            synchronize(self.device)
            seconds.append(time.perf_counter() - start)
        return min(seconds[1:]), seconds[0]


def batch_rows(config: MlmConfig, device: torch.device, group: ProcessGroup) -> int:
    """Return the rows of a step: a multiple of the processes, or raise."""
    if config.batch is None:
        return -(-by_device(_BATCH, device) // group.size) * group.size
    group.row_range(config.batch)
    return config.batch


def check_settings(config: MlmConfig, device: torch.device) -> None:
    """Raise if this machine cannot compile and should, or its device draws other random numbers."""
    bits = [keyed_bits(config.seed, 0, "order", (64,), each).cpu() for each in ("cpu", device)]
    if not torch.equal(*bits):
        raise SettingError(
            f"`device={device.type}`: torch {torch.__version__} computes integers wrongly there; "
            "pass `device=cpu`"
        )
    problem = compile_problem(device)
    if config.compile == "on" and problem is not None:
        raise SettingError(f"`compile=on`: {problem}; pass `compile=off`")


def tune(timer: StepTimer, threads: int, group: ProcessGroup) -> TunedSettings:
    """Choose the fastest settings that the options allow, by timing throw-away models."""
    config, device = timer.data.config, timer.device
    dtypes = ["float32", "bfloat16"] if config.dtype == "auto" else [config.dtype]
    if device.type == "cuda" and config.dtype == "auto" and torch.cuda.is_bf16_supported():
        dtypes = ["bfloat16"]  # half the memory, and never slower
    candidates = [
        StepSettings(getattr(torch, name), False, varlen, timer.rows)
        for name in dtypes
        for varlen in _varlens(timer, name)
    ]
    settings, seconds = _fastest(timer, candidates, needed=config.compile == "auto")
    if config.compile == "on":
        settings, seconds = dataclasses.replace(settings, compile=True), None
    elif config.compile == "auto" and seconds is not None:
        settings, seconds = _compiled_if_faster(timer, settings, seconds)
    return TunedSettings(
        device=device.type,
        processes=group.size,
        threads=threads,
        batch=timer.data.batches.batch_rows,
        micro_batch=settings.micro_batch,
        dtype=str(settings.dtype).removeprefix("torch."),
        compile=settings.compile,
        varlen=settings.varlen,
        step_seconds=seconds,
    )


def tune_once(path: Path, timer: StepTimer, threads: int, group: ProcessGroup) -> TunedSettings:
    """Read the settings of an unfinished run from ``path``, or choose and write them.

    The first process chooses for all. Another kind of device or number of processes needs a new
    choice, a GPU with less memory perhaps a smaller micro-batch.
    """
    with group.first_ahead():
        tuned = earlier = read_tuned(path)
        if group.is_first:
            if tuned is None or not tuned.matches(timer.device, group):
                tuned = tune(timer, threads, group)
            elif timer.device.type != "cpu":
                tuned = fit_micro_batch(timer, tuned)
            if tuned != earlier:
                contents = dataclasses.asdict(tuned)
                write_whole(path, lambda new: write_json(new, contents))
    assert tuned is not None
    return tuned


def fit_micro_batch(timer: StepTimer, earlier: TunedSettings) -> TunedSettings:
    """Return the settings with a micro-batch that fits the memory of this device."""
    settings = dataclasses.replace(earlier.step_settings, compile=False)
    rows = _fit_micro_batch(timer, settings)[0].micro_batch
    if rows != earlier.micro_batch:
        note(f"{earlier.micro_batch} rows at once do not fit {timer.device} any more; now {rows}")
    return dataclasses.replace(earlier, micro_batch=rows)


def read_tuned(path: Path) -> TunedSettings | None:
    """Read the settings that were chosen; None if there are none yet."""
    if not path.is_file():
        return None
    found: Any = read_json(path)
    names = {field.name for field in dataclasses.fields(TunedSettings)}
    if not isinstance(found, dict) or found.keys() != names:
        raise ArtifactError(f"{path}: is damaged; pass `force=True` to start over")
    return TunedSettings(**found)


def threads_of(
    config: MlmConfig, earlier: TunedSettings | None, device: torch.device, group: ProcessGroup
) -> int:
    """Return the threads the run was started with: others change the last bits of its weights."""
    if earlier is None or not earlier.matches(device, group):
        return thread_count(config.threads, group.local_size)
    if config.threads is not None and config.threads != earlier.threads:
        note(
            f"`threads={config.threads}`: the run was started with {earlier.threads} and keeps them"
        )
    return earlier.threads


def _varlens(timer: StepTimer, dtype: str) -> list[bool]:
    """Return which values of ``StepSettings.varlen`` to time."""
    n_segments = timer.data.max_segments * timer.rows
    shape = timer.data.shape
    masked = not shape.fused or shape.attention_edges is not None
    if dtype != "bfloat16" or masked or not shape.attends:
        return [False]
    fits = n_segments <= MAX_SEGMENTS
    return [False, True] if fits and varlen_works(timer.device, shape.head_dim) else [False]


def _fastest(
    timer: StepTimer, candidates: list[StepSettings], *, needed: bool
) -> tuple[StepSettings, float | None]:
    """Return the fastest of ``candidates``, simplest first; seconds are None if not measured."""
    if len(candidates) == 1 and not needed and timer.device.type == "cpu":
        return candidates[0], None
    best, best_seconds = _fit_micro_batch(timer, candidates[0])
    for settings in candidates[1:]:
        try:
            fitted, seconds = _fit_micro_batch(timer, settings)
        except RuntimeError as error:  # the variable-length kernel is new and may fail
            note(f"a faster kernel failed and is not used: {first_line(error)}")
            continue
        if seconds < _CLEARLY_FASTER * best_seconds:
            best, best_seconds = fitted, seconds
    return best, best_seconds


def _fit_micro_batch(timer: StepTimer, settings: StepSettings) -> tuple[StepSettings, float]:
    """Time settings; halve the micro-batch until it fits the GPU's memory."""
    while True:
        try:
            return settings, timer.seconds(settings)[0]
        except RuntimeError as error:
            if not lacks_gpu_memory(error):
                raise
            torch.cuda.empty_cache()
            if settings.micro_batch % 2:
                raise SettingError(
                    f"{settings.micro_batch} rows at once do not fit the memory of "
                    f"{timer.device}; pass a smaller `batch`"
                ) from None
            settings = dataclasses.replace(settings, micro_batch=settings.micro_batch // 2)


def _compiled_if_faster(
    timer: StepTimer, settings: StepSettings, seconds: float
) -> tuple[StepSettings, float]:
    """Compile if that saves more time over the training than compiling takes."""
    budget = timer.data.budget
    steps = math.inf if budget.steps is None else budget.steps
    remaining = budget.seconds if budget.seconds is not None else steps * seconds
    if remaining < _MIN_SECONDS_TO_COMPILE or compile_problem(timer.device) is not None:
        return settings, seconds
    compiled = dataclasses.replace(settings, compile=True)
    try:
        step, first = timer.seconds(compiled)
    except (RuntimeError, OSError, ImportError) as error:
        note(f"torch.compile failed and is not used: {first_line(error)}")
        return settings, seconds
    saves_time = (
        step < _CLEARLY_FASTER * seconds and (seconds - step) * (remaining / seconds) > first
    )
    return (compiled, step) if saves_time else (settings, seconds)
