"""Word vectors: counting, factorising, querying and comparing."""
