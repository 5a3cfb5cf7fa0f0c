"""What can be trained and exported, by name, as import paths in text."""
