"""Parts of a merge and of its conflicts."""
