"""The codec of each procedure, by its name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from branch_console.errors import ErrorKind, FormatError
from branch_console.format.journals.branches import (
    ARCHIVE_JOURNAL,
    CREATE_JOURNAL,
    DROP_JOURNAL,
    FENCE_JOURNAL,
    PIN_JOURNAL,
    PROTECT_JOURNAL,
    RELEASE_JOURNAL,
    RENAME_JOURNAL,
    REPAIR_JOURNAL,
    WARN_JOURNAL,
)
from branch_console.format.journals.catalog_branches import (
    ADD_TO_CATALOG_BRANCH_JOURNAL,
    CREATE_CATALOG_BRANCH_JOURNAL,
    CREATE_CATALOG_TAG_JOURNAL,
    DELETE_CATALOG_TAG_JOURNAL,
    DROP_CATALOG_BRANCH_JOURNAL,
)
from branch_console.format.journals.catalog_merge import CATALOG_MERGE_JOURNAL
from branch_console.format.journals.codec import Codec
from branch_console.format.journals.consumers import CONSUMERS_JOURNAL
from branch_console.format.journals.expiry import CLEANING, CLEANING_JOURNAL, EXPIRE_JOURNAL
from branch_console.format.journals.history import (
    FORWARD_JOURNAL,
    REPLACE_JOURNAL,
    ROLLBACK_JOURNAL,
)
from branch_console.format.journals.manifests import MANIFESTS_JOURNAL
from branch_console.format.journals.merge import MERGE_JOURNAL
from branch_console.format.journals.missing_files import MISSING_FILES_JOURNAL
from branch_console.format.journals.names import NAMES_JOURNAL
from branch_console.format.journals.objects import (
    CREATE_DATABASE_JOURNAL,
    CREATE_TABLE_JOURNAL,
    DROP_DATABASE_JOURNAL,
    DROP_TABLE_JOURNAL,
    RENAME_DATABASE_JOURNAL,
    RENAME_TABLE_JOURNAL,
    SET_DATABASE_JOURNAL,
)
from branch_console.format.journals.partitions import (
    DROP_PARTITIONS_JOURNAL,
    MARK_DONE_JOURNAL,
)
from branch_console.format.journals.rows import STAGED_ROWS_JOURNAL, WRITE_JOURNAL
from branch_console.format.journals.tags import (
    RENAME_TAG_JOURNAL,
    TAG_JOURNAL,
    UNTAG_JOURNAL,
)
from branch_console.format.journals.undo import UNDO_JOURNAL
from branch_console.format.journals.undo_objects import UNDO_OBJECT_JOURNAL

JOURNALS: Final[Mapping[str, Codec[Any]]] = MappingProxyType(
    {
        "archive_branch": ARCHIVE_JOURNAL,
        "cherry_pick": MERGE_JOURNAL,
        "clear_consumers": CONSUMERS_JOURNAL,
        "compact_manifest": MANIFESTS_JOURNAL,
        "create_branch": CREATE_JOURNAL,
        "create_tag": TAG_JOURNAL,
        "create_tag_from_timestamp": TAG_JOURNAL,
        "create_tag_from_watermark": TAG_JOURNAL,
        "delete_tag": UNTAG_JOURNAL,
        "drop_branch": DROP_JOURNAL,
        "expire_changelogs": NAMES_JOURNAL,
        "expire_partitions": DROP_PARTITIONS_JOURNAL,
        "expire_snapshots": EXPIRE_JOURNAL,
        "expire_tags": NAMES_JOURNAL,
        "fast_forward": FORWARD_JOURNAL,
        "fence_branch": FENCE_JOURNAL,
        "mark_partition_done": MARK_DONE_JOURNAL,
        "merge_branch": MERGE_JOURNAL,
        "pin_branch": PIN_JOURNAL,
        "protect_branch": PROTECT_JOURNAL,
        "release_branch": RELEASE_JOURNAL,
        CLEANING: CLEANING_JOURNAL,
        "purge_files": REPLACE_JOURNAL,
        "remove_unexisting_files": MISSING_FILES_JOURNAL,
        "rename_branch": RENAME_JOURNAL,
        "rename_tag": RENAME_TAG_JOURNAL,
        "repair_branch": REPAIR_JOURNAL,
        "repair_earliest_snapshot": EXPIRE_JOURNAL,
        "replace_main": REPLACE_JOURNAL,
        "replace_tag": TAG_JOURNAL,
        "reset_consumer": CONSUMERS_JOURNAL,
        "revert": MERGE_JOURNAL,
        "rollback": ROLLBACK_JOURNAL,
        "stage_rows": STAGED_ROWS_JOURNAL,
        "trigger_tag_automatic_creation": NAMES_JOURNAL,
        "undo": UNDO_JOURNAL,
        "warn_branch": WARN_JOURNAL,
        "write_rows": WRITE_JOURNAL,
    }
)
"""The keys of the journals of tables."""

CATALOG_JOURNALS: Final[Mapping[str, Codec[Any]]] = MappingProxyType(
    {
        "add_to_catalog_branch": ADD_TO_CATALOG_BRANCH_JOURNAL,
        "create_catalog_branch": CREATE_CATALOG_BRANCH_JOURNAL,
        "create_catalog_tag": CREATE_CATALOG_TAG_JOURNAL,
        "create_database": CREATE_DATABASE_JOURNAL,
        "create_table": CREATE_TABLE_JOURNAL,
        "delete_catalog_tag": DELETE_CATALOG_TAG_JOURNAL,
        "drop_catalog_branch": DROP_CATALOG_BRANCH_JOURNAL,
        "drop_database": DROP_DATABASE_JOURNAL,
        "drop_table": DROP_TABLE_JOURNAL,
        "merge_catalog_branch": CATALOG_MERGE_JOURNAL,
        "rename_database": RENAME_DATABASE_JOURNAL,
        "rename_table": RENAME_TABLE_JOURNAL,
        "set_database_properties": SET_DATABASE_JOURNAL,
        "undo": UNDO_OBJECT_JOURNAL,
    }
)
"""The keys of the journal of the catalog."""


def codec_of(procedure: str) -> Codec[Any]:
    """Return the codec of a procedure on a table.

    Raises:
        FormatError: Only a newer release has such a procedure.
    """
    codec = JOURNALS.get(procedure)
    if codec is None:
        raise FormatError(
            f"A newer release made an operation {procedure!r}, whose journal this one cannot read. "
            "Nothing was changed. Upgrade Branch Console, then run: branch-console recover.",
            kind=ErrorKind.UNKNOWN_VERSION,
            procedure=procedure,
        )
    return codec
