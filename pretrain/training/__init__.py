"""From options to a trained model: steps, schedule, checkpoints, evaluation."""
