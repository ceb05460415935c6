"""Maintenance policies: when a branch is stale, what follows, and what runs by itself."""
