"""Sources to a finished corpus."""
