"""One module per command over the corpus pipeline; loaded by name from ``cli.py``."""
