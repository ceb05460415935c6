"""Which histories branches share, and what depends on their snapshots and files."""
