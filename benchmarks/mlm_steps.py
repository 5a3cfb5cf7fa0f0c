"""Training steps per second: ours and Hugging Face's, each in both layouts."""

import importlib.util
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

import harness
import torch
from mlm_material import Case, HuggingFace, Ours, drawn_rows, make_batches

from firth.pretrain.device import compile_problem, matmul_peak, peak_memory, synchronize
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.model.flops import row_flops
from firth.pretrain.model.varlen import varlen_works
from firth.pretrain.training.optimizer import n_weights
from firth.pretrain.training.step import StepSettings

OURS, OURS_PRE = "firth", "firth, pre-norm"
HF, HF_COMPILED = "huggingface", "huggingface, compiled"
HF_PRE, HF_PRE_COMPILED = "huggingface, pre-norm", "huggingface, pre-norm, compiled"
_PEERS = {OURS: (HF, HF_COMPILED), OURS_PRE: (HF_PRE, HF_PRE_COMPILED)}  # of the same layout
_NORMS = {OURS: "post", OURS_PRE: "pre"}
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


def compare_steps(
    case: Case,
    device: torch.device,
    *,
    compiled: bool,
    steps: int,
    repeats: int,
    norms: Collection[str],
) -> dict[str, Any]:
    """Time the candidates of some layouts in turns, several steps per call, all compiled before.

    Return for each candidate its seconds and tokens per second; for ours also the MFU, the share of
    time spent on making batches, and the memory of a step beyond what is kept.
    """
    torch.compiler.reset()  # torch stops compiling a function after 8 compilations
    batches = make_batches(drawn_rows(case.n_pieces, case.length, device), case.rows)
    compiled = compiled and compile_problem(device) is None
    varlen = varlen_works(device, case.dim // case.heads)
    candidates: dict[str, Any] = {}
    chosen = {name: norm for name, norm in _NORMS.items() if norm in norms}
    for name, norm in chosen.items():
        settings = StepSettings(torch.bfloat16, compiled, varlen, case.rows)
        candidates[name] = Ours(case.shape(norm), batches, device, settings)
    if importlib.util.find_spec("transformers"):
        for name, norm in chosen.items():
            start, (eager, by_compiler) = MaskedLanguageModel(case.shape(norm)), _PEERS[name]
            candidates[eager] = HuggingFace(start, batches, device, compiled=False)
            if compiled:
                candidates[by_compiler] = HuggingFace(start, batches, device, compiled=True)
    else:
        print("left out: Hugging Face; install the extra hf")
    first = {name: one.run(1) for name, one in candidates.items()}
    measured = harness.time_functions(
        {name: partial(one.run, steps) for name, one in candidates.items()}, repeats
    )
    for name in chosen:
        if abs(first[name] - first.get(_PEERS[name][0], first[name])) > _LOSS_APART:
            raise SystemExit(f"the candidates do not do the same work: first losses {first}")
    ours = measured[next(iter(chosen))]
    found = {
        "shape": vars(case),
        "steps_per_call": steps,
        "compiled": compiled,
        "varlen": varlen,
        "first_losses": first,
        "contestants": {
            name: _speed(case, entry, steps, ours) | _more(one, device, steps)
            for (name, entry), one in zip(measured.items(), candidates.values(), strict=True)
        },
        "ratios": _ratios(measured),
    }
    peak = matmul_peak(device, torch.bfloat16)
    found["bfloat16_peak_flops"] = peak
    for name in chosen:
        flops = row_flops(candidates[name].model, batches.capacity) * case.rows * steps
        found["contestants"][name]["mfu"] = flops / measured[name].median / peak
    return found


def _speed(
    case: Case, entry: harness.Measurement, steps: int, ours: harness.Measurement
) -> dict[str, Any]:
    """Return seconds of each call, and tokens per second by the median, slowest and fastest."""
    tokens = case.tokens * steps
    fastest, slowest = entry.spread
    return {
        **entry.to_json(),
        "pieces": case.n_pieces,
        **entry.ratios(ours),
        "tokens_per_second": tokens / entry.median,
        "tokens_per_second_spread": [tokens / slowest, tokens / fastest],
    }


def _more(one: Ours | HuggingFace, device: torch.device, steps: int) -> dict[str, Any]:
    """Return size, memory and share of waiting, from one more call."""
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
        found["data_share"] = one.making.read()["data"] / 2 / total.median
    else:
        one.run(1)
        found["parts"] = one.parts
    if device.type == "cuda":
        found["step_bytes"] = peak_memory(device) - resting
    return found


def _ratios(measured: Mapping[str, harness.Measurement]) -> dict[str, float]:
    """Return our speed relative to Hugging Face's in the same layout, by medians."""
    return {
        f"{ours} : {theirs}": measured[theirs].median / measured[ours].median
        for ours, peers in _PEERS.items()
        for theirs in peers
        if theirs in measured
    }
