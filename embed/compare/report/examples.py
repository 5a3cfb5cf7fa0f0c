"""What the encoders of a report's runs make of example sentences."""

from collections.abc import Mapping, Sequence

from corpora.common.errors import FirthError, SettingError
from embed.compare.datasets.fields import quoted
from embed.compare.inputs.encoder_access import WithEncoder, attention_of
from embed.compare.report.contents import Attention
from embed.contextual.in_context import BRACKETED, ContextAnswer, nearest_by_encoder
from embed.protocols import AttentionReader, StaticVectors
from embed.vectors.word_vectors import WordVectors


def refuse_unmarked(examples: Sequence[str]) -> None:
    """Refuse sentences of which nobody can tell what is marked, before any work."""
    for text in examples:
        if not all(map(str.strip, BRACKETED.findall(text))) or set("[]") & set(
            BRACKETED.sub("", text)
        ):
            raise SettingError(f"`example={text!r}`: brackets go around words; write [word]")


def read_attention(
    runs: Mapping[str, StaticVectors], examples: Sequence[str]
) -> dict[str, list[Attention | str] | str]:
    """Let the encoders of some runs read sentences."""
    # returns dict of str to (list of (Attention or str) or str)
    with_encoder = (name for name, run in runs.items() if isinstance(run, WithEncoder))
    return {name: _attention(runs[name], examples) for name in with_encoder}


def find_in_context(
    runs: Mapping[str, StaticVectors],
    examples: Sequence[str],
    k: int = 10,
) -> dict[str, list[ContextAnswer | str] | str]:
    """Find what is nearest to marked words, as they stand in their sentences."""
    # returns dict of str to (list of (ContextAnswer or str) or str)
    marked = [text for text in examples if "[" in text]
    return {
        name: _in_context(run, marked, k)
        for name, run in runs.items()
        if isinstance(run, WithEncoder) and marked
    }


def _attention(run: StaticVectors, examples: Sequence[str]) -> list[Attention | str] | str:
    """What one run attends to, or why that cannot be told."""
    try:
        reader = attention_of(run)
        if reader is None:
            return "its encoder does not give its attention weights"
        return [_read(reader, BRACKETED.sub(r"\1", text)) for text in examples]
    except FirthError as error:
        return str(error)


def _read(reader: AttentionReader, text: str) -> Attention | str:
    """What is attended to in one sentence, or what is wrong with it."""
    try:
        pieces, weights = reader.attention(reader.words(text))
    except SettingError as error:  # of this sentence; the others are read
        return f"{quoted(text)}: {error}"
    return Attention(text, tuple(pieces), weights)


def _in_context(run: WithEncoder, marked: Sequence[str], k: int) -> list[ContextAnswer | str] | str:
    """What is nearest to marked words by one run, or why that cannot be told."""
    if run.layers is None:
        return "its vectors are no means of its states, so that nothing is near to both"
    try:
        return [answer for text in marked for answer in _nearest(run, run.layers, text, k)]
    except FirthError as error:
        return str(error)


def _nearest(
    run: WithEncoder, layers: Sequence[int], text: str, k: int
) -> Sequence[ContextAnswer | str]:
    """What is nearest to the marked words of one sentence, or what is wrong with it."""
    assert isinstance(run.vectors, WordVectors)
    encoder = run.encoder  # what is wrong with it is so for every sentence
    try:
        return nearest_by_encoder(encoder, run.vectors, [text], layers, k)
    except SettingError as error:
        return [str(error)]
