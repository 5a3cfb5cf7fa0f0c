"""Builds a corpus from sources."""
