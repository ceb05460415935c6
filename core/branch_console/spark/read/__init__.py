"""Reading the rows of a state of a table, and the rows that changed between two."""
