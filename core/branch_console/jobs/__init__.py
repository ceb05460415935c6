"""Running a procedure call durably in another process: progress, cancel, resume.

Knows how work survives. Does not know what the work means.
"""
