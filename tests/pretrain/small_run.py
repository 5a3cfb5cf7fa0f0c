"""Small finished runs of train-mlm, with pooled vectors or without, and their parts."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from firth.corpora.artifacts.artifact import CHECKSUMS, checksums, write_json
from firth.corpora.encoding.build import open_or_build
from firth.corpora.store.corpus import Corpus
from firth.corpora.text.segment import TextSettings
from firth.corpora.tokenizer.json_format import save_pieces
from firth.corpora.tokenizer.pieces import FIRST_PIECE, Pieces, learn_pieces
from firth.embed.contextual.pooling import PoolConfig, pool_words
from firth.embed.runs.writer import new_run
from firth.pretrain.inference.mlm_encoder import encoder_class
from firth.pretrain.inference.trained_encoder import TrainedEncoder
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.model.weights import TOKENIZER, WEIGHTS, save_model
from firth.pretrain.shape import EncoderConfig

TEXT = """\
The carpenter found an old saw in the shed. She saw the river and the mountains from there.
The king saw the queen, and the queen saw the king. The sawmill stands by the river.
He cut the wood with a saw, then he cut it again with an axe. Nobody saw him.

The mountains are old, and the river is older. The king and the queen went to the mountains.
An axe is no saw. The wood was found in the river, near the old mill.
"""
SCRIPTS = """The cat sat on the mat. My naïve friend ate $5 cats, quickly and unbelievably walking!
Die Bücher hätten's GRÖSSER gemacht; Straße. Её дом — это «ещё» не всё: 1991 год.
東京は大きい。我喜欢读书，你呢？ 한국어 문장 हिन्दी में। أحب القراءة كثيرا"""
WORDS = TextSettings()
SHAPE = {"layers": 2, "heads": 2, "dim": 16, "feed_forward_dim": 24, "max_length": 16}
RANDOM = {"layers": 3, "heads": 4, "dim": 32, "feed_forward_dim": 48, "max_length": 24}


def small_pieces(text: str = TEXT, size: int = 80, settings: TextSettings = WORDS) -> Pieces:
    """Learn few pieces from a text, so that words have several."""
    words, counts = np.unique(settings.words(text), return_counts=True)
    return learn_pieces(words.tolist(), counts, size=size)


def pieces_of_scripts(settings: TextSettings = WORDS) -> Pieces:
    """Pieces of words in several scripts; a text cut into characters gives fewer."""
    return small_pieces(SCRIPTS, 180 if settings.segmenter == "words" else 105, settings)


def small_encoder(*, pieces: Pieces | None = None, seed: int = 3, **shape) -> Any:
    """An encoder with weights of unit size, so that context matters as in a trained one."""
    pieces = pieces or small_pieces()
    config = EncoderConfig(n_pieces=len(pieces), **{**SHAPE, **shape})
    model = MaskedLanguageModel(config, seed=seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim > 1:
                weight.mul_(weight.shape[-1] ** -0.5 / weight.std())
            elif name == "core.bias":
                weight[:FIRST_PIECE] = -20.0  # as training leaves pieces that are never right
    return encoder_class(config)(model, pieces, TextSettings(), name="small")


def small_corpus(folder: Path, text: str = TEXT) -> Corpus:
    """Build a corpus of a text in a folder."""
    (folder / "text.txt").write_text(text, encoding="utf-8")
    return open_or_build(folder / "text.txt")


def write_run(out: Path, encoder: TrainedEncoder, corpus: Corpus, **pooling) -> Path:
    """Write an encoder as train-mlm does, with vectors pooled over a corpus."""
    pooled = pool_words(encoder, corpus, PoolConfig(**{"min_count": 1, **pooling}))
    with new_run(out, {"command": "train-mlm"}) as run:
        pooled.vectors.write(run.path)
        save_model(encoder.model, run.path / WEIGHTS)
        save_pieces(encoder.pieces, run.path / TOKENIZER, corpus.text)
        options = {"encoder": encoder.model.config.to_json(), "pooling": pooled.info}
        run.describe("mlm", options, corpus.text, seeds=[1], **corpus.trained_on)
    return out


def small_run(folder: Path, *, name: str = "run", text: str = TEXT, **shape) -> Path:
    """Write a finished run of the given shape: ``layers``, ``norm`` and so on."""
    encoder = small_encoder(pieces=small_pieces(text), **shape)
    return write_run(folder / name, encoder, small_corpus(folder, text))


def random_model(n_pieces: int, **shape: object) -> MaskedLanguageModel:
    """An encoder without zero biases and unit norm weights, so that a missing one is noticed."""
    model = MaskedLanguageModel(EncoderConfig(n_pieces=n_pieces, **{**RANDOM, **shape}))
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.1 * torch.randn(weight.shape, generator=generator)
    return model.eval()


def random_run(run: Path, *, text: TextSettings = WORDS, **shape: object) -> Path:
    """The files of a finished run that its encoder needs."""
    pieces = pieces_of_scripts(text)
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
