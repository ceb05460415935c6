"""Branches of the whole catalog: made, seen, listed, lost, refused and dropped."""

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from branch_console.catalog.catalog_branch import MemberState
from branch_console.errors import (
    AlreadyExists,
    CommitConflict,
    ErrorKind,
    InvalidInput,
    NotAllowed,
    NotFound,
    PaimonError,
    Refused,
)
from branch_console.format.catalog.catalog_version import VersionKind, VersionName
from branch_console.format.identifier import Identifier
from branch_console.format.journals.catalog_branches import DROP_CATALOG_BRANCH_JOURNAL
from branch_console.format.journals.intent import Ending
from branch_console.format.journals.terms import TERMS, OperationJournal
from branch_console.format.other_catalog import CatalogKind
from branch_console.operations.argument import Argument
from branch_console.procedures.call.row_engine import NoRowEngine
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog import states as states_module
from branch_console.procedures.catalog.browse_catalog import (
    catalog_branches,
    catalog_log,
    read_catalog_branch,
)
from branch_console.procedures.catalog.catalog_operation import CatalogOperation
from branch_console.procedures.catalog.left_behind import why_not_back
from branch_console.procedures.catalog.states import (
    note_main,
    read_main_now,
    state_of_branch,
    state_of_main,
)
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.run.open_operation import table_of_operation
from branch_console.storage.directory_mover import UnsupportedDirectoryMover
from branch_console.storage.file_io import LocalFileIO
from branch_console.storage.table_paths import FENCE_ID
from tests.support.branch_bench import store_of
from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_warehouse import NAMES, CatalogWarehouse
from tests.support.faulty_store import At, FaultyStore, Killed, When
from tests.support.table_files import TableFiles, a_schema


@pytest.fixture
def made(tmp_path: Path) -> CatalogWarehouse:
    return CatalogWarehouse(tmp_path / "warehouse")


def states(made: CatalogWarehouse, branch: str = "dev") -> dict[str, str]:
    return {each.name: str(each.state) for each in made.on(branch).members()}


def test_a_lazy_branch_is_one_small_file_and_a_base_tag_a_table(made: CatalogWarehouse) -> None:
    before = made.files()
    receipt = made.create(lazy=True)
    new = {path for path in made.files().keys() - before.keys() if "/journal/" not in path}
    assert new == {
        ".branch-console/catalog/versions/dev/version-0000000001.json",
        ".branch-console/catalog/versions/main/version-0000000001.json",
        *(f"{name.replace('.', '.db/')}/tag/tag-branch-base-dev" for name in NAMES),
    }
    assert made.of_main() == {path: before[path] for path in made.of_main()}
    assert receipt.counts.tags_added == 3
    assert states(made) == dict.fromkeys(NAMES, "not made yet")


def test_an_eager_branch_makes_the_branch_of_each_table(made: CatalogWarehouse) -> None:
    made.create()
    assert states(made) == dict.fromkeys(NAMES, "made")
    for name in NAMES:
        branch = made.warehouse.table(f"{name}$branch_dev")
        main = made.warehouse.table(name)
        assert branch.head() == main.head()
        assert branch.schema() == main.schema()


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
def test_a_table_shows_the_same_made_or_not(made: CatalogWarehouse, lazy: bool) -> None:
    made.create(lazy=lazy)
    made.commit("air.flights", 2)
    table = made.on().open(Identifier.parse("air.flights"))
    assert table.branch == "dev"
    head = table.head()
    assert head is not None
    assert head.id == 1
    assert table.snapshots.ids() == (1,)
    assert [each.id for each in table.snapshots.all()] == [1]
    assert table.schemas.ids() == (0,)
    assert table.tags.names() == ("branch-base-dev",)
    assert table.snapshot_for("branch-base-dev") == head
    with pytest.raises(NotFound):
        table.snapshot_for("2")


def test_a_branch_has_the_tables_of_its_fork_and_reads_the_rest_as_main(
    made: CatalogWarehouse,
) -> None:
    made.create(databases="air", lazy=True)
    made.add("air.routes", born=9)
    made.add("lab.more", born=10)
    seen = made.on()
    assert seen.databases() == ("air", "lab")
    assert seen.table_names("air") == ("flights", "planes")
    assert seen.table_names("lab") == ("more", "notes")
    assert [each.identifier.table for each in seen.tables("lab")] == ["more", "notes"]
    outside = seen.open(Identifier.parse("lab.notes"))
    assert outside.branch == "main"
    with pytest.raises(NotFound, match="comes with a merge of main"):
        seen.open(Identifier.parse("air.routes"))


def test_main_lists_what_has_a_schema_of_main_whatever_branches_keep_beside_it(
    made: CatalogWarehouse,
) -> None:
    made.create()
    dev_with_its_own(made)
    assert made.warehouse.catalog.table_names("air") == ("planes",)
    # Its first schema may have gone with the snapshots that needed it.
    TableFiles(made.file_io, "notes", "lab").schema(replace(a_schema(), id=1))
    (made.folder / "lab.db/notes/schema/schema-0").unlink()
    assert made.warehouse.catalog.table_names("lab") == ("notes",)


def test_patterns_hold_tables_of_several_databases(made: CatalogWarehouse) -> None:
    made.create(tables="air.fl*,lab.*", lazy=True)
    assert set(states(made)) == {"air.flights", "lab.notes"}
    seen = made.on()
    assert seen.table_names("air") == ("flights", "planes")
    assert seen.open(Identifier.parse("air.planes")).branch == "main"


def test_a_table_outside_with_a_branch_of_that_name_is_not_read_by_its_plain_name(
    made: CatalogWarehouse,
) -> None:
    made.create(databases="air", lazy=True)
    made.run("create_branch", table="lab.notes", branch="dev")
    with pytest.raises(InvalidInput, match=r"lab\.notes\$branch_main"):
        made.on().open(Identifier.parse("lab.notes"))
    assert made.on().open(Identifier.parse("lab.notes$branch_dev")).branch == "dev"


def test_the_name_of_a_database_says_the_branch(made: CatalogWarehouse) -> None:
    made.create(lazy=True)
    made.commit("air.flights", 2)
    table = made.warehouse.table("air$branch_dev.flights")
    head = table.head()
    assert head is not None
    assert head.id == 1
    assert str(table.identifier) == "air.flights$branch_dev"


def test_a_table_without_a_snapshot_has_no_base_tag(made: CatalogWarehouse) -> None:
    made.add("air.empty", born=7, snapshot=False)
    made.create(lazy=True)
    table = made.on().open(Identifier.parse("air.empty"))
    assert table.head() is None
    assert table.snapshots.ids() == ()
    assert not (made.folder / "air.db/empty/tag").exists()


def test_an_empty_branch_has_schemas_and_no_rows(made: CatalogWarehouse) -> None:
    made.create(empty=True)
    assert made.on().open(Identifier.parse("air.flights")).head() is None
    assert made.warehouse.table("air.flights$branch_dev").head() is None


def test_a_branch_begins_at_the_heads_of_another(made: CatalogWarehouse) -> None:
    made.create("dev")
    made.commit("air.flights", 2, branch="dev")
    made.create("fix", from_branch="dev", lazy=True)
    made.commit("air.flights", 3, branch="dev")
    flights = made.on("fix").open(Identifier.parse("air.flights"))
    head = flights.head()
    assert head is not None
    assert (head.id, head.uuid) == (2, "air.flights-dev-2")
    planes = made.on("fix").open(Identifier.parse("air.planes")).head()
    assert planes is not None
    assert planes.id == 1
    assert made.on("fix").fork.parents[0].branch == "dev"


def sql_of(made: CatalogWarehouse) -> CatalogBench:
    return CatalogBench(root=made.folder, now=made.warehouse.clock())


def dev_with_its_own(made: CatalogWarehouse) -> None:
    """Give dev two tables of its own, and have main drop one of those that both have."""
    sql = sql_of(made)
    for statement in (
        "CREATE TABLE air.routes (id INT)",
        "CREATE TABLE air.hubs (code INT)",
        "ALTER TABLE air.planes RENAME TO air.jets",
        "ALTER TABLE air.jets ADD COLUMN more INT",
        "ALTER TABLE air.flights ADD COLUMN more INT",
    ):
        sql(f"USE BRANCH dev; {statement}")
    made.commit("air.hubs", 1, branch="dev")
    sql("DROP TABLE air.flights")


def shown(made: CatalogWarehouse, branch: str) -> dict[str, tuple[str | None, int]]:
    """The head and the newest schema of each table, as somebody reads it there."""
    seen = made.on(branch)
    opened = {each.name: seen.open_member(each).head_and_schema() for each in seen.members()}
    return {
        name: (None if head is None else head.uuid, schema.id)
        for name, (head, schema) in opened.items()
    }


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
@pytest.mark.parametrize("way", ["a branch", "a fork of a fork", "a tag"])
def test_what_only_another_branch_has_is_read_there_until_it_is_made(
    made: CatalogWarehouse, way: str, lazy: bool
) -> None:
    made.create(lazy=lazy)
    dev_with_its_own(made)
    before = shown(made, "dev")
    assert before["air.routes"] == (None, 0)
    assert before["air.hubs"] == ("air.hubs-dev-1", 0)
    assert before["air.flights"] == ("air.flights-main-1", 1)
    if way == "a tag":
        made.run("create_catalog_tag", tag="v1", branch="dev")
        made.create("late", tag="v1", lazy=True)
    elif way == "a branch":
        made.create("late", from_branch="dev", lazy=True)
    else:
        made.create("between", from_branch="dev", lazy=True)
        made.create("late", from_branch="between", lazy=True)
    assert states(made, "late") == dict.fromkeys(before, "not made yet")
    made.commit("air.hubs", 2, branch="dev")
    assert shown(made, "late") == before
    # Wherever the folder goes.
    (made.folder / "air.db/hubs").rename(made.folder / "lab.db/centres")
    assert shown(made, "late") == before
    sql = sql_of(made)
    for name in ("routes", "hubs", "flights"):
        sql(f"USE BRANCH late; ALTER TABLE air.{name} ADD COLUMN late INT")
    assert {name for name, state in states(made, "late").items() if state == "made"} == {
        "air.routes",
        "air.hubs",
        "air.flights",
    }
    shutil.rmtree(made.folder / "lab.db/centres/branch/branch-late")
    assert states(made, "late")["air.hubs"] == "lost"  # K15


def test_a_branch_is_not_dropped_while_another_one_reads_on_it(made: CatalogWarehouse) -> None:
    made.create()
    dev_with_its_own(made)
    made.create("late", from_branch="dev", lazy=True)
    before, files = shown(made, "late"), made.files()
    with pytest.raises(Refused, match="Catalog branch 'late' reads 5 tables on it"):
        made.run("drop_catalog_branch", branch="dev")
    assert made.files() == files
    assert shown(made, "late") == before
    made.run("drop_catalog_branch", branch="late")
    made.run("drop_catalog_branch", branch="dev")


def test_a_branch_of_a_table_is_adopted_whatever_the_parent_calls_the_table(
    made: CatalogWarehouse,
) -> None:
    made.create()
    made.run("create_branch", table="air.planes", branch="late")
    sql_of(made)("USE BRANCH dev; ALTER TABLE air.planes RENAME TO air.jets")
    made.create("late", from_branch="dev", lazy=True, adopt=True)
    assert states(made, "late")["air.jets"] == "made"


def test_left_out_tables_are_named_with_the_reason(made: CatalogWarehouse) -> None:
    made.create("before", lazy=True)
    planes = next(each.id for each in made.on("before").members() if each.name == "air.planes")
    broken = TableFiles(made.file_io, "planes", "air")
    broken.write(broken.paths.schema(1), "{")
    receipt = made.create(lazy=True)
    assert "air.planes" not in states(made)
    assert any("air.planes is left out" in note for note in receipt.notes)
    assert set(read_catalog_branch(made.warehouse, "dev").left_out)
    # Nobody dropped it: a merge of the branch must not take it from main.
    assert planes in state_of_main(made.warehouse).tables
    assert not state_of_branch(made.warehouse, "dev").speaks_for(planes)
    assert state_of_branch(made.warehouse, "before").speaks_for(planes)


REFUSALS: list[tuple[dict[str, Argument], type[PaimonError], str]] = [
    ({"branch": "dev"}, AlreadyExists, "There is a catalog branch 'dev' already"),
    ({"branch": "main"}, InvalidInput, "'main' is the default branch"),
    ({"branch": "a.b"}, InvalidInput, "cannot name a branch"),
    ({"branch": "x", "databases": "iar"}, NotFound, "Did you mean 'air'"),
    ({"branch": "x", "tables": "air.z*"}, NotFound, "No table matches 'air.z*'"),
    ({"branch": "x", "empty": True, "from_branch": "dev"}, InvalidInput, "begins at one place"),
    ({"branch": "x", "from_branch": "nope"}, NotFound, "no catalog branch 'nope'"),
    (
        {"branch": "old"},
        AlreadyExists,
        "'old' is there already on 1 table: air.planes. Nothing was changed. Adopt",
    ),
]


@pytest.mark.parametrize(("arguments", "error", "message"), REFUSALS)
def test_wrong_use_is_refused_in_a_sentence_and_changes_nothing(
    made: CatalogWarehouse, arguments: dict[str, Argument], error: type[PaimonError], message: str
) -> None:
    made.create(lazy=True)
    made.run("create_branch", table="air.planes", branch="old")
    before = made.files()
    with pytest.raises(error) as refused:
        made.run("create_catalog_branch", **arguments)
    assert message in refused.value.message
    assert made.files() == before


def test_who_may_not_and_stores_that_cannot_are_refused(made: CatalogWarehouse) -> None:
    before = made.files()
    with pytest.raises(NotAllowed, match="it asks for editor"):
        made.run("create_catalog_branch", "viewer", branch="dev")
    closed = Warehouse.open(str(made.folder), read_only=True)
    call = made.call("create_catalog_branch", branch="dev")
    with pytest.raises(NotAllowed, match="open for reading only"):
        run_call(closed, NoRowEngine(), call, InlineStages())
    for kind in (CatalogKind.HIVE, CatalogKind.JDBC):
        kept = Warehouse.open(str(made.folder), catalog_kind=kind)
        with pytest.raises(NotAllowed, match="Make a branch of each table"):
            run_call(kept, NoRowEngine(), call, InlineStages())
    assert made.files() == before


def test_branches_are_listed_with_what_changed(made: CatalogWarehouse) -> None:
    made.create(reason="new routes", owner="bob")
    made.commit("air.planes", 2, branch="dev")
    (item,) = catalog_branches(made.warehouse)
    assert (item.name, item.version, item.base) == ("dev", "dev@1", "main@1")
    assert (item.tables, item.made, item.changed, item.lost) == (3, 3, 1, 0)
    assert (item.owner, item.reason, item.scope) == ("bob", "new routes", "the catalog")
    shown = read_catalog_branch(made.warehouse, "dev")
    assert [(each.name, each.is_changed) for each in shown.members] == [
        ("air.planes", True),
        ("air.flights", False),
        ("lab.notes", False),
    ]


def test_main_gets_a_version_when_a_branch_needs_one_and_never_by_looking(
    made: CatalogWarehouse,
) -> None:
    made.create(lazy=True)
    made.create("fix", lazy=True)
    assert [str(each.name) for each in catalog_log(made.warehouse, "main")] == ["main@1"]
    made.commit("air.flights", 2)
    before = made.files()
    state_of_main(made.warehouse)
    state_of_branch(made.warehouse, "dev")
    catalog_branches(made.warehouse)
    made.on().tables("air")
    made.preview("create_catalog_branch", branch="x")
    made.preview("drop_catalog_branch", branch="dev")
    assert made.files() == before  # K14
    made.create("third", lazy=True)
    newest = catalog_log(made.warehouse, "main")[0]
    assert newest.kind is VersionKind.SIGHTED
    (change,) = newest.tables.values()
    assert change is not None
    assert change.head is not None
    assert change.head.id == 2
    assert change.folder is None


def test_a_made_branch_that_is_gone_is_lost_and_no_drop(made: CatalogWarehouse) -> None:
    made.create()
    shutil.rmtree(made.folder / "air.db/flights/branch/branch-dev")
    assert states(made)["air.flights"] == "lost"
    flights = next(each for each in made.on().members() if each.name == "air.flights")
    assert flights.id in state_of_branch(made.warehouse, "dev").tables  # K15
    with pytest.raises(Refused, match="nobody dropped the table there"):
        made.on().open(Identifier.parse("air.flights"))
    assert catalog_branches(made.warehouse)[0].lost == 1


def test_a_base_that_is_gone_is_told(made: CatalogWarehouse) -> None:
    made.create(lazy=True)
    shutil.rmtree(made.folder / "air.db/flights/snapshot")
    assert made.on().open(Identifier.parse("air.flights")).head() is not None  # the tag keeps it
    shutil.rmtree(made.folder / "air.db/flights/tag")
    with pytest.raises(Refused, match="what it began at is gone from main") as refused:
        made.on().open(Identifier.parse("air.flights"))
    assert refused.value.kind is ErrorKind.FILES_MISSING
    before = made.files()
    with pytest.raises(PaimonError, match="what it began at is gone from main"):
        sql_of(made)("USE BRANCH dev; ALTER TABLE air.flights ADD COLUMN extra INT")
    assert made.files() == before


def test_a_tag_whose_snapshot_is_gone_from_a_table_begins_no_branch(
    made: CatalogWarehouse,
) -> None:
    made.run("create_catalog_tag", tag="v1")
    shutil.rmtree(made.folder / "air.db/flights/tag")
    shutil.rmtree(made.folder / "air.db/flights/snapshot")
    before = made.files()
    told = r"Tag 'v1' is gone from 1 table: air\.flights; what it named has expired\. Nothing was"
    with pytest.raises(NotFound, match=told):
        made.create("dev", tag="v1")
    assert made.files() == before


def test_a_table_that_another_engine_renamed_is_found_again(made: CatalogWarehouse) -> None:
    made.create()
    ids = {each.name: each.id for each in made.on().members()}
    (made.folder / "air.db/flights").rename(made.folder / "lab.db/legs")
    member = next(each for each in made.on().members() if each.name == "air.flights")
    assert member.id == ids["air.flights"]
    assert (member.folder, member.state) == ("lab.db/legs", MemberState.MADE)
    state = state_of_main(made.warehouse)
    assert state.name_of(member.id) == "lab.legs"  # K3


def test_a_table_that_was_dropped_and_made_again_is_another_one(made: CatalogWarehouse) -> None:
    made.create(lazy=True)
    old = next(each.id for each in made.on().members() if each.name == "air.flights")
    shutil.rmtree(made.folder / "air.db/flights")
    made.add("air.flights", born=77)
    assert old not in state_of_main(made.warehouse).tables
    assert states(made)["air.flights"] == "lost"


def test_dropping_keeps_each_table_on_a_rescue_branch(made: CatalogWarehouse) -> None:
    made.create()
    made.commit("air.flights", 2, branch="dev")
    preview = made.preview("drop_catalog_branch", branch="dev")
    assert preview.typed_name == "dev"
    texts = [each.text for each in preview.consequences]
    assert "air.flights: 1 commit is in no other branch; the rescue branch keeps it." in texts
    receipt = made.run("drop_catalog_branch", branch="dev")
    assert made.warehouse.ledger.branches() == ()
    branches = made.warehouse.table("air.flights").branches.names()
    assert len(branches) == 1
    assert branches[0].startswith("rescue-")
    assert len(receipt.moves) == 3
    with pytest.raises(NotFound, match="no catalog branch 'dev'"):
        made.on()
    kinds = [each.kind for each in catalog_log(made.warehouse, "dev")]
    assert kinds == [VersionKind.DROPPED, VersionKind.FORKED]


def test_dropping_says_of_which_tables_expiry_stays_blocked(made: CatalogWarehouse) -> None:
    made.create(lazy=False)
    for name in ("air.flights", "air.planes"):
        made.commit(name, 2, branch="dev")
    broken = made.on().open(Identifier.parse("air.flights"))
    Path(broken.paths.manifest(broken.snapshots.get(2).delta_manifest_list)).unlink()

    def told(name: str, **arguments: Argument) -> list[str]:
        found = made.preview(name, branch="dev", **arguments).consequences
        return [each.text for each in found if "Expiry" in each.text]

    stays = (
        "Expiry of air.flights stays blocked: the rescue branch cannot be read either, so it may "
        "need any file. To end that, release the rescue branch later."
    )
    assert told("drop_catalog_branch") == [stays]
    # The branch of one table cannot be dropped by itself there, with reclaim or without.
    assert told("drop_branch", table="air.flights") == [stays]


def held(made: CatalogWarehouse) -> dict[str, bytes]:
    """All files but ledgers and journals, which only grow, and the fences that a rescue adds."""
    return {
        path: data
        for path, data in made.files().items()
        if not path.startswith(".branch-console") and "/branch-lineage/" not in path
        if not path.endswith(FENCE_ID)
    }


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
def test_undo_of_dropping_a_branch_brings_all_of_it_back(
    made: CatalogWarehouse, lazy: bool
) -> None:
    made.create(lazy=lazy)
    dev_with_its_own(made)
    before, files, was = held(made), shown(made, "dev"), states(made)
    dropped = made.run("drop_catalog_branch", branch="dev").operation_id
    assert held(made) != before
    asked = made.preview("undo", operation=dropped)
    assert asked.can_run
    receipt = made.run("undo", operation=dropped)
    assert held(made) == before
    assert (shown(made, "dev"), states(made)) == (files, was)
    newest, ended, *_ = catalog_log(made.warehouse, "dev")
    assert (newest.kind, ended.kind) == (VersionKind.UNDONE, VersionKind.DROPPED)
    assert receipt.notes == (f"Catalog branch 'dev' is back, at {newest.name}.",)
    assert made.run("undo", operation=dropped) == receipt
    # It is a branch as before: it changes, is dropped, and comes back again.
    sql_of(made)("USE BRANCH dev; ALTER TABLE air.routes RENAME TO air.ways")
    before = held(made)
    made.run("undo", operation=made.run("drop_catalog_branch", branch="dev").operation_id)
    assert held(made) == before
    assert "air.ways" in states(made)


def dropped_folders(made: CatalogWarehouse) -> list[str]:
    folder = made.folder / ".branch-console/dropped"
    return (
        sorted(each.name.partition("-")[0] for each in folder.iterdir()) if folder.exists() else []
    )


def test_tables_that_a_branch_alone_has_leave_their_database_with_it(
    made: CatalogWarehouse,
) -> None:
    made.create(lazy=True)
    sql = sql_of(made)
    for name in ("routes", "hubs", "shared"):
        # Equal bytes of a first schema would make them one table to whoever looks by birth.
        sql(f"USE BRANCH dev; CREATE TABLE air.{name} ({name} INT)")
    sql("USE BRANCH dev; DROP TABLE air.flights; CREATE TABLE air.flights (flights INT)")
    made.create("other", lazy=True, databases="air")
    # Two branches share a folder by name, and one has a table of the other.
    sql("USE BRANCH other; CREATE TABLE air.shared (id INT)")
    made.create("late", from_branch="dev", tables="air.hubs")
    before = held(made)
    told = [each.text for each in made.preview("drop_catalog_branch", branch="dev").consequences]
    assert any(text.startswith("On no other branch: 2 tables.") for text in told)
    dropped = made.run("drop_catalog_branch", branch="dev")
    left = [
        name for name in ("routes", "hubs", "shared") if (made.folder / "air.db" / name).exists()
    ]
    assert left == ["hubs", "shared"]
    assert dropped_folders(made) == ["air.flights", "air.routes"]
    assert list((made.folder / ".branch-console/catalog/new").iterdir()) == []
    notes = [note for note in dropped.notes if "was on no other branch" in note]
    assert len(notes) == 2
    assert states(made, "late") == {"air.hubs": "made"}
    assert states(made, "other")["air.shared"] == "made"

    def reason() -> str:
        with pytest.raises(Refused) as refused:
            made.run("undo", operation=dropped.operation_id)
        return refused.value.message

    (made.folder / "air.db/routes").mkdir()
    assert "something else has the folder air.db/routes of air.routes by now" in reason()
    (made.folder / "air.db/routes").rmdir()
    operation = CatalogOperation.find(made.warehouse, dropped.operation_id)
    assert operation is not None
    own = {each.name: each for each in operation.read(DROP_CATALOG_BRANCH_JOURNAL).own}
    (made.folder / "air.db").rename(made.folder / "aside")
    assert why_not_back(made.warehouse, own["air.routes"]) == (
        "the database folder of air.db/routes is gone, where air.routes was"
    )
    assert why_not_back(made.warehouse, own["air.flights"]) is None
    (made.folder / "aside").rename(made.folder / "air.db")
    made.run("undo", operation=dropped.operation_id)
    assert held(made) == before
    assert dropped_folders(made) == []


def dev_with_databases(made: CatalogWarehouse) -> None:
    """Give dev two databases of its own, one of them with a table, and one that other has, too."""
    made.create(lazy=True)
    sql = sql_of(made)
    sql("USE BRANCH dev; CREATE DATABASE sky; CREATE TABLE sky.boats (boats INT)")
    sql("USE BRANCH dev; CREATE DATABASE sea; ALTER DATABASE sea RENAME TO ocean")
    sql("USE BRANCH dev; CREATE DATABASE shared")
    made.create("other", lazy=True)
    sql("USE BRANCH other; CREATE DATABASE shared")


def database_folders(made: CatalogWarehouse) -> list[str]:
    return sorted(each.name for each in made.folder.glob("*.db"))


def test_databases_that_a_branch_alone_has_leave_with_it_and_come_back(
    made: CatalogWarehouse,
) -> None:
    dev_with_databases(made)
    before, names, folders = held(made), made.on().databases(), database_folders(made)
    told = [each.text for each in made.preview("drop_catalog_branch", branch="dev").consequences]
    assert any(text.startswith("On no other branch, and empty then: 2 databases.") for text in told)
    dropped = made.run("drop_catalog_branch", branch="dev")
    assert database_folders(made) == ["air.db", "lab.db", "shared.db"]
    kept = f".branch-console/dropped/sky.db-{dropped.operation_id}"
    assert f"Database 'sky' was on no other branch. Its folder is kept as {kept}." in dropped.notes
    assert made.on("other").databases() == ("air", "lab", "shared")
    made.run("undo", operation=dropped.operation_id)
    assert (held(made), made.on().databases(), database_folders(made)) == (before, names, folders)
    # What somebody else has put there by now stays, and so does what main shows.
    (made.folder / "sea.db/other").mkdir()
    sql_of(made)("CREATE DATABASE ocean; MERGE BRANCH dev ON DATABASE sky")
    made.run("drop_catalog_branch", branch="dev")
    stays = ["air.db", "lab.db", "ocean.db", "sea.db", "shared.db", "sky.db"]
    assert database_folders(made) == stays


@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
def test_databases_go_and_come_back_also_where_that_is_cut_off(
    made: CatalogWarehouse, tmp_path: Path, when: When
) -> None:
    dev_with_databases(made)
    before = held(made)

    def moves(copy: CatalogWarehouse, name: str, **arguments: str) -> list[int]:
        """Run something on a copy; return the changes that move databases."""
        counter = FaultyStore(inner=store_of(copy.folder))
        bench = sql_of(copy)
        bench.store = counter.store
        bench.do(name, **arguments)
        of_database = re.compile(r"move .*/(sky|sea)\.db(-[\w-]+)?")
        return [
            number for number, each in enumerate(counter.changes, 1) if of_database.fullmatch(each)
        ]

    def cut_off(copy: CatalogWarehouse, number: int, name: str, **arguments: str) -> str:
        """Kill something at one of its changes, and recover; return its operation."""
        bench = sql_of(copy)
        fault = At(call=number, when=when)
        bench.store = FaultyStore(inner=store_of(copy.folder), fault=fault).store
        with pytest.raises(Killed):
            bench.do(name, **arguments)
        bench.store = None
        operation_id = bench.last
        bench.recover()
        return operation_id

    def copy(name: str) -> CatalogWarehouse:
        shutil.rmtree(tmp_path / name, ignore_errors=True)
        shutil.copytree(made.folder, tmp_path / name)
        return CatalogWarehouse(tmp_path / name, ())

    numbers = moves(copy("clean"), "drop_catalog_branch", branch="dev")
    assert len(numbers) == 2
    for number in numbers:
        killed = copy("killed")
        dropped = cut_off(killed, number, "drop_catalog_branch", branch="dev")
        assert database_folders(killed) == ["air.db", "lab.db", "shared.db"]
        sql_of(killed).undo(dropped)
        assert held(killed) == before
    dropped = made.run("drop_catalog_branch", branch="dev").operation_id
    numbers = moves(copy("clean"), "undo", operation=dropped)
    assert len(numbers) == 2
    for number in numbers:
        killed = copy("killed")
        cut_off(killed, number, "undo", operation=dropped)
        assert held(killed) == before


def test_folders_that_cannot_move_stay_with_a_rescue_branch_and_undo_works(
    made: CatalogWarehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.create(lazy=True)
    bench = sql_of(made)
    bench("USE BRANCH dev; CREATE TABLE air.routes (routes INT)")
    before = held(made)
    with monkeypatch.context() as patched:
        patched.setattr(LocalFileIO, "is_local", property(lambda _: False))
        preview = made.preview("drop_catalog_branch", branch="dev")
    assert not any("On no other branch" in each.text for each in preview.consequences)
    # A store may also say so only once it is asked.
    bench.store = replace(store_of(made.folder), mover=UnsupportedDirectoryMover())
    receipt = bench.do("drop_catalog_branch", branch="dev")
    stays = "air.routes was on no other branch. Its folder stays where it is."
    assert stays in receipt.notes
    assert (made.folder / "air.db/routes/branch").exists()
    made.run("undo", operation=receipt.operation_id)
    assert held(made) == before


def test_base_tags_go_with_their_branch_where_nobody_needs_them(made: CatalogWarehouse) -> None:
    """Those stay that a rescue needs, that another branch begins at, or that keep what expired."""
    for name in ("air.flights", "air.planes", "lab.notes"):
        made.commit(name, 2)
    made.create(lazy=True)
    sql_of(made)("USE BRANCH dev; ALTER TABLE air.planes ADD COLUMN more INT")
    made.commit("lab.notes", 3)

    def tagged() -> list[str]:
        return [name for name in NAMES if made.warehouse.table(name).tags.names()]

    for hint in (made.folder / "lab.db/notes/snapshot").glob("*EST"):
        hint.unlink()
    for number in (1, 2):
        (made.folder / f"lab.db/notes/snapshot/snapshot-{number}").unlink()
    preview = made.preview("drop_catalog_branch", branch="dev")
    told = [each.text for each in preview.consequences]
    assert "The base tag of 1 table is removed." in told
    assert "The base tag of 2 tables stays: it keeps what somebody may need." in told
    before = held(made)
    dropped = made.run("drop_catalog_branch", branch="dev").operation_id
    assert tagged() == ["air.planes", "lab.notes"]
    made.run("undo", operation=dropped)
    assert held(made) == before
    # Once its snapshot has expired, nothing brings the tag back.
    dropped = made.run("drop_catalog_branch", branch="dev").operation_id
    (made.folder / "air.db/flights/snapshot/snapshot-2").unlink()
    with pytest.raises(Refused, match=r"what air\.flights had on the branch is gone"):
        made.run("undo", operation=dropped)


def test_undo_of_making_a_lazy_branch_takes_its_base_tags_too(made: CatalogWarehouse) -> None:
    before = held(made)
    created = made.create(lazy=True).operation_id
    assert held(made) != before
    made.run("undo", operation=created)
    assert held(made) == before


def test_undo_of_dropping_a_branch_is_refused_where_something_else_happened(
    made: CatalogWarehouse,
) -> None:
    made.create()
    dropped = made.run("drop_catalog_branch", branch="dev").operation_id
    rescue = next(iter(made.warehouse.table("air.flights").branches.names()))

    def reason() -> str:
        files = made.files()
        with pytest.raises(Refused) as refused:
            made.run("undo", operation=dropped)
        assert made.files() == files
        return refused.value.message

    made.run("create_branch", table="air.flights", branch="dev")
    assert "air.flights: Undo is not possible: there is a branch 'dev' again." in reason()
    made.run("drop_branch", table="air.flights", branch="dev")
    made.commit("air.flights", 2, branch=rescue)
    assert f"branch '{rescue}' has newer commits, up to snapshot 2" in reason()
    kept = made.folder / f"air.db/flights/branch/branch-{rescue}"
    (kept / "snapshot/snapshot-2").unlink()
    for hint in (kept / "snapshot").glob("*EST"):
        hint.unlink()
    kept.rename(made.folder / "aside")
    assert "air.flights" in reason()
    (made.folder / "aside").rename(kept)
    made.create(databases="air", lazy=True)
    assert "there is a catalog branch 'dev' again. Drop that one first." in reason()


def test_a_table_branch_that_came_back_by_itself_is_part_of_the_branch_again(
    made: CatalogWarehouse,
) -> None:
    made.create()
    made.commit("air.flights", 2, branch="dev")
    before = held(made)
    dropped = made.run("drop_catalog_branch", branch="dev").operation_id
    (kept,) = made.warehouse.table("air.flights").branches.names()
    made.run("undo", table="air.flights", operation=kept.removeprefix("rescue-"))
    made.run("undo", operation=dropped)
    assert held(made) == before
    assert states(made) == dict.fromkeys(NAMES, "made")


@pytest.mark.parametrize("call", [1, 3, 6, 10, 15, 21, 28])
def test_an_undo_of_dropping_that_was_cut_off_goes_on(made: CatalogWarehouse, call: int) -> None:
    made.create()
    dev_with_its_own(made)
    before, was = held(made), states(made)
    dropped = made.run("drop_catalog_branch", branch="dev").operation_id
    bench = sql_of(made)
    fault = At(call=call, when=When.AFTER if call % 2 else When.BEFORE)
    bench.store = FaultyStore(inner=store_of(made.folder), fault=fault).store
    with pytest.raises(Killed):
        bench.do("undo", operation=dropped)
    bench.store = None
    bench.recover()
    assert bench.recover().notes == ("Nothing was cut off.",)
    if made.warehouse.ledger.find("dev") is None:
        bench.do("undo", operation=dropped)
    assert held(made) == before
    assert states(made) == was


def test_an_operation_on_a_table_that_a_branch_alone_has_is_found_and_undone(
    made: CatalogWarehouse,
) -> None:
    made.create()
    dev_with_its_own(made)
    sql_of(made)("USE BRANCH dev; DROP TABLE air.flights; CREATE TABLE air.flights (id INT)")
    made.commit("air.hubs", 2, branch="dev")
    for name, folder in (("hubs", "air.db/hubs"), ("jets", "air.db/planes")):
        tag = made.run("create_tag", table=f"air$branch_dev.{name}", tag="v1").operation_id
        found = table_of_operation(made.warehouse, tag)
        # Main has the folder of jets, under a name of its own.
        assert found.table_name == (f"air$branch_dev.{name}" if name == "hubs" else "air.planes")
        made.run("undo", table=f"air$branch_dev.{name}", operation=tag)
        assert not (made.folder / folder / "branch/branch-dev/tag/tag-v1").exists()
    with pytest.raises(NotFound, match="No table of this warehouse has an operation 'nope'"):
        table_of_operation(made.warehouse, "nope")


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
def test_undo_of_making_a_branch_is_its_drop_while_nothing_was_done(
    made: CatalogWarehouse, lazy: bool
) -> None:
    made.run("create_branch", table="lab.notes", branch="dev")
    main = made.of_main()
    created = made.create(adopt=True, lazy=lazy).operation_id
    made.commit("lab.notes", 2, branch="dev")
    receipt = made.run("undo", operation=created)
    assert receipt.notes == ("Catalog branch 'dev' is dropped.",)
    assert made.warehouse.ledger.branches() == ()
    assert not (made.folder / "air.db/flights/branch/branch-dev").exists()
    # What was there before stays.
    head = made.warehouse.table("lab.notes$branch_dev").head()
    assert head is not None
    assert head.id == 2
    assert made.of_main() == main


def test_undo_of_making_a_branch_is_refused_once_something_was_done(
    made: CatalogWarehouse,
) -> None:
    created = made.create().operation_id

    def reason() -> str:
        files = made.files()
        with pytest.raises(Refused) as refused:
            made.run("undo", operation=created)
        assert made.files() == files
        return refused.value.message

    made.commit("air.flights", 2, branch="dev")
    assert "air.flights was written to since. Drop the branch instead." in reason()
    sql_of(made)("USE BRANCH dev; CREATE TABLE air.routes (id INT)")
    assert "dev@2 is its newest version: it changed since. Drop it instead." in reason()
    made.run("drop_catalog_branch", branch="dev")
    assert "catalog branch 'dev' was dropped since." in reason()


def test_the_name_of_a_dropped_branch_is_free_again(made: CatalogWarehouse) -> None:
    made.create()
    made.run("drop_catalog_branch", branch="dev")
    made.commit("air.flights", 2)
    made.create(databases="air", lazy=True)
    seen = made.on()
    assert (str(seen.version), str(seen.scope)) == ("dev@3", "database air")
    flights = seen.open(Identifier.parse("air.flights")).head()
    assert flights is not None
    assert flights.id == 2
    assert states(made) == {"air.flights": "not made yet", "air.planes": "not made yet"}


def test_the_branch_of_a_table_goes_with_the_catalog_branch_only(made: CatalogWarehouse) -> None:
    made.create(databases="air")
    made.run("create_branch", table="lab.notes", branch="dev")
    for name, more in (("drop_branch", {}), ("rename_branch", {"to": "other"})):
        with pytest.raises(Refused, match="is part of catalog branch 'dev'"):
            made.run(name, table="air.flights", branch="dev", **more)
        before = made.files()
        assert before == made.files()
    made.run("drop_branch", table="lab.notes", branch="dev")


def test_certain_branches_are_adopted_and_others_named(made: CatalogWarehouse) -> None:
    made.run("create_branch", table="air.flights", branch="dev")
    made.commit("air.flights", 2, branch="dev")
    made.commit("air.flights", 2)
    made.create(adopt=True)
    assert states(made) == dict.fromkeys(NAMES, "made")
    flights = next(each for each in made.on().members() if each.name == "air.flights")
    assert flights.table.adopted
    assert flights.table.head is not None
    assert flights.table.head.id == 1
    shutil.rmtree(made.folder / "air.db/flights/branch")
    assert states(made)["air.flights"] == "lost"


def test_a_branch_that_other_software_began_anywhere_is_not_adopted(
    made: CatalogWarehouse,
) -> None:
    made.commit("air.flights", 7, branch="dev")
    files = TableFiles(made.file_io, "flights", "air")
    files.schema(branch="dev")
    before = made.files()
    with pytest.raises(AlreadyExists, match=r"air\.flights\. Nothing was changed\. Its fork"):
        made.create(adopt=True)
    assert made.files() == before


def test_dropping_checkpoints_changes_no_answer(made: CatalogWarehouse) -> None:
    made.create("first", databases="air", lazy=True)
    for number in range(2, 66):
        made.commit("air.flights", number)
        warehouse = made.warehouse
        note_main(warehouse, read_main_now(warehouse), operation=f"note-{number}", actor="ann")
    made.create("last", databases="air", lazy=True)

    def answers() -> list[object]:
        warehouse = made.warehouse
        return [
            *(state_of_branch(warehouse, name) for name in ("first", "last", "main")),
            *(warehouse.ledger.recorded("main", number) for number in (1, 40, 64, 65)),
        ]

    folder = made.folder / ".branch-console/catalog/versions/main"
    (checkpoint,) = folder.glob("checkpoint-*")
    assert checkpoint.name == "checkpoint-0000000064.json"
    whole = answers()
    checkpoint.write_text("{")
    assert answers() == whole
    checkpoint.unlink()
    assert answers() == whole  # K17


def test_a_catalog_tag_is_a_tag_on_each_table_and_reads_under_the_names_of_then(
    made: CatalogWarehouse,
) -> None:
    made.add("air.empty", born=7, snapshot=False)
    receipt = made.run("create_catalog_tag", tag="v1")
    assert receipt.counts.tags_added == 3
    for name in NAMES:
        assert made.warehouse.table(name).tags.names() == ("v1",)
        made.commit(name, 2)
    (made.folder / "air.db/flights").rename(made.folder / "lab.db/legs")
    flights = made.warehouse.table("air$tag_v1.flights").head()
    assert flights is not None
    assert flights.id == 1
    assert made.warehouse.table("air$tag_v1.empty").head() is None
    with pytest.raises(NotFound, match=r"Catalog tag 'v1' has no table lab\.legs"):
        made.warehouse.table("lab$tag_v1.legs")
    with pytest.raises(NotFound, match="no catalog tag 'v2'"):
        made.warehouse.table("air$tag_v2.flights")


def test_a_branch_begins_at_a_catalog_tag(made: CatalogWarehouse) -> None:
    made.run("create_catalog_tag", tag="v1")
    for name in NAMES:
        made.commit(name, 2)
        (made.folder / name.replace(".", ".db/") / "snapshot/snapshot-1").unlink()
    made.add("air.new", born=8)
    for mode in ("eager", "lazy"):
        made.create(mode, tag="v1", databases="air", lazy=mode == "lazy")
        assert set(states(made, mode)) == {"air.flights", "air.planes"}
        head = made.on(mode).open(Identifier.parse("air.flights")).head()
        assert head is not None
        assert head.id == 1
        assert str(made.on(mode).fork.parents[0]) == "main@1"


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
def test_a_table_that_moved_since_is_found_by_what_begins_at_a_tag_or_deletes_it(
    made: CatalogWarehouse, lazy: bool
) -> None:
    made.run("create_catalog_tag", tag="v1")
    made.commit("air.flights", 2)
    (made.folder / "air.db/flights").rename(made.folder / "lab.db/legs")
    made.create("dev", tag="v1", lazy=lazy)
    head = made.on("dev").open(Identifier.parse("air.flights")).head()
    assert head is not None
    assert head.id == 1
    made.run("delete_catalog_tag", tag="v1")
    assert "v1" not in made.warehouse.table("lab.legs").tags.names()


def test_a_tag_of_a_branch_names_what_the_branch_has(made: CatalogWarehouse) -> None:
    made.create("dev", databases="air")
    made.commit("air.planes", 2, branch="dev")
    made.run("create_catalog_tag", tag="v1", branch="dev")
    made.commit("air.planes", 3, branch="dev")
    planes = made.warehouse.table("air$tag_v1.planes").head()
    assert planes is not None
    assert planes.uuid == "air.planes-dev-2"
    assert made.warehouse.table("air.planes$branch_dev").tags.names() == ("branch-base-dev", "v1")


def test_a_taken_name_refuses_a_catalog_tag_and_changes_nothing(made: CatalogWarehouse) -> None:
    made.run("create_catalog_tag", tag="v1")
    made.run("create_tag", table="air.flights", tag="mine")
    made.commit("air.flights", 2)
    before = made.files()
    for tag, message in (
        ("v1", "There is a catalog tag 'v1' already"),
        ("mine", "Tag 'mine' is there already on 1 table: air.flights."),
    ):
        with pytest.raises(AlreadyExists, match=message):
            made.run("create_catalog_tag", tag=tag)
    assert made.files() == before


def test_deleting_a_catalog_tag_takes_the_tags_of_its_tables(made: CatalogWarehouse) -> None:
    made.run("create_catalog_tag", tag="v1")
    assert made.warehouse.catalog_tags.names() == ("v1",)
    receipt = made.run("delete_catalog_tag", tag="v1")
    assert receipt.counts.tags_removed == 3
    assert made.warehouse.catalog_tags.names() == ()
    assert made.warehouse.table("air.flights").tags.names() == ()


def begin_branch(made: CatalogWarehouse) -> str:
    """Make a branch; return the version of main that it begins at."""
    made.create("dev", lazy=True)
    return str(made.on("dev").fork.parents[0])


def begin_tag(made: CatalogWarehouse) -> str:
    """Make a tag; return the version of main that it names."""
    made.run("create_catalog_tag", tag="v1")
    return str(made.warehouse.catalog_tags.get("v1").version)


@pytest.mark.parametrize("begin", [begin_branch, begin_tag])
def test_nothing_begins_while_a_merge_is_half_visible(
    made: CatalogWarehouse,
    monkeypatch: pytest.MonkeyPatch,
    begin: Callable[[CatalogWarehouse], str],
) -> None:
    made.create("first", lazy=True)
    monkeypatch.setattr(states_module, "_WAIT_SECONDS", 0)
    ledger, store = made.warehouse.ledger, made.warehouse.store
    merged = replace(
        ledger.version(VersionName(branch="main", number=1)),
        number=2,
        kind=VersionKind.MERGED,
        operation="op-merge",
        tables={},
        databases={},
    )
    warehouse = made.warehouse
    operation = CatalogOperation.begin(
        warehouse,
        replace(made.call("recover"), operation_id="op-merge"),
        branch="main",
        codec=TERMS,
        journal=OperationJournal(),
    )
    assert ledger.publish(store.publisher, merged)
    before = made.files()
    with pytest.raises(CommitConflict, match="by operation op-merge"):
        begin(made)
    assert made.files() == before
    operation.end(Ending.DONE)
    assert begin(made) == "main@2"


@pytest.mark.parametrize(
    ("begin", "seen_on"), [(begin_branch, "branch_dev"), (begin_tag, "tag_v1")]
)
def test_a_merge_that_comes_while_heads_are_read_is_held_whole(
    made: CatalogWarehouse,
    monkeypatch: pytest.MonkeyPatch,
    begin: Callable[[CatalogWarehouse], str],
    seen_on: str,
) -> None:
    made.create("first", lazy=True)
    inner, looks = states_module.look_at_main, []

    def meddled(*arguments: object) -> object:
        found = inner(*arguments)  # type: ignore[arg-type]
        looks.append(found)
        if len(looks) == 1:
            # A merge of two tables is published between the first look and its end.
            for name in ("air.flights", "air.planes"):
                made.commit(name, 2)
            ledger = made.warehouse.ledger
            version = replace(
                ledger.version(VersionName(branch="main", number=1)),
                number=2,
                kind=VersionKind.MERGED,
                tables={},
                databases={},
            )
            assert ledger.publish(made.warehouse.store.publisher, version)
        return found

    monkeypatch.setattr(states_module, "look_at_main", meddled)
    assert begin(made) == "main@3"
    heads = [made.warehouse.table(name.replace(".", f"${seen_on}.")).head() for name in NAMES[:2]]
    assert [head and head.id for head in heads] == [2, 2]  # K11


def test_a_preview_counts_what_is_made_apart_from_what_is_adopted(made: CatalogWarehouse) -> None:
    made.run("create_branch", table="air.flights", branch="dev")
    told = [each.text for each in made.preview("create_catalog_branch", branch="dev",
                                               adopt=True).consequences]  # fmt: skip
    assert "The branch 'dev' of 2 tables is made now." in told
    assert "The branch of 1 table is adopted." in told
    made.add("lab.empty", born=9, snapshot=False)
    told = [each.text for each in made.preview("create_catalog_tag", tag="v1").consequences]
    assert told[:2] == [
        "Tag 'v1' is made at the head of 3 tables.",
        "Without a snapshot: 1 table, kept as empty.",
    ]


def test_a_branch_that_cannot_be_read_is_listed_with_its_error(made: CatalogWarehouse) -> None:
    for name in ("dev", "torn"):
        made.create(name)
    versions = made.folder / ".branch-console/catalog/versions/torn"
    (versions / "version-0000000001.json").write_text("{")
    dev, torn = catalog_branches(made.warehouse)
    assert dev.error is None
    assert torn.error is not None
    assert torn.error.kind is ErrorKind.BROKEN_FILE
