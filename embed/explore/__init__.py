"""What vectors show about a text."""
