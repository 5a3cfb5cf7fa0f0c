"""Segmentation of text into words and sentences."""
