"""Export a run as a folder that Hugging Face transformers loads without remote code."""

import shutil
from pathlib import Path
from typing import Any

from firth.corpora.artifacts.artifact import read_json, write_json
from firth.corpora.common.errors import SettingError
from firth.corpora.text.segment import TextSettings
from firth.corpora.tokenizer.json_format import why_not_exportable
from firth.corpora.tokenizer.pieces import CLS, MASK, PAD, SEP, SPECIAL, UNK
from firth.embed.runs.run import Run
from firth.embed.vectors.piece_table import TOKENIZER
from firth.pretrain.huggingface.layouts import huggingface_form, layout_problem
from firth.pretrain.model.weights import (
    WEIGHTS,
    encoder_config,
    load_model,
    load_pieces,
    write_tensors,
)
from firth.pretrain.shape import EncoderConfig

_CARD = """\
---
library_name: transformers
pipeline_tag: {task}
---

# A {kind} language model of {layers} layers x {dim}

Trained with Firth on rows of {length} pieces, with a vocabulary of {pieces:,} pieces. transformers
5 or later loads it without remote code:

```python
from transformers import {loader}, AutoTokenizer

model = {loader}.from_pretrained("path/to/this/folder")
tokenizer = AutoTokenizer.from_pretrained("path/to/this/folder")
```
"""


def write_huggingface(run: Path, folder: Path) -> str:
    """Write a run for ``AutoModelForMaskedLM`` and ``AutoTokenizer``; return a short description.

    A causal or mixed run is for ``AutoModelForCausalLM``, and its tokenizer adds no [SEP] behind a
    prompt.
    Logits are the run's up to rounding, and the tokenizer gives the same ids for raw text.
    """
    # a stock model predicts a masked piece in its own slot, not in the one before
    shape = encoder_config(run).one_way
    load_pieces(run, shape)  # to check it
    if reason := layout_problem(shape) or _segmentation_problem(run):
        raise SettingError(f"{run}: has no huggingface form: {reason}")
    config, tensors = huggingface_form(load_model(run, causal=True))
    folder.mkdir()
    write_json(folder / "config.json", config)
    write_tensors(folder / WEIGHTS, tensors)
    _write_tokenizer(run / TOKENIZER, folder / TOKENIZER, shape.causal)
    write_json(folder / "tokenizer_config.json", _tokenizer_config(shape))
    loader = f"AutoModelFor{'CausalLM' if shape.causal else 'MaskedLM'}"
    card = _CARD.format(
        task="text-generation" if shape.causal else "fill-mask",
        kind="causal" if shape.causal else "masked",
        loader=loader,
        layers=shape.layers,
        dim=shape.dim,
        length=shape.max_length,
        pieces=shape.n_pieces,
    )
    (folder / "README.md").write_text(card, encoding="utf-8", newline="\n")
    return f"{config['architectures'][0]} of {shape.layers} layers x {shape.dim}"


def _write_tokenizer(source: Path, path: Path, causal: bool) -> None:
    """Copy ``tokenizer.json``; of a causal run without the [SEP] behind a text."""
    if not causal:
        shutil.copyfile(source, path)
        return
    tokenizer = read_json(source)
    template = tokenizer["post_processor"]
    end = {"SpecialToken": {"id": SPECIAL[SEP], "type_id": 0}}
    template["single"] = [part for part in template["single"] if part != end]
    write_json(path, tokenizer)


def _segmentation_problem(run: Path) -> str | None:
    """Return why Hugging Face cannot segment raw text like the run's corpus, or None."""
    if read_json(run / TOKENIZER).get("pre_tokenizer") is not None:
        return None
    text = TextSettings.from_json(Run.open(run).text or {})
    # a run without settings that it can represent lost them, and jieba is the likeliest
    return why_not_exportable(text) or why_not_exportable(TextSettings(segmenter="jieba"))


def _tokenizer_config(shape: EncoderConfig) -> dict[str, Any]:
    """Return ``tokenizer_config.json``: what ``tokenizer.json`` does not contain."""
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": shape.max_length,
        "model_input_names": ["input_ids", "attention_mask"],
        "clean_up_tokenization_spaces": False,
        "pad_token": SPECIAL[PAD],
        "unk_token": SPECIAL[UNK],
        "cls_token": SPECIAL[CLS],
        "sep_token": SPECIAL[SEP],
        "mask_token": SPECIAL[MASK],
    }
