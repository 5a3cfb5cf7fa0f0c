"""Score runs on tasks: scores, intervals, paired tests."""
