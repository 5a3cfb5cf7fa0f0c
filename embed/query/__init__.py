"""Questions to finished vectors: neighbors, analogies, maps."""
