"""Statements about branches, as text: parsed into procedure calls. Pure.

Knows the words. Does not know how a procedure works.
"""
