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
from corpora.common.console import note
from corpora.common.errors import ArtifactError, SettingError
from pretrain.config import EncoderConfig, MlmConfig, parse_rates
from pretrain.data.batches import Batches
from pretrain.device import compiler_refusal, synchronize
from pretrain.model.encoder import MaskedLanguageModel
from pretrain.model.varlen import MOST_SEGMENTS, varlen_works
from pretrain.training.distributed import World
from pretrain.training.optimizer import make_optimizer
from pretrain.training.schedule import Budget
from pretrain.training.step import How, Stepper, first_line

DECIDED = "decided.json"
_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
_BATCH = {"cpu": 32, "cuda": 1024}
_LEAST_STEPS, _MOST_STEPS = 3, 20  # of a trial
_WORTH_COMPILING = 300.0  # seconds of training; below, no compiling pays
_CLEARLY_FASTER = 0.95  # so much of the time: less may be chance


@dataclass(frozen=True)
class Decisions:
    """How a training is computed; the same on every resume."""

    device: str  # ``cpu`` or ``cuda``
    processes: int  # that train together
    threads: int  # CPU threads of each
    batch: int  # rows of a step, of all processes; rows at once
    micro_batch: int  # rows of a step, of all processes; rows at once
    dtype: str  # of the large products
    compile: bool  # as :class:`pretrain.training.step.How` has them
    varlen: bool  # as :class:`pretrain.training.step.How` has them
    step_seconds: float | None = None  # of a step as decided, where one was measured

    def holds_for(self, device: torch.device, world: World) -> bool:
        """Tell whether it was decided for a device of this kind and so many processes."""
        return (self.device, self.processes) == (device.type, world.size)

    @property
    def how(self) -> How:
        """The same for a step."""
        return How(_DTYPES[self.dtype], self.compile, self.varlen, self.micro_batch)


@dataclass(frozen=True)
class Trials:
    """Steps of throw-away models, timed."""

    encoder: EncoderConfig  # of the model
    config: MlmConfig  # settled
    batches: Batches  # what they train on
    most_segments: int  # of a row
    device: torch.device  # where
    rows: int  # rows of a step of one process
    least_seconds: float = 1.0  # steps are timed until they have taken this long in all

    def seconds(self, how: How) -> tuple[float, float]:
        """Time steps, a new model each time."""
        model = MaskedLanguageModel(self.encoder).to(self.device)
        stepper = Stepper(
            model,
            make_optimizer(model, self.config.weight_decay),
            how,
            clip=self.config.clip,
            seed=self.config.seed,
            world=World(),
            most_segments=self.most_segments,
        )
        first, *others = self._timed(stepper)
        return min(others), first

    def _timed(self, stepper: Stepper) -> list[float]:
        """Seconds of each step."""
        rate = max(parse_rates(self.config.mask_rate))
        found: list[float] = []
        while len(found) <= _LEAST_STEPS or sum(found[1:]) < self.least_seconds:
            begun = time.perf_counter()
            batch = self.batches.batch(len(found), rate).rows(0, self.rows)
            stepper.step(len(found), batch, 0.0)
            synchronize(self.device)
            found.append(time.perf_counter() - begun)
            if len(found) > _MOST_STEPS:
                break
        return found


def batch_rows(config: MlmConfig, device: torch.device, world: World) -> int:
    """Settle the rows of a step."""
    unit = world.size * (config.micro_batch or 1)
    if config.batch is None:
        return -(-_BATCH[device.type] // unit) * unit
    first, stop = world.share(config.batch)
    if config.micro_batch is not None and (stop - first) % config.micro_batch:
        raise SettingError(
            f"`micro_batch={config.micro_batch}` does not divide the {stop - first} rows that "
            f"each of {world.size} processes has of `batch={config.batch}`"
        )
    return config.batch


def refuse_settings(config: MlmConfig, device: torch.device) -> None:
    """Refuse what cannot work on this machine, before any work."""
    refusal = compiler_refusal(device)
    if config.compile == "on" and refusal is not None:
        raise SettingError(f"`compile=on`: {refusal}; pass `compile=off`")


def decide(trials: Trials, budget: Budget, batch: int, threads: int, world: World) -> Decisions:
    """Settle by measuring what the options leave open.

    Nothing of the training is touched: throw-away models take some steps.
    """
    config, device = trials.config, trials.device
    dtypes = ["float32", "bfloat16"] if config.dtype == "auto" else [config.dtype]
    if device.type == "cuda" and config.dtype == "auto" and torch.cuda.is_bf16_supported():
        dtypes = ["bfloat16"]  # of half the memory, and never slower
    hows = [
        How(_DTYPES[name], False, varlen, config.micro_batch or trials.rows)
        for name in dtypes
        for varlen in _varlens(trials, name)
    ]
    how, seconds = _fastest(trials, hows, needed=config.compile == "auto")
    if config.compile == "on":
        how, seconds = dataclasses.replace(how, compile=True), None
    elif config.compile == "auto" and seconds is not None:
        how, seconds = _compiled_where_it_pays(trials, budget, how, seconds)
    name = next(name for name, dtype in _DTYPES.items() if dtype == how.dtype)
    return Decisions(
        device=device.type,
        processes=world.size,
        threads=threads,
        batch=batch,
        micro_batch=how.micro_batch,
        dtype=name,
        compile=how.compile,
        varlen=how.varlen,
        step_seconds=seconds,
    )


def decided_once(
    path: Path, world: World, device: torch.device, work: Callable[[], Decisions]
) -> Decisions:
    """Decide, or take what was decided when the run was begun."""

    def settle() -> Decisions:
        before = read_decisions(path)
        if before is not None and before.holds_for(device, world):
            return before
        found = work()
        write_whole(path, lambda new: write_json(new, dataclasses.asdict(found)))
        return found

    def read() -> Decisions:
        found = read_decisions(path)
        assert found is not None
        return found

    return world.first(settle, read)


def read_decisions(path: Path) -> Decisions | None:
    """Read what was decided."""
    if not path.is_file():
        return None
    found: Any = read_json(path)
    names = {field.name for field in dataclasses.fields(Decisions)}
    if not isinstance(found, dict) or found.keys() != names:
        raise ArtifactError(f"{path}: is damaged; pass `force=True` to start anew")
    return Decisions(**found)


def _varlens(trials: Trials, dtype: str) -> list[bool]:
    """Whether the kernel for segments of any length can be had; then it is to be compared."""
    n_segments = trials.most_segments * (trials.config.micro_batch or trials.rows)
    if dtype != "bfloat16" or trials.encoder.attention_score == "additive":
        return [False]
    fits = n_segments <= MOST_SEGMENTS
    return (
        [False, True] if fits and varlen_works(trials.device, trials.encoder.head_dim) else [False]
    )


def _fastest(trials: Trials, hows: list[How], *, needed: bool) -> tuple[How, float | None]:
    """The fastest way, plainest first; measured where there are several or a time is needed."""
    if len(hows) == 1 and not needed and trials.device.type == "cpu":
        return hows[0], None
    best, best_seconds = _fitting(trials, hows[0])
    for how in hows[1:]:
        try:
            fitted, seconds = _fitting(trials, how)
        except RuntimeError as error:  # such as of the varlen kernel, which is young
            note(f"a faster way of computing failed and is not used: {first_line(error)}")
            continue
        if seconds < _CLEARLY_FASTER * best_seconds:
            best, best_seconds = fitted, seconds
    return best, best_seconds


def _fitting(trials: Trials, how: How) -> tuple[How, float]:
    """Time a way; where the GPU's memory does not suffice, with smaller micro-batches."""
    while True:
        try:
            return how, trials.seconds(how)[0]
        except torch.cuda.OutOfMemoryError:
            torch.cuda.empty_cache()
            if trials.config.micro_batch is not None or how.micro_batch % 2:
                raise SettingError(
                    f"{how.micro_batch} rows at once do not fit the memory of "
                    f"{trials.device}; pass a smaller `micro_batch`"
                ) from None
            how = dataclasses.replace(how, micro_batch=how.micro_batch // 2)


def _compiled_where_it_pays(
    trials: Trials, budget: Budget, how: How, seconds: float
) -> tuple[How, float]:
    """Compile, where that saves more than it takes."""
    steps = math.inf if budget.steps is None else budget.steps
    left = budget.seconds if budget.seconds is not None else steps * seconds
    if left < _WORTH_COMPILING or compiler_refusal(trials.device) is not None:
        return how, seconds
    compiled = dataclasses.replace(how, compile=True)
    try:
        step, first = trials.seconds(compiled)
    except (RuntimeError, OSError, ImportError) as error:
        note(f"torch.compile failed and is not used: {first_line(error)}")
        return how, seconds
    pays = step < _CLEARLY_FASTER * seconds and (seconds - step) * (left / seconds) > first
    return (compiled, step) if pays else (how, seconds)
