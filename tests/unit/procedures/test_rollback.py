from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from branch_console.errors import InvalidInput, NotAllowed, NotFound, Refused
from branch_console.format.lineage_event import LineageKind
from branch_console.storage.file_io import FileReader, FileStatus
from tests.support.branch_bench import BranchBench
from tests.support.lifecycle import metadata, preview, run


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    bench = BranchBench(tmp_path)
    bench.append("a")
    bench.tag("first")
    bench.append("b")
    bench.tag("second")
    bench.append("c")
    return bench


def test_going_back_adds_a_snapshot_and_keeps_the_history(bench: BranchBench) -> None:
    before = metadata(bench)
    receipt = run(bench, "rollback", snapshot=1, reason="bad load")
    assert bench.live_names() == {"data-a.parquet"}
    assert bench.table().snapshots.ids() == (1, 2, 3, 4)
    head = bench.table().head()
    assert head is not None
    assert str(head.commit_kind) == "OVERWRITE"
    assert head.properties["branch.operation-id"] == "op"
    hints = ("LATEST", "EARLIEST")
    after = metadata(bench)
    assert all(after[name] == before[name] for name in before if not name.endswith(hints))
    assert (receipt.moves[0].before_id, receipt.moves[0].after_id) == (3, 4)
    event = bench.table().ledger.events()[-1]
    assert (event.kind, event.reason) == (LineageKind.ROLLED_BACK, "bad load")


def test_the_undo_of_an_undone_rollback_is_the_rollback_again(bench: BranchBench) -> None:
    run(bench, "rollback", tag="second")
    run(bench, "undo", "back", operation="op")
    assert bench.live_names() == {"data-a.parquet", "data-b.parquet", "data-c.parquet"}
    run(bench, "rollback", "again", tag="second")
    assert bench.live_names() == {"data-a.parquet", "data-b.parquet"}


def test_cutting_moves_the_head_and_a_rescue_keeps_the_rest(bench: BranchBench) -> None:
    bench.branch("dev")
    found = preview(bench, "rollback", snapshot=1, cut=True)
    assert (found.typed_name, str(found.role)) == ("main", "operator")
    texts = [each.text for each in found.consequences]
    assert "Snapshots 2 to 3 leave the history of 'main'." in texts
    assert ("branch-base-dev",) in [each.details for each in found.consequences]
    run(bench, "rollback", snapshot=1, cut=True)
    main = bench.table()
    assert main.snapshots.ids() == (1,)
    assert main.tags.names() == ("branch-base-dev", "branch-pin-op", "first")
    assert bench.table("rescue-op").snapshots.ids() == (1, 2, 3)
    assert bench.table("rescue-op").tags.names() == ("branch-base-dev", "first", "second")
    assert bench.live_names("dev") == {"data-a.parquet", "data-b.parquet", "data-c.parquet"}
    assert bench.append("d").id == 2


class Forgetful:
    """A reader whose listings leave out the newest schema."""

    def __init__(self, inner: FileReader) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def list(self, path: str) -> list[FileStatus]:
        return [each for each in self._inner.list(path) if each.name != "schema-1"]

    def names(self, path: str) -> list[str]:
        return [each.name for each in self.list(path)]


def test_a_rescue_keeps_schemas_that_a_listing_left_out(bench: BranchBench) -> None:
    bench.alter()
    bench.append("d")
    bench.append("e")
    files: Any = Forgetful(bench.store.files)
    run(bench, "rollback", store=replace(bench.store, files=files), snapshot=1, cut=True)
    rescue = bench.table("rescue-op")
    assert rescue.schemas.ids() == (0, 1)
    assert rescue.snapshots.get(5).schema_id == 1


def test_cutting_to_a_tag_whose_snapshot_has_expired(bench: BranchBench) -> None:
    paths = bench.table().paths
    content = Path(paths.snapshot(1)).read_bytes()
    bench.store.remover.remove([paths.snapshot(1), paths.earliest_hint])
    before = metadata(bench)
    run(bench, "rollback", tag="first", cut=True)
    assert bench.table().snapshots.ids() == (1,)
    assert Path(paths.snapshot(1)).read_bytes() == content
    run(bench, "undo", "back", operation="op")
    after = metadata(bench)
    assert {name: after[name] for name in before} == before
    assert paths.snapshot(1).removeprefix(bench.file_io.root + "/") not in after


def test_a_branch_is_rolled_back_alone(bench: BranchBench) -> None:
    bench.branch("dev", snapshot=2)
    bench.append("x", branch="dev")
    main = bench.live_names()
    run(bench, "rollback", table="db.t$branch_dev", snapshot=2)
    assert bench.live_names("dev") == {"data-a.parquet", "data-b.parquet"}
    assert bench.live_names() == main


def test_places_that_cannot_be_gone_back_to(bench: BranchBench) -> None:
    with pytest.raises(InvalidInput, match="a snapshot or a tag"):
        run(bench, "rollback")
    with pytest.raises(InvalidInput, match="a snapshot or a tag"):
        run(bench, "rollback", snapshot=1, tag="first")
    with pytest.raises(NotFound):
        run(bench, "rollback", snapshot=9)
    with pytest.raises(Refused, match="is the head of 'main' already") as caught:
        run(bench, "rollback", snapshot=3)
    assert caught.value.kind == "NOTHING_TO_DO"


def test_who_may_go_back(bench: BranchBench) -> None:
    with pytest.raises(NotAllowed, match="asks for operator"):
        run(bench, "rollback", snapshot=1, cut=True, role="approver")
    run(bench, "protect_branch", "on", branch="main")
    with pytest.raises(NotAllowed, match="asks for approver"):
        run(bench, "rollback", snapshot=1, role="editor")
    run(bench, "rollback", snapshot=1, role="approver")


def test_a_commit_since_the_preview_stops_it(bench: BranchBench) -> None:
    found = preview(bench, "rollback", snapshot=1)
    bench.append("etl")
    before = metadata(bench)
    with pytest.raises(Refused, match="preview is out of date"):
        run(bench, "rollback", snapshot=1, plan_id=found.plan_id)
    assert metadata(bench) == before


def test_the_pin_of_a_rollback_stays_while_older_snapshots_can_expire(bench: BranchBench) -> None:
    run(bench, "rollback", snapshot=1)
    before = metadata(bench)
    match = r"rollback op made snapshot 4 .* once snapshot 4 is the oldest of 'main', or undo"
    with pytest.raises(Refused, match=match) as caught:
        run(bench, "delete_tag", "away", tag="rollback-op")
    assert caught.value.kind == "FILES_IN_USE"
    with pytest.raises(Refused, match="cannot be moved: rollback op"):
        run(bench, "create_tag", "move", tag="rollback-op", replace=True)
    with pytest.raises(Refused, match="cannot be given a retention time: rollback op"):
        run(
            bench,
            "create_tag",
            "end",
            tag="rollback-op",
            snapshot=1,
            replace=True,
            time_retained="P1D",
        )
    assert metadata(bench) == before
    bench.append("d")
    with pytest.raises(Refused, match="rollback op made snapshot 4"):
        run(bench, "delete_tag", "still", tag="rollback-op")


def test_the_pin_of_a_rollback_may_go_once_what_is_older_has_expired(bench: BranchBench) -> None:
    run(bench, "rollback", snapshot=1)
    paths = bench.table().paths
    bench.store.remover.remove([paths.snapshot(each) for each in (1, 2)])
    with pytest.raises(Refused, match="rollback op made snapshot 4"):
        run(bench, "delete_tag", "early", tag="rollback-op")
    bench.store.remover.remove([paths.snapshot(3)])
    run(bench, "delete_tag", "away", tag="rollback-op")
    assert "rollback-op" not in bench.table().tags.names()


def test_the_tag_on_what_a_rollback_made_stays_while_there_are_older_tags(
    bench: BranchBench,
) -> None:
    bench.call("create_tag", operation="old", tag="old", snapshot=1)
    run(bench, "rollback", snapshot=1)
    assert bench.table().tags.get("rollback-op-made").snapshot.id == 4
    with pytest.raises(Refused, match=r"rollback op made snapshot 4, .* Delete the older tags"):
        run(bench, "delete_tag", "away", tag="rollback-op-made")
    for name in set(bench.table().tags.names()) - {"rollback-op", "rollback-op-made"}:
        run(bench, "delete_tag", f"delete-{name}", tag=name)
    run(bench, "delete_tag", "both", tag="rollback-op-made")


def test_the_pin_of_a_rollback_follows_a_renamed_branch(bench: BranchBench) -> None:
    bench.branch("dev", snapshot=2)
    bench.append("x", branch="dev")
    run(bench, "rollback", table="db.t$branch_dev", snapshot=2)
    run(bench, "rename_branch", "name", branch="dev", to="test")
    with pytest.raises(Refused, match="Tag 'rollback-op' of 'test' cannot be deleted: rollback op"):
        run(bench, "delete_tag", "away", table="db.t$branch_test", tag="rollback-op")


def test_a_name_like_that_of_a_pin_is_not_one(bench: BranchBench) -> None:
    bench.tag("rollback-plan")
    run(bench, "delete_tag", "away", tag="rollback-plan")
    run(bench, "rollback", snapshot=1)
    run(bench, "undo", "back", operation="op")
    bench.tag("rollback-op")
    run(bench, "delete_tag", "gone", tag="rollback-op")


def test_cutting_keeps_the_pin_of_a_rollback_that_stays(bench: BranchBench) -> None:
    bench.branch("dev")
    run(bench, "rollback", "cut", snapshot=1, cut=True)
    # The tag names what was snapshot 3, so its id is above that of the rollback.
    run(bench, "rollback", tag="branch-base-dev")
    bench.append("d")
    run(bench, "rollback", "again", snapshot=2, cut=True)
    assert bench.table().tags.get("rollback-op").snapshot.id == 3
