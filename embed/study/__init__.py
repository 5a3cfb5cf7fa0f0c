"""Studies: the whole chain of commands on one text, from a corpus to a page of scores."""
