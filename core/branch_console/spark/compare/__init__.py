"""Comparing, counting and profiling the rows of two states."""
