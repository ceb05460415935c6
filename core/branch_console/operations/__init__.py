"""What can be asked for: the procedures and their arguments, declared once as requests.

Knows names, types, choices and help. Does not know how a procedure runs.
"""
