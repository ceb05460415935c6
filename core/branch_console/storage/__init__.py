"""Stores: reading, publishing without ever overwriting, removing, and the paths of a table.

Knows where files lie and how they appear. Does not know what their bytes mean.
"""
