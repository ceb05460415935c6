"""Whole merges whose rows are looked at: planned, settled, published, read back."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.rows.row_conflicts import find_row_conflicts
from branch_console.commit.schema.schema_commit import (
    add_column,
    change_schema,
    create_table,
    new_schema,
)
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.errors import ErrorKind, Refused
from branch_console.format.data_types import STRING, parse_data_type
from branch_console.format.identifier import Identifier
from branch_console.format.manifest_entry import FileKind
from branch_console.format.receipt import Receipt
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from branch_console.spark.engine import SparkRowEngine
from branch_console.spark.read.readers import read_table
from branch_console.spark.session.session import WarmSession
from branch_console.sql.writes import WriteKind
from branch_console.storage.file_io import FileIO
from branch_console.storage.table_paths import TablePaths
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.table_state import ReadState
from tests.support.compare_bench import Bench

COLUMNS = {"id": "INT NOT NULL", "a": "INT", "b": "STRING"}
Rows = Sequence[tuple[Any, ...]]


class Table:
    """A table with a primary key in a warehouse, changed through procedures and writers."""

    def __init__(
        self, session: WarmSession, folder: Path, options: Mapping[str, str] | None = None
    ) -> None:
        self.store = FileIO.for_url(str(folder))
        self.engine = SparkRowEngine(lambda: session, self.store)
        self.session = session
        paths = TablePaths(table=f"{self.store.root}/db.db/t")
        fields = [(name, parse_data_type(kind)) for name, kind in COLUMNS.items()]
        schema = new_schema(fields, primary_keys=["id"], options={"bucket": "1", **(options or {})})
        create_table(CommitStore.of(self.store), paths, schema)
        self.warehouse = Warehouse.open(str(folder))

    def on(self, branch: str) -> FileStoreTable:
        return self.warehouse.table(Identifier.parse("db.t").on_branch(branch))

    def write(self, branch: str, rows: Rows, deletes: Rows = ()) -> None:
        table = self.on(branch)
        names = table.schema().row_type.names
        objects = [{**dict(zip(names, row, strict=False)), "_VALUE_KIND": 0} for row in rows]
        objects += [{**dict(zip(names, row, strict=False)), "_VALUE_KIND": 3} for row in deletes]
        messages = self.engine.write_rows(table, pa.Table.from_pylist(objects), lambda *_: None)
        FileStoreCommit(table, CommitStore.of(self.store)).commit(messages, user="test")

    def run(self, name: str, operation_id: str, **arguments: Argument) -> Receipt:
        call = ProcedureCall(
            name=name,
            arguments={"table": "db.t", **arguments},
            actor="ann",
            operation_id=operation_id,
        )
        return run_call(self.warehouse, self.engine, call, InlineStages())

    def rows(self, branch: str = "main") -> list[tuple[Any, ...]]:
        frame = read_table(self.session.spark, self.store, ReadState.as_it_is(self.on(branch)))
        return sorted(tuple(row) for row in frame.collect())

    def data_files(self) -> set[str]:
        found = self.store.list(f"{self.store.root}/db.db/t/bucket-0")
        return {each.name for each in found if each.name.startswith("data-")}


@pytest.fixture
def table(session: WarmSession, tmp_path: Path) -> Table:
    made = Table(session, tmp_path)
    made.write("main", [(key, 0, "base") for key in range(1, 7)])
    made.run("create_branch", "make", branch="dev")
    return made


def test_cells_of_one_row_that_two_sides_changed_come_together(table: Table) -> None:
    table.write("main", [(1, 10, "base"), (6, 60, "base")])
    table.write("dev", [(1, 0, "dev"), (5, 0, "dev")])
    table.run("merge_branch", "merge", branch="dev")
    assert table.rows() == [
        (1, 10, "dev"),
        (2, 0, "base"),
        (3, 0, "base"),
        (4, 0, "base"),
        (5, 0, "dev"),
        (6, 60, "base"),
    ]


def test_keys_that_only_seem_to_overlap_are_replayed(table: Table) -> None:
    table.write("main", [(1, 1, "main"), (6, 1, "main")])
    table.write("dev", [(2, 2, "dev"), (5, 2, "dev")])
    before = table.data_files()
    told = table.run("merge_branch", "merge", branch="dev")
    assert "Rows were read in 0 of 1 compared part; in 1 the keys were enough." in told.notes
    assert [row[1] for row in table.rows()] == [1, 2, 0, 0, 2, 1]
    # Only the copy of the branch's file is new: no row was written.
    assert all("-of-" in name for name in table.data_files() - before)


def test_a_cell_that_both_changed_stops_the_merge_and_is_kept_to_be_looked_at(
    table: Table,
) -> None:
    table.write("main", [(1, 10, "base"), (3, 30, "main")])
    table.write("dev", [(1, 20, "base"), (3, 30, "dev")])
    before = table.data_files()
    with pytest.raises(Refused) as refused:
        table.run("merge_branch", "merge", branch="dev")
    told = table.run("compare_rows", "compare", branch="dev")
    assert told.notes[:2] == (
        "2 conflicts of rows must be settled, 0 are.",
        "Rows were read in 1 of 1 compared part.",
    )
    assert refused.value.kind is ErrorKind.CONFLICTS_OPEN
    assert refused.value.facts["conflicts"] == 2
    assert table.data_files() == before
    main = table.on("main")
    kept = find_row_conflicts(table.store, main.paths, str(refused.value.facts["plan_id"]))
    assert kept is not None
    assert [(row["key"]["id"], row["column"]) for row in kept.to_pylist()] == [(1, "a"), (3, "b")]


def test_a_policy_settles_what_both_changed(table: Table) -> None:
    table.write("main", [(1, 10, "base"), (3, 30, "main")])
    table.write("dev", [(1, 20, "base"), (3, 30, "dev")])
    policy = "version: 1\ntables:\n  db.t:\n    take: theirs\n    columns: {a: max}\n"
    before = table.data_files()
    receipt = table.run("merge_branch", "merge", branch="dev", policy=policy)
    _check_written_files(table, receipt, before)
    assert receipt.counts.files_written == 1
    assert (table.rows()[0], table.rows()[2]) == ((1, 20, "base"), (3, 30, "dev"))
    assert any("2 conflicts of rows settled" in note for note in receipt.notes)
    table.run("undo", "undo", operation="merge")
    assert (table.rows()[0], table.rows()[2]) == ((1, 10, "base"), (3, 30, "main"))


def _check_written_files(table: Table, receipt: Receipt, before: set[str]) -> None:
    """Check the receipt of a merge against the folder and the manifests of its snapshot."""
    main = table.on("main")
    head = main.head()
    assert head is not None
    entries = main.delta_entries(head)
    added = entries.filter(pc.equal(entries["kind"], int(FileKind.ADD)))
    is_written = pc.invert(pc.match_substring(added["file_name"], "-of-"))  # else it is a link
    written = added.filter(pc.and_(is_written, pc.invert(_named(added, before))))
    assert written.num_rows == receipt.counts.files_written
    assert pc.sum(written["file_size"]).as_py() == receipt.counts.bytes_written
    assert added.num_rows == receipt.counts.files_written + receipt.counts.files_shared + len(
        [name for name in table.data_files() - before if "-of-" in name]
    )


def _named(entries: pa.Table, names: set[str]) -> Any:
    return pc.is_in(entries["file_name"], pa.array(sorted(names), pa.string()))


def test_a_row_deleted_here_and_changed_there_is_a_conflict(table: Table) -> None:
    table.write("main", [], deletes=[(1, 0, "base"), (2, 0, "base")])
    table.write("dev", [(1, 1, "dev"), (6, 6, "dev")])
    with pytest.raises(Refused) as refused:
        table.run("merge_branch", "merge", branch="dev")
    assert refused.value.facts["conflicts"] == 1
    table.run(
        "merge_branch",
        "again",
        branch="dev",
        policy="version: 1\nkinds: {deleted and changed: ours}\n",
    )
    assert [row[0] for row in table.rows()] == [3, 4, 5, 6]


def test_merging_on_after_rows_were_settled_brings_only_what_is_new(table: Table) -> None:
    table.write("main", [(1, 10, "base"), (6, 0, "main")])
    table.write("dev", [(1, 20, "base"), (6, 0, "base")])
    table.run(
        "merge_branch", "merge", branch="dev", policy="version: 1\ntables: {'*': {take: ours}}"
    )
    table.write("dev", [(2, 2, "later")])
    table.run("merge_branch", "more", branch="dev")
    assert table.rows()[:2] == [(1, 10, "base"), (2, 2, "later")]


@pytest.mark.depth("full")
def test_a_reverted_merge_gives_back_the_rows_of_before(table: Table) -> None:
    table.write("main", [(1, 10, "base")])
    table.write("dev", [(1, 0, "dev"), (2, 2, "dev")])
    table.run("merge_branch", "merge", branch="dev")
    table.write("main", [(5, 50, "later")])
    table.run("revert", "revert", operation="merge")
    assert table.rows()[:2] == [(1, 10, "base"), (2, 0, "base")]
    assert table.rows()[4] == (5, 50, "later")


@pytest.mark.depth("full")
def test_columns_that_each_side_added_stay_apart(table: Table) -> None:
    for branch, column in (("main", "mine"), ("dev", "theirs")):
        change_schema(
            table.on(branch),
            CommitStore.of(table.store),
            [add_column(column, STRING)],
            now_millis=1,
        )
    table.write("main", [(1, 10, "base", "m"), (6, 0, "base", "m")])
    table.write("dev", [(1, 0, "base", "t"), (6, 0, "dev", "t")])
    table.run("merge_branch", "merge", branch="dev")
    assert table.on("main").schema().row_type.names == ("id", "a", "b", "mine", "theirs")
    assert table.rows()[0] == (1, 10, "base", "m", "t")
    assert table.rows()[5] == (6, 0, "dev", "m", "t")


@pytest.mark.depth("full")
def test_deletes_that_both_sides_made_in_one_file_hold(
    session: WarmSession, tmp_path: Path
) -> None:
    bench = Bench(session, tmp_path)
    bench.write("main", [(number, "a", 1.0, None, None, [number]) for number in range(100)])
    bench.run("create_branch", branch="dev")
    for branch, condition in (
        ("main", "id < 20"),
        ("dev", "id BETWEEN 10 AND 39"),
        ("dev", "id=99"),
    ):
        bench.run(WriteKind.DELETE, sql=f"DELETE FROM db.t WHERE {condition}", branch=branch)
    bench.run("merge_branch", branch="dev", target="main")
    assert sorted(row[0] for row in bench.rows("main")) == list(range(40, 99))
    # A merge of what came since knows what it has.
    bench.run(WriteKind.DELETE, sql="DELETE FROM db.t WHERE id = 50", branch="dev")
    bench.run("merge_branch", branch="dev", target="main")
    assert sorted(row[0] for row in bench.rows("main")) == [*range(40, 50), *range(51, 99)]


def test_a_delete_wins_over_an_update_of_ours_which_says_that_it_is_one(
    session: WarmSession, tmp_path: Path
) -> None:
    bench = Bench(session, tmp_path)
    bench.write("main", [(number, "a", 1.0, None, None, [number]) for number in range(10)])
    bench.run("create_branch", branch="dev")
    update, delete = "UPDATE db.t SET x = 2.0 WHERE id = 3", "DELETE FROM db.t WHERE id IN (3, 5)"
    bench.run(WriteKind.UPDATE, sql=update, branch="main")
    bench.run(WriteKind.DELETE, sql=delete, branch="dev")
    bench.run("merge_branch", branch="dev", target="main")
    left = {row[0]: row[2] for row in bench.rows("main")}
    assert left == {number: 1.0 for number in range(10) if number not in (3, 5)}


@pytest.mark.depth("full")
def test_rows_that_were_merged_into_a_table_overwrite_nothing(
    session: WarmSession, tmp_path: Path
) -> None:
    bench = Bench(session, tmp_path)
    bench.write("main", [(number, "a", 1.0, None, None, [number]) for number in range(4)])
    bench.run("create_branch", branch="dev")
    # All files are written again with more rows: for any other release this was an overwrite.
    grows = (
        "MERGE INTO db.t USING (SELECT id + 2 AS id, part, 9.0 AS x, s, d, l FROM db.t) AS n "
        "ON t.id = n.id WHEN MATCHED THEN UPDATE SET x = n.x WHEN NOT MATCHED THEN INSERT *"
    )
    bench.run(WriteKind.MERGE, sql=grows, branch="dev")
    bench.write("main", [(20, "a", 1.0, None, None, [20])])
    with pytest.raises(Refused):
        bench.run("merge_branch", branch="dev", target="main")
    bench.run("merge_branch", branch="dev", target="main", isolation="snapshot")
    assert {row[0]: row[2] for row in bench.rows("main")} == {
        0: 1.0,
        1: 1.0,
        2: 9.0,
        3: 9.0,
        4: 9.0,
        5: 9.0,
        20: 1.0,
    }
