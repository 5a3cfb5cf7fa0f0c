"""Comparison of word vectors through tasks that know no training code."""
