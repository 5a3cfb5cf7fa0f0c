"""Graphs: their files, random walks, and links that are held out."""
