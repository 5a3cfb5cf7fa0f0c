"""Runs times tasks: scores, intervals, paired tests."""
