"""What a training will take, told before it starts: ``firth train-mlm --dry-run``."""

import datetime
import math
from typing import TYPE_CHECKING, Any

import torch

from corpora.common.threads import thread_count
from pretrain.config import MlmConfig
from pretrain.data.text import learn, open_text
from pretrain.device import (
    choose_device,
    enough_memory,
    forget_peak_memory,
    peak_memory,
)
from pretrain.model.encoder import MaskedLanguageModel
from pretrain.training.autotune import Trials, batch_rows, decide, refuse_settings
from pretrain.training.distributed import World
from pretrain.training.optimizer import n_weights
from pretrain.training.prepare import gather, make_scale, make_trials

if TYPE_CHECKING:
    from corpora.store.corpus import Corpus


@enough_memory()
def plan(corpus: "Corpus", config: MlmConfig) -> dict[str, Any]:
    """Predict a training, by laying out its text and timing some of its steps. Writes nothing."""
    config, world = config.settled(), World()
    device = choose_device(config.device)
    refuse_settings(config, device)
    batch = batch_rows(config, device, world)
    text = open_text(corpus, config)
    threads = thread_count(config.threads, world.size)
    torch.set_num_threads(threads)
    material = gather(text, learn(text, config), config, batch, device)
    trials = make_trials(material, config, device, world)
    decided = decide(trials, material.budget, batch, threads, world)
    scale = make_scale(material, decided, device)
    forget_peak_memory(device)
    step_seconds = trials.seconds(decided.how)[0]
    steps = material.budget.steps
    if steps is None:
        assert material.budget.seconds is not None
        steps = math.ceil(material.budget.seconds / step_seconds)
    seconds = material.budget.seconds or steps * step_seconds
    end = datetime.datetime.now().astimezone() + datetime.timedelta(seconds=seconds)
    return {
        "parameters": n_weights(_shape(trials)),
        "pieces": material.encoder.n_pieces,
        "rows": scale.n_rows,
        "epoch_tokens": scale.n_rows * scale.row_slots,
        "device": str(device),
        "dtype": decided.dtype,
        "compile": decided.compile,
        "batch": batch,
        "micro_batch": decided.micro_batch,
        "steps": steps,
        "tokens": steps * scale.step_tokens,
        "epochs": round(steps * batch / scale.n_rows, 4),
        "tokens_per_second": round(scale.step_tokens / step_seconds),
        "mfu": round(batch * scale.row_flops / step_seconds / scale.peak, 4),
        "memory": peak_memory(device),
        "seconds": round(seconds, 1),
        "end": end.isoformat(timespec="seconds"),
    }


def _shape(trials: Trials) -> MaskedLanguageModel:
    """The model without its numbers."""
    with torch.device("meta"):
        return MaskedLanguageModel(trials.encoder)
