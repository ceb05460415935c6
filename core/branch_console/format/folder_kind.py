"""The kinds of folders in which a table keeps files that all its branches share."""

from enum import StrEnum


class FolderKind(StrEnum):
    """What a folder of a table holds."""

    BUCKET = "bucket"
    INDEX = "index"
    STATISTICS = "statistics"
    MANIFEST = "manifest"
