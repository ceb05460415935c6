"""The metadata library under the console: Paimon tables and their branches, read and written.

The packages form a tower; nothing imports upward. Bytes become values (`format`), values become
plans (`diff`, `merge`, `quality`), and plans are carried out once (`commit`, `procedures`, `jobs`).
"""
