"""The encoder: attention, layers, positions, weights."""
