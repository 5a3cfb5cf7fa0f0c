"""Reads sources into documents, one module per format."""
