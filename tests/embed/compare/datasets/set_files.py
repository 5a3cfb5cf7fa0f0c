"""Evaluation sets for tests: words that hypothesis draws, files, and what readers refuse."""

from hypothesis import strategies as st

from firth.corpora.common.errors import SourceError
from tests.embed.compare.refusals import message_of

WORDS = st.text(st.characters(categories=["L"]), min_size=1, max_size=8)


def write(folder, content, name="set.txt"):
    """Write a file, with the line ends of the text; the folder is made."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refusal(read, folder, content, name="set.txt"):
    """Return what a reader says of a file that it refuses, without the name of the file."""
    path = write(folder, content, name)
    return message_of(SourceError, read, path).replace(str(path), "")
