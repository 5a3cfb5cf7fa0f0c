"""One module per command over word vectors; loaded by name from ``cli.py``."""
