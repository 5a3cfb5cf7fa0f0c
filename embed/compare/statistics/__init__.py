"""Statistics on arrays of numbers: bootstrap, significance, ranking, estimators."""
