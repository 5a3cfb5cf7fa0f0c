"""Evaluation sets for tests: words that hypothesis draws, and files."""

from hypothesis import strategies as st

WORDS = st.text(st.characters(categories=["L"]), min_size=1, max_size=8)


def write(folder, text, name="set.txt"):
    """Write a file, with the line ends of the text."""
    path = folder / name
    path.write_bytes(text.encode("utf-8"))
    return path
