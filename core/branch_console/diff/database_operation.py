"""Operations of a branch on a database, in the words of the merge rules."""

from enum import StrEnum


class DatabaseOperation(StrEnum):
    """One kind of change to a database, in the order of the merge matrix."""

    DROP = "drop"
    RENAME = "rename"
    SET = "set"
    UNSET = "unset"
