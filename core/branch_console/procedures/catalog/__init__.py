"""Procedures on databases, and on tables as objects of the catalog.

Knows which objects there are and what may happen to them. Does not know rows or merges of tables.
"""
