"""Values and rows as bytes and as Arrow columns: types, binary rows, bitmaps, statistics."""
