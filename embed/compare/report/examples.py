"""Attention and in-context neighbors of example sentences, for the report."""

from collections.abc import Mapping, Sequence

from firth.corpora.common.errors import FirthError, SettingError
from firth.embed.compare.datasets.fields import quoted
from firth.embed.compare.inputs.encoder_access import WithEncoder, attention_of
from firth.embed.compare.report.contents import Attention
from firth.embed.contextual.in_context import BRACKETED, ContextAnswer, nearest_by_encoder
from firth.embed.protocols import AttentionReader, StaticVectors
from firth.embed.vectors.word_vectors import WordVectors


def check_brackets(examples: Sequence[str]) -> None:
    """Raise SettingError if the brackets of an example are empty or unbalanced."""
    for text in examples:
        if not all(map(str.strip, BRACKETED.findall(text))) or set("[]") & set(
            BRACKETED.sub("", text)
        ):
            raise SettingError(f"`example={text!r}`: brackets go around words; write [word]")


def read_attention(
    runs: Mapping[str, StaticVectors], examples: Sequence[str]
) -> dict[str, list[Attention | str]]:
    """Return the attention of every run with an encoder over each sentence, or why not."""
    return {n: _attention(run, examples) for n, run in runs.items() if isinstance(run, WithEncoder)}


def find_in_context(
    runs: Mapping[str, StaticVectors],
    examples: Sequence[str],
    k: int = 10,
) -> dict[str, list[ContextAnswer | str]]:
    """Return the neighbors of marked words in their sentences, per run, or why not."""
    marked = [text for text in examples if "[" in text]
    return {
        name: _in_context(run, marked, k)
        for name, run in runs.items()
        if isinstance(run, WithEncoder) and marked
    }


def _attention(run: StaticVectors, examples: Sequence[str]) -> list[Attention | str]:
    """Return the attention of one run over each sentence, or why there is none."""
    try:
        reader = attention_of(run)
        if reader is None:
            return ["its encoder does not provide attention weights"]
        return [_read(reader, BRACKETED.sub(r"\1", text)) for text in examples]
    except FirthError as error:
        return [str(error)]


def _read(reader: AttentionReader, text: str) -> Attention | str:
    """Return the attention over one sentence, or what is wrong with the sentence."""
    try:
        pieces, weights = reader.attention(reader.words_and_masks(text))
    except SettingError as error:  # read the other sentences
        return f"{quoted(text)}: {error}"
    return Attention(text, tuple(pieces), tuple(reader.attention_layers), weights)


def _in_context(run: WithEncoder, marked: Sequence[str], k: int) -> list[ContextAnswer | str]:
    """Return the in-context neighbors of marked words by one run, or why there are none."""
    layers = run.layers or run.masked_layers
    if layers is None:
        return ["its vectors are not averages of encoder states, so they cannot be compared"]
    try:
        return [answer for text in marked for answer in _nearest(run, layers, text, k)]
    except FirthError as error:
        return [str(error)]


def _nearest(
    run: WithEncoder, layers: Sequence[int], text: str, k: int
) -> Sequence[ContextAnswer | str]:
    """Return the neighbors of one sentence's marked words, or what is wrong with it."""
    assert isinstance(run.vectors, WordVectors)
    encoder = run.encoder  # outside the try: its errors concern every sentence
    try:
        return nearest_by_encoder(
            encoder, run.vectors, [text], layers, k, masked=run.layers is None
        )
    except SettingError as error:
        return [str(error)]
