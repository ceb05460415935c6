"""Writing rows: INSERT, UPDATE, DELETE, MERGE INTO and compaction."""
