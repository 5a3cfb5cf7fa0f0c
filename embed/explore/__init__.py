"""Answers about finished vectors and their text together."""
