"""Intrinsic measures of vectors, without evaluation sets."""
