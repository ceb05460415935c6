"""A merge whose target gets commits while it runs: carried over them, or refused."""

import uuid
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.commit.base.commit_queue import NoQueue
from branch_console.commit.schema.schema_commit import change_schema, set_options
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.errors import (
    CommitConflict,
    ErrorKind,
    InvalidInput,
    PaimonError,
    Refused,
    StorageError,
)
from branch_console.format.receipt import Receipt
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console.merge.file_moves import MergeRules
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.merge.carried_plan import CarriedPlan
from branch_console.procedures.merge.inputs import planned_merge, preview_merge
from branch_console.procedures.recover import recover_table
from branch_console.procedures.run.planned_heads import PlannedHeads
from branch_console.procedures.run.runner import MOST_PLANS
from tests.support.branch_bench import NOW, BranchBench, TrustingRows
from tests.support.commit_tables import data_files, message
from tests.support.interleaved import interleaved
from tests.support.lifecycle import run

MANAGED = {"write-only": "true"}
MERGE = "merge_branch"


def foreign(
    bench: BranchBench,
    *messages: CommitMessage,
    branch: str = "main",
    kind: CommitKind | None = None,
) -> Snapshot:
    """Commit as another engine does, which waits for nobody's turn."""
    committer = FileStoreCommit(
        bench.table(branch), bench.store, sleep=lambda _: None, queue=NoQueue()
    )
    snapshot = committer.commit(
        messages, user="flink", identifier=uuid.uuid4().int % (1 << 40), kind=kind
    )
    assert snapshot is not None
    return snapshot


def appends(bench: BranchBench, name: str, branch: str = "main") -> Snapshot:
    return foreign(bench, message(new_files=data_files([name], total_buckets=-1)), branch=branch)


def live(bench: BranchBench, name: str) -> pa.Table:
    head = bench.table().head()
    assert head is not None
    files = bench.table().live_files(head)
    return files.filter(pa.array([name in each for each in files["file_name"].to_pylist()]))


def deletes(bench: BranchBench, name: str) -> Snapshot:
    return foreign(bench, message(total_buckets=-1, deleted_files=live(bench, name)))


def compacts(bench: BranchBench, name: str, new: str) -> Snapshot:
    done = data_files([new], total_buckets=-1)
    return foreign(
        bench,
        message(total_buckets=-1, compact_before=live(bench, name), compact_after=done),
    )


def bench_of(root: Path, deleted: str | None = None) -> BranchBench:
    """An append table: main has `base`, `other` and `mine`, dev appended `theirs`.

    Args:
        root: The warehouse.
        deleted: A file that dev took away too.
    """
    bench = BranchBench(root, options=dict(MANAGED))
    bench.append("base")
    bench.append("other")
    bench.branch("dev")
    bench.append("theirs", branch="dev")
    if deleted is not None:
        table = bench.table("dev")
        head = table.head()
        assert head is not None
        files = table.live_files(head)
        gone = files.filter(pa.array([deleted in e for e in files["file_name"].to_pylist()]))
        foreign(bench, message(total_buckets=-1, deleted_files=gone), branch="dev")
    bench.append("mine")
    return bench


def names(bench: BranchBench, branch: str = "main") -> set[str]:
    found = bench.live_names(branch)
    return {each.removeprefix("data-").removesuffix(".parquet") for each in found}


def merge(
    bench: BranchBench,
    *,
    operation: str = "merge-1",
    on_stage: Callable[[str], None] = lambda _: None,
    write: int = -1,
    happens: Callable[[], object] = lambda: None,
    before_write: Callable[[str], object] = lambda _: None,
    clock: Callable[[], int] = lambda: NOW,
    **arguments: str | bool,
) -> Receipt:
    store, _ = interleaved(bench.store, write, happens, before_write)
    call = ProcedureCall(
        name=MERGE,
        arguments={"table": "db.t", "branch": "dev", **arguments},
        actor="ann",
        operation_id=operation,
    )
    stages = InlineStages(on_stage=lambda stage, _: on_stage(stage))
    return run_call(bench.warehouse(store, clock), TrustingRows(), call, stages)


def writes_of_a_merge(root: Path) -> int:
    """How often a merge writes, up to its end."""
    bench = bench_of(root)
    store, counted = interleaved(bench.store, -1, lambda: None)
    call = ProcedureCall(
        name=MERGE, arguments={"table": "db.t", "branch": "dev"}, actor="ann", operation_id="m"
    )
    run_call(bench.warehouse(store), TrustingRows(), call, InlineStages())
    return counted.writes


def test_an_append_at_any_time_of_a_merge_is_built_on(tmp_path: Path) -> None:
    for number in range(writes_of_a_merge(tmp_path / "count")):
        bench = bench_of(tmp_path / str(number))
        receipt = merge(bench, write=number, happens=lambda: appends(bench, "late"))  # noqa: B023
        assert names(bench) == {"base", "other", "mine", "theirs", "late"}, number
        (move,) = receipt.moves
        before, after = (bench.table().snapshots.get(each) for each in (4, 5))
        late = after if before.commit_user == "ann" else before
        landed = before if late is after else after
        assert (move.after_id, move.before_id) == (landed.id, landed.id - 1), number
        assert move.after is not None
        assert move.after.same_as(landed.identity)
        assert move.before is not None
        assert move.before.same_as(bench.table().snapshots.get(landed.id - 1).identity), number
        carried = [each for each in receipt.notes if "carried over" in each]
        assert len(carried) == (late is before), number


def test_an_append_at_any_stage_of_a_merge_is_built_on(tmp_path: Path) -> None:
    seen: list[str] = []
    merge(bench_of(tmp_path / "count"), on_stage=seen.append)
    for stage in seen:
        bench = bench_of(tmp_path / stage)

        def on_stage(now: str, stage: str = stage, bench: BranchBench = bench) -> None:
            if now == stage:
                appends(bench, "late")
                appends(bench, "later", branch="dev")

        merge(bench, on_stage=on_stage)
        assert {"base", "other", "mine", "theirs", "late"} <= names(bench), stage
        merge(bench, operation="merge-2")
        assert names(bench) == {"base", "other", "mine", "theirs", "late", "later"}, stage


def test_what_overlaps_at_any_time_stops_a_merge_and_nothing_is_lost(tmp_path: Path) -> None:
    last = writes_of_a_merge(tmp_path / "count")
    stopped = 0
    for number in range(last):
        bench = bench_of(tmp_path / str(number), deleted="base")
        isolated = {"isolation": "snapshot"}
        gone: list[Snapshot] = []

        def compact(bench: BranchBench = bench, gone: list[Snapshot] = gone) -> None:
            if live(bench, "base").num_rows:
                gone.append(compacts(bench, "base", "again"))

        why: Refused | CommitConflict | None = None
        try:
            merge(bench, write=number, happens=compact, **isolated)
        except (Refused, CommitConflict) as error:
            why = error
        if why is not None:
            stopped += 1
            assert why.kind is ErrorKind.HEAD_MOVED
            told = f"snapshot {gone[0].id} by flink changed data file data-base"
            assert told in why.message
            assert names(bench) == {"again", "other", "mine"}, number
            # Planned anew, the same merge takes the compaction back.
            merge(bench, operation="merge-2", **isolated)
        assert names(bench) == {"other", "mine", "theirs"}, number
    assert stopped > 2


def test_a_delete_of_the_source_meets_what_is_inserted_meanwhile(tmp_path: Path) -> None:
    for isolation, lands in (("snapshot", True), ("serializable", False)):
        bench = BranchBench(tmp_path / isolation, options=dict(MANAGED))
        bench.append("base")
        bench.append("other")
        bench.branch("dev")
        foreign(bench, message(total_buckets=-1, deleted_files=live(bench, "base")), branch="dev")
        deletes(bench, "other")
        seen = planned_at(bench, isolation=isolation)
        appends(bench, "late")
        if lands:
            merge(bench, isolation=isolation, **seen)
            assert names(bench) == {"late"}
            continue
        with pytest.raises(Refused, match="the delete or update of the source could change"):
            merge(bench, isolation=isolation, **seen)
        assert names(bench) == {"base", "late"}


def planned_at(bench: BranchBench, **arguments: str | bool) -> dict[str, str]:
    """What a run is told of a preview that is made now."""
    call = ProcedureCall(
        name=MERGE,
        arguments={"table": "db.t", "branch": "dev", **arguments},
        actor="ann",
        operation_id="look",
    )
    plan = planned_merge(bench.warehouse(), call)
    heads = PlannedHeads.of_plan(plan)
    assert heads is not None
    return {"plan_id": plan.id, "heads": heads.to_text()}


def test_a_run_keeps_to_the_heads_of_the_preview_that_was_looked_at(tmp_path: Path) -> None:
    bench = bench_of(tmp_path)
    seen = planned_at(bench)
    appends(bench, "late")
    appends(bench, "later", branch="dev")
    receipt = merge(bench, **seen)
    assert names(bench) == {"base", "other", "mine", "theirs", "late"}
    assert any("carried over snapshot 4 by flink" in each for each in receipt.notes)
    # Somebody who names no heads has seen another preview.
    stale = planned_at(bench)["plan_id"]
    appends(bench, "last")
    with pytest.raises(Refused, match="this preview is out of date"):
        merge(bench, operation="merge-2", plan_id=stale)


def test_what_overlaps_with_a_preview_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    bench = bench_of(tmp_path, deleted="base")
    seen = planned_at(bench, isolation="snapshot")
    compacts(bench, "base", "again")
    stages: list[str] = []
    with pytest.raises(Refused, match="snapshot 4 by flink changed data file data-base") as found:
        merge(bench, on_stage=stages.append, isolation="snapshot", **seen)
    assert found.value.kind is ErrorKind.HEAD_MOVED
    assert stages == ["check heads"]
    merge(bench, operation="merge-2", isolation="snapshot", plan_again=True, **seen)
    assert names(bench) == {"other", "mine", "theirs"}


def test_other_heads_than_those_of_the_plan_are_refused(tmp_path: Path) -> None:
    bench = bench_of(tmp_path)
    seen = planned_at(bench)
    for heads, error in (("3:1", Refused), ("9:3", Refused), ("dev", InvalidInput)):
        with pytest.raises(error):
            merge(bench, plan_id=seen["plan_id"], heads=heads)
    assert names(bench) == {"base", "other", "mine"}


def test_another_merge_meanwhile_overlaps(tmp_path: Path) -> None:
    bench = bench_of(tmp_path)

    def on_stage(stage: str) -> None:
        if stage == "merge branch":
            merge(bench, operation="merge-2")

    with pytest.raises(Refused, match="is a merge, after which") as found:
        merge(bench, on_stage=on_stage)
    assert found.value.kind is ErrorKind.HEAD_MOVED
    assert names(bench) == {"base", "other", "mine", "theirs"}


def test_undo_leaves_what_others_committed(tmp_path: Path) -> None:
    bench = bench_of(tmp_path)
    seen = planned_at(bench)
    appends(bench, "late")
    merge(bench, **seen)
    run(bench, "undo", "undo-1", operation="merge-1")
    assert names(bench) == {"base", "other", "mine", "late"}


def test_a_merge_that_was_cut_off_is_found_behind_the_commits_that_it_stands_on(
    tmp_path: Path,
) -> None:
    writes = writes_of_a_merge(tmp_path / "count")
    ends = set()
    for number in range(writes):
        bench = bench_of(tmp_path / str(number))
        seen = planned_at(bench)
        appends(bench, "late")

        def cut() -> None:
            raise StorageError("The machine stops.", kind=ErrorKind.UNEXPECTED)

        with pytest.raises(PaimonError):
            merge(bench, write=number, happens=cut, **seen)
        appends(bench, "last")
        found = recover_table(bench.warehouse(clock=lambda: 1_800_000_000_000), bench.table())
        assert all(each.error is None for each in found), (number, found)
        expected = {"base", "other", "mine", "late", "last"}
        if found or "theirs" in names(bench):
            expected |= {"theirs"}
        assert names(bench) == expected, number
        ends.add(len(found))
    assert ends == {0, 1}


def test_strict_merges_are_not_carried_over_rows_that_no_rule_was_judged_on(
    tmp_path: Path,
) -> None:
    bench = bench_of(tmp_path)
    target = bench.table()
    plan = preview_merge(
        bench.warehouse(), bench.identifier, "dev", "main", MergeRules(strict=True)
    )
    compacts(bench, "other", "again")
    CarriedPlan(target, plan, is_judged=True).check(bench.table().head())
    appends(bench, "late")
    CarriedPlan(target, plan).check(bench.table().head())
    with pytest.raises(CommitConflict, match="the rules were not judged on, as strict asks for"):
        CarriedPlan(target, plan, is_judged=True).check(bench.table().head())


def test_a_target_that_was_altered_meanwhile_is_refused_while_publishing(tmp_path: Path) -> None:
    bench = bench_of(tmp_path)
    seen = planned_at(bench)
    appends(bench, "late")

    def alter(path: str) -> None:
        if "/snapshot/snapshot-5" in path:
            bench.alter()
            appends(bench, "later")

    with pytest.raises(CommitConflict, match="its schema is 1 now"):
        merge(bench, before_write=alter, **seen)
    assert names(bench) == {"base", "other", "mine", "late", "later"}


def test_a_target_that_was_altered_without_a_commit_stops_what_is_carried(tmp_path: Path) -> None:
    told = []
    for number in range(writes_of_a_merge(tmp_path / "count")):
        bench = bench_of(tmp_path / str(number))
        seen = planned_at(bench)
        appends(bench, "late")
        expected = {"base", "other", "mine", "late", "theirs"}
        try:
            merge(bench, write=number, happens=bench.alter, **seen)
        except (Refused, CommitConflict) as error:
            told.append(error.message)
            expected.discard("theirs")
        assert names(bench) == expected, number
    # From the intent on, until the snapshot is made.
    assert ["its schema is 1 now" in each for each in told] == [True] * 2


class Racing:
    """Another engine that is faster than the first so many tries of a merge to publish."""

    def __init__(self, bench: BranchBench, times: int) -> None:
        self.bench = bench
        self.left = times

    def __call__(self, path: str) -> None:
        if "/snapshot/snapshot-" in path and self.left:
            self.left -= 1
            appends(self.bench, f"late-{self.left}")


def test_who_waits_tries_again_what_others_were_always_faster_than(tmp_path: Path) -> None:
    now = iter(range(NOW, NOW + 1_000_000, 1_000))
    for wait, lands in ((None, False), ("1ms", False), ("60s", True)):
        bench = bench_of(tmp_path / str(wait))
        never_again = set_options({"commit.max-retries": "0"})
        change_schema(bench.table(), bench.store, [never_again], now_millis=NOW)
        arguments = {} if wait is None else {"wait": wait}
        racing = Racing(bench, 2)
        if not lands:
            with pytest.raises((Refused, CommitConflict), match="lost against other writers"):
                merge(bench, before_write=racing, clock=lambda: next(now), **arguments)
            assert "theirs" not in names(bench)
            continue
        receipt = merge(bench, before_write=racing, clock=lambda: next(now), **arguments)
        assert receipt.operation_id == "merge-1-again-2"
        assert {"theirs", "mine", "late-0", "late-1"} <= names(bench)


def test_who_waits_plans_again_as_often_as_the_time_allows(tmp_path: Path) -> None:
    for wait, lands in ((None, False), ("60s", True)):
        bench = bench_of(tmp_path / str(wait), deleted="base")
        left = list(range(MOST_PLANS + 2))

        def compact(stage: str, bench: BranchBench = bench, left: list[int] = left) -> None:
            if stage == "merge branch" and left:
                number = left.pop()
                old = "base" if live(bench, "base").num_rows else "again"
                compacts(bench, old, f"again-{number}")

        arguments: dict[str, str | bool] = {"isolation": "snapshot", "plan_again": True}
        if wait is not None:
            arguments["wait"] = wait
        if lands:
            merge(bench, on_stage=compact, **arguments)
            assert names(bench) == {"other", "mine", "theirs"}
            continue
        with pytest.raises(Refused, match="planned again 3 times already"):
            merge(bench, on_stage=compact, **arguments)
        assert "theirs" not in names(bench)


def test_keeping_to_try_is_told_in_time(tmp_path: Path) -> None:
    bench = bench_of(tmp_path)
    with pytest.raises(InvalidInput, match="60s or 5min, not 'soon'"):
        merge(bench, wait="soon")
    assert names(bench) == {"base", "other", "mine"}
    merge(bench, wait="60s")
    assert names(bench) == {"base", "other", "mine", "theirs"}
