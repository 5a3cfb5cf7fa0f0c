"""Ratings of words that have none, from those of others or from opposites."""
