"""Parts of the comparison of two states."""
