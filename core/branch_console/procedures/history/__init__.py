"""The histories that branches share, and the dependents of their snapshots and files."""
