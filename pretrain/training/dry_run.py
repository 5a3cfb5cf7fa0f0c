"""Estimate the cost of a training run: ``firth train-mlm --dry-run``."""

import datetime
import math
from typing import TYPE_CHECKING, Any

import torch

from corpora.common.threads import thread_count
from pretrain.config import MlmConfig
from pretrain.data.text import learn_text_pieces, open_text
from pretrain.device import (
    choose_device,
    explain_out_of_memory,
    peak_memory,
    reset_peak_memory,
)
from pretrain.model.encoder import MaskedLanguageModel
from pretrain.training.autotune import StepTimer, batch_rows, check_settings, tune
from pretrain.training.distributed import ProcessGroup
from pretrain.training.optimizer import n_weights
from pretrain.training.prepare import build_training_data, make_step_timer, make_workload
from pretrain.training.warm_start import check_source

if TYPE_CHECKING:
    from corpora.store.corpus import Corpus


@explain_out_of_memory()
def plan(corpus: "Corpus", config: MlmConfig) -> dict[str, Any]:
    """Estimate the cost of training by packing the text and timing some steps. Writes nothing.

    Counts of rows, steps and tokens are exact (estimated if the budget is a time); ``mfu`` is a
    share of the measured peak, ``memory`` the most bytes in use, ``end`` local time.
    """
    config, group = config.resolved(), ProcessGroup()
    device = choose_device(config.device)
    check_settings(config, device)
    check_source(config)
    batch = batch_rows(config, device, group)
    text = open_text(corpus, config)
    threads = thread_count(config.threads, group.size)
    torch.set_num_threads(threads)
    data = build_training_data(text, learn_text_pieces(text, config), config, batch, device)
    timer = make_step_timer(data, config, device, group)
    tuned = tune(timer, data.budget, batch, threads, group)
    workload = make_workload(data, tuned, device)
    reset_peak_memory(device)
    step_seconds = timer.seconds(tuned.step_settings)[0]
    steps = data.budget.steps
    if steps is None:
        assert data.budget.seconds is not None
        steps = math.ceil(data.budget.seconds / step_seconds)
    seconds = data.budget.seconds or steps * step_seconds
    end = datetime.datetime.now().astimezone() + datetime.timedelta(seconds=seconds)
    return {
        "parameters": n_weights(_meta_model(timer)),
        "pieces": data.encoder.n_pieces,
        "rows": workload.n_rows,
        "epoch_tokens": workload.n_rows * workload.row_slots,
        "device": str(device),
        "dtype": tuned.dtype,
        "compile": tuned.compile,
        "batch": batch,
        "micro_batch": tuned.micro_batch,
        "steps": steps,
        "tokens": steps * workload.step_tokens,
        "epochs": round(steps * batch / workload.n_rows, 4),
        "tokens_per_second": round(workload.step_tokens / step_seconds),
        "mfu": round(batch * workload.row_flops / step_seconds / workload.peak, 4),
        "memory": peak_memory(device),
        "seconds": round(seconds, 1),
        "end": end.isoformat(timespec="seconds"),
    }


def _meta_model(timer: StepTimer) -> MaskedLanguageModel:
    """Return the model without memory for its weights, for counting them."""
    with torch.device("meta"):
        return MaskedLanguageModel(timer.encoder)
