"""Hugging Face models: export of our encoders, and states of any encoder."""
