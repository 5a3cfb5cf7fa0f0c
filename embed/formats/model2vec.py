"""Folders of Model2Vec, which are sentence-transformers' StaticEmbedding too: vectors by word.

A text's vector there is the mean of its words' rows. The tokenizer divides text as the corpus was,
and leaves out words without a row.
"""

from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.errors import ArtifactError
from firth.corpora.common.reporting import note
from firth.corpora.text.segment import TextSettings
from firth.embed.formats.huggingface import CONFIG, MODEL2VEC, TOKENIZER, WEIGHTS
from firth.embed.formats.model_card import CARD, model_card
from firth.embed.formats.writing import blocks, refuse_unwritable
from firth.embed.vectors.search import nonzero_rows
from firth.embed.vectors.word_vectors import WordVectors

_MODULES, _MODULE = "modules.json", "sentence_transformers.models.StaticEmbedding"
FILES = (CONFIG, WEIGHTS, TOKENIZER, _MODULES, CARD)
# before each word, so that no single letter of a word without a row is taken for a word
_MARK = "\u2581"


def write_model2vec(vectors: WordVectors, folder: Path) -> None:
    """Write a folder that ``StaticModel.from_pretrained`` and ``SentenceTransformer`` open."""
    from safetensors.numpy import save_file

    from firth.corpora.tokenizer.json_format import why_not_exportable  # numba comes with it

    text = vectors.text or TextSettings(segmenter="whitespace", keep_case=True)
    if problem := why_not_exportable(text):
        raise ArtifactError(f"{vectors.name}: {problem}")
    rows = np.flatnonzero(nonzero_rows(vectors.matrix))
    words = [vectors.vocabulary[row] for row in rows.tolist()]
    refuse_unwritable(words, "model2vec")
    clash = [word for word in words if word.startswith(_MARK)]
    if clash:
        raise ArtifactError(f"format model2vec cannot hold the word {clash[0]!r}, for its mark")
    folder.mkdir()
    matrix = np.concatenate([*blocks(vectors.matrix)])[rows]
    save_file({MODEL2VEC: np.ascontiguousarray(matrix)}, folder / WEIGHTS)
    _tokenizer(words, text).save(str(folder / TOKENIZER), pretty=False)
    config = {"model_type": "model2vec", "architectures": ["StaticModel"], "normalize": False}
    write_json(folder / CONFIG, {**config, "hidden_dim": vectors.dim, "max_length": None})
    write_json(folder / _MODULES, [{"idx": 0, "name": "0", "path": ".", "type": _MODULE}])
    (folder / CARD).write_text(model_card(vectors), encoding="utf-8", newline="\n")
    if vectors.subwords or vectors.pieces:
        note(
            f"{vectors.name}: its {vectors.composed_of} are left out, so that other words have no "
            "vector there"
        )


def _tokenizer(words: list[str], text: TextSettings) -> Any:
    """Return the library's tokenizer, which gives nothing for other words.

    A model without an unknown piece: WordLevel has to have one, whose row would count in means.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    from firth.corpora.tokenizer.json_format import normalizer_of, pre_tokenizer_of

    vocabulary = {_MARK + word: row for row, word in enumerate(words)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [], ignore_merges=True))
    tokenizer.normalizer = normalizer_of(text)
    marked = pre_tokenizers.Metaspace(_MARK, prepend_scheme="always", split=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizer_of(text), marked])
    tokenizer.decoder = decoders.Metaspace(_MARK, prepend_scheme="always")
    return tokenizer
