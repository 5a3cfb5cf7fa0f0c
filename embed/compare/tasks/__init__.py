"""What vectors are scored on, one task per file."""
