"""Branches and tags that we make Java reads, writes on and drops."""

import shutil
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from branch_console.procedures.branch.create_branch import create_branch
from branch_console.procedures.branch.tags import create_tag
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import NoRowEngine
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.recover import recover
from branch_console.storage.directory_mover import rename_without_replacing
from branch_console.storage.local_publisher import LocalPublisher
from tests.support.comparison import differences
from tests.support.faulty_store import Killed
from tests.support.java_paimon import JavaPaimon, JavaTable
from tests.support.merge_bench import MergeBench
from tests.support.pypaimon_peer import Pypaimon
from tests.support.warehouses import FixtureWarehouse

pytestmark = pytest.mark.shared_cells


def test_java_reads_a_branch_from_a_tag_whose_snapshot_has_expired(
    own_copy: FixtureWarehouse, open_java: Callable[[Path], JavaPaimon]
) -> None:
    table = open_java(own_copy.path).table("fixtures.expired")
    kept = table.rows(tag="kept")
    assert [int(item["id"]) for item in table.snapshots()] == [5, 6]

    _call(own_copy, "create_branch", table=table.name, branch="revived", tag="kept")

    revived = table.on("revived")
    assert revived.rows() == kept
    revived.write([(77, "on the revived branch", 1)])
    assert sorted(revived.rows()) == sorted([*kept, (77, "on the revived branch", 1)])
    assert _differences(own_copy, table) == {}


@pytest.mark.parametrize(
    ("place", "snapshot"),
    [({}, None), ({"snapshot": 4}, 4), ({"tag": "compacted"}, 2)],
    ids=["head", "snapshot", "tag"],
)
def test_java_reads_a_branch_from_anywhere(
    place: dict[str, Any],
    snapshot: int | None,
    own_copy: FixtureWarehouse,
    open_java: Callable[[Path], JavaPaimon],
) -> None:
    table = open_java(own_copy.path).table("fixtures.key_levels")
    expected = table.rows(snapshot=snapshot)

    _call(own_copy, "create_branch", table=table.name, branch="dev", **place)

    assert table.on("dev").rows() == expected
    table.on("dev").write([(1, "changed", 1)])
    table.on("dev").compact()
    assert _differences(own_copy, table) == {}


def test_java_writes_to_an_empty_branch_that_we_made(
    own_copy: FixtureWarehouse, open_java: Callable[[Path], JavaPaimon]
) -> None:
    table = open_java(own_copy.path).table("fixtures.key_partitioned")
    main_rows = table.rows()

    _call(own_copy, "create_branch", table=table.name, branch="fresh", empty=True)

    assert table.on("fresh").rows() == []
    table.on("fresh").write(main_rows[:3])
    assert table.on("fresh").rows() == main_rows[:3]
    assert table.rows() == main_rows
    assert _differences(own_copy, table) == {}


def test_java_branches_from_our_branch_and_drops_it(
    own_copy: FixtureWarehouse, open_java: Callable[[Path], JavaPaimon]
) -> None:
    table = open_java(own_copy.path).table("fixtures.append")
    _call(own_copy, "create_branch", table=table.name, branch="dev")
    dev = table.on("dev")
    dev.create_tag("by-java")
    dev.create_branch("nested", "by-java")
    dev.write([(9, "ida", 90)])
    assert table.on("nested").rows() == table.rows()
    assert _differences(own_copy, table) == {}
    table.drop_branch("dev")
    assert table.branches() == ["nested"]
    assert _differences(own_copy, table) == {}


def test_what_a_killed_creation_leaves_is_a_branch_to_nobody(
    own_copy: FixtureWarehouse,
    open_java: Callable[[Path], JavaPaimon],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = open_java(own_copy.path).table("fixtures.append")
    warehouse = Warehouse.open(str(own_copy.path))
    dying = LocalPublisher(warehouse.file_io, rename=_die_at_dev)
    with monkeypatch.context() as killed:
        # Nothing tidies up behind a process that dies before the folder has its name.
        killed.setattr(shutil, "rmtree", lambda *_, **__: None)
        store = replace(warehouse.store, publisher=dying)
        call = _call_of("create_branch", table=table.name, branch="dev")
        with pytest.raises(Killed):
            create_branch(replace(warehouse, store=store), NoRowEngine(), call, InlineStages())
    folder = Path(warehouse.table(table.name).paths.table) / "branch"
    (left,) = folder.iterdir()
    assert len(list(left.rglob("s*-*"))) > 1
    assert warehouse.table(table.name).branches.names() == ()
    assert table.branches() == []
    with Pypaimon(own_copy.path) as peer:
        assert peer.branches(table.name) == []

    later = replace(warehouse, clock=lambda: time.time_ns() // 10**6 + 10**9)
    recover(later, NoRowEngine(), _call_of("recover"), InlineStages())
    assert table.branches() == ["dev"]
    assert table.on("dev").rows() == table.rows()
    assert _differences(own_copy, table) == {}


def _die_at_dev(source: bytes, target: bytes) -> int:
    if target.endswith(b"/branch-dev"):
        raise Killed
    return rename_without_replacing(source, target)


def test_java_reads_branches_from_and_deletes_our_tags(
    own_copy: FixtureWarehouse, open_java: Callable[[Path], JavaPaimon]
) -> None:
    table = open_java(own_copy.path).table("fixtures.append")
    _call(own_copy, "create_tag", table=table.name, tag="ours", snapshot=2)
    assert table.rows(tag="ours") == table.rows(snapshot=2)
    table.create_branch("from-ours", "ours")
    assert table.on("from-ours").rows() == table.rows(snapshot=2)
    assert _differences(own_copy, table) == {}
    table.delete_tag("ours")
    assert "ours" not in table.tags()
    assert _differences(own_copy, table) == {}


def _call(warehouse: FixtureWarehouse, name: str, **arguments: str | int | bool | None) -> None:
    procedure = {"create_branch": create_branch, "create_tag": create_tag}[name]
    opened = Warehouse.open(str(warehouse.path))
    procedure(opened, NoRowEngine(), _call_of(name, **arguments), InlineStages())


def _call_of(name: str, **arguments: str | int | bool | None) -> ProcedureCall:
    operation_id = str(uuid.uuid4())
    return ProcedureCall(name=name, arguments=arguments, actor="tester", operation_id=operation_id)


def _differences(warehouse: FixtureWarehouse, theirs: JavaTable) -> dict[str, Any]:
    ours = Warehouse.open(str(warehouse.path), read_only=True).table(theirs.name)
    return differences(ours, theirs)


def test_java_reads_a_branch_again_whose_schema_main_still_has(
    tmp_path: Path, open_java: Callable[[Path], JavaPaimon]
) -> None:
    """Releases before 1.0 copied only the newest schema to a branch."""
    bench = MergeBench(open_java(tmp_path), tmp_path, keyed=True)
    bench.insert("main", 1, 2)
    bench.table().add_column("more", "INT")
    bench.table().write([(3, "d2", 1, 7)])
    bench.java_branch("dev")
    rows = bench.table("dev").rows()
    (tmp_path / "db.db/t/branch/branch-dev/schema/schema-0").unlink()
    with pytest.raises(Exception, match="schema-0"):
        bench.table("dev").rows()
    bench.call("repair_branch", branch="dev")
    assert (
        bench.table("dev").rows()
        == rows
        == [
            (1, "d1", 1, None),
            (2, "d1", 1, None),
            (3, "d2", 1, 7),
        ]
    )
