"""Which rows that the target added meanwhile a change of the source meets, as a person chooses."""

from enum import StrEnum


class InsertScope(StrEnum):
    """Which rows of the target a delete or update of the source could have hit."""

    TABLE = "table"
    PARTITION = "partition"


class Isolation(StrEnum):
    """Whether a delete or update of the source counts for rows that the target added since."""

    SERIALIZABLE = "serializable"
    SNAPSHOT = "snapshot"
