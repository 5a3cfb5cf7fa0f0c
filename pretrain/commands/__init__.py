"""One module per command over encoders; loaded by name from ``cli.py``."""
