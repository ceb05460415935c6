"""Merging rows of one bucket when they are read. Pure; does not know Spark."""
