"""Reads finished corpora."""
