"""Writing rows under the journal, and the rows that are staged for a merge."""
