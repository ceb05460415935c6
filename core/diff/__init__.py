"""What differs between two states: lineage, merge base, schemas. Pure.

Knows which states are related and what changed. Does not know which changes conflict.
"""
