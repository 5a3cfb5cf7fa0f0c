"""One module per command on word vectors, loaded by name from ``cli.py``."""
