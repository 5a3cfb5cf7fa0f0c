"""Count-based vectors: count, weight, factorize."""
