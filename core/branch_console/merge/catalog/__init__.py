"""Merging two branches of the catalog, decided: cells, names, conflicts, steps, the plan. Pure.

Knows databases and tables as objects. What a table holds is decided by the merge of that table.
"""
