"""Row work on Spark: the session, reading, verifying and writing data files.

Knows rows. Does not know how a snapshot is published.
"""
