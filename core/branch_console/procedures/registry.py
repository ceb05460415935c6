"""The procedures of the lifecycle by their names."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from branch_console.operations.undo_request import UndoRequest
from branch_console.procedures.branch.archive_branch import ARCHIVE_BRANCH
from branch_console.procedures.branch.consumers import CLEAR_CONSUMERS, RESET_CONSUMER
from branch_console.procedures.branch.fast_forward import FAST_FORWARD
from branch_console.procedures.branch.fence_branch import FENCE_BRANCH
from branch_console.procedures.branch.pin_branch import PIN_BRANCH
from branch_console.procedures.branch.protect_branch import PROTECT_BRANCH
from branch_console.procedures.branch.purge_files import PURGE_FILES
from branch_console.procedures.branch.rename_branch import RENAME_BRANCH
from branch_console.procedures.branch.rename_tag import RENAME_TAG
from branch_console.procedures.branch.repair_branch import REPAIR_BRANCH
from branch_console.procedures.branch.replace_main import REPLACE_MAIN
from branch_console.procedures.branch.rollback import ROLLBACK
from branch_console.procedures.branch.tag_from_time import (
    CREATE_TAG_FROM_TIMESTAMP,
    CREATE_TAG_FROM_WATERMARK,
)
from branch_console.procedures.branch.tags import CREATE_TAG, DELETE_TAG, REPLACE_TAG
from branch_console.procedures.branch.warn_branch import WARN_BRANCH
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.catalog.add import ADD_TO_CATALOG_BRANCH
from branch_console.procedures.catalog.catalog_operation import CatalogProcedure
from branch_console.procedures.catalog.create import CREATE_CATALOG_BRANCH
from branch_console.procedures.catalog.database_statement import (
    CREATE_DATABASE,
    DROP_DATABASE,
    RENAME_DATABASE,
    SET_DATABASE_PROPERTIES,
)
from branch_console.procedures.catalog.drop import DROP_CATALOG_BRANCH
from branch_console.procedures.catalog.tags import CREATE_CATALOG_TAG, DELETE_CATALOG_TAG
from branch_console.procedures.catalog_merge.run_merge import MERGE_CATALOG
from branch_console.procedures.maintenance.compact_manifest import COMPACT_MANIFEST
from branch_console.procedures.maintenance.expire_changelogs import EXPIRE_CHANGELOGS
from branch_console.procedures.maintenance.expire_partitions import EXPIRE_PARTITIONS
from branch_console.procedures.maintenance.expire_snapshots import EXPIRE_SNAPSHOTS
from branch_console.procedures.maintenance.expire_tags import EXPIRE_TAGS, TRIGGER_TAGS
from branch_console.procedures.maintenance.mark_partition_done import MARK_PARTITION_DONE
from branch_console.procedures.maintenance.release_branch import DROP_OR_RECLAIM, RELEASE_BRANCH
from branch_console.procedures.maintenance.remove_orphan_files import REMOVE_ORPHAN_FILES
from branch_console.procedures.maintenance.remove_unexisting_files import REMOVE_UNEXISTING_FILES
from branch_console.procedures.maintenance.repair_earliest_snapshot import (
    REPAIR_EARLIEST_SNAPSHOT,
)
from branch_console.procedures.merge.merge_branch import CHERRY_PICK, MERGE_BRANCH, REVERT
from branch_console.procedures.run.procedure import Procedure
from branch_console.procedures.statement.table_statement import (
    CREATE_TABLE,
    DROP_TABLE,
    RENAME_TABLE,
)
from branch_console.procedures.undo.undo import UNDO
from branch_console.procedures.undo.undo_objects import UNDO_OF_CATALOG

_ALL: Final = (
    ARCHIVE_BRANCH,
    CHERRY_PICK,
    CLEAR_CONSUMERS,
    COMPACT_MANIFEST,
    CREATE_TAG,
    CREATE_TAG_FROM_TIMESTAMP,
    CREATE_TAG_FROM_WATERMARK,
    DELETE_TAG,
    DROP_OR_RECLAIM,
    EXPIRE_CHANGELOGS,
    EXPIRE_PARTITIONS,
    EXPIRE_SNAPSHOTS,
    EXPIRE_TAGS,
    FAST_FORWARD,
    FENCE_BRANCH,
    MARK_PARTITION_DONE,
    MERGE_BRANCH,
    PIN_BRANCH,
    PROTECT_BRANCH,
    RELEASE_BRANCH,
    PURGE_FILES,
    REMOVE_ORPHAN_FILES,
    REMOVE_UNEXISTING_FILES,
    RENAME_BRANCH,
    RENAME_TAG,
    REPAIR_BRANCH,
    REPAIR_EARLIEST_SNAPSHOT,
    REPLACE_MAIN,
    REPLACE_TAG,
    RESET_CONSUMER,
    REVERT,
    ROLLBACK,
    TRIGGER_TAGS,
    UNDO,
    WARN_BRANCH,
)

PROCEDURES: Final[Mapping[str, Procedure[Any, Any]]] = MappingProxyType(
    {procedure.name: procedure for procedure in _ALL}
)

_OF_CATALOG: Final = (
    ADD_TO_CATALOG_BRANCH,
    CREATE_CATALOG_BRANCH,
    CREATE_CATALOG_TAG,
    CREATE_DATABASE,
    DELETE_CATALOG_TAG,
    DROP_CATALOG_BRANCH,
    DROP_DATABASE,
    MERGE_CATALOG,
    RENAME_DATABASE,
    SET_DATABASE_PROPERTIES,
    DROP_TABLE,
)

CATALOG_PROCEDURES: Final[Mapping[str, CatalogProcedure[Any]]] = MappingProxyType(
    {procedure.name: procedure for procedure in _OF_CATALOG}
)
"""The procedures on databases, and on tables as objects of the catalog."""

JOURNALLED_BY_CATALOG: Final[Mapping[str, CatalogProcedure[Any]]] = MappingProxyType(
    {
        procedure.name: procedure
        for procedure in (*_OF_CATALOG, CREATE_TABLE, RENAME_TABLE, UNDO_OF_CATALOG)
    }
)
"""The procedures whose journal belongs to the catalog, by their name in an intent."""


def find_catalog_procedure(call: ProcedureCall) -> CatalogProcedure[Any] | None:
    """Return the procedure of a call that changes objects of the catalog, None for others.

    An undo without a table is of an operation of the catalog.
    """
    if call.name == UNDO.name and call.request(UndoRequest).table is None:
        return UNDO_OF_CATALOG
    return CATALOG_PROCEDURES.get(call.name)
