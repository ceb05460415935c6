"""Row work of a three-way merge."""
