"""Warehouses whose tables are kept in a Hive metastore or in the database of a JDBC catalog."""

from pathlib import Path
from typing import Any

import pytest

from branch_console.commit.schema.schema_commit import change_schema, set_options
from branch_console.errors import ErrorKind, NotAllowed, Refused
from branch_console.format.other_catalog import CatalogKind
from branch_console.format.receipt import Receipt
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.preview import preview_call
from branch_console.sql.parser import parse_statements
from tests.support.branch_bench import NOW, BranchBench, TrustingRows
from tests.support.lifecycle import metadata

_STATEMENTS = (
    "CREATE TABLE db.new (a INT)",
    "DROP TABLE db.t",
    "ALTER TABLE db.t RENAME TO db.u",
    "ALTER TABLE db.t ADD COLUMN x INT",
    "ALTER TABLE db.t SET TBLPROPERTIES ('snapshot.num-retained.max' = '7')",
)
_OTHERS = (CatalogKind.HIVE, CatalogKind.JDBC)


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """A table with a branch."""
    bench = BranchBench(tmp_path)
    bench.append("a")
    bench.branch("dev")
    return bench


def _call(
    bench: BranchBench,
    name: str,
    kind: CatalogKind | None,
    operation_id: str = "op",
    **given: Argument,
) -> Receipt:
    call = ProcedureCall(name=name, arguments=given, actor="ann", operation_id=operation_id)
    warehouse = bench.warehouse(catalog_kind=kind)
    rows: Any = TrustingRows()
    return run_call(warehouse, rows, call, InlineStages())


def _run(bench: BranchBench, sql: str, kind: CatalogKind | None = None) -> str:
    (statement,) = parse_statements(sql, "main")
    receipt = _call(bench, statement.procedure, kind, **statement.arguments)
    return " ".join(receipt.notes)


def _set(bench: BranchBench, **options: str) -> None:
    given = {key.replace("__", "."): value for key, value in options.items()}
    change_schema(bench.table(), bench.store, [set_options(given)], now_millis=NOW)


@pytest.mark.parametrize("kind", _OTHERS)
@pytest.mark.parametrize("sql", _STATEMENTS)
def test_the_setting_keeps_tables_from_being_changed_beside_the_catalog(
    bench: BranchBench, sql: str, kind: CatalogKind
) -> None:
    before = metadata(bench)
    with pytest.raises(NotAllowed, match=f"The setting catalog={kind} says") as refused:
        _run(bench, sql, kind)
    assert refused.value.kind is ErrorKind.UNSUPPORTED
    assert "Nothing was changed." in refused.value.message
    assert metadata(bench) == before


@pytest.mark.parametrize("sql", _STATEMENTS)
def test_a_sign_in_any_table_of_the_database_does_so_too_unless_the_setting_knows_better(
    bench: BranchBench, sql: str
) -> None:
    _set(bench, hive__owner="ann")
    if "db.new" not in sql:
        # The sign of a neighbour tells of the catalog as well as the table's own.
        _run(bench, "CREATE TABLE db.other (a INT)", CatalogKind.FILESYSTEM)
        sql = sql.replace("db.t", "db.other")
    with pytest.raises(NotAllowed, match=r"The option 'hive\.owner' of db\.t says"):
        _run(bench, sql)
    assert _run(bench, sql, CatalogKind.FILESYSTEM)


@pytest.mark.parametrize("kind", _OTHERS)
def test_branches_and_tags_lie_in_the_folder_of_the_table_and_are_made_as_ever(
    bench: BranchBench, kind: CatalogKind
) -> None:
    _run(bench, "ALTER TABLE db.`t$branch_dev` ADD COLUMN x INT", kind)
    bench.append("b", branch="dev")
    _call(bench, "create_tag", kind, table="db.t", tag="v1")
    assert bench.table("dev").schema().find_field("x") is not None


@pytest.mark.parametrize("kind", _OTHERS)
@pytest.mark.parametrize("verb", ["merge_branch", "fast_forward", "replace_main"])
def test_a_schema_that_comes_to_main_is_told_to_the_catalog_or_refused(
    bench: BranchBench, kind: CatalogKind, verb: str
) -> None:
    _run(bench, "ALTER TABLE db.`t$branch_dev` ADD COLUMN x INT", kind)
    bench.append("b", branch="dev")
    if verb == "merge_branch":
        bench.append("c")
    before = metadata(bench)
    with pytest.raises(Refused, match="keeps a copy of the columns and options of main in"):
        _call(bench, verb, kind, table="db.t", branch="dev")
    assert metadata(bench) == before
    given: dict[str, Argument] = {"table": "db.t", "branch": "dev", "without_callbacks": "later"}
    call = ProcedureCall(name=verb, arguments=given, actor="ann", operation_id="preview")
    told = preview_call(bench.warehouse(catalog_kind=kind), call)
    assert any("until CALL sys.repair is run" in each.text for each in told.consequences)
    receipt = _call(bench, verb, kind, **given)
    assert "Without what 'metastore' asks for: later" in receipt.notes
    assert bench.table().schema().find_field("x") is not None


@pytest.mark.parametrize("kind", _OTHERS)
def test_options_of_main_that_follow_a_rename_and_its_undo_are_told_to_the_catalog_or_refused(
    bench: BranchBench, kind: CatalogKind
) -> None:
    change_schema(
        bench.table(), bench.store, [set_options({"scan.fallback-branch": "dev"})], now_millis=NOW
    )
    renamed: dict[str, Argument] = {"branch": "dev", "to": "fix", "update_options": True}
    for verb, given in (("rename_branch", renamed), ("undo", {"operation": "op"})):
        before = metadata(bench)
        with pytest.raises(Refused, match="keeps a copy of the columns and options of main in"):
            _call(bench, verb, kind, operation_id=verb[:2], table="db.t", **given)
        assert metadata(bench) == before
        receipt = _call(
            bench, verb, kind, operation_id="op" if verb != "undo" else "back",
            table="db.t", **given, without_callbacks="later",
        )  # fmt: skip
        assert "Without what 'metastore' asks for: later" in receipt.notes


@pytest.mark.parametrize("kind", _OTHERS)
def test_rows_that_come_to_main_are_no_matter_of_the_catalog(
    bench: BranchBench, kind: CatalogKind
) -> None:
    bench.append("b", branch="dev")
    _call(bench, "fast_forward", kind, table="db.t", branch="dev")
    head = bench.table().head()
    assert head is not None
    assert head.id == 2
