"""``python -m firth`` is ``firth``."""

from firth.cli import run

if __name__ == "__main__":
    run()
