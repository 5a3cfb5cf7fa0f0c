"""Vectors from encoders: pooling, encoding files, words in context."""
