"""Show and store comparisons: tables, CSV, pictures, pages, saved runs."""
