"""The kinds of a row in which two states differ."""

from enum import StrEnum


class RowKind(StrEnum):
    """The kinds of changes of a row."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
