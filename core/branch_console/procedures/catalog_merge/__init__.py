"""Merges of branches of the catalog: previewed, published all or nothing, and recovered."""
