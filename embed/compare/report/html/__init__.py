"""A comparison as one page of HTML."""
