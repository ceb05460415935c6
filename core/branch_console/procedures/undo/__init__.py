"""Undoing an operation while nothing builds on it."""
