"""Text, words, ids and files: from sources to one encoded corpus."""
