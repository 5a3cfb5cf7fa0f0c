"""A finished run of a masked language model with random weights."""

from collections import Counter
from pathlib import Path

import numpy as np
import torch

from firth.corpora.artifacts.artifact import CHECKSUMS, checksums, write_json
from firth.corpora.text.segment import TextSettings
from firth.corpora.tokenizer.json_format import save_pieces
from firth.corpora.tokenizer.pieces import Pieces, learn_pieces
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.model.weights import TOKENIZER, WEIGHTS, save_model
from firth.pretrain.shape import EncoderConfig

TEXT = """The cat sat on the mat. My naïve friend ate $5 cats, quickly and unbelievably walking!
Die Bücher hätten's GRÖSSER gemacht; Straße. Её дом — это «ещё» не всё: 1991 год.
東京は大きい。我喜欢读书，你呢？ 한국어 문장 हिन्दी में। أحب القراءة كثيرا"""
SHAPE = {"layers": 3, "heads": 4, "dim": 32, "feed_forward_dim": 48, "max_length": 24}


def learned_pieces(text: TextSettings) -> Pieces:
    """Pieces of the text above, some words whole and some in parts."""
    counts = Counter(text.words(TEXT))
    size = 180 if text.segmenter == "words" else 105  # characters give no more
    return learn_pieces(list(counts), np.array(list(counts.values())), size=size)


def random_model(n_pieces: int, **shape: object) -> MaskedLanguageModel:
    """An encoder without zero biases and unit norm weights, so that a missing one is noticed."""
    model = MaskedLanguageModel(EncoderConfig(n_pieces=n_pieces, **{**SHAPE, **shape}))
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.1 * torch.randn(weight.shape, generator=generator)
    return model.eval()


def random_run(run: Path, *, text: TextSettings | None = None, **shape: object) -> Path:
    """The files of a finished run that its encoder needs."""
    text = text or TextSettings()
    pieces = learned_pieces(text)
    model = random_model(len(pieces), **shape)
    run.mkdir()
    save_pieces(pieces, run / TOKENIZER, text)
    save_model(model, run / WEIGHTS)
    config = {"method": "mlm", "encoder": model.config.to_json(), "text": text.to_json()}
    write_json(run / "config.json", config)
    seal(run)
    return run


def seal(run: Path) -> None:
    """Update the checksums to the current files."""
    write_json(run / CHECKSUMS, checksums(run))
