"""Subword tokenizers: training, file format, and external tokenizers."""
