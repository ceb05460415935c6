"""The version by which a merge of the catalog is decided: what the target is from there on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from branch_console.diff.catalog_state import CatalogState, DatabaseState, TableState
from branch_console.format.catalog.catalog_version import (
    CatalogVersion,
    DatabaseChange,
    ExpectedHead,
    TableChange,
    VersionKind,
    VersionName,
)
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.merge.catalog.catalog_plan import CatalogMergePlan


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeAuthor:
    """The person, operation and time of a merge."""

    operation: str
    actor: str
    time_millis: int
    statement: str | None = None
    reason: str | None = None


def merged_version(
    plan: CatalogMergePlan,
    author: MergeAuthor,
    *,
    expects: Mapping[str, ExpectedHead],
    forks: Mapping[str, TableChange],
) -> CatalogVersion:
    """Return the next version of the target.

    Args:
        plan: The decision.
        author: The person who merges.
        expects: Which step publishes a table on top of which head, by table id.
        forks: If the target is a branch, the forks of tables that are new to it, by id.
    """
    ours = VersionName.parse(plan.versions.ours)
    is_main = plan.target == MAIN_BRANCH
    before, after = plan.states.ours, plan.result
    tables = {
        key: _table(before, after, key, is_main=is_main)
        for key in _changed(before.tables, after.tables)
    }
    # What moved with its database has another folder, too.
    if is_main:
        for key, table in after.tables.items():
            known = before.tables.get(key)
            folder = _folder(after, table)
            if known is not None and key not in tables and folder != known.folder:
                tables[key] = TableChange(folder=folder)
    return CatalogVersion(
        branch=ours.branch,
        number=ours.number + 1,
        kind=VersionKind.MERGED,
        parents=(ours, VersionName.parse(plan.versions.theirs)),
        covers=plan.covers,
        operation=author.operation,
        actor=author.actor,
        time_millis=author.time_millis,
        statement=author.statement,
        reason=author.reason,
        plan=plan.id,
        expects=expects,
        sources=plan.sources,
        databases={
            key: _database(before.databases.get(key), after.databases.get(key), is_main=is_main)
            for key in _changed(before.databases, after.databases)
        },
        tables={**tables, **forks},
    )


def _changed(before: Mapping[str, object], after: Mapping[str, object]) -> Iterable[str]:
    return (key for key in sorted({*before, *after}) if before.get(key) != after.get(key))


def _database(
    before: DatabaseState | None, after: DatabaseState | None, *, is_main: bool
) -> DatabaseChange | None:
    if after is None:
        return None
    if before is None:
        return DatabaseChange(
            name=after.name, properties=dict(after.properties), has_file=is_main or None
        )
    keys = {*before.properties, *after.properties}
    return DatabaseChange(
        name=None if before.name == after.name else after.name,
        properties={
            key: after.properties.get(key)
            for key in sorted(keys)
            if before.properties.get(key) != after.properties.get(key)
        },
    )


def _table(
    before: CatalogState, after: CatalogState, key: str, *, is_main: bool
) -> TableChange | None:
    ours, table = before.tables.get(key), after.tables.get(key)
    if table is None:
        return None
    folder = _folder(after, table) if is_main else None
    if ours is None:
        return TableChange(
            database=table.database,
            name=table.name,
            folder=folder or table.folder,
            birth=table.birth,
            schema=table.schema,
        )
    return TableChange(
        database=None if ours.database == table.database else table.database,
        name=None if ours.name == table.name else table.name,
        folder=folder,
    )


def _folder(state: CatalogState, table: TableState) -> str:
    return f"{state.databases[table.database].name}.db/{table.name}"
