"""Learning curves: train methods on nested samples of one corpus."""
