"""The databases and tables of a warehouse.

Knows how they are found. Does not know merges or rows.
"""
