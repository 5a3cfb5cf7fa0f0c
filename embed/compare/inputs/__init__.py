"""What a run gives to a task: vectors of words, baselines, encoder states."""
