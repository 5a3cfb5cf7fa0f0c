"""Prediction-based word vectors: skip-gram and CBOW."""
