"""Learning curves: every method on nested samples of one corpus."""
