"""Questions to a trained encoder: states, masked words, attention."""
