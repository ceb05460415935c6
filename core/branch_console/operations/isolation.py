"""The rows added to the target that a change of the source can conflict with, by choice."""

from enum import StrEnum


class InsertScope(StrEnum):
    """The part of the target in which added rows can conflict with a delete or update."""

    TABLE = "table"
    PARTITION = "partition"


class Isolation(StrEnum):
    """Whether a delete or update of the source counts for rows that the target added since."""

    SERIALIZABLE = "serializable"
    SNAPSHOT = "snapshot"
