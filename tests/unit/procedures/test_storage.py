"""What the files of a table cost each branch: told by references, checked by the files on disk."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from branch_console.commit.schema.schema_commit import change_schema, set_options
from branch_console.diff.expiry.retention import HoldKind
from branch_console.diff.expiry.storage_cost import (
    FileAmount,
    OwnerCost,
    OwnerKind,
    StorageCost,
    TableStorage,
)
from branch_console.errors import FormatError, NotFound
from branch_console.format.identifier import Identifier
from branch_console.procedures.maintenance.storage import read_storage, storage_rows
from branch_console.table.file_store_table import FileStoreTable
from tests.support.branch_bench import NOW
from tests.support.expiry_bench import LATER, ExpiryBench

TABLE = Identifier(database="db", table="t")
# What the manifests of these tests say of each file, whatever its bytes on disk.
SIZE = 1000


@pytest.fixture
def bench(tmp_path: Path) -> ExpiryBench:
    """Main with a file of its history, and a branch that added one."""
    made = ExpiryBench(tmp_path / "made")
    made.add("old")
    made.replace("base")
    made.branch("dev")
    made.add("own", branch="dev")
    made.add("new")
    return made


def storage(bench: ExpiryBench, now: int = LATER) -> TableStorage:
    return read_storage(bench.warehouse(clock=lambda: now), TABLE)


def let_all_expire(bench: ExpiryBench) -> None:
    """Have the options of main let all of its snapshots go but the newest."""
    options = {"snapshot.num-retained.min": "1", "snapshot.time-retained": "1 ms"}
    change_schema(bench.table(), bench.store, [set_options(options)], now_millis=NOW)


def costs(found: StorageCost) -> dict[str, OwnerCost]:
    return {each.owner.name: each for each in found.owners}


def files(amount: FileAmount) -> int:
    assert amount.byte_count == SIZE * amount.file_count
    return amount.file_count


def test_each_branch_is_told_what_it_needs_alone_and_with_others(bench: ExpiryBench) -> None:
    found = storage(bench)
    main, dev = costs(found.cost)["main"], costs(found.cost)["dev"]
    assert [files(each) for each in (main.head, main.history)] == [2, 1]
    assert [files(each) for each in (main.exclusive, main.shared)] == [2, 1]
    assert [files(each) for each in (dev.head, dev.history)] == [2, 0]
    assert [files(each) for each in (dev.exclusive, dev.shared)] == [1, 1]
    assert files(found.cost.total) == 4
    (pair,) = found.cost.overlaps
    assert {each.name for each in pair.owners} == {"main", "dev"}
    assert files(pair.amount) == 1
    assert found.orphans is None


def test_what_an_expiry_by_the_options_of_the_table_would_free_is_reclaimable(
    bench: ExpiryBench,
) -> None:
    assert files(costs(storage(bench).cost)["main"].reclaimable) == 0
    let_all_expire(bench)
    before = storage(bench)
    assert files(costs(before.cost)["main"].reclaimable) == 1
    assert files(costs(before.cost)["dev"].reclaimable) == 0
    names = bench.data_names()
    bench.expire(retain_max=None, options=None)
    assert names - bench.data_names() == {"old"}
    after = storage(bench)
    assert files(after.cost.reclaimable) == 0
    assert files(after.cost.total) == files(before.cost.total) - 1


def test_what_holds_snapshots_that_are_due_is_told_and_nothing_is_reclaimable(
    bench: ExpiryBench,
) -> None:
    let_all_expire(bench)
    consumer = Path(bench.table().paths.consumer("etl"))
    consumer.parent.mkdir(exist_ok=True)
    consumer.write_text('{"nextSnapshot": 1}')
    found = storage(bench)
    (hold, *_) = found.holds["main"]
    assert (hold.kind, hold.owner, hold.since_id) == (HoldKind.CONSUMER, "etl", 1)
    assert files(found.cost.reclaimable) == 0


def test_retired_snapshots_own_their_files_until_their_grace_is_over(bench: ExpiryBench) -> None:
    bench.expire("gone", grace="10 min")
    waiting = storage(bench)
    retired = costs(waiting.cost)["gone"]
    assert retired.owner.kind is OwnerKind.RETIRED
    assert (files(retired.exclusive), files(retired.head)) == (1, 0)
    assert files(retired.reclaimable) == 0
    later = storage(bench, LATER + 3_600_000)
    assert files(costs(later.cost)["gone"].reclaimable) == 1
    assert files(later.cost.reclaimable) == 1


def test_a_rescue_branch_owns_what_the_dropped_branch_held(bench: ExpiryBench) -> None:
    bench.call("drop_branch", operation="drop", branch="dev")
    found = costs(storage(bench).cost)
    assert "dev" not in found
    rescue = found["rescue-drop"]
    assert rescue.owner.kind is OwnerKind.RESCUE
    assert (files(rescue.exclusive), files(rescue.shared)) == (1, 1)


def test_a_rescue_branch_could_go_once_no_undo_is_promised(bench: ExpiryBench) -> None:
    bench.call("drop_branch", operation="drop", branch="dev")
    promised = storage(bench, NOW + 3_600_000)
    assert files(costs(promised.cost)["rescue-drop"].reclaimable) == 0
    before, names = storage(bench), bench.data_names()
    assert files(costs(before.cost)["rescue-drop"].reclaimable) == 1
    call = {"branch": "rescue-drop", "grace": "0 s"}
    bench.call("release_branch", operation="release", clock=lambda: LATER, **call)
    # What was told is what went, and nothing more could.
    assert names - bench.data_names() == {"own"}
    assert files(before.cost.reclaimable) == 1
    assert files(storage(bench).cost.reclaimable) == 0


def test_a_branch_without_a_commit_needs_nothing(bench: ExpiryBench) -> None:
    bench.branch("blank", empty=True)
    blank = costs(storage(bench).cost)["blank"]
    assert [files(each) for each in (blank.head, blank.exclusive, blank.shared)] == [0, 0, 0]


def test_the_last_cleaning_tells_of_orphans(bench: ExpiryBench) -> None:
    folder = Path(bench.path) / "bucket-0"
    for number in range(3):
        (folder / f"data-{UUID(int=number)}-0.parquet").write_bytes(b"0123456789")
    bench.call("remove_orphan_files", operation="cleaning", clock=lambda: LATER, grace="10 min")
    scan = storage(bench).orphans
    assert scan is not None
    assert (scan.operation_id, scan.time_millis) == ("cleaning", LATER)
    assert (scan.waiting.file_count, scan.waiting.byte_count) == (3, 30)


def test_each_file_is_counted_once_in_the_total(bench: ExpiryBench) -> None:
    bench.branch("sub", from_branch="dev")
    bench.tag("v1", branch="dev")
    bench.replace("newest", branch="sub")
    bench.call("drop_branch", operation="drop", branch="sub")
    found = storage(bench).cost
    needed = {path for path in bench.needed() if os.path.basename(path).startswith("data-")}  # noqa: PTH119
    assert files(found.total) == len(needed)


def break_snapshot(table: FileStoreTable) -> None:
    Path(table.paths.snapshot(3)).write_text("{")


def break_tag(table: FileStoreTable) -> None:
    folder = Path(table.paths.tag_dir)
    folder.mkdir(exist_ok=True)
    (folder / "tag-v1").write_text("{")


def break_schema(table: FileStoreTable) -> None:
    Path(table.paths.schema(table.schema().id)).write_text("{")


def remove_schema(table: FileStoreTable) -> None:
    shutil.rmtree(table.paths.schema_dir)


def remove_list(table: FileStoreTable) -> None:
    head = table.head()
    assert head is not None
    Path(table.paths.manifest(head.delta_manifest_list)).unlink()


def break_manifest(table: FileStoreTable) -> None:
    head = table.head()
    assert head is not None
    listed = table.scan.read_list(table.paths, head.delta_manifest_list)
    Path(table.paths.manifest(listed["file_name"][0].as_py())).write_bytes(b"Obj")


def nest_a_tag(table: FileStoreTable) -> None:
    folder = Path(table.paths.tag_dir) / "tag-x"
    folder.mkdir(parents=True)
    (folder / "y").write_text("{}")


def break_consumer(table: FileStoreTable) -> None:
    path = Path(table.paths.consumer("etl"))
    path.parent.mkdir(exist_ok=True)
    path.write_text("{")


BREAKS = (
    break_snapshot,
    break_tag,
    remove_list,
    break_manifest,
    nest_a_tag,
)


@pytest.mark.parametrize("damage", BREAKS)
def test_a_branch_that_cannot_be_read_is_named_and_all_others_are_counted(
    bench: ExpiryBench, damage: Callable[[FileStoreTable], None]
) -> None:
    let_all_expire(bench)
    bench.branch("other", from_branch="main")
    bench.add("more", branch="other")
    before = costs(storage(bench).cost)
    assert files(before["main"].reclaimable) == 1
    damage(bench.table("dev"))
    found = storage(bench)
    ((owner, error),) = [(each.owner, each.error) for each in found.unread]
    assert (owner.kind, owner.name) == (OwnerKind.BRANCH, "dev")
    assert error.message
    after = costs(found.cost)
    assert after.keys() == before.keys() - {"dev"}
    for name, cost in after.items():
        # What the lost branch shared with others may look exclusive now, but no less is needed.
        assert (cost.head, cost.history) == (before[name].head, before[name].history)
    # What dev needs is not known, so nothing may go, and removal stops.
    assert files(found.cost.reclaimable) == 0
    assert not any(files(each.reclaimable) for each in after.values())
    with pytest.raises((FormatError, NotFound)):
        bench.expire()
    rows = storage_rows(found).to_pylist()
    assert rows[-1]["needed_by"] == "dev"
    assert rows[-1]["head_bytes"] is None
    assert found.unread[0].sentence.startswith("Branch 'dev' cannot be read: its bytes are not")


@pytest.mark.parametrize("damage", [break_schema, remove_schema, break_consumer])
def test_a_branch_that_cannot_expire_is_counted_and_holds_up_no_other(
    bench: ExpiryBench, damage: Callable[[FileStoreTable], None]
) -> None:
    let_all_expire(bench)
    before = storage(bench).cost
    bench.replace("newer", branch="dev")
    options = {"snapshot.num-retained.min": "1", "snapshot.time-retained": "1 ms"}
    change_schema(bench.table("dev"), bench.store, [set_options(options)], now_millis=NOW)
    damage(bench.table("dev"))
    found = storage(bench)
    (unread,) = found.unread
    assert (unread.owner.name, unread.is_counted) == ("dev", True)
    assert unread.sentence == (
        "Branch 'dev' cannot expire: its bytes are counted, and none of them as reclaimable."
    )
    after = costs(found.cost)
    assert (files(after["dev"].head), files(after["dev"].history)) == (1, 2)
    assert files(after["dev"].reclaimable) == 0
    assert files(after["main"].reclaimable) == 1
    names = bench.data_names()
    bench.expire(retain_max=None, options=None)
    assert len(names - bench.data_names()) == files(before.reclaimable) == 1


def test_what_an_operation_retired_can_be_unreadable_by_itself(bench: ExpiryBench) -> None:
    bench.expire("gone", grace="10 min")
    retired = bench.table().retired("gone", "main")
    Path(retired.paths.snapshot(1)).write_text("{")
    found = storage(bench)
    assert [(each.owner.kind, each.owner.name) for each in found.unread] == [
        (OwnerKind.RETIRED, "gone")
    ]
    assert costs(found.cost).keys() == {"main", "dev"}


def test_main_can_be_unreadable_by_itself(bench: ExpiryBench) -> None:
    break_tag(bench.table())
    found = storage(bench)
    assert [each.owner.name for each in found.unread] == ["main"]
    assert files(costs(found.cost)["dev"].head) == 2


def test_all_branches_may_be_unreadable(bench: ExpiryBench) -> None:
    break_tag(bench.table())
    break_tag(bench.table("dev"))
    found = storage(bench)
    assert {each.owner.name for each in found.unread} == {"main", "dev"}
    assert (found.cost.owners, files(found.cost.total)) == ((), 0)


def test_a_table_that_is_not_there_is_not_found(bench: ExpiryBench) -> None:
    with pytest.raises(NotFound):
        read_storage(bench.warehouse(), Identifier(database="db", table="nope"))
