"""The bytes of a source to documents, one file per format."""
