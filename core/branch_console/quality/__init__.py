"""Profiles of the rows of a table, and whether they still look as before.

A profile says how many rows a unit holds and how the values of each column lie. Profiles are
values that add up: a side of a comparison is the sum of its units. Drift rates how far two sides
lie apart; each figure says whether it is exact. Nothing here reads files or starts Spark: those
who do hand in columns and get values back.
"""
