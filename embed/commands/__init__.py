"""Commands for word vectors, one module each, loaded by name from ``cli.py``."""
