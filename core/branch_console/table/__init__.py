"""The content of a table on each of its branches: snapshots, schemas, tags, live files, the ledger.

Reads only; it holds no way to write.
"""
