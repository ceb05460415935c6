"""Changes of databases, and of tables as objects of the catalog, on disk.

Knows files and folders, and how each step is done once and not twice. Decides nothing.
"""
