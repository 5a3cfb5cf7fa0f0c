"""Queries typed by users, and maps of words."""
