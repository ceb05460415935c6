"""Merge, cherry-pick and revert: what comes in, its rows, its conflicts, its commit."""
