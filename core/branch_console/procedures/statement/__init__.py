"""SQL statements: queries, writes, tables, and what SHOW answers."""
