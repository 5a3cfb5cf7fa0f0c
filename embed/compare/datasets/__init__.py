"""Evaluation sets, one file format per file."""
