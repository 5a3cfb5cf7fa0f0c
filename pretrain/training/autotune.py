"""What is settled by measuring before the first step, and kept for as long as the run is made."""

import dataclasses
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from corpora.artifacts.artifact import read_json, write_json
from corpora.artifacts.atomic import write_whole
from corpora.common.errors import ArtifactError, SettingError
from corpora.common.reporting import note
from pretrain.config import EncoderConfig, MlmConfig, parse_rates
from pretrain.data.batches import Batches
from pretrain.device import compile_problem, synchronize
from pretrain.model.encoder import MaskedLanguageModel
from pretrain.model.varlen import MAX_SEGMENTS, varlen_works
from pretrain.training.distributed import ProcessGroup
from pretrain.training.optimizer import make_optimizer
from pretrain.training.schedule import Budget
from pretrain.training.step import Stepper, StepSettings, first_line

TUNED_FILE = "decided.json"
_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
_BATCH = {"cpu": 32, "cuda": 1024}
_MIN_STEPS, _MAX_STEPS = 3, 20  # of a trial
_MIN_SECONDS_TO_COMPILE = 300.0  # seconds of training; below, no compiling pays
_CLEARLY_FASTER = 0.95  # so much of the time: less may be chance


@dataclass(frozen=True)
class TunedSettings:
    """How a training is computed; the same on every resume."""

    device: str  # ``cpu`` or ``cuda``
    processes: int  # that train together
    threads: int  # CPU threads of each
    batch: int  # rows of a step, of all processes; rows at once
    micro_batch: int  # rows of a step, of all processes; rows at once
    dtype: str  # of the large products
    compile: bool  # as :class:`pretrain.training.step.StepSettings` has them
    varlen: bool  # as :class:`pretrain.training.step.StepSettings` has them
    step_seconds: float | None = None  # of a step as decided, where one was measured

    def matches(self, device: torch.device, group: ProcessGroup) -> bool:
        """Tell whether it was decided for a device of this kind and so many processes."""
        return (self.device, self.processes) == (device.type, group.size)

    @property
    def step_settings(self) -> StepSettings:
        """The same for a step."""
        return StepSettings(_DTYPES[self.dtype], self.compile, self.varlen, self.micro_batch)


@dataclass(frozen=True)
class StepTimer:
    """Steps of throw-away models, timed."""

    encoder: EncoderConfig  # of the model
    config: MlmConfig  # settled
    batches: Batches  # what they train on
    max_segments: int  # of a row
    device: torch.device  # where
    rows: int  # rows of a step of one process
    min_seconds: float = 1.0  # steps are timed until they have taken this long in all

    def seconds(self, settings: StepSettings) -> tuple[float, float]:
        """Time steps, a new model each time."""
        model = MaskedLanguageModel(self.encoder).to(self.device)
        stepper = Stepper(
            model,
            make_optimizer(model, self.config.weight_decay),
            settings,
            clip=self.config.clip,
            seed=self.config.seed,
            group=ProcessGroup(),
            max_segments=self.max_segments,
        )
        first, *others = self._timed(stepper)
        return min(others), first

    def _timed(self, stepper: Stepper) -> list[float]:
        """Seconds of each step."""
        rate = max(parse_rates(self.config.mask_rate))
        found: list[float] = []
        while len(found) <= _MIN_STEPS or sum(found[1:]) < self.min_seconds:
            begun = time.perf_counter()
            batch = self.batches.batch(len(found), rate).rows(0, self.rows)
            stepper.step(len(found), batch, 0.0)
            synchronize(self.device)
            found.append(time.perf_counter() - begun)
            if len(found) > _MAX_STEPS:
                break
        return found


def batch_rows(config: MlmConfig, device: torch.device, group: ProcessGroup) -> int:
    """Settle the rows of a step."""
    unit = group.size * (config.micro_batch or 1)
    if config.batch is None:
        return -(-_BATCH[device.type] // unit) * unit
    first, stop = group.row_range(config.batch)
    if config.micro_batch is not None and (stop - first) % config.micro_batch:
        raise SettingError(
            f"`micro_batch={config.micro_batch}` does not divide the {stop - first} rows that "
            f"each of {group.size} processes has of `batch={config.batch}`"
        )
    return config.batch


def check_settings(config: MlmConfig, device: torch.device) -> None:
    """Refuse what cannot work on this machine, before any work."""
    problem = compile_problem(device)
    if config.compile == "on" and problem is not None:
        raise SettingError(f"`compile=on`: {problem}; pass `compile=off`")


def tune(
    timer: StepTimer, budget: Budget, batch: int, threads: int, group: ProcessGroup
) -> TunedSettings:
    """Settle by measuring what the options leave open.

    Nothing of the training is touched: throw-away models take some steps.
    """
    config, device = timer.config, timer.device
    dtypes = ["float32", "bfloat16"] if config.dtype == "auto" else [config.dtype]
    if device.type == "cuda" and config.dtype == "auto" and torch.cuda.is_bf16_supported():
        dtypes = ["bfloat16"]  # of half the memory, and never slower
    candidates = [
        StepSettings(_DTYPES[name], False, varlen, config.micro_batch or timer.rows)
        for name in dtypes
        for varlen in _varlens(timer, name)
    ]
    settings, seconds = _fastest(timer, candidates, needed=config.compile == "auto")
    if config.compile == "on":
        settings, seconds = dataclasses.replace(settings, compile=True), None
    elif config.compile == "auto" and seconds is not None:
        settings, seconds = _compiled_where_it_pays(timer, budget, settings, seconds)
    name = next(name for name, dtype in _DTYPES.items() if dtype == settings.dtype)
    return TunedSettings(
        device=device.type,
        processes=group.size,
        threads=threads,
        batch=batch,
        micro_batch=settings.micro_batch,
        dtype=name,
        compile=settings.compile,
        varlen=settings.varlen,
        step_seconds=seconds,
    )


def tune_once(
    path: Path, group: ProcessGroup, device: torch.device, work: Callable[[], TunedSettings]
) -> TunedSettings:
    """Decide, or take what was decided when the run was begun."""

    def settle() -> TunedSettings:
        before = read_tuned(path)
        if before is not None and before.matches(device, group):
            return before
        found = work()
        write_whole(path, lambda new: write_json(new, dataclasses.asdict(found)))
        return found

    def read() -> TunedSettings:
        found = read_tuned(path)
        assert found is not None
        return found

    return group.run_first(settle, read)


def read_tuned(path: Path) -> TunedSettings | None:
    """Read what was decided."""
    if not path.is_file():
        return None
    found: Any = read_json(path)
    names = {field.name for field in dataclasses.fields(TunedSettings)}
    if not isinstance(found, dict) or found.keys() != names:
        raise ArtifactError(f"{path}: is damaged; pass `force=True` to start anew")
    return TunedSettings(**found)


def _varlens(timer: StepTimer, dtype: str) -> list[bool]:
    """Whether the kernel for segments of any length can be had; then it is to be compared."""
    n_segments = timer.max_segments * (timer.config.micro_batch or timer.rows)
    if dtype != "bfloat16" or timer.encoder.attention_score == "additive":
        return [False]
    fits = n_segments <= MAX_SEGMENTS
    return [False, True] if fits and varlen_works(timer.device, timer.encoder.head_dim) else [False]


def _fastest(
    timer: StepTimer, candidates: list[StepSettings], *, needed: bool
) -> tuple[StepSettings, float | None]:
    """The fastest way, plainest first; measured where there are several or a time is needed."""
    if len(candidates) == 1 and not needed and timer.device.type == "cpu":
        return candidates[0], None
    best, best_seconds = _fit_micro_batch(timer, candidates[0])
    for settings in candidates[1:]:
        try:
            fitted, seconds = _fit_micro_batch(timer, settings)
        except RuntimeError as error:  # such as of the varlen kernel, which is young
            note(f"a faster way of computing failed and is not used: {first_line(error)}")
            continue
        if seconds < _CLEARLY_FASTER * best_seconds:
            best, best_seconds = fitted, seconds
    return best, best_seconds


def _fit_micro_batch(timer: StepTimer, settings: StepSettings) -> tuple[StepSettings, float]:
    """Time a way; where the GPU's memory does not suffice, with smaller micro-batches."""
    while True:
        try:
            return settings, timer.seconds(settings)[0]
        except torch.cuda.OutOfMemoryError:
            torch.cuda.empty_cache()
            if timer.config.micro_batch is not None or settings.micro_batch % 2:
                raise SettingError(
                    f"{settings.micro_batch} rows at once do not fit the memory of "
                    f"{timer.device}; pass a smaller `micro_batch`"
                ) from None
            settings = dataclasses.replace(settings, micro_batch=settings.micro_batch // 2)


def _compiled_where_it_pays(
    timer: StepTimer, budget: Budget, settings: StepSettings, seconds: float
) -> tuple[StepSettings, float]:
    """Compile, where that saves more than it takes."""
    steps = math.inf if budget.steps is None else budget.steps
    left = budget.seconds if budget.seconds is not None else steps * seconds
    if left < _MIN_SECONDS_TO_COMPILE or compile_problem(timer.device) is not None:
        return settings, seconds
    compiled = dataclasses.replace(settings, compile=True)
    try:
        step, first = timer.seconds(compiled)
    except (RuntimeError, OSError, ImportError) as error:
        note(f"torch.compile failed and is not used: {first_line(error)}")
        return settings, seconds
    pays = step < _CLEARLY_FASTER * seconds and (seconds - step) * (left / seconds) > first
    return (compiled, step) if pays else (settings, seconds)
