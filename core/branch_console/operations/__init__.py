"""What can be asked for: the procedures and their arguments, declared once.

Knows names and arguments. Does not know how a procedure runs.
"""
