"""Held-out losses before and after a training that goes on from the weights of another."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from firth.corpora.common.errors import FirthError
from firth.corpora.tokenizer.pieces import Pieces
from firth.embed.runs.run import Run
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.packing import PackedRows
from firth.pretrain.data.text import open_text
from firth.pretrain.model.weights import WEIGHTS, read_model
from firth.pretrain.training.autotune import TUNED_FILE, read_tuned
from firth.pretrain.training.evaluation import evaluate
from firth.pretrain.training.prepare import both_readings
from firth.pretrain.training.warm_start import ORIGIN

if TYPE_CHECKING:
    from firth.corpora.store.corpus import Corpus


def measure_forgetting(
    run: Path, corpus: "Corpus", config: MlmConfig, pieces: Pieces, device: torch.device
) -> dict[str, dict[str, Any]]:
    """Return held-out losses of first and last weights, on the new text and, if there, the old."""
    assert config.continue_ is not None
    tuned, texts = read_tuned(run / TUNED_FILE), {"corpus": corpus}
    assert tuned is not None
    with contextlib.suppress(FirthError):
        old = Run.open(Path(config.continue_)).corpus()
        if old.trained_on["corpus"] != corpus.trained_on["corpus"]:
            texts["earlier_corpus"] = old
    models = {
        when: read_model(run / file, config.shape(n_pieces=len(pieces)), device)
        for when, file in (("before", ORIGIN), ("after", WEIGHTS))
    }
    losses = {}
    for name, text in texts.items():
        rows = PackedRows.pack(
            open_text(text, config).held_out, pieces, config.sequence_length, device,
            clusters=True, tree=config.reads_trees,
        )  # fmt: skip
        for reading, batches in both_readings(rows, pieces, tuned.micro_batch, config).items():
            losses[name + reading] = {
                when: evaluate(model, batches, tuned.step_settings.dtype).held_out.to_line()
                for when, model in models.items()
            }
    return losses
