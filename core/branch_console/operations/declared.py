"""The procedures by their names: what each takes; a call that says another argument is refused.

An argument that nobody reads is a wish that is not granted, such as a misspelt `strict`.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.near_names import did_you_mean, nearest_names
from branch_console.operations.branch_requests import (
    ArchiveBranchRequest,
    CreateBranchRequest,
    DropBranchRequest,
    FastForwardRequest,
    FenceBranchRequest,
    PinBranchRequest,
    ProtectBranchRequest,
    PurgeFilesRequest,
    RecoverRequest,
    ReleaseBranchRequest,
    RenameBranchRequest,
    RepairBranchRequest,
    ReplaceMainRequest,
    RollbackRequest,
    WarnBranchRequest,
)
from branch_console.operations.catalog_requests import (
    AddToCatalogBranchRequest,
    CreateCatalogBranchRequest,
    CreateCatalogTagRequest,
    DeleteCatalogTagRequest,
    DropCatalogBranchRequest,
    MergeCatalogRequest,
)
from branch_console.operations.changelog_requests import ExpireChangelogsRequest
from branch_console.operations.compare_requests import (
    CheckRulesRequest,
    CompareQualityRequest,
    CompareStatesRequest,
    CountRowsRequest,
)
from branch_console.operations.consumer_requests import (
    ClearConsumersRequest,
    ResetConsumerRequest,
)
from branch_console.operations.database_requests import (
    CreateDatabaseRequest,
    DropDatabaseRequest,
    RenameDatabaseRequest,
    SetDatabasePropertiesRequest,
)
from branch_console.operations.demo_request import BuildDemoRequest
from branch_console.operations.maintenance_requests import (
    CompactManifestRequest,
    ExpireSnapshotsRequest,
    RemoveOrphanFilesRequest,
    RemoveUnexistingFilesRequest,
    RepairEarliestSnapshotRequest,
)
from branch_console.operations.merge_requests import (
    CherryPickRequest,
    CompareRowsRequest,
    DryRunRequest,
    MergeRequest,
    RevertRequest,
)
from branch_console.operations.partition_requests import (
    ExpirePartitionsRequest,
    MarkPartitionDoneRequest,
)
from branch_console.operations.policy_requests import ApplyPolicyRequest, SetPolicyRequest
from branch_console.operations.request import Request
from branch_console.operations.statement_requests import (
    AlterTableRequest,
    CompactDatabaseRequest,
    CompactRequest,
    CreateTableRequest,
    DeleteRowsRequest,
    DropTableRequest,
    InsertRowsRequest,
    MergeIntoRequest,
    OverwriteRowsRequest,
    QueryRequest,
    UpdateRowsRequest,
)
from branch_console.operations.tag_requests import (
    CreateTagRequest,
    DeleteTagRequest,
    ExpireTagsRequest,
    RenameTagRequest,
    ReplaceTagRequest,
    TagFromTimestampRequest,
    TagFromWatermarkRequest,
    TriggerTagsRequest,
)
from branch_console.operations.undo_request import UndoRequest

# In the order in which SQL tells them.
_ALL: Final[tuple[type[Request], ...]] = (
    CreateBranchRequest,
    DropBranchRequest,
    ReleaseBranchRequest,
    RenameBranchRequest,
    ProtectBranchRequest,
    ArchiveBranchRequest,
    WarnBranchRequest,
    PinBranchRequest,
    QueryRequest,
    FenceBranchRequest,
    ExpireSnapshotsRequest,
    RemoveOrphanFilesRequest,
    RemoveUnexistingFilesRequest,
    SetPolicyRequest,
    ApplyPolicyRequest,
    ResetConsumerRequest,
    ClearConsumersRequest,
    ExpireChangelogsRequest,
    ExpireTagsRequest,
    TriggerTagsRequest,
    ExpirePartitionsRequest,
    MarkPartitionDoneRequest,
    RepairBranchRequest,
    RepairEarliestSnapshotRequest,
    ReplaceMainRequest,
    PurgeFilesRequest,
    FastForwardRequest,
    MergeRequest,
    CherryPickRequest,
    RevertRequest,
    UndoRequest,
    CompactRequest,
    CompactDatabaseRequest,
    CompactManifestRequest,
    CreateDatabaseRequest,
    DropDatabaseRequest,
    RenameDatabaseRequest,
    SetDatabasePropertiesRequest,
    CreateTagRequest,
    ReplaceTagRequest,
    TagFromTimestampRequest,
    TagFromWatermarkRequest,
    RenameTagRequest,
    DeleteTagRequest,
    RollbackRequest,
    CreateCatalogBranchRequest,
    AddToCatalogBranchRequest,
    DropCatalogBranchRequest,
    MergeCatalogRequest,
    CreateCatalogTagRequest,
    DeleteCatalogTagRequest,
    RecoverRequest,
    DryRunRequest,
    CompareRowsRequest,
    CompareStatesRequest,
    CompareQualityRequest,
    CountRowsRequest,
    CheckRulesRequest,
    InsertRowsRequest,
    OverwriteRowsRequest,
    UpdateRowsRequest,
    DeleteRowsRequest,
    MergeIntoRequest,
    CreateTableRequest,
    DropTableRequest,
    AlterTableRequest,
    BuildDemoRequest,
)

REQUESTS: Final[Mapping[str, type[Request]]] = MappingProxyType(
    {request.procedure: request for request in _ALL}
)
"""By the name of the procedure, as `branch_console.procedures.dispatch` knows it."""


def takes_argument(procedure: str, argument: str) -> bool:
    """Whether a procedure has an argument."""
    request = REQUESTS.get(procedure)
    return request is not None and argument in {each.name for each in request.arguments()}


def check_arguments(procedure: str, names: Iterable[str]) -> None:
    """Refuse arguments that a procedure does not have.

    Raises:
        InvalidInput: It has no such argument; the message offers the nearest.
    """
    request = REQUESTS.get(procedure)
    if request is None:
        return
    known = {each.name for each in request.arguments()}
    for name in names:
        if name not in known:
            near = did_you_mean(nearest_names(name, known, most=1))
            raise InvalidInput(
                f"{procedure} has no argument {name!r}.{near} It has {', '.join(sorted(known))}. "
                "Nothing was done.",
                kind=ErrorKind.INVALID_ARGUMENT,
                argument=name,
            )
