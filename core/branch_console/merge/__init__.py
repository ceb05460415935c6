"""Merging two branches of a table, decided: conflicts, resolutions, strategies, the plan. Pure.

Knows the rules. Does not know files, stores, Spark or the console.
"""
