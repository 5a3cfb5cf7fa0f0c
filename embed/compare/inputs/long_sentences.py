"""What is to be said of sentences that an encoder cannot read at once."""

from collections.abc import Sequence

from embed.protocols import ContextualEncoder, WindowedEncoder


def long_sentence_note(
    encoder: ContextualEncoder, sentences: Sequence[Sequence[str]]
) -> str | None:
    """Tell how many sentences are read in several windows."""
    if not isinstance(encoder, WindowedEncoder):
        return None
    n_long = int((encoder.n_windows(sentences) > 1).sum())
    if not n_long:
        return None
    return (
        f"{n_long:,} of {len(sentences):,} sentences are longer than the encoder's rows, and read "
        "in overlapping windows"
    )
