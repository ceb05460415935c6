"""Conditions over columns: parsed, checked, and pushed down to files.

Knows no rows. Does not know what a condition is asked for.
"""
