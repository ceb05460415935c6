"""What people are told where rows of a statement, or of a merge, are refused."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.format.data_types import DataType, parse_data_type
from branch_console.format.table_schema import TableSchema
from branch_console.merge.row_work import JoinedDeletesResult, RowScope
from branch_console.procedures.run.prepare import AgreedConflicts
from branch_console.spark.files.conform import check_assignable, conform, constant_for
from branch_console.spark.files.data_files import check_deletes, check_writable
from branch_console.spark.files.row_files import check_format
from branch_console.spark.merge.bucket_sides import BucketReader, key_bytes
from branch_console.spark.read.readers import check_readable, plan_table
from branch_console.spark.write.compaction import check_compactable
from branch_console.spark.write.target_rows import check_delete, check_update
from branch_console.storage.file_io import FileIO
from branch_console.table.table_state import ReadState
from tests.support.branch_bench import BranchBench, TrustingRows
from tests.support.contested_table import ContestedTable
from tests.support.golden import Golden
from tests.support.local_tables import LocalTable, rows_of
from tests.support.refusals import Refusal, write_refusals
from tests.support.table_files import a_schema
from tests.unit.procedures.test_merge_branch import MANAGED, delete_rows

SIDES = {"branch": "fix-delays", "target": "main"}


def columns(*given: tuple[str, object]) -> list[tuple[str, DataType]]:
    return [(name, parse_data_type(kind)) for name, kind in given]


def keyed(**options: str) -> TableSchema:
    named = {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
    given = columns(("id", "INT NOT NULL"), ("v", "INT"))
    return a_schema(columns=given, primary_keys=["id"], options={"bucket": "1", **named})


FINE = a_schema(
    columns=columns(
        ("k", "INT"), ("t", "TIMESTAMP(9)"), ("l", {"type": "ARRAY", "element": "TIMESTAMP(9)"})
    )
)
STRICT = a_schema(columns=columns(("id", "INT NOT NULL"), ("c", "VARCHAR(2)"), ("d", "DATE")))


def fine_times(folder: Path, column: str) -> None:
    """Read a time of nine digits as a statement that writes it into such a column does."""
    table = LocalTable(folder, FINE)
    times = pa.array([1_700_000_000_123_456_789], pa.timestamp("ns"))
    rows = {"t": times, "l": pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), times)}
    snapshot = table.append(pa.table({"k": pa.array([1], pa.int32()), **rows}))
    state = ReadState(table=table.table(), snapshot=snapshot, schema=FINE)
    read = plan_table(table.file_io, state, columns=[column])
    rows_of(replace(read, task=replace(read.task, keeps_times=True)))


def test_rows_that_a_statement_does_not_write(tmp_path: Path, golden: Golden) -> None:
    def of_updates() -> Iterator[Refusal]:
        asked: Sequence[tuple[str, TableSchema, tuple[str, ...]]] = (
            ("of no column", keyed(), ()),
            ("of a column that there is not", keyed(), ("w",)),
            ("of the key", keyed(), ("id",)),
            ("by a merge engine", keyed(merge_engine="first-row"), ("v",)),
            ("of rows with ids", a_schema(options={"row-tracking.enabled": "true"}), ("name",)),
            (
                "where an aggregate merges what is written",
                keyed(merge_engine="partial-update", fields__v__aggregate_function="sum"),
                ("v",),
            ),
            (
                "of a sequence field in descending order",
                keyed(sequence__field="v", sequence__field__sort_order="descending"),
                ("v",),
            ),
            ("of a table with TIMESTAMP(9)", FINE, ("k",)),
        )
        for what, schema, names in asked:
            yield f"UPDATE {what}", partial(check_update, schema, names)

    def of_deletes() -> Iterator[Refusal]:
        fine = columns(("t", "TIMESTAMP(9) NOT NULL"))
        yield (
            "DELETE by a key with TIMESTAMP(9)",
            partial(check_delete, a_schema(columns=fine, primary_keys=["t"])),
        )
        for schema in (
            keyed(ignore_delete="true"),
            keyed(merge_engine="first-row"),
            keyed(merge_engine="aggregation"),
        ):
            yield f"DELETE of a table with {dict(schema.options)}", partial(check_deletes, schema)

    def of_inserts() -> Iterator[Refusal]:
        for column in ("t", "l"):
            yield (
                f"INSERT of times with nine digits, column {column}",
                partial(fine_times, tmp_path / column, column),
            )
        given: Sequence[tuple[str, dict[str, list[object]]]] = (
            ("a column that there is not", {"id": [1], "x": [1]}),
            ("a null", {"id": [1, None]}),
            ("a text that is too long", {"id": [1], "c": ["long"]}),
            ("a number that is too large", {"id": [2**40]}),
        )
        for what, rows in given:
            yield f"INSERT of {what}", partial(conform, pa.table(rows), STRICT)
        yield "INSERT without a value", partial(check_assignable, {}, STRICT)
        yield (
            "INSERT of another type",
            partial(check_assignable, {"id": pa.int32(), "d": pa.int32()}, STRICT),
        )
        yield "SET of another type", partial(constant_for, "soon", STRICT.field("d"))

    def of_tables() -> Iterator[Refusal]:
        for schema in (
            keyed(bucket="-2"),
            keyed(file__format="lance"),
            keyed(file__compression="brotli"),
        ):
            yield f"a write to a table with {dict(schema.options)}", partial(check_writable, schema)
        odd = a_schema(
            columns=columns(("m", {"type": "MULTISET", "element": "INT"})),
            options={"file.format": "avro"},
        )
        yield "a write of a MULTISET to Avro", partial(check_format, odd)
        yield (
            "a read of a table with data evolution",
            partial(check_readable, a_schema(options={"data-evolution.enabled": "true"})),
        )
        for schema in (
            a_schema(options={"row-tracking.enabled": "true"}),
            keyed(changelog_producer="lookup"),
            keyed(record_level__expire_time="1 d"),
        ):
            yield f"CALL compact with {dict(schema.options)}", partial(check_compactable, schema)

    def of_merges() -> Iterator[Refusal]:
        schema = keyed()
        scope = RowScope(table="db.t", schema=schema, ours_schemas={}, theirs_schemas={})
        reader = BucketReader(store=FileIO.for_url(str(tmp_path)), scope=scope)
        changed = pa.table({"id": pa.array([1, 2], pa.int32())})
        yield (
            "a merge of files that hold other keys than they tell",
            partial(reader._check_found, key_bytes(changed, schema), [changed.slice(1)]),
        )

    def cases() -> Iterator[Refusal]:
        for each in (of_updates, of_deletes, of_inserts, of_tables, of_merges):
            yield from each()

    write_refusals(golden, tmp_path, "rows", cases())


@pytest.fixture
def table(tmp_path: Path) -> ContestedTable:
    return ContestedTable(tmp_path / "warehouse", flights=3)


def settled_in_two_ways(table: ContestedTable) -> None:
    """Let two branches merge each other at once, each keeping its own rows."""
    ours = 'version: 1\ntables: {"*": {take: ours}}'
    for name, source in (("old-main", "main"), ("old-fix", "fix-delays")):
        table.call("create_branch", branch=name, from_branch=source)
    table.call("merge_branch", branch="old-fix", target="main", policy=ours)
    table.call("merge_branch", branch="old-main", target="fix-delays", policy=ours)
    table.write("fix-delays", delay=9, note="later")
    table.write("main", delay=8, note="later")
    table.call("merge_branch", **SIDES)


class Unmatched(TrustingRows):
    """Matches no row of one side with one of the other."""

    def join_deletes(self, *_: object) -> JoinedDeletesResult[CommitMessage]:
        return JoinedDeletesResult(messages=(), unresolved_files=("data-base.parquet",))


def unmatched(folder: Path) -> None:
    bench = BranchBench(folder, options=dict(MANAGED))
    bench.append("base")
    bench.branch("dev")
    delete_rows(bench, "dev", "base", left="theirs", rows=7)
    delete_rows(bench, "main", "base", left="ours", rows=8)
    bench.call("merge_branch", branch="dev", rows=Unmatched())


def decided(seen: str, moved: str | None) -> None:
    rows = AgreedConflicts(decided=seen, moved=moved)
    rows.check("other rows")


def test_conflicts_of_rows_that_are_left_open(
    table: ContestedTable, tmp_path: Path, golden: Golden
) -> None:
    def cases() -> Iterator[Refusal]:
        yield "a merge", partial(table.call, "merge_branch", **SIDES)
        yield "a dry run", partial(table.call, "dry_run_merge", **SIDES)
        yield "a pick", partial(table.call, "cherry_pick", snapshot=3, **SIDES)
        yield (
            "a policy that settles some",
            partial(
                table.call,
                "merge_branch",
                policy="version: 1\nkinds: {deleted and changed: ours}",
                **SIDES,
            ),
        )
        yield (
            "a merge that was planned again",
            partial(decided, "rows", "Branch 'main' has moved: the merge was planned again."),
        )
        yield "files of a table without a key", partial(unmatched, tmp_path / "keyless")
        yield "branches that merged each other", partial(settled_in_two_ways, table)

    write_refusals(golden, tmp_path, "row-conflicts", cases())
