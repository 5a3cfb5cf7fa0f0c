"""The HTML report of a comparison."""
