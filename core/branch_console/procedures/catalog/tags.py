"""Tags of the catalog: one name for the state that many tables have now."""

from dataclasses import dataclass, replace
from typing import Final

from branch_console.catalog.catalog_tag_view import with_present_folders
from branch_console.commit.branch.branch_creation import put_base_tags
from branch_console.commit.catalog.catalog_tag_commit import (
    publish_catalog_tag,
    remove_catalog_tags,
)
from branch_console.commit.schema.tag_commit import check_tag_name, remove_tag
from branch_console.diff.history_move import count
from branch_console.errors import AlreadyExists, CommitConflict, ErrorKind, NotFound
from branch_console.format.catalog.catalog_tag import CatalogTag
from branch_console.format.catalog.catalog_version import VersionName
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.branches import BranchCreation
from branch_console.format.journals.catalog_branches import (
    CREATE_CATALOG_TAG_JOURNAL,
    DELETE_CATALOG_TAG_JOURNAL,
    CatalogTagJournal,
)
from branch_console.format.lineage_event import LineageKind
from branch_console.format.receipt import Counts, Receipt
from branch_console.format.tag import Tag
from branch_console.operations.catalog_requests import (
    CreateCatalogTagRequest,
    DeleteCatalogTagRequest,
)
from branch_console.procedures.branch.tags import vital_blocks
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import (
    Consequence,
    Preview,
    blocks,
    changes,
    keeps,
    loses,
    plan_digest,
)
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.catalog_operation import (
    CatalogOperation,
    CatalogPlan,
    CatalogProcedure,
)
from branch_console.procedures.catalog.create import check_catalog_kind
from branch_console.procedures.catalog.fork import (
    CatalogSource,
    some_tables,
    source_of,
    table_in,
)
from branch_console.procedures.catalog.states import note_main
from branch_console.procedures.run.receipts import event_of, receipt_of
from branch_console.table.file_store_table import FileStoreTable


@dataclass(frozen=True, slots=True, kw_only=True)
class TagPlan(CatalogPlan):
    """A tag of the catalog that is to be made, and what it names."""

    source: CatalogSource


def plan_catalog_tag(warehouse: Warehouse, call: ProcedureCall) -> TagPlan:
    """Decide what a new tag of the catalog names.

    Raises:
        AlreadyExists: The name is taken, by a catalog tag or by tags of tables.
        InvalidInput: The name is none that a tag may have.
        NotFound: There is no such catalog branch.
        NotAllowed: Another catalog keeps the databases.
    """
    check_catalog_kind(warehouse)
    asked = call.request(CreateCatalogTagRequest)
    check_tag_name(asked.tag)
    if warehouse.catalog_tags.find(asked.tag) is not None:
        raise AlreadyExists(
            f"There is a catalog tag {asked.tag!r} already. Nothing was changed; choose another "
            "name.",
            tag=asked.tag,
        )
    return _planned(warehouse, call, source_of(warehouse, asked.branch))


def note_tagged(warehouse: Warehouse, call: ProcedureCall, planned: CatalogPlan) -> TagPlan:
    """Note where main stands, so that the tag can say of which version it is."""
    assert isinstance(planned, TagPlan)
    source = planned.source
    if source.main is None:
        return planned
    noted = note_main(warehouse, source.main, operation=call.operation_id, actor=call.actor)
    if noted.main is source.main.main:
        return _planned(warehouse, call, replace(source, parent=noted.version))
    return _planned(warehouse, call, source_of(warehouse, main=noted))


def finish_catalog_tag(operation: CatalogOperation, journal: CatalogTagJournal) -> Receipt:
    """Make the tags of all tables, then the file that lists them.

    Raises:
        CommitConflict: A tag of this name was made in the meantime; all is taken back.
        NotFound: The head of a table is gone; everything is taken back.
    """
    warehouse, tag = operation.warehouse, journal.catalog_tag
    try:
        put_base_tags(warehouse.store, _tags(warehouse, tag))
        publish_catalog_tag(warehouse.store, warehouse.ledger.paths, tag)
    except (AlreadyExists, CommitConflict, NotFound) as error:
        _remove_table_tags(warehouse, tag)
        raise CommitConflict(
            f"{error.message} The catalog tag {tag.name!r} was not made.",
            kind=error.kind,
            **error.facts,
        ) from error
    tagged = sum(table.head is not None for table in tag.tables.values())
    receipt = receipt_of(
        operation,
        counts=Counts(tags_added=tagged),
        notes=(
            f"Catalog tag {tag.name!r} names {count(len(tag.tables), 'table')} at {tag.version}.",
            *(f"{name} is left out: {reason}" for name, reason in tag.left_out.items()),
        ),
    )
    return operation.complete(event_of(operation, LineageKind.TAGGED, receipt, tag=tag.name))


def plan_tag_deletion(warehouse: Warehouse, call: ProcedureCall) -> CatalogPlan:
    """Decide whether a tag of the catalog may go; raises NotFound."""
    name = call.request(DeleteCatalogTagRequest).tag
    tag = warehouse.catalog_tags.get(name)
    consequences: list[Consequence] = []
    for table, _ in _tags(warehouse, tag):
        consequences += [
            blocks(f"{table.identifier.table_name}: {each.text}", each.kind or ErrorKind.UNEXPECTED)
            for each in vital_blocks(table, name, "deleted")
        ]
    consequences.append(
        loses(f"The state of {count(len(tag.tables), 'table')} has no name any more.")
    )
    consequences.append(
        keeps("No data file is deleted by this; other engines may expire the snapshots.")
    )
    return CatalogPlan(
        preview=Preview(
            procedure=call.name,
            title=f"Delete catalog tag {name!r}",
            plan_id=plan_digest(call, tag.operation, [each.text for each in consequences]),
            consequences=tuple(consequences),
            typed_name=name,
            role=Role.EDITOR,
            undo="It cannot be undone once a snapshot has expired; make the tag again before.",
        ),
        journal=CatalogTagJournal(
            subject=f"catalog tag {name!r}",
            catalog_tag=tag,
            reason=call.request(DeleteCatalogTagRequest).reason,
        ),
        branch=tag.version.branch,
    )


def finish_tag_deletion(operation: CatalogOperation, journal: CatalogTagJournal) -> Receipt:
    """Remove the file of the tag, then the tags of its tables; those that others moved stay."""
    warehouse, tag = operation.warehouse, journal.catalog_tag
    found = warehouse.catalog_tags.find(tag.name)
    if found is not None and found.operation == tag.operation:
        remove_catalog_tags(warehouse.store, warehouse.ledger.paths, [tag.name])
    removed = _remove_table_tags(warehouse, tag)
    receipt = receipt_of(
        operation,
        counts=Counts(tags_removed=removed),
        notes=(f"Catalog tag {tag.name!r} is deleted.",),
    )
    return operation.complete(event_of(operation, LineageKind.UNTAGGED, receipt, tag=tag.name))


def _planned(warehouse: Warehouse, call: ProcedureCall, source: CatalogSource) -> TagPlan:
    asked = call.request(CreateCatalogTagRequest)
    tag = CatalogTag(
        name=asked.tag,
        version=VersionName(branch=source.parent.branch, number=max(source.parent.number, 1)),
        operation=call.operation_id,
        actor=call.actor,
        time_millis=warehouse.clock(),
        databases=source.databases,
        tables={
            key: replace(table, base_tag=None, adopted=None) for key, table in source.tables.items()
        },
        left_out=source.left_out,
    )
    _check_free(warehouse, tag)
    tagged = sum(table.head is not None for table in tag.tables.values())
    consequences = [changes(f"Tag {tag.name!r} is made at the head of {count(tagged, 'table')}.")]
    if empty := len(tag.tables) - tagged:
        consequences.append(changes(f"Without a snapshot: {count(empty, 'table')}, kept as empty."))
    if tag.left_out:
        reasons = tuple(f"{name}: {why}" for name, why in tag.left_out.items())
        consequences.append(changes(f"Left out: {count(len(tag.left_out), 'table')}.", reasons))
    consequences.append(keeps("The tags keep these states from expiring, in every engine."))
    return TagPlan(
        preview=Preview(
            procedure=call.name,
            title=f"Create catalog tag {tag.name!r}",
            plan_id=plan_digest(call, sorted(tag.tables), sorted(tag.left_out)),
            consequences=tuple(consequences),
            typed_name=None,
            role=Role.EDITOR,
            undo=f"Delete the tag: branch-console catalog delete-tag {tag.name}.",
        ),
        journal=CatalogTagJournal(subject=f"catalog tag {tag.name!r}", catalog_tag=tag),
        branch=source.parent.branch,
        source=source,
    )


def _check_free(warehouse: Warehouse, tag: CatalogTag) -> None:
    """Refuse a name that a table has for another snapshot, or with an end; raises AlreadyExists."""
    taken = [
        table.identifier.table_name
        for table, creation in _tags(warehouse, tag)
        if (found := table.tags.find(tag.name)) is not None and not _is_it(found, creation)
    ]
    if taken:
        raise AlreadyExists(
            f"Tag {tag.name!r} is there already on {some_tables(taken)}. Nothing "
            "was changed; choose another name.",
            tag=tag.name,
            tables=taken,
        )


def _is_it(found: Tag, creation: BranchCreation) -> bool:
    is_permanent = found.time_retained_seconds is None
    fork = creation.fork
    return is_permanent and fork is not None and found.snapshot.identity.same_as(fork)


def _tags(warehouse: Warehouse, noted: CatalogTag) -> list[tuple[FileStoreTable, BranchCreation]]:
    """The tables that have a snapshot, on the branch of their tag, with what is tagged."""
    tag = with_present_folders(warehouse.catalog.reader, warehouse.ledger.paths, noted)
    return [
        (
            table_in(warehouse, tag.databases, table).on(table.source or MAIN_BRANCH),
            # As the fork of a branch is.
            BranchCreation(
                branch=tag.name,
                source=table.source or MAIN_BRANCH,
                schema_ids=(),
                base_tag=tag.name,
                snapshot_id=table.head.id,
                fork=table.head.identity,
            ),
        )
        for table in tag.tables.values()
        if table.head is not None
    ]


def _remove_table_tags(warehouse: Warehouse, tag: CatalogTag) -> int:
    """Remove the tags of tables that still name what this tag does; return how many."""
    removed = 0
    for table, creation in _tags(warehouse, tag):
        found = table.tags.find(tag.name)
        if found is None or not _is_it(found, creation):
            continue
        if vital_blocks(table, tag.name, "deleted"):
            continue
        path = table.paths.tag(tag.name)
        remove_tag(table, warehouse.store, tag.name, warehouse.store.files.read(path))
        removed += 1
    return removed


CREATE_CATALOG_TAG: Final = CatalogProcedure(
    name="create_catalog_tag",
    what="make a tag of the catalog",
    doing="Tagging the tables of the catalog.",
    plan=plan_catalog_tag,
    codec=CREATE_CATALOG_TAG_JOURNAL,
    finish=finish_catalog_tag,
    note=note_tagged,
)
DELETE_CATALOG_TAG: Final = CatalogProcedure(
    name="delete_catalog_tag",
    what="delete a tag of the catalog",
    doing="Deleting the tag of the catalog.",
    plan=plan_tag_deletion,
    codec=DELETE_CATALOG_TAG_JOURNAL,
    finish=finish_tag_deletion,
)
