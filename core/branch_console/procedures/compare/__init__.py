"""Comparing two states of a table: files, rows, profiles and rules."""
