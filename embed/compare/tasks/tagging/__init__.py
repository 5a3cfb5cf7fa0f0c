"""Labeling each word: parts of speech, entities."""
