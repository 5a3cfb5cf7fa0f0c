"""Estimate the cost of a training run: ``firth train-mlm --dry-run``."""

import math
from typing import TYPE_CHECKING

import torch

from firth.corpora.artifacts.checkpoint import room_for_checkpoints
from firth.corpora.common.estimate import Estimate
from firth.corpora.common.peak_memory import peak_memory as peak_anonymous
from firth.corpora.common.system import temporary_folder
from firth.corpora.common.threads import thread_count
from firth.corpora.tokenizer.json_format import save_pieces
from firth.corpora.tokenizer.pieces import Pieces
from firth.embed.vectors.training import torch_threads
from firth.embed.vectors.wordlist import word_lines
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.text import open_text
from firth.pretrain.device import (
    choose_device,
    compile_problem,
    explain_out_of_memory,
    peak_memory,
    reset_peak_memory,
)
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.training.autotune import StepTimer, batch_rows, check_settings, tune
from firth.pretrain.training.distributed import ProcessGroup
from firth.pretrain.training.optimizer import block_matrices, n_weights
from firth.pretrain.training.origin import first_pieces
from firth.pretrain.training.prepare import build_training_data
from firth.pretrain.training.session import KEPT_CHECKPOINTS, make_workload
from firth.pretrain.training.warm_start import AUTO, NONE, check_source, start_config

if TYPE_CHECKING:
    from firth.corpora.store.corpus import Corpus

_ABOUT = 14_000  # bytes of settings, provenance, metrics and checksums


@explain_out_of_memory()
def estimate_mlm(corpus: "Corpus", config: MlmConfig) -> Estimate:
    """Estimate the cost of training by packing the text and timing some steps. Writes nothing.

    Counts of rows, steps and tokens are exact (estimated if the budget is a time); ``mfu`` is a
    share of the measured peak, ``memory`` the most bytes allocated on a GPU, or in this process.
    """
    config, group = config.resolved(), ProcessGroup()
    device = choose_device(config.device)
    check_settings(config, device)
    check_source(config)
    batch = batch_rows(config, device, group)
    text = open_text(corpus, config)
    threads = thread_count(config.threads)
    pieces = first_pieces(corpus, text, config)
    with torch_threads(threads), peak_anonymous() as peak:
        data = build_training_data(text, pieces, config, batch, device)
        timer = StepTimer(data, device, batch // group.size)
        tuned = tune(timer, threads, group)
        workload = make_workload(data, tuned, device)
        reset_peak_memory(device)
        step_seconds = timer.seconds(tuned.step_settings)[0]
    if config.compile != "off" and compile_problem(device) is None:
        torch.compiler.reset()  # what is compiled here must not change the tuning of a training
    steps = data.budget.steps
    if steps is None:
        assert data.budget.seconds is not None
        steps = math.ceil(data.budget.seconds / step_seconds)
    seconds = data.budget.seconds or steps * step_seconds
    with torch.device("meta"):
        model = MaskedLanguageModel(data.shape)
    n_parameters = n_weights(model)
    one_moment = block_matrices(model) if config.optimizer == "muon" else []  # the others have two
    checkpoint = 12 * n_parameters - 4 * sum(weight.numel() for weight, _ in one_moment)
    sizes = {
        "parameters": n_parameters,
        "pieces": data.shape.n_pieces,
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
    }
    return Estimate(
        disk=4 * n_parameters + _vector_bytes(corpus, pieces, config),
        temporary=room_for_checkpoints(checkpoint, KEPT_CHECKPOINTS),
        memory=peak_memory(device) if device.type == "cuda" else peak.bytes,
        seconds=seconds,
        sizes=sizes,
        reckoned_from=(
            "the packed text, and some steps with the settings that a training would choose; "
            "without the pooling of word vectors at the end"
        ),
    )


def _vector_bytes(corpus: "Corpus", pieces: Pieces, config: MlmConfig) -> int:
    """Return the bytes of a run besides its weights; the words without context are as many."""
    view = corpus.view(
        min_count=config.min_count, max_vocabulary=config.max_vocabulary, punctuation="drop"
    )
    with temporary_folder() as folder:
        save_pieces(pieces, folder / "pieces", corpus.text)
        tokenizer = (folder / "pieces").stat().st_size
    dim = config.size.dim
    n_words, lines = len(view.words), len(word_lines(view.words, view.counts))
    width, start, untrained = dim, 0, 2 * dim
    if config.init != NONE:
        untrained = dim
        width = start_config(corpus, config).dim or dim if config.init == AUTO else dim
        start = 4 * width * (n_words + len(pieces)) + 4 * dim * len(pieces) + tokenizer + lines
    return 4 * (width + dim + untrained) * n_words + start + tokenizer + lines + _ABOUT
