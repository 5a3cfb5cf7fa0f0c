"""Likelihoods of lines of text and of their words, as a line writes them."""

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from firth.corpora.common.errors import ArtifactError
from firth.corpora.common.reporting import Progress, no_progress
from firth.corpora.store.spelling import align
from firth.corpora.text.joining import SpelledWords, after_context, is_unspaced
from firth.corpora.text.segment import TextSettings
from firth.embed.contextual.encoders import open_encoder
from firth.embed.protocols import ContextualEncoder, SentenceScorer

_AT_ONCE = 256  # lines


class WordScore(NamedTuple):
    """The surprisal of a word, which is what stands between spaces."""

    word: str  # with its case and punctuation
    start: int  # in the text, in characters
    stop: int
    bits: float  # -log2 of its probability
    known: bool  # False if the model reads some of it as an unknown piece


@dataclass(frozen=True)
class LineScore:
    """The surprisal of the words of a line, after a context if it has one."""

    text: str
    context: str
    words: list[WordScore]

    @property
    def bits(self) -> float:
        """The surprisal of the text, the sum of those of its words."""
        return math.fsum(word.bits for word in self.words)

    @property
    def log_likelihood(self) -> float:
        """The (pseudo) log-likelihood of the text, in nats."""
        return -self.bits * math.log(2)

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON."""
        return {
            "text": self.text,
            "context": self.context,
            "log_likelihood": self.log_likelihood,
            "bits": self.bits,
            "words": [word._asdict() for word in self.words],
        }


def score_lines(
    run: str | os.PathLike[str] | ContextualEncoder,
    lines: Iterable[str | tuple[str, str]],
    *,
    device: str = "auto",
    left_to_right_in_words: bool = True,
    show: Progress = no_progress,
) -> list[LineScore]:
    """Score lines of text and their words by a language model.

    A causal model gives each piece a probability after those before it; a masked one with only
    that piece, and the later ones of its word, masked (pseudo-log-likelihood: Salazar et al. 2020,
    arXiv:1910.14659; Kauf and Ivanova 2023, arXiv:2305.10588). A word has the sum of its pieces.

    Parameters
    ----------
    run : str, Path or encoder
        A run of ``train-mlm``, a Hugging Face folder, or an opened encoder.
    lines : iterable of str, or of (str, str)
        Sentences, or pairs of a context, which is read and not scored, and a sentence.
    device : {'auto', 'cpu', 'cuda', 'mps'}
        Where a run is opened.
    left_to_right_in_words : bool
        For a masked model: also mask the pieces that follow the scored one within its word.
    show : callable
        Called with the number of lines that are done.

    Returns
    -------
    list of LineScore
        By line: ``text``, ``context``, ``bits``, ``log_likelihood`` and ``words``.

    Raises
    ------
    ArtifactError
        The run is damaged or not a language model.
    """
    encoder = run if isinstance(run, ContextualEncoder) else open_encoder(run, device)
    if not isinstance(encoder, SentenceScorer):
        raise ArtifactError(
            f"{run}: is not a language model; pass a run of `train_mlm()` that predicts text, not "
            "pairs or orders, or a folder of a masked or causal language model with its mask or "
            "its start of a text (bos_token_id)"
        )
    pairs = [("", line) if isinstance(line, str) else line for line in lines]
    scored: list[LineScore] = []
    for first in range(0, len(pairs), _AT_ONCE):
        part = pairs[first : first + _AT_ONCE]
        scored += _score(encoder, part, left_to_right_in_words)
        show(len(scored))
    return scored


def _score(
    encoder: ContextualEncoder, pairs: Sequence[tuple[str, str]], left_to_right_in_words: bool
) -> list[LineScore]:
    """Score some lines."""
    assert isinstance(encoder, SentenceScorer)
    split = [(encoder.words(context), encoder.words(text)) for context, text in pairs]
    sentences = [after_context(context, words) for context, words in split]
    scores = encoder.score_words(sentences, left_to_right_in_words=left_to_right_in_words)
    scored = []
    for (context, text), (before, words), nats in zip(pairs, split, scores, strict=True):
        values = zip(nats[len(before) :].tolist(), encoder.covers(words).tolist(), strict=True)
        line: list[WordScore] = []
        for (start, stop), (value, known) in zip(_spans(encoder, text, words), values, strict=True):
            bits = 0.0 - value / math.log(2)
            if line and _continues(text, line[-1].stop, start):
                last = line.pop()
                start, bits, known = last.start, last.bits + bits, last.known and known
            line.append(WordScore(text[start:stop], start, stop, bits, known))
        scored.append(LineScore(text, context, line))
    return scored


def _spans(encoder: ContextualEncoder, text: str, words: list[str]) -> Sequence[tuple[int, int]]:
    """Return where the words of a text start and stop; all of it if that is unknown."""
    if isinstance(words, SpelledWords):
        return words.spans
    settings = getattr(encoder, "text", None)
    spans = align(text, words, settings) if isinstance(settings, TextSettings) else None
    return [(0, len(text))] * len(words) if spans is None else spans


def _continues(text: str, stop: int, start: int) -> bool:
    """Return whether two words of a text are written as one."""
    apart = any(map(str.isspace, text[stop:start]))
    return not (apart or (is_unspaced(text[stop - 1]) and is_unspaced(text[start])))
