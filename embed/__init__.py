"""Word vectors: training, queries and comparison."""

if __name__ == "embed":
    raise ImportError("this is a part of Firth: import firth, or firth.embed")
