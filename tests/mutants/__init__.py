"""Faults that are planted in a copy of the project, each to be found by tests that are named."""
