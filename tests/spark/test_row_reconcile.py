"""Rows that both branches changed, merged in tasks and read back as any reader would."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.branch.branch_creation import make_branch
from branch_console.commit.schema.schema_commit import (
    add_column,
    change_schema,
    create_table,
    new_schema,
)
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.diff.three_way import ThreeWay, Unresolved, settle
from branch_console.errors import FormatError, InvalidInput
from branch_console.format.data_types import STRING, parse_data_type
from branch_console.format.identifier import Identifier
from branch_console.format.index_manifest import NO_INDEX_FILES, hash_index_entries
from branch_console.format.journals.branches import BranchCreation
from branch_console.format.snapshot import Snapshot
from branch_console.merge.conflict import ConflictKind
from branch_console.merge.policy import Policy
from branch_console.merge.reapply_policy import reapply_policy, without_effect
from branch_console.merge.row_work import EVERY_BUCKET, BucketFiles, Reconciled, RowScope, RowWork
from branch_console.spark.engine import SparkRowEngine
from branch_console.spark.read.readers import read_table
from branch_console.spark.session.session import WarmSession
from branch_console.storage.file_io import FileIO
from branch_console.storage.table_paths import TablePaths
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.table_state import ReadState
from tests.support.java_child import Read, read_with_java
from tests.support.spark_in_process import SessionInProcess
from tests.support.warehouses import each_version

COLUMNS = {"id": "INT NOT NULL", "a": "INT", "b": "STRING"}
Rows = Sequence[tuple[Any, ...]]

_FULL = pytest.mark.depth("full")


def idle(done: int, total: int | None) -> None:
    """Progress that nobody watches."""


class MergeBench:
    """A table with a branch `dev`, and the row work of merging it back."""

    def __init__(
        self,
        session: WarmSession,
        folder: Path,
        base: Rows,
        *,
        columns: Mapping[str, str] = COLUMNS,
        keys: Sequence[str] = ("id",),
        partitions: Sequence[str] = (),
        options: Mapping[str, str] | None = None,
    ) -> None:
        self.session = session
        self.store = FileIO.for_url(str(folder))
        self.engine = SparkRowEngine(lambda: session, self.store)
        self.path = f"{self.store.root}/db.db/t"
        fields = [(name, parse_data_type(kind)) for name, kind in columns.items()]
        schema = new_schema(
            fields,
            primary_keys=keys,
            partition_keys=partitions,
            options={"bucket": "1", **(options or {})},
        )
        create_table(CommitStore.of(self.store), TablePaths(table=self.path), schema)
        self.write("main", base)
        self.base = self.head("main")
        creation = BranchCreation(
            branch="dev", source="main", schema_ids=(0,), base_tag="base", snapshot_id=self.base.id
        )
        make_branch(self.table("main"), CommitStore.of(self.store), creation)

    def table(self, branch: str) -> FileStoreTable:
        return FileStoreTable.open(self.store, self.path, Identifier.parse("db.t")).on(branch)

    def head(self, branch: str) -> Snapshot:
        head = self.table(branch).head()
        assert head is not None
        return head

    def write(self, branch: str, rows: Rows, deletes: Rows = ()) -> None:
        table = self.table(branch)
        names = table.schema().row_type.names
        objects = [{**dict(zip(names, row, strict=False)), "_VALUE_KIND": 0} for row in rows]
        objects += [{**dict(zip(names, row, strict=False)), "_VALUE_KIND": 3} for row in deletes]
        self.commit(branch, self.engine.write_rows(table, pa.Table.from_pylist(objects), idle))

    def commit(self, branch: str, messages: Sequence[CommitMessage]) -> None:
        commit = FileStoreCommit(self.table(branch), CommitStore.of(self.store))
        assert commit.commit(messages, user="test") is not None

    def rows(self, branch: str) -> list[tuple[Any, ...]]:
        frame = read_table(self.session.spark, self.store, ReadState.as_it_is(self.table(branch)))
        return sorted(tuple(row) for row in frame.collect())

    def scope(self) -> RowScope:
        ours, theirs = self.table("main"), self.table("dev")
        on_main = {schema.id: schema for schema in ours.schemas.all()}
        return RowScope(
            table="db.t",
            schema=ours.schema(),
            ours_schemas=on_main,
            theirs_schemas={schema.id: schema for schema in theirs.schemas.all()},
        )

    def work(self, *, ours_gone: bool = False, theirs_gone: bool = False) -> list[RowWork]:
        main, dev = self.table("main"), self.table("dev")
        sides = (main.live_files(self.base), main.live_files(self.head("main")))
        base, ours, theirs = (*sides, dev.live_files(self.head("dev")))
        work = []
        for place in theirs.group_by(["partition", "bucket"]).aggregate([]).to_pylist():
            live = [_at(files, place) for files in (base, ours, theirs)]
            changed = [_without(files, live[0]) for files in live[1:]]
            work.append(
                RowWork(
                    partition=place["partition"],
                    bucket=place["bucket"],
                    base=BucketFiles(entries=live[0], marks=NO_INDEX_FILES, in_target=True),
                    ours=BucketFiles(entries=live[1], marks=NO_INDEX_FILES, in_target=True),
                    theirs=BucketFiles(entries=live[2], marks=NO_INDEX_FILES, in_target=False),
                    ours_changed=None if ours_gone else changed[0],
                    theirs_changed=None if theirs_gone else changed[1],
                )
            )
        return work

    def reconcile(
        self, policy: str = "", *, writes: bool = True, **gone: bool
    ) -> Reconciled[CommitMessage]:
        parsed = Policy.from_yaml(f"version: 1\n{policy}")
        return self.engine.reconcile(
            self.table("main"), self.scope(), self.work(**gone), parsed, idle, writes=writes
        )

    def merge(self, policy: str = "", **gone: bool) -> Reconciled[CommitMessage]:
        """Replay what dev appended, with what row work writes."""
        found = self.reconcile(policy, **gone)
        assert found.open_count == 0, found.conflicts.to_pylist()
        replayed = [
            CommitMessage(
                partition=work.partition, bucket=work.bucket, total_buckets=1,
                new_files=work.theirs_changed,
            )
            for work in self.work(**gone)
            if work.theirs_changed is not None and work.theirs_changed.num_rows
        ]  # fmt: skip
        self.commit("main", [*replayed, *found.messages])
        return found


def _at(files: pa.Table, place: Mapping[str, Any]) -> pa.Table:
    is_there = pc.and_(
        pc.equal(files["partition"], pa.scalar(place["partition"], pa.binary())),
        pc.equal(files["bucket"], place["bucket"]),
    )
    return files.filter(is_there)


def _without(files: pa.Table, others: pa.Table) -> pa.Table:
    there = others["identity"].combine_chunks()
    return files.filter(pc.invert(pc.is_in(files["identity"], value_set=there)))


def verdicts(found: Reconciled[CommitMessage]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in found.verdicts.to_pylist():
        counts[row["verdict"]] = counts.get(row["verdict"], 0) + row["rows"]
    return counts


def written_rows(found: Reconciled[CommitMessage]) -> int:
    return sum(sum(each.new_files["row_count"].to_pylist()) for each in found.messages)


BASE = [(1, 1, "x"), (2, 2, "x"), (3, 3, "x"), (4, 4, "x"), (5, 5, "x"), (6, 6, "x")]


@pytest.fixture
def bench(session: WarmSession, tmp_path: Path) -> MergeBench:
    """Both branches changed rows 1 to 4 and added 9; each has rows of its own."""
    bench = MergeBench(session, tmp_path, BASE)
    bench.write("main", [(1, 10, "x"), (2, 20, "x"), (5, 50, "x"), (9, 1, "new")], [(4, 4, "x")])
    bench.write("main", [(3, 30, "x"), (7, 7, "ours")])
    bench.write("dev", [(6, 60, "x"), (1, 1, "y"), (9, 1, "new")], [(4, 4, "x")])
    bench.write("dev", [(2, 21, "x"), (8, 8, "theirs")], [(3, 3, "x")])
    return bench


MERGED = [
    (1, 10, "y"), (2, 21, "x"), (3, 30, "x"), (5, 50, "x"), (6, 60, "x"),
    (7, 7, "ours"), (8, 8, "theirs"), (9, 1, "new"),
]  # fmt: skip
SETTLED = "kinds: {deleted and changed: ours}\ntables: {db.t: {columns: {a: max}}}"


def test_changed_keys_are_counted_from_key_columns(bench: MergeBench) -> None:
    for gone in ({}, {"ours_gone": True}, {"theirs_gone": True}):
        work = bench.work(**gone)
        found = bench.engine.find_changed_keys(bench.table("main"), bench.scope(), work, idle)
        (counts,) = found.to_pylist()
        assert (counts["ours"], counts["theirs"], counts["both"]) == (7, 7, 5)


@pytest.mark.depth("full")
def test_open_conflicts_are_told_and_nothing_is_written(bench: MergeBench) -> None:
    before = {each.name for each in bench.store.list(f"{bench.path}/bucket-0")}
    found = bench.reconcile()
    assert verdicts(found) == {"once": 1, "both": 1, "deleted": 1, "conflict": 2}
    conflicts = [(row["key"]["id"], row["column"]) for row in found.conflicts.to_pylist()]
    assert conflicts == [(2, "a"), (3, None)]
    assert (found.open_count, found.messages) == (2, ())
    assert {each.name for each in bench.store.list(f"{bench.path}/bucket-0")} == before


@pytest.mark.depth("full")
def test_a_preview_settles_but_writes_nothing(bench: MergeBench) -> None:
    before = {each.name for each in bench.store.list(f"{bench.path}/bucket-0")}
    found = bench.reconcile(SETTLED, writes=False)
    assert (found.open_count, found.messages) == (0, ())
    assert found.conflicts["decided_by"].to_pylist() == ["column a", "kind deleted and changed"]
    assert {each.name for each in bench.store.list(f"{bench.path}/bucket-0")} == before


@pytest.mark.parametrize(
    ("theirs_gone", "ours_gone"),
    [
        pytest.param(False, False, id="theirs there-ours there"),
        pytest.param(False, True, id="theirs there-ours compacted", marks=_FULL),
        pytest.param(True, False, id="theirs compacted-ours there", marks=_FULL),
        pytest.param(True, True, id="theirs compacted-ours compacted"),
    ],
)
def test_the_target_gets_both_changes(
    bench: MergeBench, ours_gone: bool, theirs_gone: bool
) -> None:
    found = bench.merge(SETTLED, ours_gone=ours_gone, theirs_gone=theirs_gone)
    assert bench.rows("main") == MERGED
    (message,) = found.messages
    (file,) = message.new_files.to_pylist()
    assert (file["level"], message.total_buckets) == (0, 1)
    newest = [
        max(bench.table(branch).live_files(head)["max_sequence_number"].to_pylist())
        for branch, head in (("main", bench.base), ("dev", bench.head("dev")))
    ]
    assert file["min_sequence_number"] > max(newest)


@pytest.mark.depth("full")
@pytest.mark.parametrize("ours_gone", [False, True], ids=["ours there", "ours compacted"])
@pytest.mark.parametrize("theirs_gone", [False, True], ids=["theirs there", "theirs compacted"])
def test_random_histories_give_what_the_cell_rule_says(
    session: WarmSession, tmp_path: Path, rng: random.Random, ours_gone: bool, theirs_gone: bool
) -> None:
    base = {key: (rng.randrange(3), rng.choice("xyz")) for key in range(60)}
    bench = MergeBench(session, tmp_path, [(key, *row) for key, row in base.items()])
    sides = {"main": dict(base), "dev": dict(base)}
    for branch in ("main", "dev", "dev", "main", "dev"):
        state = sides[branch]
        deleted = rng.sample(sorted(state), 6)
        gone = [(key, *state.pop(key)) for key in deleted]
        keys = rng.sample([key for key in range(80) if key not in deleted], 20)
        state |= {key: (rng.randrange(3), rng.choice("xyz")) for key in keys}
        bench.write(branch, [(key, *state[key]) for key in keys], gone)
    bench.merge("tables: {db.t: {take: theirs}}", ours_gone=ours_gone, theirs_gone=theirs_gone)
    merged = {
        key: merged_row(base.get(key), sides["main"].get(key), sides["dev"].get(key))
        for key in range(80)
    }
    wanted = [(key, *row) for key, row in sorted(merged.items()) if row is not None]
    assert bench.rows("main") == wanted


def merged_row(
    base: tuple[int, str] | None, ours: tuple[int, str] | None, theirs: tuple[int, str] | None
) -> tuple[Any, ...] | None:
    """A row by the rules as they are told, a conflict going to theirs."""
    row = settle(ThreeWay(base=base, ours=ours, theirs=theirs))
    if not isinstance(row, Unresolved):
        return row
    if base is None or ours is None or theirs is None:
        return theirs
    cells = [
        settle(ThreeWay(base=b, ours=o, theirs=t))
        for b, o, t in zip(base, ours, theirs, strict=True)
    ]
    return tuple(
        theirs[at] if isinstance(cell, Unresolved) else cell for at, cell in enumerate(cells)
    )


@pytest.mark.depth("full")
def test_only_what_replay_would_not_give_is_written(bench: MergeBench) -> None:
    # Rows 1 and 3. Of 2 the larger value comes with theirs; 4 and 9 are the same on both sides.
    assert written_rows(bench.reconcile(SETTLED)) == 2


@pytest.mark.depth("full")
def test_sides_exchanged_give_the_same_rows(bench: MergeBench, tmp_path: Path) -> None:
    other = MergeBench(bench.session, tmp_path / "other", BASE)
    other.write("dev", [(1, 10, "x"), (2, 20, "x"), (5, 50, "x"), (9, 1, "new")], [(4, 4, "x")])
    other.write("dev", [(3, 30, "x"), (7, 7, "ours")])
    other.write("main", [(6, 60, "x"), (1, 1, "y"), (9, 1, "new")], [(4, 4, "x")])
    other.write("main", [(2, 21, "x"), (8, 8, "theirs")], [(3, 3, "x")])
    other.merge("kinds: {deleted and changed: theirs}\ntables: {db.t: {columns: {a: max}}}")
    assert other.rows("main") == MERGED


@pytest.mark.depth("full")
def test_a_choice_to_delete_deletes(bench: MergeBench) -> None:
    bench.merge("kinds: {deleted and changed: theirs}\ntables: {db.t: {columns: {a: base}}}")
    rows = {row[0]: row for row in bench.rows("main")}
    assert 3 not in rows
    assert rows[2] == (2, 2, "x")


@pytest.mark.depth("full")
def test_partitions_and_buckets_are_merged_each_for_itself(
    session: WarmSession, tmp_path: Path
) -> None:
    count = 400
    base = [(i, 0, f"p{i % 3}") for i in range(count)]
    columns = {"id": "INT NOT NULL", "a": "INT", "pt": "STRING NOT NULL"}
    bench = MergeBench(
        session, tmp_path, base, columns=columns, keys=("pt", "id"), partitions=("pt",),
        options={"bucket": "2"},
    )  # fmt: skip
    bench.write("main", [(i, 1, f"p{i % 3}") for i in range(0, count, 2)])
    bench.write("dev", [(i, 2, f"p{i % 3}") for i in range(0, count, 3)])
    work = bench.work()
    assert len(work) > 1
    counts = bench.engine.find_changed_keys(bench.table("main"), bench.scope(), work, idle)
    assert [(each.partition, each.bucket) for each in work] == [
        (row["partition"], row["bucket"]) for row in counts.to_pylist()
    ]
    both = len(range(0, count, 6))
    assert sum(counts["both"].to_pylist()) == both
    found = bench.reconcile("tables: {db.t: {where: [{when: id < 200, take: ours}], take: theirs}}")
    assert (found.conflicts.num_rows, found.open_count) == (both, 0)
    taken = {row["key"]["id"]: row["result"] for row in found.conflicts.to_pylist()}
    assert taken == {i: "1" if i < 200 else "2" for i in range(0, count, 6)}


@pytest.mark.depth("full")
def test_columns_of_a_partial_update_are_filled_by_both(
    session: WarmSession, tmp_path: Path
) -> None:
    options = {"merge-engine": "partial-update"}
    bench = MergeBench(session, tmp_path, [(1, 1, "x"), (2, 2, None)], options=options)
    bench.write("main", [(1, 10, None), (3, 3, None), (2, None, "ours")])
    bench.write("dev", [(3, None, "theirs"), (1, None, "y"), (2, None, "theirs")])
    found = bench.merge("tables: {db.t: {columns: {b: ours}}}")
    assert verdicts(found) == {"both": 2, "conflict": 1}
    assert bench.rows("main") == [(1, 10, "y"), (2, 2, "ours"), (3, 3, "theirs")]


@pytest.mark.depth("full")
@pytest.mark.parametrize("theirs_gone", [False, True], ids=["theirs there", "theirs compacted"])
def test_sums_hold_what_both_added(session: WarmSession, tmp_path: Path, theirs_gone: bool) -> None:
    options = {
        "merge-engine": "aggregation",
        "fields.n.aggregate-function": "sum",
        "fields.m.aggregate-function": "max",
        "fields.s.aggregate-function": "last_value",
    }
    columns = {"id": "INT NOT NULL", "n": "BIGINT", "m": "DOUBLE", "s": "STRING"}
    base = [(1, 10, 1.0, "x"), (2, 10, 1.0, "x")]
    bench = MergeBench(session, tmp_path, base, columns=columns, options=options)
    bench.write("main", [(1, 5, 9.0, "ours"), (2, 1, None, "x"), (3, 7, None, None)])
    bench.write("dev", [(1, 3, 4.0, "theirs"), (2, 2, 3.0, "x"), (4, 8, None, None)])
    found = bench.merge("tables: {db.t: {columns: {s: ours}}}", theirs_gone=theirs_gone)
    assert found.conflicts["column"].to_pylist() == ["s"]
    assert bench.rows("main") == [
        (1, 18, 9.0, "ours"), (2, 13, 3.0, "x"), (3, 7, None, None), (4, 8, None, None)
    ]  # fmt: skip


@pytest.mark.depth("full")
def test_sums_alone_need_no_row_written(session: WarmSession, tmp_path: Path) -> None:
    options = {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum"}
    columns = {"id": "INT NOT NULL", "n": "DOUBLE"}
    bench = MergeBench(session, tmp_path, [(1, 0.1)], columns=columns, options=options)
    bench.write("main", [(1, 0.2)])
    bench.write("dev", [(1, 0.7)])
    found = bench.merge()
    assert found.messages == ()
    assert bench.rows("main") == [(1, pytest.approx(1.0))]


@pytest.mark.depth("full")
def test_a_result_that_the_sequence_would_hide_is_told_before_the_run(
    session: WarmSession, tmp_path: Path
) -> None:
    columns = {"id": "INT NOT NULL", "a": "INT", "at": "INT"}
    options = {"sequence.field": "at"}
    bench = MergeBench(
        session, tmp_path, [(1, 1, 1), (2, 1, 1)], columns=columns, options=options
    )  # fmt: skip
    bench.write("main", [(1, 10, 5), (2, 10, 5)])
    bench.write("dev", [(1, 20, 9), (2, 20, 3)])
    found = bench.reconcile("tables: {db.t: {take: ours}}")
    open_rows = found.conflicts.filter(pc.is_null(found.conflicts["take"])).to_pylist()
    assert [(row["key"]["id"], row["kind"]) for row in open_rows] == [(1, ConflictKind.HIDDEN)]
    assert found.messages == ()
    bench.merge("tables: {db.t: {columns: {a: ours, at: max}}}")
    assert bench.rows("main") == [(1, 10, 9), (2, 10, 5)]


@pytest.mark.depth("full")
@pytest.mark.parametrize("order", ["ascending", "descending"])
@pytest.mark.parametrize("gone", [(False, False), (True, False), (False, True)])
def test_a_decision_that_the_sequence_would_hide_settles_nothing(
    tmp_path: Path, rng: random.Random, order: str, gone: tuple[bool, bool]
) -> None:
    columns = {"id": "INT NOT NULL", "a": "INT", "at": "DOUBLE"}
    options = {"sequence.field": "at", "sequence.field.sort-order": order}
    ranks = [None, 0.0, 1.0, 2.0, float("nan")]

    def rows(keys: int) -> Rows:
        picked = rng.sample(range(40), keys)
        return [(key, rng.randrange(3), rng.choice(ranks)) for key in picked]

    bench = MergeBench(SessionInProcess(), tmp_path, rows(20), columns=columns, options=options)

    for branch in ("main", "dev", "main", "dev"):
        bench.write(branch, rows(25))
        bench.write(branch, [], rows(5))

    def conflicts(policy: str = "") -> pa.Table:
        return bench.reconcile(
            policy, writes=False, ours_gone=gone[0], theirs_gone=gone[1]
        ).conflicts

    kept = conflicts()
    kept = kept.filter(pc.not_equal(kept["kind"], str(ConflictKind.HIDDEN)))
    in_conflict = {each["id"] for each in kept["key"].to_pylist()}
    hidden = 0
    for policy in (
        "{take: ours}", "{take: theirs}", "{take: base}", "{take: theirs, columns: {at: ours}}",
        "{take: ours, columns: {at: max}}", "{take: base, where: [{when: id < 20, take: theirs}]}",
    ):  # fmt: skip
        text = f"tables: {{db.t: {policy}}}"
        run = conflicts(text).to_pylist()
        found = {each["key"]["id"] for each in run if each["kind"] == ConflictKind.HIDDEN}
        again = reapply_policy(kept, Policy.from_yaml(f"version: 1\n{text}"), "db.t")
        open_ones = again.filter(pc.is_null(again["take"]))
        of_no_effect = open_ones.filter(without_effect(open_ones))
        assert {each["id"] for each in of_no_effect["key"].to_pylist()} == found & in_conflict
        # A row that both sides added has no base to go back to: the run leaves it open, too.
        without_base = {
            each["key"]["id"]
            for each in run
            if each["kind"] == ConflictKind.ADD_ADD and each["take"] is None
        }
        assert "base" in policy or not without_base
        open_ids = {each["id"] for each in open_ones["key"].to_pylist()}
        assert open_ids == found & in_conflict | without_base, policy
        assert set(open_ones["result"].to_pylist()) <= {None}
        hidden += len(found)
    assert hidden > 5


def test_the_first_value_cannot_be_replaced(session: WarmSession, tmp_path: Path) -> None:
    options = {"merge-engine": "aggregation", "fields.b.aggregate-function": "first_value"}
    bench = MergeBench(session, tmp_path, [(1, 1, "x")], options=options)
    bench.write("main", [(2, 1, "ours")])
    bench.write("dev", [(2, 1, "theirs")])
    found = bench.reconcile("tables: {db.t: {take: theirs}}")
    assert found.conflicts["kind"].to_pylist() == ["added on both", "hidden result"]
    assert found.messages == ()


@pytest.mark.depth("full")
def test_columns_that_one_branch_added_are_found_by_their_id(
    session: WarmSession, tmp_path: Path
) -> None:
    bench = MergeBench(session, tmp_path, BASE)
    store = CommitStore.of(bench.store)
    change_schema(bench.table("main"), store, [add_column("mine", STRING)], now_millis=0)
    change_schema(bench.table("dev"), store, [add_column("new", STRING)], now_millis=0)
    bench.write("main", [(1, 10, "x", "mine")])
    bench.write("dev", [(1, 1, "y", "new"), (2, 2, "x", "new")])
    scope = bench.scope()
    final = replace(add_column("new", STRING)(scope.schema), id=3, time_millis=1)
    numbers = {field.name: field.id for field in final.fields}
    theirs = {
        number: replace(schema, fields=tuple(replace(f, id=numbers[f.name]) for f in schema.fields))
        for number, schema in scope.theirs_schemas.items()
    }
    scope = replace(
        scope,
        schema=final,
        theirs_schemas=theirs,
    )
    found = bench.engine.reconcile(bench.table("main"), scope, bench.work(), Policy(), idle)
    assert verdicts(found) == {"both": 1}
    (message,) = found.messages
    assert message.new_files["schema_id"].to_pylist() == [3]
    change_schema(bench.table("main"), store, [add_column("other", STRING)], now_millis=1)
    Path(bench.table("main").paths.schema(3)).write_text(final.to_json())
    bench.commit("main", found.messages)
    assert bench.rows("main")[0] == (1, 10, "y", "mine", "new")


@each_version
def test_paimon_reads_the_same_rows(bench: MergeBench, tmp_path: Path, version: str) -> None:
    bench.merge(SETTLED)
    read = Read(table="db.t")
    found = read_with_java(version, tmp_path, [read])[read]
    assert isinstance(found, list)
    assert sorted(found) == MERGED


def test_tables_that_cannot_be_written_are_refused_by_a_preview_too(
    bench: MergeBench,
) -> None:
    schema = bench.scope().schema.with_options({"bucket": "-2"})
    scope = replace(bench.scope(), schema=schema)
    with pytest.raises(InvalidInput, match="the buckets are postpone"):
        bench.engine.reconcile(
            bench.table("main"), scope, bench.work(), Policy(), idle, writes=False
        )


def test_a_policy_that_does_not_fit_is_refused(bench: MergeBench) -> None:
    with pytest.raises(InvalidInput, match="names column 'c'"):
        bench.reconcile("tables: {db.t: {columns: {c: max}}}")


@pytest.mark.depth("full")
@pytest.mark.parametrize("rule", ["row", "touched"])
def test_rows_that_both_changed_in_part_conflict_where_a_policy_says_so(
    rule: str, bench: MergeBench
) -> None:
    found = bench.reconcile(f"rows: {rule}", writes=False)
    assert found.conflicts["column"].null_count == found.conflicts.num_rows == found.open_count
    assert [row["key"]["id"] for row in found.conflicts.to_pylist()] == [1, 2, 3]


@pytest.mark.depth("full")
@pytest.mark.parametrize(
    ("options", "row_1"),
    [
        ({"merge-engine": "first-row"}, (1, 1, "x")),
        ({"deletion-vectors.enabled": "true"}, (1, 10, "y")),
    ],
)
def test_a_bucket_whose_readers_skip_level_0_is_written_anew(
    session: WarmSession, tmp_path: Path, options: dict[str, str], row_1: tuple[Any, ...]
) -> None:
    bench = MergeBench(session, tmp_path, BASE, options=options)
    bench.write("main", [(1, 10, "x"), (7, 7, "ours")])
    bench.write("dev", [(1, 1, "y"), (8, 8, "theirs")])
    (work,) = bench.work(theirs_gone=True)
    found = bench.merge(theirs_gone=True)
    (message,) = found.messages
    assert message.deleted_files.num_rows == work.ours.entries.num_rows
    assert set(message.new_files["level"].to_pylist()) == {5}
    added = [(7, 7, "ours"), (8, 8, "theirs")]
    assert bench.rows("main") == [row_1, *BASE[1:], *added]


def test_a_partition_of_dynamic_buckets_is_written_by_the_index_of_the_target(
    session: WarmSession, tmp_path: Path
) -> None:
    options = {"bucket": "-1", "dynamic-bucket.target-row-num": "2"}
    bench = MergeBench(session, tmp_path, BASE, options=options)
    bench.write("main", [(7, 7, "ours"), (10, 1, "new"), (9, 1, "new"), (1, 10, "x")])
    bench.write("dev", [(9, 1, "new"), (8, 8, "theirs"), (10, 1, "new")], [(4, 4, "x")])
    main, dev = bench.table("main"), bench.table("dev")
    heads = (bench.base, bench.head("main"), bench.head("dev"))
    live = [main.live_files(heads[0]), main.live_files(heads[1]), dev.live_files(heads[2])]
    base, ours, theirs = (
        BucketFiles(entries=each, marks=NO_INDEX_FILES, in_target=each is not live[2])
        for each in live
    )
    work = RowWork(
        partition=live[1]["partition"][0].as_py(),
        bucket=EVERY_BUCKET,
        base=base,
        ours=ours,
        theirs=theirs,
        ours_changed=_without(live[1], live[0]),
        theirs_changed=None,
        index=hash_index_entries(main.index_entries(heads[1])),
    )
    found = bench.engine.reconcile(main, bench.scope(), [work], Policy(), idle)
    assert verdicts(found) == {"once": 2, "theirs": 2}
    assert written_rows(found) == 2
    bench.commit("main", found.messages)
    wanted = [(1, 10, "x"), *(row for row in BASE if row[0] not in (1, 4)), (7, 7, "ours")]
    wanted += [(8, 8, "theirs"), (9, 1, "new"), (10, 1, "new")]
    assert bench.rows("main") == wanted
    # Readers merge a key within its bucket: one that has two of them would be there twice.
    bench.write("main", [(each, 0, "again") for each, *_ in wanted])
    assert bench.rows("main") == [(each, 0, "again") for each, *_ in wanted]


def test_no_work_is_no_run(bench: MergeBench) -> None:
    table, scope = bench.table("main"), bench.scope()
    assert bench.engine.find_changed_keys(table, scope, [], idle).num_rows == 0
    found = bench.engine.reconcile(table, scope, [], Policy(), idle)
    assert (found.conflicts.num_rows, found.verdicts.num_rows, found.messages) == (0, 0, ())


def test_a_file_that_is_gone_is_named(bench: MergeBench) -> None:
    (file, *_) = bench.work()[0].theirs_changed.to_pylist()  # type: ignore[union-attr]
    Path(f"{bench.path}/bucket-0/{file['file_name']}").unlink()
    with pytest.raises(FormatError, match=file["file_name"]):
        bench.reconcile()
