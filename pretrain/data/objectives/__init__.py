"""Training objectives: which pieces of a row are predicted, and what the model sees there."""
