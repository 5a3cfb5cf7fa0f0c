"""Training steps a second: ours in both layouts, and Hugging Face's beside them."""

import importlib.util
from collections.abc import Mapping
from functools import partial
from typing import Any

import harness
import torch
from mlm_material import Case, HuggingFace, Ours, drawn_rows, make_batches

from pretrain.device import compile_problem, matmul_peak, peak_memory, synchronize
from pretrain.model.encoder import MaskedLanguageModel
from pretrain.model.flops import row_flops
from pretrain.model.varlen import varlen_works
from pretrain.training.optimizer import n_weights
from pretrain.training.step import StepSettings

OURS, OURS_PRE = "firth", "firth, pre-norm"
HF, HF_COMPILED = "huggingface", "huggingface, compiled"
_LOSS_APART = 0.05  # nats between bfloat16 computations of one loss

CASES = {
    "cpu": {
        "256x6, 8k": Case(6, 4, 256, 8_000, rows=32),
        "256x6, 32k": Case(6, 4, 256, 32_000, rows=32),
    },
    "cuda": {
        "384x12, 16k": Case(12, 6, 384, 16_000, rows=1024),
        "768x12, 32k": Case(12, 12, 768, 32_000, rows=512),
    },
    "quick": {"32x2": Case(2, 2, 32, 300, rows=8, length=32)},
}


def contest(
    case: Case, device: torch.device, *, compiled: bool, steps: int, repeats: int
) -> dict[str, Any]:
    """Time the contestants in turns: every call takes some steps, all compiling is done before.

    Returns
    -------
    dict
        Of each contestant its seconds and tokens a second; of ours the MFU, the share of time
        in which a batch is made, and the memory that a step takes beyond what rests.
    """
    torch.compiler.reset()  # after 8 compilations of one function torch goes on uncompiled
    batches = make_batches(drawn_rows(case.n_pieces, case.length, device), case.rows)
    compiled = compiled and compile_problem(device) is None
    varlen = varlen_works(device, case.dim // case.heads)
    contestants: dict[str, Any] = {}
    for name, norm in ((OURS, "post"), (OURS_PRE, "pre")):
        settings = StepSettings(torch.bfloat16, compiled, varlen, case.rows)
        contestants[name] = Ours(case.shape(norm), batches, device, settings)
    if importlib.util.find_spec("transformers"):
        start = MaskedLanguageModel(case.shape("post"))
        contestants[HF] = HuggingFace(start, batches, device, compiled=False)
        if compiled:
            contestants[HF_COMPILED] = HuggingFace(start, batches, device, compiled=True)
    else:
        print("left out: Hugging Face; install the extra hf")
    first = {name: one.run(1) for name, one in contestants.items()}
    measured = harness.time_functions(
        {name: partial(one.run, steps) for name, one in contestants.items()}, repeats
    )
    if HF in first and abs(first[OURS] - first[HF]) > _LOSS_APART:
        raise SystemExit(f"the contestants do not do the same work: first losses {first}")
    found = {
        "shape": vars(case),
        "steps_per_call": steps,
        "compiled": compiled,
        "varlen": varlen,
        "first_losses": first,
        "contestants": {
            name: _speed(case, entry, steps) | _more(one, device, steps)
            for (name, entry), one in zip(measured.items(), contestants.values(), strict=True)
        },
        "ratios": _ratios(measured),
    }
    peak = matmul_peak(device, torch.bfloat16)
    found["bfloat16_peak_flops"] = peak
    for name in (OURS, OURS_PRE):
        flops = row_flops(contestants[name].model, batches.capacity) * case.rows * steps
        found["contestants"][name]["mfu"] = flops / measured[name].median / peak
    return found


def _speed(case: Case, entry: harness.Measurement, steps: int) -> dict[str, Any]:
    """Seconds of each call, and tokens a second by the median, the slowest and the fastest."""
    tokens = case.tokens * steps
    fastest, slowest = entry.spread
    return {
        **entry.to_json(),
        "tokens_per_second": tokens / entry.median,
        "tokens_per_second_spread": [tokens / slowest, tokens / fastest],
    }


def _more(one: Ours | HuggingFace, device: torch.device, steps: int) -> dict[str, Any]:
    """Size, memory and share of waiting, from one more call."""
    found: dict[str, Any] = {"parameters": n_weights(one.model)}
    resting = 0
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        resting = torch.cuda.memory_allocated(device)
    if isinstance(one, Ours):
        synchronize(device)
        one.making.read()
        total = harness.time_functions({"again": partial(one.run, steps)}, 1)["again"]
        # time_functions runs twice: the first call is not in the seconds
        found["data_share"] = one.making.read() / 2 / total.median
    else:
        one.run(1)
        found["parts"] = one.parts
    if device.type == "cuda":
        found["step_bytes"] = peak_memory(device) - resting
    return found


def _ratios(measured: Mapping[str, harness.Measurement]) -> dict[str, float]:
    """How many times as fast as Hugging Face ours are, by medians."""
    return {
        f"{ours} : {theirs}": measured[theirs].median / measured[ours].median
        for ours in (OURS, OURS_PRE)
        for theirs in (HF, HF_COMPILED)
        if theirs in measured
    }
