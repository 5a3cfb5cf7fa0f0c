"""Corpora: from text sources to one encoded corpus on disk."""

if __name__ == "corpora":
    raise ImportError("this is a part of Firth: import firth, or firth.corpora")
