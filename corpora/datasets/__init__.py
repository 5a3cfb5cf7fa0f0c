"""Corpora that Firth can fetch or generate."""
