"""Correctness checks on a device, without which its timings mean nothing."""

import importlib.util
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from mlm_material import MASK_RATE, Case, drawn_rows, make_batches, stock_loss, stock_model

from firth.pretrain.data.batches import Batch, Batches
from firth.pretrain.device import compile_problem
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.model.varlen import varlen_works
from firth.pretrain.training.distributed import ProcessGroup
from firth.pretrain.training.optimizer import ModelState, make_optimizer
from firth.pretrain.training.step import Stepper, StepSettings

_CASE = Case(2, 2, 64, 500, rows=16, length=64)
_SEGMENTS = 3
_STEPS = 3
_HALF = 5e-2  # bfloat16 has three significant digits
_PLAIN = StepSettings(torch.float32, compile=False, varlen=False, micro_batch=_CASE.rows)


class Check(NamedTuple):
    """A measured difference and its limit."""

    name: str
    difference: float
    limit: float

    @property
    def holds(self) -> bool:
        """Return whether the difference is within the limit; False for NaN."""
        return self.difference <= self.limit

    def to_json(self) -> dict[str, Any]:
        """Return the check as JSON."""
        return {**self._asdict(), "holds": self.holds}


def checks(device: torch.device, *, compiled: bool) -> Iterator[Check]:
    """Yield all checks that this device supports."""
    here = make_batches(_rows(device), _CASE.rows)
    there = make_batches(_rows(torch.device("cpu")), _CASE.rows)
    yield Check("batches, backwards, against a CPU's", _batches_apart(here, there), 0.0)
    exact = 1e-5 if device.type == "cpu" else 1e-4
    for norm in ("post", "pre"):
        yield from _gradients(norm, here.batch(0, MASK_RATE), device, exact, compiled=compiled)
    yield Check("gradient of 4 parts", _accumulated_apart(here, device), exact)
    bitwise = 0.0 if device.type == "cpu" else 1e-4
    yield Check("weights after a resume", _resumed_apart(here, device), bitwise)
    if importlib.util.find_spec("transformers"):
        for norm in ("post", "pre"):
            yield Check(f"loss of Hugging Face's, {norm}", _stock_apart(norm, device), exact)


def _rows(device: torch.device) -> Any:
    return drawn_rows(_CASE.n_pieces, _CASE.length, device, segments=_SEGMENTS, n_rows=50)


def _model(norm: str) -> MaskedLanguageModel:
    """Return a model with larger weights than usual, so that its loss depends on attention."""
    model = MaskedLanguageModel(_CASE.shape(norm))
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim > 1:
                weight *= weight.shape[-1] ** -0.5 / weight.std()
    return model


def _batches_apart(here: Batches, there: Batches) -> float:
    """Return how many numbers differ if one iterates the steps backwards."""
    ours = [here.batch(step, MASK_RATE) for step in reversed(range(8))][::-1]
    apart = 0
    for step, batch in enumerate(ours):
        for name, other in vars(there.batch(step, MASK_RATE)).items():
            if other is not None:
                apart += int((getattr(batch, name).cpu() != other).sum())
    return float(apart)


def _gradients(
    norm: str, batch: Batch, device: torch.device, exact: float, *, compiled: bool
) -> Iterator[Check]:
    """Compare the gradient of one batch, computed in every way, with float32 on a CPU.

    The loss is not enough: it hardly changes if segments see each other.
    """
    model = _model(norm)
    on_cpu = Batch(**{name: x if x is None else x.cpu() for name, x in vars(batch).items()})
    expected = _gradient(model, on_cpu)
    model, half = model.to(device), replace(_PLAIN, dtype=torch.bfloat16)
    varlen = varlen_works(device, _CASE.dim // _CASE.heads)
    ways = {"float32": (_PLAIN, exact), "bfloat16": (half, _HALF)}
    if varlen:
        ways["varlen"] = (replace(half, varlen=True), _HALF)
    if compiled and compile_problem(device) is None:
        ways["compiled"] = (replace(half, varlen=varlen, compile=True), _HALF)
    for name, (settings, limit) in ways.items():
        apart = _apart(_gradient(model, batch, settings).cpu(), expected)
        yield Check(f"gradient, {norm}, {name}", apart, limit)
    crossed = replace(on_cpu, segments=torch.zeros_like(on_cpu.segments))
    keyless = _apart(_gradient(_model(norm), crossed), expected)
    assert keyless > 2 * _HALF, f"this check would not see attention across segments: {keyless}"


def _gradient(
    model: MaskedLanguageModel, batch: Batch, settings: StepSettings = _PLAIN
) -> torch.Tensor:
    """Return the gradient of the mean loss, all weights concatenated."""
    _stepper(model, make_optimizer(model), settings).gradients(0, batch)
    found = _flat_gradient(model)
    model.zero_grad(set_to_none=True)
    return found


def _flat_gradient(model: MaskedLanguageModel) -> torch.Tensor:
    return torch.cat([weight.grad.flatten() for weight in model.parameters()])


def _apart(found: torch.Tensor, expected: torch.Tensor) -> float:
    """Return the norm of the difference relative to the expected norm."""
    return float((found - expected).norm() / expected.norm())


def _stepper(
    model: MaskedLanguageModel, optimizer: torch.optim.Optimizer, settings: StepSettings = _PLAIN
) -> Stepper:
    return Stepper(
        model,
        optimizer,
        settings,
        seed=1,
        group=ProcessGroup(),
        max_segments=_SEGMENTS + 1,
    )


def _accumulated_apart(batches: Batches, device: torch.device) -> float:
    """Return the difference between gradients of a batch in 4 parts and at once."""
    found = []
    for micro_batch in (_CASE.rows, _CASE.rows // 4):
        model = _model("pre").to(device)
        stepper = _stepper(
            model, make_optimizer(model, weight_decay=0.0), replace(_PLAIN, micro_batch=micro_batch)
        )
        stepper.gradients(0, batches.batch(0, MASK_RATE))
        found.append(_flat_gradient(model))
    whole, parts = found
    return _apart(parts, whole)


def _resumed_apart(batches: Batches, device: torch.device) -> float:
    """Return the largest difference of weights after steps with and without a stop."""
    ends = []
    for stops in (False, True):
        model = _model("pre").to(device)
        optimizer = make_optimizer(model, weight_decay=0.01)
        for step in range(2 * _STEPS):
            if stops and step == _STEPS:
                arrays = ModelState(model, optimizer).arrays()
                model = MaskedLanguageModel(_CASE.shape("pre"), seed=2).to(device)
                optimizer = make_optimizer(model, weight_decay=0.01)
                ModelState(model, optimizer).load(arrays, step)
            _stepper(model, optimizer).step(step, batches.batch(step, MASK_RATE), 1e-3)
        ends.append(torch.cat([weight.detach().flatten() for weight in model.parameters()]))
    return float((ends[0] - ends[1]).abs().max())


def _stock_apart(norm: str, device: torch.device) -> float:
    """Return the relative difference of the loss of one batch, in float32."""
    rows = drawn_rows(_CASE.n_pieces, _CASE.length, device, n_rows=50)
    batch = make_batches(rows, _CASE.rows).batch(0, MASK_RATE)
    model = _model(norm).to(device)
    stock = stock_model(model, device).eval()
    with torch.no_grad():
        loss, _ = model.loss(batch)
        return abs(float(stock_loss(stock, batch) / (loss / batch.n_targets)) - 1)
