"""What people are told where something is refused: each message is provoked, and kept in a file.

`pytest --update-golden tests/golden/test_refusals.py` writes it again; read its diff as a stranger.
Refusals of merges, and of statements for their rows, have files of their own.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import StructType

from branch_console.commit.schema.schema_commit import change_schema
from branch_console.commit.snapshot.commit_check import check_features
from branch_console.format.data_types import DataField, parse_data_type
from branch_console.format.layout_options import check_rows_read, check_rows_written
from branch_console.format.manifest_entry import decode_manifest
from branch_console.format.options import Options
from branch_console.format.other_catalog import CatalogKind
from branch_console.format.scan_options import ScanOptions
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.shredded_variant import plain_variants
from branch_console.procedures.browse.branches import list_branches
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.preview import preview_call
from branch_console.spark.connector.data_source import BranchDataSource
from branch_console.spark.files.data_reader import DataFile, read_data_file
from branch_console.sql.parser import parse_statements
from branch_console.storage.file_io import FileIO
from branch_console.table.missing_schemas import check_schemas
from branch_console.table.scan_state import state_asked
from branch_console_app.cli.sql import _with_reason
from tests.support.branch_bench import NOW, BranchBench, TrustingRows
from tests.support.golden import Golden
from tests.support.refusals import Refusal, write_refusals
from tests.support.table_files import a_schema

_ICEBERG = {"metadata.iceberg.storage": "table-location"}
_KEPT_FOR_OTHERS = (
    ("a commit", "merge_branch", _ICEBERG),
    ("a tag", "create_tag", _ICEBERG),
    ("a commit", "merge_branch", {"metastore.partitioned-table": "true"}),
    ("a tag", "create_tag", {"metastore.tag-to-partition": "dt"}),
    ("a commit", "merge_branch", {"metastore.tag-to-partition": "dt",
                                  "metastore.tag-to-partition.preview": "process-time"}),
    ("a commit", "merge_branch", {"commit.callbacks": "org.example.Told"}),
    ("a tag", "create_tag", {"tag.callbacks": "org.example.Told"}),
)  # fmt: skip
_DDL = (
    "CREATE TABLE db.new (a INT)",
    "DROP TABLE db.t",
    "ALTER TABLE db.t RENAME TO db.u",
    "ALTER TABLE db.t ADD COLUMN x INT",
)
_SPELLINGS = (
    "CALL create_branch('db.t', 'dev')",
    "CALL sys.expire_snapshots(table => 'db.t')",
    "CALL sys.undo(table => 'db.t', operaton => '7')",
    "SET 'execution.runtime-mode' = 'batch'",
    "RESET 'execution.runtime-mode'",
    "CREATE VIEW sales.v AS SELECT 1",
    "CREATE DATABASE sales LOCATION '/elsewhere'",
    "ALTER DATABASE sales SET OWNER USER ann",
    "ALTER TABLE db.t SET",
    "ALTER TABLE db.t SET ('bucket')",
    "ALTER TABLE db.t RESET ()",
    "EXPLAIN",
    "EXPLAIN DELETE FROM db.t",
    "SHOW VIEWS",
    "MERGE DATABASE dev",
    "MERGE BRANCH dev ON db",
    "INSERT INTO t VALUES (1)",
    "INSERT INTO db.`t$snapshots` VALUES (1)",
    "INSERT INTO db.t /*+ OPTIONS('scan.snapshot-id' = '1') */ VALUES (1)",
    "INSERT INTO db.t /*+ OPTIONS('without-callbacks' = '') */ VALUES (1)",
    "INSERT INTO db.t /*+ BROADCAST(t) */ VALUES (1)",
    "TRUNCATE TABLE db.t PARTITION (g)",
    "UPDATE db.t SET a.b = 1",
    "SELECT reflect('java.lang.System', 'exit', 1)",
    "SELECT /*+ BRODCAST(t) */ * FROM db.t",
    "MERGE INTO db.t USING db.s ON t.a = s.a WHEN MATCHED THEN UPDATE *, WHEN MATCHED THEN DELETE",
)
_OPTIONS_OF_READS = (
    {"sequence.snapshot-ordering": "true"},
    {"postpone.merge-on-read": "true"},
    {"orc.timestamp-ltz.legacy.type": "false"},
    {"vector-field": "v"},
    {"blob-field": "b"},
    {"scan.mode": "compacted-full"},
    {"scan.bucket": "3"},
)
_OPTIONS_OF_WRITES = (
    {"pk-clustering-override": "true"},
    {"pk-vector.index.columns": "v"},
    {"upsert-key": "id"},
    {"chain-table.enabled": "true"},
    {"write.sequence-number-init-mode": "snapshot"},
    {"no-such-option": "1"},
)


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """A table with a branch beside main."""
    bench = BranchBench(tmp_path / "wh")
    bench.append("a")
    bench.tag("v1")
    bench.branch("dev")
    bench.append("b", branch="dev")
    bench.append("c")
    return bench


def _set_only(bench: BranchBench, options: dict[str, str]) -> None:
    def change(schema: TableSchema) -> TableSchema:
        return replace(schema, options=Options(options))

    change_schema(bench.table(), bench.store, [change], now_millis=NOW)


def _call(
    bench: BranchBench,
    name: str,
    *,
    kind: CatalogKind | None = None,
    role: str = "operator",
    operation: str = "op",
    **arguments: Any,
) -> object:
    given = {"table": "db.t", **arguments}
    call = ProcedureCall(name=name, arguments=given, actor="ann", operation_id=operation, role=role)
    rows: Any = TrustingRows()
    return run_call(bench.warehouse(catalog_kind=kind), rows, call, InlineStages())


def _statement(bench: BranchBench, sql: str, kind: CatalogKind | None = None) -> object:
    (found,) = parse_statements(sql)
    return _call(bench, found.procedure, kind=kind, **found.arguments)


def _consequences(
    bench: BranchBench, name: str, *, kind: CatalogKind | None = None, **arguments: Any
) -> str:
    given = {"table": "db.t", **arguments}
    call = ProcedureCall(name=name, arguments=given, actor="ann", operation_id="preview")
    preview = preview_call(bench.warehouse(catalog_kind=kind), call)
    # What else a merge does has words of its own, which are no refusals.
    told = [each for each in preview.consequences if each.excused_by or name == "repair_branch"]
    return "\n".join(f"({each.weight}) {each.text}" for each in told)


def test_metadata_that_paimon_keeps_for_others(
    bench: BranchBench, tmp_path: Path, golden: Golden
) -> None:
    def cases() -> Iterator[Refusal]:
        for what, verb, options in _KEPT_FOR_OTHERS:
            _set_only(bench, options)
            more = {"branch": "dev"} if verb == "merge_branch" else {"tag": "new"}
            title = f"{what}, {' '.join(options)}"
            yield title, partial(_call, bench, verb, **more)
            told = partial(_consequences, bench, verb, without_callbacks="by hand", **more)
            yield f"{title}: the preview with a reason", told
        _set_only(bench, _ICEBERG)
        table = bench.table()
        yield "a statement that writes rows", partial(check_features, table, table.schema())
        yield (
            "a reason that an editor gives",
            partial(
                _call, bench, "merge_branch", branch="dev", role="editor", without_callbacks="so"
            ),
        )
        looks = parse_statements("SHOW BRANCHES FROM db.t")
        yield (
            "sql --without-callbacks, for SHOW BRANCHES",
            partial(_with_reason, looks, {"without_callbacks": "by hand"}),
        )

    write_refusals(golden, tmp_path, "kept-for-others", cases())


def test_tables_of_other_catalogs(bench: BranchBench, tmp_path: Path, golden: Golden) -> None:
    def cases() -> Iterator[Refusal]:
        for kind in (CatalogKind.HIVE, CatalogKind.JDBC):
            for sql in _DDL:
                yield f"catalog={kind}: {sql}", partial(_statement, bench, sql, kind)
        _set_only(bench, {"metastore.partitioned-table": "true"})
        for sql in _DDL[:2]:
            yield f"a sign of Hive in db.t: {sql}", partial(_statement, bench, sql)
        _set_only(bench, {})
        bench.alter("dev")
        for more in ({}, {"without_callbacks": "by hand"}):
            yield (
                f"catalog=hive: a merge that adds a column{', with a reason' if more else ''}",
                partial(
                    _consequences,
                    bench,
                    "merge_branch",
                    kind=CatalogKind.HIVE,
                    branch="dev",
                    **more,
                ),
            )

    write_refusals(golden, tmp_path, "other-catalogs", cases())


def test_commits_that_come_while_a_merge_is_made(
    bench: BranchBench, tmp_path: Path, golden: Golden
) -> None:
    def cases() -> Iterator[Refusal]:
        merge = partial(_call, bench, "merge_branch", branch="dev")
        seen = "2:2"
        yield "--wait soon", partial(merge, wait="soon")
        yield "heads that are none", partial(merge, heads="dev")
        yield "heads that are gone", partial(merge, heads="2:9")
        yield "a preview that was made before", partial(merge, plan_id="0", heads=seen)
        bench.alter()
        bench.append("d")
        merge(operation="other")
        yield "another merge came meanwhile", partial(merge, heads=seen)
        bench.store.remover.remove([bench.table().paths.snapshot(3)])
        yield "a snapshot in between has expired", partial(merge, heads=seen)
        paths = bench.table().paths
        bench.store.remover.remove([paths.snapshot(4), paths.latest_hint])
        yield "the target was cut back", partial(merge, heads="2:3")

    write_refusals(golden, tmp_path, "live-merges", cases())


def test_commits_to_an_archived_branch(bench: BranchBench, tmp_path: Path, golden: Golden) -> None:
    bench.branch("old")
    bench.append("d", branch="dev")
    for each in ("dev", "old"):
        _call(bench, "archive_branch", operation=f"archive-{each}", branch=each)
    dev = "db.`t$branch_dev`"

    def cases() -> Iterator[Refusal]:
        yield "fast_forward", partial(_call, bench, "fast_forward", branch="main", target="old")
        yield "merge_branch", partial(_call, bench, "merge_branch", branch="main", target="dev")
        pick = partial(_call, bench, "cherry_pick", branch="main", target="dev", snapshot=2)
        yield "cherry_pick", pick
        revert = partial(_call, bench, "revert", table="db.t$branch_dev", snapshot=3)
        yield "revert", revert
        yield "rollback", partial(_call, bench, "rollback", table="db.t$branch_dev", snapshot=2)
        yield "compact", partial(_call, bench, "compact", table="db.t$branch_dev")
        manifests = partial(_call, bench, "compact_manifest", table="db.t$branch_dev")
        yield "compact_manifest", manifests
        for sql in (
            f"INSERT INTO {dev} VALUES (1, 'a', 1)",
            f"DELETE FROM {dev} WHERE id = 1",
            f"ALTER TABLE {dev} ADD COLUMN more INT",
        ):
            yield sql, partial(_statement, bench, sql)
        yield "archived already", partial(_call, bench, "archive_branch", branch="dev")
        yield "main", partial(_call, bench, "archive_branch", branch="main")
        away = partial(_call, bench, "archive_branch", archived=False)
        away(branch="dev", operation="out")
        yield "not archived", partial(away, branch="dev")

    write_refusals(golden, tmp_path, "archived", cases())


def test_spellings_of_sql(tmp_path: Path, golden: Golden) -> None:
    cases = ((sql, partial(parse_statements, sql)) for sql in _SPELLINGS)
    write_refusals(golden, tmp_path, "sql", cases)


def test_options_by_which_rows_lie_otherwise(tmp_path: Path, golden: Golden) -> None:
    def cases() -> Iterator[Refusal]:
        for options in _OPTIONS_OF_READS:
            yield f"a read of a table with {options}", partial(check_rows_read, options)
        for options in _OPTIONS_OF_WRITES:
            yield f"a statement on a table with {options}", partial(check_rows_written, options)

    write_refusals(golden, tmp_path, "table-options", cases())


def test_times_that_no_snapshot_has(bench: BranchBench, tmp_path: Path, golden: Golden) -> None:
    asked = (
        {"scan.timestamp": "2020-01-01 00:00:00"},
        {"scan.timestamp-millis": "1577836800000"},
        {"scan.timestamp": "yesterday"},
        {"scan.snapshot-id": "70"},
        {"scan.tag-name": "v7"},
        {"scan.snapshot-d": "1"},
        {"incremental-between": "2,1"},
    )
    cases = ((str(each), partial(_asked, bench, each)) for each in asked)
    write_refusals(golden, tmp_path, "times", cases)


def _asked(bench: BranchBench, options: dict[str, str]) -> object:
    return state_asked(bench.table(), ScanOptions.parse(options))


def test_a_branch_without_a_schema(bench: BranchBench, tmp_path: Path, golden: Golden) -> None:
    def cases() -> Iterator[Refusal]:
        bench.alter()
        bench.append("d")
        bench.branch("new")
        bench.append("e", branch="new")
        bench.store.remover.remove([bench.table("new").paths.schema(0)])
        yield "its health", partial(_health, bench, "new")
        yield "a read of it", partial(_read_all, bench, "new")
        yield (
            "the repair, told beforehand",
            partial(_consequences, bench, "repair_branch", branch="new"),
        )
        yield (
            "the repair of a healthy one",
            partial(_call, bench, "repair_branch", branch="dev"),
        )
        bench.store.remover.remove([bench.table().paths.schema(0)])
        yield (
            "the repair where main lost it too",
            partial(_call, bench, "repair_branch", branch="new"),
        )

    write_refusals(golden, tmp_path, "missing-schema", cases())


def _health(bench: BranchBench, branch: str) -> str:
    items = list_branches(bench.warehouse(), bench.identifier)
    found = next(each for each in items if each.name == branch).findings
    return "\n".join(f"({each.severity}) {each.sentences}" for each in found)


def _read_all(bench: BranchBench, branch: str) -> None:
    table = bench.table(branch)
    head = table.head()
    assert head is not None
    check_schemas(table, table.live_files(head), table.schemas.ids())


def test_files_that_cannot_be_read(tmp_path: Path, golden: Golden) -> None:
    rows = pa.table({"c": pa.array([1, 2], pa.int32())})
    pq.write_table(rows, tmp_path / "data-1.parquet")
    whole = (tmp_path / "data-1.parquet").read_bytes()
    (tmp_path / "data-2.parquet").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "data-4.lance").write_bytes(whole)
    cases = (
        ("a file that is cut in half", partial(_read, tmp_path, "data-2.parquet", "INT")),
        ("a file that is missing", partial(_read, tmp_path, "data-3.parquet", "INT")),
        ("a file of another format", partial(_read, tmp_path, "data-4.lance", "INT")),
        (
            "a column whose type changed in a way that is not known",
            partial(_read, tmp_path, "data-1.parquet", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
        ),
        (
            "a store that is not known",
            partial(FileIO.for_url, "no-store://host/warehouse"),
        ),
        (
            "an external file in another store than the table",
            partial(FileIO.for_url(str(tmp_path)).path_of, "s3://bucket/data-5.parquet"),
        ),
        (
            "a VARIANT that is shredded into a type that is not known",
            partial(plain_variants, _shredded_into(pa.time64("us"))),
        ),
        ("a manifest in Avro that is cut in half", partial(_read_manifest, b"Obj\x01\x00")),
        ("a manifest in Parquet that is cut in half", partial(_read_manifest, whole[:20])),
        ("a manifest in ORC that is cut in half", partial(_read_manifest, b"ORC" + bytes(20))),
    )
    write_refusals(golden, tmp_path, "files", iter(cases))


def _shredded_into(kind: pa.DataType) -> pa.Array:
    parts = {"metadata": pa.binary(), "value": pa.binary(), "typed_value": kind}
    return pa.array([], pa.struct(list(parts.items())))


def _read_manifest(data: bytes) -> object:
    return decode_manifest(data, "manifest-1")


def _read(folder: Path, name: str, wanted: str) -> object:
    path = folder / name
    size = path.stat().st_size if path.exists() else 100
    schemas = {0: a_schema(0, (("c", parse_data_type("INT")),))}
    fields = (DataField(id=0, name="c", type=parse_data_type(wanted)),)
    file = DataFile(path=str(path), size=size, schema_id=0)
    return read_data_file(FileIO.for_url(str(folder)), file, schemas, fields, with_system=False)


def test_the_data_source(bench: BranchBench, tmp_path: Path, golden: Golden) -> None:
    asked: tuple[dict[str, str], ...] = (
        {"brnch": "dev"},
        {"branch": "def"},
        {"tag": "v7"},
        {"snapshot": "first"},
        {"snapshot": "70"},
        {"timestamp": "2020-01-01"},
        {"timestamp": "yesterday"},
        {"tag": "v1", "snapshot": "1"},
        {"changes": "1"},
        {"changes": "1,2", "filter": "id = 1"},
        {"filter": "id ="},
        {"table": "db.u"},
        {"path": "/elsewhere"},
    )
    write_refusals(
        golden, tmp_path, "data-source",
        ((str(each), partial(_load, bench, each)) for each in asked),
    )  # fmt: skip


def _load(bench: BranchBench, options: dict[str, str]) -> object:
    where = {"warehouse": bench.file_io.root, "table": "db.t"}
    return BranchDataSource({**where, **options}).reader(StructType()).partitions()
