"""Inputs of tasks: word vectors, baselines, encoders."""
