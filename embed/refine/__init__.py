"""Change a finished space of word vectors: related words, principal components, unit length."""
