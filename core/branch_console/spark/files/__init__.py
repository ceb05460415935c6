"""Data files and index files, read and written one by one."""
