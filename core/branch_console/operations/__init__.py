"""The procedures and their arguments, declared once as requests.

Knows names, types, choices and help texts, but not how a procedure runs.
"""
