"""What a rollback brought back survives the expiry of the Java library."""

from pathlib import Path

import pytest

from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from tests.support.java_paimon import JavaPaimon
from tests.support.local_row_engine import LocalFiles

_KEPT = {"write-only": "true", "snapshot.num-retained.min": "1000"}


def _run(warehouse: Warehouse, name: str, **arguments: Argument) -> str:
    call = ProcedureCall(
        name=name, arguments={"table": "db.t", **arguments}, actor="ann", operation_id=f"op-{name}"
    )
    return run_call(warehouse, LocalFiles(), call, InlineStages()).operation_id


@pytest.mark.parametrize("keys", [[], ["id"]], ids=["append", "keys"])
@pytest.mark.parametrize("tag_between", [False, True], ids=["no tag", "a tag between"])
def test_java_expires_all_before_the_rollback_and_its_rows_stay(
    java: JavaPaimon, tmp_path: Path, keys: list[str], tag_between: bool
) -> None:
    options = {**_KEPT, "bucket": "1"} if keys else _KEPT
    java.create_table("db.t", {"id": "INT", "name": "STRING"}, primary_keys=keys, options=options)
    table = java.table("db.t")
    table.write([(1, "one"), (2, "two")])
    table.write([(3, "three")])
    expected = table.rows()
    if tag_between:
        table.create_tag("between")
    if keys:
        table.compact()
    table.truncate()
    table.write([(4, "four")])
    warehouse = Warehouse.open(str(tmp_path / "java"))

    _run(warehouse, "rollback", snapshot=2)
    assert table.rows() == expected
    table.expire_snapshots(1)
    table.write([(5, "five")])
    assert sorted(table.rows()) == sorted([*expected, (5, "five")])


def test_what_came_back_may_leave_again_and_older_tags_and_branches_stay(
    java: JavaPaimon, tmp_path: Path
) -> None:
    # Java spares only what the newest tag below the second removal holds, here the one between.
    java.create_table("db.t", {"id": "INT"}, options=_KEPT)
    table = java.table("db.t")
    table.write([(1,)])
    table.create_tag("first")
    table.create_branch("dev", "first")
    table.write([(2,)], overwrite={})
    table.create_tag("between")
    warehouse = Warehouse.open(str(tmp_path / "java"))

    _run(warehouse, "rollback", tag="first")
    table.write([(3,)], overwrite={})
    table.expire_snapshots(1)
    assert (table.rows(), table.rows(tag="between")) == ([(3,)], [(2,)])
    assert table.rows(tag="first") == table.on("dev").rows() == [(1,)]
    assert table.rows(tag="rollback-op-rollback") == [(1,)]


def test_a_rollback_of_a_branch_leaves_main_as_it_was(java: JavaPaimon, tmp_path: Path) -> None:
    # Java spares what the last tag of main before a snapshot holds, whichever history it is of.
    java.create_table("db.t", {"id": "INT"}, options=_KEPT)
    table = java.table("db.t")
    table.write([(1,)])
    table.create_tag("first", 1)
    table.create_branch("dev", "first")
    dev = table.on("dev")
    dev.add_column("note", "STRING")
    dev.truncate()
    dev.write([(2, "two")])
    dev.write([(3, "three")])
    warehouse = Warehouse.open(str(tmp_path / "java"))

    _run(warehouse, "rollback", table="db.t$branch_dev", snapshot=3)
    assert dev.rows() == [(2, "two")]
    table.write([(4,)])
    table.write([(5,)])
    table.truncate()
    table.write([(6,)])
    table.expire_snapshots(1)
    assert table.rows() == [(6,)]
    assert table.rows(tag="first") == [(1,)]
    assert list(table.tags()) == ["first"]
    assert dev.rows() == [(2, "two")]


def test_undo_takes_the_tag_of_the_rollback_along(java: JavaPaimon, tmp_path: Path) -> None:
    java.create_table("db.t", {"id": "INT"}, options=_KEPT)
    table = java.table("db.t")
    table.write([(1,)])
    table.write([(2,)])
    before = table.rows()
    warehouse = Warehouse.open(str(tmp_path / "java"))
    operation = _run(warehouse, "rollback", snapshot=1)
    assert sorted(table.tags()) == ["rollback-op-rollback", "rollback-op-rollback-made"]
    _run(warehouse, "undo", operation=operation)
    assert table.tags() == {}
    assert table.rows() == before
