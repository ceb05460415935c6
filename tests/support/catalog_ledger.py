"""A ledger of catalog branches in memory: every version with the state at it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from branch_console.diff.catalog_base import (
    bases_of_objects,
    contents_merged_into,
    contents_to_note,
    state_at_bases,
)
from branch_console.diff.catalog_diff import catalog_changes
from branch_console.diff.catalog_state import CatalogState, TableState
from branch_console.diff.table_operation import TableOperation
from branch_console.diff.three_way import ThreeWay
from branch_console.format.catalog.catalog_version import (
    CatalogVersion,
    SourceContent,
    VersionKind,
    VersionName,
)
from branch_console.format.snapshot import SnapshotIdentity
from branch_console.merge.catalog.catalog_merge import CatalogMerge, CatalogSides, merge_catalog
from branch_console.merge.catalog.object_rules import ObjectRules
from tests.support.catalog_states import database, head, table


@dataclass(kw_only=True)
class MemoryLedger:
    """Versions of branches, made one after the other.

    Attributes:
        states: Every branch at each of its versions.
        recorded: The same as a ledger has it: writes of rows on a branch make no version.
        contents: What each snapshot of any table holds, by its number.
        made: How many snapshots were made.
    """

    versions: dict[VersionName, CatalogVersion] = field(default_factory=dict)
    states: dict[VersionName, CatalogState] = field(default_factory=dict)
    recorded: dict[VersionName, CatalogState] = field(default_factory=dict)
    newest: dict[str, VersionName] = field(default_factory=dict)
    contents: dict[int, frozenset[str]] = field(default_factory=dict)
    made: int = 100

    def twin(self) -> "MemoryLedger":
        """The same ledger once more, to go on otherwise."""
        return MemoryLedger(
            versions=dict(self.versions),
            states=dict(self.states),
            recorded=dict(self.recorded),
            newest=dict(self.newest),
            contents=dict(self.contents),
            made=self.made,
        )

    def state(self, branch: str) -> CatalogState:
        return self.states[self.newest[branch]]

    def add(
        self,
        branch: str,
        state: CatalogState,
        kind: VersionKind = VersionKind.CHANGED,
        *,
        parents: tuple[VersionName, ...] = (),
        covers: Collection[str] | None = None,
        voids: tuple[VersionName, ...] = (),
        sources: Mapping[str, SourceContent] | None = None,
    ) -> VersionName:
        """Make the next version of a branch, with the state that it has then."""
        before = self.newest.get(branch)
        number = 1 if before is None else before.number + 1
        name = VersionName(branch=branch, number=number)
        self.versions[name] = CatalogVersion(
            branch=branch,
            number=number,
            kind=kind,
            operation=f"op-{len(self.versions)}",
            actor="ana",
            time_millis=len(self.versions),
            parents=(*(() if before is None else (before,)), *parents),
            covers=None if covers is None else frozenset(covers),
            voids=voids,
            sources=sources or {},
        )
        self.states[name] = replace(state, version=str(name))
        self.recorded[name] = self.states[name]
        if before is not None and branch != "main":
            known = self.recorded[before].tables
            self.recorded[name] = replace(
                self.states[name],
                tables={
                    key: replace(each, head=None if key not in known else known[key].head)
                    for key, each in state.tables.items()
                },
            )
        self.newest[branch] = name
        return name

    def fork(self, branch: str, source: str = "main") -> VersionName:
        parent = self.newest[source]
        return self.add(branch, self.states[parent], VersionKind.FORKED, parents=(parent,))

    def content(self, table: TableState | None) -> frozenset[str]:
        """What is in a table; a table that is not there holds nothing."""
        if table is None or table.head is None:
            return frozenset()
        number = int(table.head.manifest_lists[0].rpartition(" ")[2])
        return self.contents.get(number, frozenset({f"rows of {number}"}))

    def view(self, branch: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """All databases and tables of a branch, with their content, to be compared."""
        state = self.state(branch)
        return (
            {key: (each.name, dict(each.properties)) for key, each in state.databases.items()},
            {
                key: (each.database, each.name, self.content(each))
                for key, each in state.tables.items()
            },
        )

    def catalog_sides(
        self, source: str, target: str, covers: Collection[str] | None = None
    ) -> CatalogSides:
        """All that a merge is decided on, with the base of each object."""
        ours, theirs = self.newest[target], self.newest[source]
        here, there = self.states[ours], self.states[theirs]
        known = (key for each in self.states.values() for key in (*each.databases, *each.tables))
        bases = bases_of_objects(self.versions, ours, theirs, sorted(set(known)))
        base = state_at_bases(
            bases,
            self.recorded,
            here,
            there,
            into_ours=contents_merged_into(self.versions, ours),
            into_theirs=contents_merged_into(self.versions, theirs),
        )
        states = ThreeWay(base=base, ours=here, theirs=there)
        operations = {}
        for change in catalog_changes(states).tables:
            key = change.id
            if not (change.theirs.has_content and key in here.tables):
                continue
            # As the content of a table has merges of its own, what one side lacks tells.
            mine, other = self.content(here.tables[key]), self.content(there.tables[key])
            operations[key] = ThreeWay(
                base=NOTHING, ours=_inserts(mine - other), theirs=_inserts(other - mine)
            )
        return CatalogSides(
            states=states,
            operations=operations,
            covers=None if covers is None else frozenset(covers),
        )

    def preview(
        self,
        source: str,
        target: str,
        rules: ObjectRules | None = None,
        covers: Collection[str] | None = None,
    ) -> CatalogMerge:
        return merge_catalog(self.catalog_sides(source, target, covers), rules or ObjectRules())

    def merge(
        self,
        source: str,
        target: str,
        rules: ObjectRules | None = None,
        covers: Collection[str] | None = None,
    ) -> CatalogMerge:
        """Merge a branch, and make a version of what comes of it unless that is nothing."""
        sides = self.catalog_sides(source, target, covers)
        found = merge_catalog(sides, rules or ObjectRules())
        assert found.conflicts == ()
        before = self.state(target)
        if found.result == before and not found.brings_content and not found.is_noted:
            return found
        tables = dict(found.result.tables)
        for each in found.objects:
            if each.brings_content and each.id in tables:
                both = self.content(before.tables.get(each.id)) | self.content(
                    self.state(source).tables.get(each.id)
                )
                tables[each.id] = replace(tables[each.id], head=self.snapshot(both))
        state = replace(found.result, tables=tables)
        self.add(
            target,
            state,
            VersionKind.MERGED,
            parents=(self.newest[source],),
            covers=covers,
            sources=contents_to_note(sides.states, covers),
        )
        return found

    def snapshot(self, content: frozenset[str]) -> SnapshotIdentity | None:
        """Make a snapshot of a table."""
        self.made += 1
        self.contents[self.made] = content
        return head(self.made)

    def run(self, branch: str, statement: tuple[Any, ...]) -> None:
        """Run a statement on a branch; one that cannot be right there does nothing."""
        state = self.state(branch)
        what, at, *rest = statement
        objects: Mapping[str, Any] = state.databases if "database" in what else state.tables
        if what in ("set", "create table"):
            objects = state.databases
        ids = sorted(objects)
        if not ids and what != "create database":
            return
        key = ids[at % len(ids)] if ids else ""
        # By their branch and version: the same, whatever happened on other branches.
        new = f"{branch}{self.newest[branch].number + 1}"
        changed = self._changed(state, what, key, rest, new)
        if changed is None or changed == state or not is_consistent(changed):
            return
        if what == "write" and branch != "main":
            self.states[self.newest[branch]] = changed
        else:
            self.add(branch, changed)

    def _changed(
        self, state: CatalogState, what: str, key: str, rest: list[Any], new: str
    ) -> CatalogState | None:
        databases, tables = dict(state.databases), dict(state.tables)
        match what, rest:
            case "create database", [name]:
                databases[new] = database(new, name)
            case "drop database", [_]:
                del databases[key]
                tables = {each: found for each, found in tables.items() if found.database != key}
            case "rename database", [name]:
                databases[key] = replace(databases[key], name=name)
            case "set", [name, value]:
                properties = {**databases[key].properties, name: value}
                kept = {each: found for each, found in properties.items() if found}
                databases[key] = replace(databases[key], properties=kept)
            case "create table", [name]:
                tables[new] = replace(
                    table(new, f"{key}.{name}"), head=self.snapshot(frozenset({new}))
                )
            case "drop table", [_]:
                del tables[key]
            case "rename table", [name]:
                tables[key] = replace(tables[key], name=name)
            case "move table", [at]:
                home = sorted(databases)[at % len(databases)]
                tables[key] = replace(tables[key], database=home)
            case "swap tables", [at]:
                other = sorted(tables)[at % len(tables)]
                one, two = tables[key], tables[other]
                tables[key] = replace(one, database=two.database, name=two.name)
                tables[other] = replace(two, database=one.database, name=one.name)
            case "write", [name]:
                content = self.content(tables[key]) | {f"{name} by {new}"}
                tables[key] = replace(tables[key], head=self.snapshot(content))
            case _:
                return None
        return replace(state, databases=databases, tables=tables)


NOTHING: Final[frozenset[TableOperation]] = frozenset()


def _inserts(rows: frozenset[str]) -> frozenset[TableOperation]:
    return frozenset({TableOperation.INSERT}) if rows else NOTHING


def is_consistent(state: CatalogState) -> bool:
    """Whether each name is given once, and each table lies in a database."""
    names = [each.name for each in state.databases.values()]
    places = [(each.database, each.name) for each in state.tables.values()]
    has_homes = all(database in state.databases for database, _ in places)
    return has_homes and all(len(set(each)) == len(each) for each in (names, places))
