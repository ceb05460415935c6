"""Operations of a branch on a table, in the words of the merge rules."""

from enum import StrEnum


class TableOperation(StrEnum):
    """One kind of change to a table, in the order of the merge matrix."""

    DROP = "drop"
    RENAME = "rename"
    PROPERTIES = "properties"
    COLUMN = "column"
    PARTITION = "partition"
    INSERT = "insert"
    DELETE = "delete"
    UPDATE = "update"
    OVERWRITE = "overwrite"
    COMPACTION = "compaction"
