"""Writing metadata: the two-phase commit, branch and schema changes, rescue branches, the journal.

Knows how a change becomes visible. Does not know why it was decided.
"""
