"""Auto-encoders of co-occurrence rows, whose codes are word vectors."""
