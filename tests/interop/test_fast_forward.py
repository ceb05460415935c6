"""What our fast-forward leaves behind Java reads, expires and writes on."""

import shutil
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from branch_console.errors import ErrorKind, Refused
from branch_console.format.identifier import Identifier
from branch_console.format.receipt import Receipt
from branch_console.procedures.branch.fast_forward import preview_fast_forward
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from tests.support.comparison import differences
from tests.support.java_paimon import JavaPaimon, JavaTable
from tests.support.local_row_engine import LocalFiles
from tests.support.warehouses import FixtureWarehouse

pytestmark = pytest.mark.shared_cells

_AHEAD = "fixtures.branches_ahead"
_DIVERGED = "fixtures.branches_diverged"


def test_java_reads_on_main_what_it_read_on_the_branch(
    own_copy: FixtureWarehouse, open_java: Callable[[Path], JavaPaimon]
) -> None:
    table = open_java(own_copy.path).table(_AHEAD)
    branch_rows, old_rows = table.on("ahead").rows(), table.rows()
    old_snapshots, old_tags = table.snapshots(), table.tags()

    receipt = _forward(own_copy, _AHEAD, "ahead")

    assert receipt.rescue_branch is None
    assert table.rows() == branch_rows
    assert table.rows(tag="base") == old_rows
    assert table.rows(snapshot=2) == old_rows
    assert table.snapshots()[: len(old_snapshots)] == old_snapshots
    assert table.tags().items() >= old_tags.items()
    assert table.on("ahead").rows() == branch_rows
    assert table.on("idle").rows() == old_rows
    assert _differences(own_copy, table) == {}


def test_it_ends_where_the_fast_forward_of_java_ends(
    own_copy: FixtureWarehouse, open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    theirs = shutil.copytree(own_copy.path, tmp_path / "theirs")
    open_java(theirs).table(_AHEAD).fast_forward("ahead")
    _forward(own_copy, _AHEAD, "ahead")

    by_java, by_us = (open_java(path).table(_AHEAD) for path in (theirs, own_copy.path))
    assert by_us.rows() == by_java.rows()
    assert by_us.live_files() == by_java.live_files()
    assert by_us.schemas() == by_java.schemas()
    # Java hides what is older than the branch: it copies the hint at the branch's first snapshot.
    shared = by_java.snapshots()
    assert by_us.snapshots()[-len(shared) :] == shared
    # And it deletes the tags on what it replaces before it copies those of the branch.
    assert by_us.tags().items() >= by_java.tags().items()


def test_java_writes_expires_and_forwards_on_top_of_it(
    own_copy: FixtureWarehouse, open_java: Callable[[Path], JavaPaimon]
) -> None:
    _forward(own_copy, _AHEAD, "ahead")
    table = open_java(own_copy.path).table(_AHEAD)
    branch_rows = table.on("ahead").rows()
    table.write([(7, "gus", 70, "after")])
    table.compact(options={"compaction.min.file-num": "2"})
    table.on("idle").write([(8, "hal", 80)])
    assert sorted(table.rows()) == sorted([*branch_rows, (7, "gus", 70, "after")])
    assert _differences(own_copy, table) == {}
    # Both branches share their history, and the expiry of Java looks at one of them only.
    table.drop_branch("ahead")
    table.expire_snapshots(2)
    assert len(table.snapshots()) == 2
    assert sorted(table.rows()) == sorted([*branch_rows, (7, "gus", 70, "after")])
    assert _differences(own_copy, table) == {}


@pytest.mark.parametrize("branch", ["diverged", "evolved", "nested", "empty"])
def test_a_main_that_moved_is_left_as_java_wrote_it(
    branch: str, own_copy: FixtureWarehouse, open_java: Callable[[Path], JavaPaimon]
) -> None:
    before = _all_bytes(own_copy)
    with pytest.raises(Refused) as refused:
        _forward(own_copy, _DIVERGED, branch)
    assert refused.value.kind in {
        ErrorKind.TARGET_MOVED,
        ErrorKind.BRANCH_EMPTY,
        ErrorKind.NO_COMMON_HISTORY,
    }
    assert _all_bytes(own_copy) == before
    assert open_java(own_copy.path).table(_DIVERGED).rows() == [(6, "fay", 60, "over")]


def test_java_reads_both_sides_of_a_forced_one(
    own_copy: FixtureWarehouse, open_java: Callable[[Path], JavaPaimon]
) -> None:
    table = open_java(own_copy.path).table(_DIVERGED)
    branch_rows, main_rows = table.on("evolved").rows(), table.rows()
    main_snapshots = table.snapshots()

    receipt = _forward(own_copy, _DIVERGED, "evolved", force=True)

    assert receipt.rescue_branch is not None
    assert table.rows() == branch_rows
    assert table.on(receipt.rescue_branch).rows() == main_rows
    assert table.on(receipt.rescue_branch).snapshots() == main_snapshots
    for snapshot in main_snapshots:
        table.on(receipt.rescue_branch).rows(snapshot=int(snapshot["id"]))
    assert _differences(own_copy, table) == {}
    table.write([(9, "ida", 90, "on top")])
    assert sorted(table.rows()) == sorted([*branch_rows, (9, "ida", 90, "on top")])


def test_a_key_table_with_compactions_goes_forward(
    own_copy: FixtureWarehouse, open_java: Callable[[Path], JavaPaimon]
) -> None:
    table = open_java(own_copy.path).table("fixtures.vectors_key")
    before = table.rows()
    table.create_tag("fork")
    table.create_branch("dev", "fork")
    table.on("dev").write([(1, "on dev", 1), (5000, "on dev", 1)])
    table.on("dev").compact()
    branch_rows = table.on("dev").rows()

    _forward(own_copy, "fixtures.vectors_key", "dev")

    assert table.rows() == branch_rows != before
    assert table.rows(tag="fork") == before
    assert _differences(own_copy, table) == {}


def _forward(
    warehouse: FixtureWarehouse, table: str, branch: str, *, force: bool = False
) -> Receipt:
    opened = Warehouse.open(str(warehouse.path))
    plan = preview_fast_forward(opened, Identifier.parse(table), branch)
    call = ProcedureCall(
        name="fast_forward",
        arguments={"table": table, "branch": branch, "plan_id": plan.id, "force": force},
        actor="tester",
        operation_id=str(uuid.uuid4()),
    )
    return run_call(opened, LocalFiles(), call, InlineStages())


def _differences(warehouse: FixtureWarehouse, theirs: JavaTable) -> dict[str, Any]:
    ours = Warehouse.open(str(warehouse.path), read_only=True).table(theirs.name)
    return differences(ours, theirs)


def _all_bytes(warehouse: FixtureWarehouse) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in warehouse.path.rglob("*") if path.is_file()}
