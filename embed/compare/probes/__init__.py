"""Small trained classifiers over frozen vectors."""
