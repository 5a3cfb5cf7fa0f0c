"""Corpus commands, one module each, loaded by name from ``cli.py``."""
