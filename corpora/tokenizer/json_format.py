"""``tokenizer.json``: reading and writing pieces in the format of the ``tokenizers`` library."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.artifact import read_json
from firth.corpora.common.errors import ArtifactError
from firth.corpora.text.characters import (
    CAPITAL_SIGMA,
    CLASS_MASK,
    CLASS_SHIFT,
    DOT_ABOVE,
    DOTLESS,
    DROP,
    EXTENDS,
    FINAL_SIGMA,
    JOINING,
    MARK,
    PICTURE,
    REGIONAL,
    SPACE,
    SYMBOL,
    VIRAMA,
    ZWJ,
    ZWNJ,
)
from firth.corpora.text.segment import ACCENTED, ACCENTS, DIVIDED, TextSettings, characters_of
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

# The normalizer removes U+FFFD from all text, so it is never a piece, and its word is [UNK].
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
    if text.pattern is not None:
        return (
            f"the corpus was divided by `pattern={text.pattern}`, which tokenizer.json cannot "
            "represent; build it of tokens with spaces between them, with `segmenter=tokens`"
        )
    if text.lemmatize is not None:
        return (
            "the words of the corpus are lemmas, which tokenizer.json cannot represent; build it "
            "without `lemmatize`"
        )
    if text.joined_phrases:
        return (
            "the corpus has words joined into phrases, which tokenizer.json cannot represent; "
            "build it without `phrases` and `phrases_from`"
        )
    return None


def save_pieces(pieces: Pieces, path: Path, text: TextSettings | None = None) -> None:
    """Write ``tokenizer.json``, as the ``tokenizers`` library reads it.

    If the library can segment as the corpus does, the file encodes raw text to the same ids as
    ``text.words`` and ``pieces.split``, between [CLS] and [SEP]. Two differences remain: names of
    special pieces in raw text become those pieces, and dropped characters divide no emoji.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, processors

    tokenizer = Tokenizer(pieces.model)
    if text is not None and why_not_exportable(text) is None:
        tokenizer.normalizer = normalizer_of(text)
        tokenizer.pre_tokenizer = pre_tokenizer_of(text)
    tokenizer.add_special_tokens([AddedToken(name, normalized=False) for name in SPECIAL])
    begin, end = SPECIAL[CLS], SPECIAL[SEP]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}",
        pair=f"{begin} $A {end} $B {end}",
        special_tokens=[(begin, CLS), (end, SEP)],
    )
    tokenizer.decoder = decoders.WordPiece(prefix=CONTINUATION, cleanup=False)
    path.write_text(tokenizer.to_str(pretty=True) + "\n", encoding="utf-8", newline="\n")


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


def normalizer_of(text: TextSettings) -> Any:
    """Return the corpus's normalization, which also replaces words that must become [UNK]."""
    from tokenizers import normalizers

    steps = [_replaced(pattern, new) for pattern, new in _replacements(text)]
    if text.strip_accents:
        decomposed = [_replaced("I\u0307", "i")] if text.dotless else []
        accents = _replaced(f"(?<=[{ACCENTED}])[{ACCENTS}]+", "")
        steps[1:1] = [normalizers.NFD(), *decomposed, accents, normalizers.NFC()]
    bert = normalizers.BertNormalizer(
        clean_text=False,
        handle_chinese_chars=text.segmenter == "words",
        strip_accents=False,
        lowercase=not text.keep_case,
    )
    steps += [] if text.of_tokens else [bert]
    if text.fold_digits:
        steps.append(_replaced(r"\p{Nd}", "0"))
    # a word that begins with ## would be a continuation
    if text.segmenter in ("whitespace", "tokens"):
        unknown = f"(?<![^ ])(?={CONTINUATION})[^ ]+"
        # which tokens may have, but no line end
        character = "\n" if text.of_tokens else _UNKNOWN_CHARACTER
        steps.append(_replaced(unknown, character))
    return normalizers.Sequence(steps)


def _replaced(pattern: str, new: str) -> Any:
    """Return the library's step that replaces what a regular expression matches."""
    from tokenizers import Regex, normalizers

    return normalizers.Replace(Regex(pattern), new)


def _replacements(text: TextSettings) -> Iterator[tuple[str, str]]:
    """Yield patterns and what replaces them, in the order in which the corpus does so."""
    table, by_words = characters_of(text), text.segmenter == "words"
    kinds = table.entries >> CLASS_SHIFT & CLASS_MASK
    if text.of_tokens:
        yield f"[{_ranges(kinds == SPACE)}]", " "
        return
    yield DIVIDED.replace(r"[^\W\d_]", r"\p{L}"), ""  # \w has marks, other than in Python
    yield f"[{_ranges(kinds == SPACE)}]", " "
    dropped = kinds == DROP
    if text.segmenter != "characters":
        joining, virama = _ranges(table.neighbors & JOINING), _ranges(table.neighbors & VIRAMA)
        joined = joining + _ranges(table.neighbors & PICTURE) if by_words else joining
        after_picture = "\ufe0f\U0001f3fb-\U0001f3ff" if by_words else ""
        yield f"(?<![{joined}{after_picture}])[\u200c\u200d]", ""
        yield f"\u200c(?![{joining}])|(?<![{virama}])\u200d(?![{joined}])", ""
        dropped[[ZWNJ, ZWJ]] = False
    yield f"[{_ranges(dropped)}]+", ""
    yield f"[i{DOTLESS}]{DOT_ABOVE}+", "i"
    if not text.keep_case:
        yield f"İ{DOT_ABOVE}*|I{DOT_ABOVE}+", "i"
        if text.dotless:
            yield "I", DOTLESS
        if text.segmenter != "characters":
            divides = r"\p{P}\^`" if by_words else " "  # characters outside words
            ignorable = rf"[\p{{Case_Ignorable}}&&[^{divides}]]"
            after = rf"[\p{{Cased}}&&[^\p{{Case_Ignorable}}]]{ignorable}*\K"
            yield rf"{after}{CAPITAL_SIGMA}(?!{ignorable}*+\p{{Cased}})", FINAL_SIGMA


def pre_tokenizer_of(text: TextSettings) -> Any:
    """Return the library's pre-tokenizer for a segmenter."""
    from tokenizers import Regex, pre_tokenizers

    if text.segmenter == "words":
        table = characters_of(text)
        symbols, regional = _ranges(table.entries & SYMBOL), _ranges(table.neighbors & REGIONAL)
        marks, pictures = (_ranges(table.neighbors & flag) for flag in (EXTENDS, PICTURE))
        pattern = f"(?:[{regional}]{{2}}|[{symbols}])[{marks}]*(?:\u200d[{pictures}][{marks}]*)*"
        isolated = pre_tokenizers.Split(Regex(pattern), "isolated")
        return pre_tokenizers.Sequence([pre_tokenizers.BertPreTokenizer(), isolated])
    spaces = pre_tokenizers.Split(" ", "removed")
    if text.segmenter in ("whitespace", "tokens"):
        return spaces
    pattern = f"[^ ][{_ranges(characters_of(text).neighbors & MARK)}{_UNKNOWN_CHARACTER}]*"
    characters = pre_tokenizers.Split(Regex(pattern), "isolated")
    return pre_tokenizers.Sequence([spaces, characters])


def _ranges(mask: np.ndarray) -> str:
    """Return characters as ranges for the inside of a character class."""
    codes = np.flatnonzero(mask)
    ends = np.flatnonzero(np.diff(codes) > 1)
    pairs = zip(codes[[0, *ends + 1]], codes[[*ends, -1]], strict=True)
    return "".join(f"\\x{{{a:x}}}-\\x{{{b:x}}}" for a, b in pairs)
