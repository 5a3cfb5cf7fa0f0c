"""Sentence boundaries: rules for many languages, and the kernels that apply them."""
