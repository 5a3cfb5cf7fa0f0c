"""Results for eyes and programs: tables, CSV, pictures, saved comparisons."""
