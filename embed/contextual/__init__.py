"""Vectors from encoders: pooling, encoding of files, words in context."""
