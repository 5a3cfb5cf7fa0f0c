"""Strings to words and sentences."""
