"""Procedures that make, move, protect and remove branches and tags."""
