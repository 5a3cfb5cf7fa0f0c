"""A note on sentences that are too long for an encoder's input."""

from collections.abc import Sequence

from firth.embed.protocols import ContextualEncoder, WindowedEncoder


def long_sentence_note(
    encoder: ContextualEncoder, sentences: Sequence[Sequence[str]]
) -> str | None:
    """Return a note on the number of sentences read in several windows; None if there are none."""
    if not isinstance(encoder, WindowedEncoder):
        return None
    n_long = int((encoder.n_windows(sentences) > 1).sum())
    if not n_long:
        return None
    return (
        f"{n_long:,} of {len(sentences):,} sentences are longer than the encoder's input and are "
        "read in overlapping windows"
    )
