"""Compiled inner loops of skip-gram and CBOW training."""
