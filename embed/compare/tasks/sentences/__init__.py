"""Labeling sentences from pooled vectors of their words."""
