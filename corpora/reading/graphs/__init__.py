"""Graphs: files in which they are published."""
