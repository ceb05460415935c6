"""Values of a comparison: states, rows, quality."""
