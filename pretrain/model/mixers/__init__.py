"""Mixers: what lets the slots of a segment see each other, one kind per file."""
