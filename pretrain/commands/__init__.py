"""Commands for encoders, one module each, loaded by name from ``cli.py``."""
