"""A finished corpus, read-only."""
