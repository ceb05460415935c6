"""How files leave a table: what refers to them, names that are retired first, bytes that go last.

No other package removes data files of a table. Which files go is decided in `diff.expiry`.
"""
