"""The metadata library under the console: it reads and writes Apache Paimon tables and their branches.

The packages form a tower; nothing imports upward. Bytes become values (`format`), values become
plans (`diff`, `merge`, `quality`), and plans are carried out once (`commit`, `procedures`, `jobs`).
"""
