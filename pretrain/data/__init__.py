"""From a corpus to batches of masked rows."""
