"""Hugging Face models: export of ours, and states of theirs."""
