"""Vectors in other programs' files, one format per file."""
