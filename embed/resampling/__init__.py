"""Resampling of documents: what a distance, a cosine or a rank owes to chance."""
