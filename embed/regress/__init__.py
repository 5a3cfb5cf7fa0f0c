"""What words mean to whom: regression of the vectors of a word's occurrences on kept fields."""
