"""``tokenizer.json``: reading and writing pieces in the format of the ``tokenizers`` library."""

from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.artifact import read_json
from firth.corpora.common.errors import ArtifactError
from firth.corpora.text.characters import code_points_in
from firth.corpora.text.segment import TextSettings, bert_normalizer
from firth.corpora.tokenizer.pieces import (
    CLS,
    CONTINUATION,
    FIRST_PIECE,
    MAX_CHARACTERS,
    SEP,
    SPECIAL,
    UNK,
    Pieces,
)

# BertNormalizer removes U+FFFD from all text, so it is never a piece, and its word is [UNK].
_UNKNOWN_CHARACTER = "\ufffd"
# of the model in the file
_SETTINGS = {
    "type": "WordPiece", "max_input_chars_per_word": MAX_CHARACTERS, "unk_token": SPECIAL[UNK],
    "continuing_subword_prefix": CONTINUATION,
}  # fmt: skip


def why_not_exportable(text: TextSettings) -> str | None:
    """Return why the library cannot reproduce the segmentation of a corpus; None if it can."""
    if text.segmenter == "jieba":
        return (
            "the corpus was divided into words by jieba, which tokenizer.json cannot represent; "
            "build it with `segmenter=characters` or words instead"
        )
    if text.lemmatize is not None:
        return (
            "the words of the corpus are lemmas, which tokenizer.json cannot represent; build it "
            "without `lemmatize`"
        )
    return None


def save_pieces(pieces: Pieces, path: Path, text: TextSettings | None = None) -> None:
    """Write ``tokenizer.json``, as the ``tokenizers`` library reads it.

    If the library can segment as the corpus does, the file encodes raw text to the same ids as
    ``text.words`` and ``pieces.split``, between [CLS] and [SEP]. One difference remains: names of
    special pieces in raw text become those pieces.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, processors

    tokenizer = Tokenizer(pieces.model)
    if text is not None and why_not_exportable(text) is None:
        tokenizer.normalizer = _normalizer(text)
        tokenizer.pre_tokenizer = _pre_tokenizer(text)
    tokenizer.add_special_tokens([AddedToken(name, normalized=False) for name in SPECIAL])
    begin, end = SPECIAL[CLS], SPECIAL[SEP]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}",
        pair=f"{begin} $A {end} $B {end}",
        special_tokens=[(begin, CLS), (end, SEP)],
    )
    tokenizer.decoder = decoders.WordPiece(prefix=CONTINUATION, cleanup=False)
    path.write_text(tokenizer.to_str(pretty=True) + "\n", encoding="utf-8")


def open_pieces(path: Path) -> Pieces:
    """Read ``tokenizer.json``; raise if it is not as :func:`save_pieces` writes it."""
    try:
        model = dict(read_json(path)["model"])
        names = sorted(model["vocab"], key=model["vocab"].__getitem__)
        valid = [model["vocab"][name] for name in names] == list(range(len(names)))
        valid &= all(model[name] == value for name, value in _SETTINGS.items())
    except (AttributeError, LookupError, TypeError, ValueError):
        valid = False
    if not valid:
        raise ArtifactError(f"{path}: is damaged or not written by Firth; recreate {path.parent}")
    if names[:FIRST_PIECE] != list(SPECIAL):
        raise ArtifactError(
            f"{path}: the first pieces are {' '.join(names[:FIRST_PIECE])}, not "
            f"{' '.join(SPECIAL)}; use a file written by Firth"
        )
    return Pieces(names)


def _normalizer(text: TextSettings) -> Any:
    """Return the corpus's normalization, which also replaces words that must become [UNK]."""
    from tokenizers import Regex, normalizers

    steps = [bert_normalizer(text)]
    if text.fold_digits:
        digits = _code_point_ranges(code_points_in("Nd"))
        steps.append(normalizers.Replace(Regex(f"[{digits}]"), "0"))
    if text.segmenter == "whitespace":  # a word that begins with ## would be a continuation
        unknown = f"(?<![^ ])(?={CONTINUATION})[^ ]+"
        steps.append(normalizers.Replace(Regex(unknown), _UNKNOWN_CHARACTER))
    return steps[0] if len(steps) == 1 else normalizers.Sequence(steps)


def _pre_tokenizer(text: TextSettings) -> Any:
    """Return the library's pre-tokenizer for a segmenter."""
    from tokenizers import Regex, pre_tokenizers

    if text.segmenter == "words":
        return pre_tokenizers.BertPreTokenizer()
    spaces = pre_tokenizers.Split(" ", "removed")
    if text.segmenter == "whitespace":
        return spaces
    marks = np.append(code_points_in("Mn", "Mc", "Me"), ord(_UNKNOWN_CHARACTER))
    pattern = Regex(f"[^ ][{_code_point_ranges(marks)}]*")
    characters = pre_tokenizers.Split(pattern, "isolated")
    return pre_tokenizers.Sequence([spaces, characters])


def _code_point_ranges(codes: np.ndarray) -> str:
    """Return code points as ranges for the inside of a character class."""
    codes = np.sort(codes)
    ranges = np.split(codes, np.flatnonzero(np.diff(codes) > 1) + 1)
    return "".join(f"\\x{{{each[0]:x}}}-\\x{{{each[-1]:x}}}" for each in ranges)
