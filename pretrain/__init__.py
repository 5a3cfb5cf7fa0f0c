"""Masked-language-model pretraining: an encoder, its training, and what comes out of it."""
