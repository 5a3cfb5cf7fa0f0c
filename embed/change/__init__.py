"""How words change between periods or parts of a corpus, or between two corpora."""
