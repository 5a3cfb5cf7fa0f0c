"""Analogies: questions of four words, and relations in the form of BATS."""
