"""Readers and writers of other programs' vector files, one module per format."""
