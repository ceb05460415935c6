"""Versions, checkpoints, database files and catalog tags: written and read back, kept as files."""

from dataclasses import replace

import pytest

from branch_console.errors import FormatError
from branch_console.format.catalog.catalog_tag import CatalogTag
from branch_console.format.catalog.catalog_version import (
    CatalogCheckpoint,
    CatalogScope,
    CatalogVersion,
    CreationMode,
    DatabaseChange,
    ExpectedHead,
    SourceContent,
    TableChange,
    TableHead,
    VersionKind,
    VersionName,
)
from branch_console.format.catalog.database_file import DatabaseFile
from branch_console.format.snapshot import SnapshotIdentity
from tests.support.golden import Golden

_HEAD = TableHead(
    id=12,
    identity=SnapshotIdentity(
        uuid="6d1f", manifest_lists=("manifest-list-1-0", "manifest-list-1-1")
    ),
)
_FLIGHTS = TableChange(
    database="d-1f00",
    name="flights",
    folder="air.db/flights",
    birth="5c0e",
    schema=3,
    head=_HEAD,
)
_SIGHTED = CatalogVersion(
    branch="main",
    number=41,
    kind=VersionKind.SIGHTED,
    parents=(VersionName(branch="main", number=40),),
    operation="op-31",
    actor="ana",
    time_millis=1795647000000,
    databases={"d-1f00": DatabaseChange(name="air", properties={"comment": "flights"})},
    tables={"t-9e2a": _FLIGHTS},
)
_FORKED = replace(
    _SIGHTED,
    branch="dev",
    number=1,
    kind=VersionKind.FORKED,
    parents=(VersionName(branch="main", number=41),),
    scope=CatalogScope(databases=("air",), tables=("lab.fl*",)),
    content="dev",
    mode=CreationMode.LAZY,
    owner="ana",
    reason="new routes",
    statement="branch-console catalog create dev --database air --tables 'lab.fl*' --lazy",
    databases={},
    tables={"t-9e2a": TableChange(base_tag="branch-base-dev-2", adopted=True)},
    left_out={"air.map": "air.map is a format-table"},
)
_CHANGED = replace(
    _SIGHTED,
    branch="dev",
    number=2,
    kind=VersionKind.CHANGED,
    parents=(_FORKED.name,),
    statement="ALTER TABLE air.flights RENAME TO air.legs",
    databases={"d-1f00": DatabaseChange(properties={"comment": None}), "d-2": None},
    tables={
        "t-9e2a": TableChange(name="legs"),
        "t-0c44": None,
        "t-77b1": TableChange(database="d-1f00", name="routes", folder="air.db/routes"),
    },
)
_MERGED = replace(
    _SIGHTED,
    number=42,
    kind=VersionKind.MERGED,
    parents=(_SIGHTED.name, _CHANGED.name),
    operation="op-91",
    plan="b7c2",
    expects={"t-9e2a": ExpectedHead(step="op-91-t1", before=_HEAD)},
    sources={
        "t-9e2a": SourceContent(head=_HEAD.identity, schema=4),
        "t-77b1": SourceContent(head=None, schema=0),
    },
    databases={},
    tables={"t-9e2a": TableChange(name="legs", folder="air.db/legs")},
)
_IN_PART = replace(
    _MERGED, number=43, covers=frozenset({"t-9e2a", "d-1f00"}), expects={}, sources={}
)
_ADDED = replace(
    _CHANGED,
    number=3,
    parents=(_CHANGED.name, _SIGHTED.name),
    covers=frozenset({"t-0c44"}),
    scope=CatalogScope(databases=("air",), tables=("lab.no*",)),
    databases={},
    tables={"t-0c44": _FLIGHTS},
)
_TURNED_BACK = replace(
    _SIGHTED, number=44, kind=VersionKind.TURNED_BACK, voids=(_MERGED.name,), tables={}
)


@pytest.mark.parametrize(
    "version",
    [_SIGHTED, _FORKED, _CHANGED, _ADDED, _MERGED, _IN_PART, _TURNED_BACK],
    ids=["sighted", "forked", "changed", "added", "merged", "merged-in-part", "turned-back"],
)
def test_a_version_reads_back_and_is_written_as_it_was(
    version: CatalogVersion, golden: Golden, request: pytest.FixtureRequest
) -> None:
    text = version.to_json()
    assert CatalogVersion.from_json(text) == version
    golden.check(f"catalog/{request.node.callspec.id}.json", text)


def test_the_fork_of_the_whole_catalog_has_a_scope_without_names() -> None:
    version = replace(_FORKED, scope=CatalogScope())
    read = CatalogVersion.from_json(version.to_json())
    assert read.scope == CatalogScope()
    assert read.scope.is_whole_catalog
    assert str(read.scope) == "the catalog"


def test_a_checkpoint_reads_back(golden: Golden) -> None:
    checkpoint = CatalogCheckpoint(
        branch="dev",
        number=64,
        fork=_FORKED,
        databases=_CHANGED.databases,
        tables=_CHANGED.tables,
    )
    assert CatalogCheckpoint.from_json(checkpoint.to_json()) == checkpoint
    golden.check("catalog/checkpoint.json", checkpoint.to_json())


def test_a_checkpoint_has_the_scope_that_versions_added_to(golden: Golden) -> None:
    checkpoint = CatalogCheckpoint(branch="dev", number=0)
    for version in (_FORKED, _CHANGED, _ADDED):
        checkpoint = checkpoint.then(version)
    assert (checkpoint.scope, checkpoint.added) == (_ADDED.scope, (_ADDED.name,))
    assert CatalogCheckpoint.from_json(checkpoint.to_json()) == checkpoint
    golden.check("catalog/checkpoint-added.json", checkpoint.to_json())
    again = checkpoint.then(replace(_FORKED, number=5))
    assert (again.scope, again.added) == (None, ())


def test_a_database_file_reads_back(golden: Golden) -> None:
    file = DatabaseFile(id="d-51c0", name="lab", is_on_main=False, properties={"a": "1"})
    assert DatabaseFile.from_json(file.to_json()) == file
    golden.check("catalog/database.json", file.to_json())


def test_a_catalog_tag_reads_back(golden: Golden) -> None:
    tag = CatalogTag(
        name="v1",
        version=_CHANGED.name,
        operation="op-5",
        actor="ana",
        time_millis=1795647000000,
        databases={"d-1f00": DatabaseChange(name="air")},
        tables={"t-9e2a": _FLIGHTS},
        left_out={"air.map": "air.map is a format-table"},
    )
    assert CatalogTag.from_json(tag.to_json()) == tag
    golden.check("catalog/tag.json", tag.to_json())


@pytest.mark.parametrize("name", ["dev", "dev@", "@7", "dev@x", "dev@-1", "dev@٣"])
def test_what_names_no_version_is_refused(name: str) -> None:
    with pytest.raises(FormatError, match="names no version"):
        VersionName.parse(name)


def test_a_version_of_a_later_release_is_not_guessed_at() -> None:
    text = _SIGHTED.to_json().replace('"format" : 1', '"format" : 2')
    with pytest.raises(FormatError, match="Upgrade"):
        CatalogVersion.from_json(text)


def test_a_table_that_is_no_object_is_refused() -> None:
    text = _CHANGED.to_json().replace('"t-0c44" : null', '"t-0c44" : 3')
    with pytest.raises(FormatError, match="'tables'"):
        CatalogVersion.from_json(text)


def test_a_scope_holds_databases_whole_and_tables_by_pattern() -> None:
    scope = CatalogScope(databases=("air",), tables=("lab.fl*",))
    assert scope.holds_table("air", "anything")
    assert scope.holds_table("lab", "flights")
    assert not scope.holds_table("lab", "routes")
    assert scope.holds_database("air")
    assert not scope.holds_database("lab")


def test_changes_add_up_and_what_a_later_one_leaves_out_stays() -> None:
    both = _FLIGHTS.then(TableChange(name="legs", schema=0))
    assert both == replace(_FLIGHTS, name="legs", schema=0)
    database = DatabaseChange(name="air", properties={"a": "1", "b": "2"})
    later = DatabaseChange(properties={"a": None})
    assert database.then(later) == DatabaseChange(name="air", properties={"a": None, "b": "2"})
