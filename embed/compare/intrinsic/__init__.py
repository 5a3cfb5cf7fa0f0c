"""Measures of vectors without any evaluation set."""
