"""Evaluation tasks, one per file."""
