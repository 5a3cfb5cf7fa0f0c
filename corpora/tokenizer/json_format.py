"""tokenizer.json: pieces in the form of the ``tokenizers`` library, raw text to ids."""

import unicodedata
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from corpora.artifacts.artifact import read_json
from corpora.common.errors import ArtifactError
from corpora.text.characters import N_CODE_POINTS, punctuation_characters
from corpora.text.segment import TextSettings
from corpora.tokenizer.pieces import (
    CLS,
    CONTINUATION,
    FIRST_PIECE,
    MAX_CHARACTERS,
    SEP,
    SPECIAL,
    UNK,
    Kind,
    Pieces,
)

_CODE_POINTS = range(N_CODE_POINTS)
# BertNormalizer removes it from every text, so it is no piece, and its word is [UNK].
_UNKNOWN_CHARACTER = "\ufffd"


def why_not_exportable(text: TextSettings) -> str | None:
    """Say why the library alone cannot segment as a corpus was segmented."""
    if text.segmenter == "jieba":
        return (
            "the corpus was divided into words by jieba, which no tokenizer.json can hold; "
            "build it with `segmenter=characters` or words instead"
        )
    return None


def save_pieces(pieces: Pieces, path: Path, text: TextSettings | None = None) -> None:
    """Write the library's own JSON, ``tokenizer.json``.

    Where the library can segment as the corpus does, the file gives the ids of raw text
    too, [CLS] before and [SEP] after it: those of ``text.words`` and ``pieces.split``. Only
    the special pieces' names, where they stand in the raw text, are the pieces themselves.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, processors

    tokenizer = Tokenizer(pieces.model)
    if text is not None and why_not_exportable(text) is None:
        tokenizer.normalizer = _normalizer(pieces, text)
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
    """Read ``tokenizer.json``, refusing what :func:`save_pieces` would not write."""
    try:
        model = dict(read_json(path)["model"])
        kind = _kind(model)
        names = sorted(model["vocab"], key=model["vocab"].__getitem__)
        merges = [(left, right) for left, right in model.get("merges", [])]
        whole = [model["vocab"][name] for name in names] == list(range(len(names)))
        known = set(names)
        for left, right in merges:
            whole &= {left, right, left + right.removeprefix(CONTINUATION)} <= known
    except (AttributeError, LookupError, TypeError, ValueError):
        whole = False
    if not whole:
        raise ArtifactError(f"{path}: is damaged or not written by Firth; recreate {path.parent}")
    if names[:FIRST_PIECE] != list(SPECIAL):
        raise ArtifactError(
            f"{path}: its first pieces are {' '.join(names[:FIRST_PIECE])}, not "
            f"{' '.join(SPECIAL)}; give a file that this program wrote"
        )
    return Pieces(kind, names, merges)


def _kind(model: dict[str, Any]) -> Kind:
    """Tell the kind of a model; ValueError where one of its settings is not ours."""
    kind: Kind = "bpe" if model["type"] == "BPE" else "wordpiece"
    settings: dict[str, Any] = {"type": "BPE", "dropout": None, "byte_fallback": False}
    if kind == "wordpiece":
        settings = {"type": "WordPiece", "max_input_chars_per_word": MAX_CHARACTERS}
    settings |= {"unk_token": SPECIAL[UNK], "continuing_subword_prefix": CONTINUATION}
    if any(model[name] != value for name, value in settings.items()):
        raise ValueError
    return kind


def _normalizer(pieces: Pieces, text: TextSettings) -> Any:
    """What the corpus did to its text, and for words that can only be [UNK] their mark."""
    from tokenizers import Regex, normalizers

    steps: list[Any] = [
        normalizers.BertNormalizer(
            clean_text=True,
            handle_chinese_chars=text.segmenter == "words",
            strip_accents=text.strip_accents,
            lowercase=not text.keep_case,
        )
    ]
    if text.fold_digits:
        digits = [code for code in _CODE_POINTS if chr(code).isdecimal()]
        steps.append(normalizers.Replace(Regex(f"[{_ranges(digits)}]"), "0"))
    if unknown := _unknown_words(pieces, text.segmenter):
        steps.append(normalizers.Replace(Regex(unknown), _UNKNOWN_CHARACTER))
    return steps[0] if len(steps) == 1 else normalizers.Sequence(steps)


def _pre_tokenizer(text: TextSettings) -> Any:
    """The library's way to find words."""
    from tokenizers import Regex, pre_tokenizers

    if text.segmenter == "words":
        return pre_tokenizers.BertPreTokenizer()
    spaces = pre_tokenizers.Split(" ", "removed")
    if text.segmenter == "whitespace":
        return spaces
    _, first, rest = _word_patterns(text.segmenter)
    characters = pre_tokenizers.Split(Regex(f"{first}{rest}*"), "isolated")
    return pre_tokenizers.Sequence([spaces, characters])


def _unknown_words(pieces: Pieces, segmenter: str) -> str | None:
    """A pattern for the words that ``split`` makes [UNK] and the library's model would not.

    BPE has an [UNK] for each unknown character; and where spaces alone divide
    words, one that begins with ``##`` looks like the rest of another.
    """
    if pieces.kind == "wordpiece" and segmenter != "whitespace":
        return None
    start, first, rest = _word_patterns(segmenter)
    reasons = []
    if segmenter == "whitespace":
        reasons.append(f"(?={CONTINUATION})")
    if pieces.kind == "bpe":
        begin = [ord(name) for name in pieces.names if len(name) == 1]
        go_on = [ord(name[2]) for name in pieces.names if len(name) == 3 and name[:2] == "##"]
        reasons.append(f"(?!{_class(begin)}{_class(go_on)}*(?!{rest}))")
    return f"(?:{start})(?:{'|'.join(reasons)}){first}{rest}*"


def _word_patterns(segmenter: str) -> tuple[str, str, str]:
    """Patterns of where a word starts, of its first character, and of each that follows."""
    if segmenter == "characters":
        marks = [c for c in _CODE_POINTS if unicodedata.category(chr(c)).startswith("M")]
        return f"(?<![^ ])|(?!{_class(marks)})", "[^ ]", _class(marks)
    inside = "[^ ]"
    if segmenter == "words":
        inside = f"[^ {_ranges(np.flatnonzero(punctuation_characters()).tolist())}]"
    return f"(?<!{inside})", inside, inside


def _class(codes: list[int]) -> str:
    """A pattern for one of some characters, of which there may be none."""
    return f"[{_ranges([*codes, ord(_UNKNOWN_CHARACTER)])}]"


def _ranges(codes: list[int]) -> str:
    """The inside of a pattern's brackets."""
    codes = sorted(codes)
    starts = [code for before, code in pairwise([-2, *codes]) if code != before + 1]
    ends = [code for code, after in pairwise([*codes, _CODE_POINTS.stop + 1]) if after != code + 1]
    return "".join(f"\\x{{{a:x}}}-\\x{{{b:x}}}" for a, b in zip(starts, ends, strict=True))
