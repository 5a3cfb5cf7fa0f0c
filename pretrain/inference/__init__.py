"""Inference with a trained encoder: states, masked words, attention."""
