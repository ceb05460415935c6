"""How files leave a table: snapshots of all branches expire, then their files are released."""
