"""Sentence splitting: rules for many languages, and the kernels that apply them."""
