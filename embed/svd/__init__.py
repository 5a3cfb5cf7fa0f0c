"""Count-based word vectors: count co-occurrences, weight them, factor the matrix."""
