"""Masked-language-model pretraining (the package's place; nothing is built here yet)."""
