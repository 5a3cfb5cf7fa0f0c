"""Comparison of word vectors through tasks, independent of training code."""
