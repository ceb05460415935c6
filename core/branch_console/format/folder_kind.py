"""The kinds of folders in which a table keeps files that all its branches share."""

from enum import StrEnum


class FolderKind(StrEnum):
    """The kinds of folders of a table."""

    BUCKET = "bucket"
    INDEX = "index"
    STATISTICS = "statistics"
    MANIFEST = "manifest"
