"""A table of word vectors, in memory or on disk."""
