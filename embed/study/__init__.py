"""Studies: the whole chain of commands on one text, from corpus to report."""
