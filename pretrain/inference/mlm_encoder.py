"""MlmEncoder: what an encoder of masked pieces predicts, and opening the encoder of a run."""

import os
from pathlib import Path

from torch import Tensor

from firth.corpora.common.errors import ArtifactError
from firth.corpora.common.keywords import suggesting
from firth.corpora.text.segment import TextSettings
from firth.embed.formats.huggingface import HUGGINGFACE, is_huggingface
from firth.embed.registry import ENCODERS, resolve
from firth.embed.runs.run import Run
from firth.embed.vectors.word_vectors import open_start
from firth.pretrain.data.batches import Rows
from firth.pretrain.device import choose_device
from firth.pretrain.inference.causal_encoder import CausalEncoder
from firth.pretrain.inference.denoising_encoder import DenoisingEncoder
from firth.pretrain.inference.masked_encoder import MaskedPieceEncoder
from firth.pretrain.inference.pointing_encoder import PointingEncoder
from firth.pretrain.inference.trained_encoder import TrainedEncoder
from firth.pretrain.inference.transducer import Transducer
from firth.pretrain.model.weights import load_model, load_pieces
from firth.pretrain.shape import EncoderConfig


@suggesting
class MlmEncoder(MaskedPieceEncoder, TrainedEncoder):
    """A trained encoder of masked pieces.

    Attributes
    ----------
    model : MaskedLanguageModel
        The trained model, in evaluation mode.
    pieces : Pieces
        The pieces it was trained on.
    """

    @property
    def shift(self) -> int:  # type: ignore[override]
        """How many slots before a masked piece it is predicted."""
        return int(self.model.config.both_ways)

    def _logits(self, rows: Rows, at: Tensor) -> Tensor:
        return self.model.logits(self.model(rows, at)[:, 0])


def encoder_class(config: EncoderConfig) -> type[TrainedEncoder]:
    """Return the class for an encoder of this shape."""
    if config.points:
        return PointingEncoder
    if config.decoder_layers:
        return Transducer if config.sentinels == 1 else DenoisingEncoder
    return CausalEncoder if config.causal else MlmEncoder


def open_masked(run: str | os.PathLike[str], device: str = "auto") -> MaskedPieceEncoder:
    """Open an encoder of masked pieces, of a run or a Hugging Face folder; raise if it is none."""
    opener = resolve(ENCODERS[HUGGINGFACE]) if is_huggingface(Path(run)) else open_run
    encoder = opener(run, device)
    if not isinstance(encoder, MaskedPieceEncoder):
        raise ArtifactError(
            f"{run}: predicts no masked pieces and has no masks; pass a run with "
            "`objective=masked`, or a folder of a masked language model"
        )
    return encoder


def open_causal(run: str | os.PathLike[str], device: str = "auto") -> CausalEncoder:
    """Open an encoder that predicts the next piece; raise ArtifactError if it predicts masks.

    An encoder that was trained both ways then sees only what is before a slot.
    """
    encoder = open_run(run, device, causal=True)
    if not isinstance(encoder, CausalEncoder):
        raise ArtifactError(
            f"{run}: does not predict the next piece; pass a run with `objective=causal`"
        )
    return encoder


def open_transducer(run: str | os.PathLike[str], device: str = "auto") -> Transducer:
    """Open a model of pairs; raise ArtifactError if the run is none."""
    encoder = open_run(run, device)
    if not isinstance(encoder, Transducer):
        raise ArtifactError(
            f"{run}: predicts no targets of pairs; pass a run with `objective=transduce`"
        )
    return encoder


def open_run(
    run: str | os.PathLike[str], device: str = "auto", *, causal: bool = False
) -> TrainedEncoder:
    """Open the encoder of a finished run of ``train-mlm``, in evaluation mode.

    With ``causal``, one that was trained both ways is read from left to right.
    """
    run = Path(run)
    model = load_model(run, choose_device(device), causal=causal)
    pieces = load_pieces(run, model.config)
    settings = TextSettings.from_json(Run.open(run).text or {})
    opened = encoder_class(model.config)
    return opened(
        model, pieces, settings, name=str(run), path=run.absolute(), start=open_start(run)
    )
