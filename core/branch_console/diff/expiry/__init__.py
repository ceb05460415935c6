"""Files and snapshots that may leave a table: what each reference needs, and what expires."""
