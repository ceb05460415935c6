"""The files of a table that may be orphans: their place and name are those of Paimon's files.

Any other file was put there by somebody who may need it: it is reported, and stays.
"""

import re
from collections.abc import Collection, Iterable
from typing import Final

from branch_console.format.folder_kind import FolderKind

HOUR_MILLIS: Final = 3_600_000
_UUID: Final = r"(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32})"
_FORMATS: Final = "avro|blob|csv|json|lance|mosaic|orc|parquet|row|text|txt|vortex"
_DATA: Final = re.compile(rf".*{_UUID}-\d+(?:\.[a-z0-9]+)?\.(?:{_FORMATS})(?:\.index)?")
_TEMPORARY: Final = re.compile(rf"\.(.+)\.{_UUID}\.tmp")
_METADATA: Final = {
    FolderKind.INDEX: re.compile(rf"index-.*{_UUID}-\d+"),
    FolderKind.STATISTICS: re.compile(rf"stat-{_UUID}-\d+"),
    FolderKind.MANIFEST: re.compile(rf"(?:index-manifest|manifest-list|manifest)-{_UUID}-\d+"),
}


def is_paimons_file(kind: FolderKind, name: str, prefixes: Collection[str]) -> bool:
    """Whether a writer of Paimon's format gives such a name to a file of such a folder.

    Args:
        kind: The folder.
        name: The name; of a temporary file what it was to become is looked at.
        prefixes: The prefixes of names of data files and changelog files.

    References:
        Paimon FileStorePathFactory, DataFilePathFactory, RenamingTwoPhaseOutputStream.
    """
    temporary = _TEMPORARY.fullmatch(name)
    if temporary is not None:
        name = temporary[1]
    if kind is not FolderKind.BUCKET:
        return _METADATA[kind].fullmatch(name) is not None
    # Option index-file-in-data-file-dir puts index files beside data files.
    if _METADATA[FolderKind.INDEX].fullmatch(name):
        return True
    return name.startswith(tuple(prefixes)) and _DATA.fullmatch(name) is not None


def written_before(older_than_millis: int, open_since: Iterable[int]) -> int:
    """Return the time before which a file must have been written, so that it may go.

    Args:
        older_than_millis: The time that was asked for.
        open_since: When operations began that have not ended, and when results were staged that
            are kept: what they wrote may not be named yet.
    """
    return min((older_than_millis, *(each - HOUR_MILLIS for each in open_since)))
