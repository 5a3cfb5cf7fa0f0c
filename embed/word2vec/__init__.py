"""Predictive vectors: skip-gram and CBOW."""
