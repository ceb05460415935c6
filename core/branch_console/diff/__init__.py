"""The differences of two states: lineage, merge base, schemas, files, rows. Pure.

Knows which states are related and what changed. Does not know which changes conflict.
"""
