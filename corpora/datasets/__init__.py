"""Named corpora: downloads, and synthetic text with known structure."""
