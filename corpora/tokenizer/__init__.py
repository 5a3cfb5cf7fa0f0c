"""Subword vocabularies: training, tokenizer.json, external tokenizers."""
