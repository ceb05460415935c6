"""Rows of two states: how many there are, which differ, and whether they can be equal."""
