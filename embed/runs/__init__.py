"""What every run has: a description of itself, and how it was made."""
