"""Map one space of word vectors into another, and measure how well words find their partners."""
