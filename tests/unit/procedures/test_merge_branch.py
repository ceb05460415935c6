import json
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.commit.schema.schema_commit import change_schema, set_options
from branch_console.diff.changes.file_history import copy_name
from branch_console.diff.three_way import ThreeWay, each_side
from branch_console.errors import (
    CommitConflict,
    ErrorKind,
    InvalidInput,
    NotFound,
    PaimonError,
    Refused,
)
from branch_console.format.data_types import DataField, parse_data_type
from branch_console.format.identifier import Identifier
from branch_console.format.receipt import Receipt
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console.merge.conflict import ConflictKind, Take
from branch_console.merge.file_moves import Knowledge, MergeRules, Strategy
from branch_console.merge.plan import MergeVerdict, Plan, verdict_of
from branch_console.merge.row_work import JoinedDeletesResult
from branch_console.operations.isolation import Isolation
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import NOTHING_TO_UNDO
from branch_console.procedures.merge.inputs import planned_merge, preview_merge
from branch_console.procedures.undo.undo import UndoChance
from tests.support.branch_bench import NOW, BranchBench, TrustingRows, tree
from tests.support.commit_tables import data_files, message
from tests.support.lifecycle import metadata, preview, run, undo_chance

TABLE = Identifier(database="db", table="t")
MANAGED = {"write-only": "true"}


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    bench = BranchBench(tmp_path, options=dict(MANAGED))
    bench.append("base")
    bench.branch("dev")
    return bench


@pytest.fixture
def keyed(tmp_path: Path) -> BranchBench:
    bench = BranchBench(tmp_path, primary_keys=["id"], options={**MANAGED, "bucket": "2"})
    commit(bench, new=keyed_files("base", 0, 99))
    bench.branch("dev")
    return bench


def keyed_files(name: str, low: int, high: int, bucket: int = 0, level: int = 0) -> pa.Table:
    return data_files([name], keys=(low, high), bucket=bucket, level=level, total_buckets=2)


def commit(
    bench: BranchBench,
    *,
    branch: str = "main",
    new: pa.Table | None = None,
    gone: Iterable[str] = (),
    compact: tuple[Iterable[str], pa.Table] | None = None,
) -> Snapshot:
    table = bench.table(branch)
    head = table.head()

    def live(names: Iterable[str]) -> pa.Table:
        assert head is not None
        files = table.live_files(head)
        wanted = {f"data-{name}.parquet" for name in names}
        return files.filter(pa.array([each in wanted for each in files["file_name"].to_pylist()]))

    parts = {}
    if new is not None:
        parts["new_files"] = new
    if gone:
        parts["deleted_files"] = live(gone)
    if compact is not None:
        parts["compact_before"], parts["compact_after"] = live(compact[0]), compact[1]
    shown = next(iter(parts.values()))
    place = {name: shown[name][0].as_py() for name in ("bucket", "total_buckets")}
    identifier = hash((branch, str(sorted(parts)), head and head.id)) % (1 << 40)
    snapshot = bench.committer(branch).commit(
        [message(**place, **parts)], user="bob", identifier=identifier
    )
    assert snapshot is not None
    return snapshot


class Joining(TrustingRows):
    """Writes a file of so many rows for whatever is joined."""

    def __init__(self, name: str, rows: int) -> None:
        super().__init__()
        self.files = data_files([name], rows=rows, total_buckets=-1)

    def join_deletes(self, *_: object) -> JoinedDeletesResult[CommitMessage]:
        return JoinedDeletesResult(
            messages=(message(total_buckets=-1, new_files=self.files),), unresolved_files=()
        )


def written(bench: BranchBench, name: str, bucket: int = 0) -> Path:
    """A data file of that name, which can be copied."""
    path = Path(bench.path) / f"bucket-{bucket}" / f"data-{name}.parquet"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"rows")
    return path


def plan_with(bench: BranchBench, **rules: Any) -> Plan:
    return preview_merge(bench.warehouse(), TABLE, "dev", "main", MergeRules(**rules))


def short_names(names: Iterable[str]) -> set[str]:
    return {each.removeprefix("data-").removesuffix(".parquet") for each in names}


def names_of(files: pa.Table) -> set[str]:
    return short_names(files["file_name"].to_pylist())


def plan(bench: BranchBench, source: str = "dev", target: str = "main") -> Plan:
    return preview_merge(bench.warehouse(), TABLE, source, target, MergeRules())


def merge(bench: BranchBench, operation: str = "merge-1", **arguments: str | bool) -> Receipt:
    return bench.call("merge_branch", operation=operation, branch="dev", **arguments)


def names(bench: BranchBench, branch: str = "main") -> set[str]:
    return short_names(bench.live_names(branch))


def test_a_rule_of_rows_that_was_given_up_is_told_with_the_merge(bench: BranchBench) -> None:
    bench.append("theirs", branch="dev")
    bench.append("mine")
    call = ProcedureCall(
        name="merge_branch",
        arguments={"table": "db.t", "branch": "dev", "policy": "version: 1\nrows: touched"},
        actor="tester",
        operation_id="merge-1",
        role="operator",
    )
    assert any("rows: row" in note for note in planned_merge(bench.warehouse(), call).notes)


def test_both_sides_appended(bench: BranchBench) -> None:
    bench.append("theirs", branch="dev")
    bench.append("mine")
    found = plan(bench)
    assert verdict_of(found) is MergeVerdict.CLEAN
    assert found.strategies == {Strategy.REPLAY: 1}
    merge(bench)
    assert names(bench) == {"base", "theirs", "mine"}
    head = bench.table().head()
    assert head is not None
    assert (head.id, head.commit_kind, head.total_record_count) == (3, CommitKind.APPEND, 30)
    assert json.loads(head.properties["branch.merge.source-identity"])


def test_merging_twice_is_no_op(bench: BranchBench) -> None:
    bench.append("theirs", branch="dev")
    bench.append("mine")
    merge(bench)
    before = tree(Path(bench.file_io.root))
    assert verdict_of(plan(bench)) is MergeVerdict.UP_TO_DATE
    receipt = bench.call("merge_branch", operation="again", branch="dev")
    assert receipt.moves == ()
    assert tree(Path(bench.file_io.root)) == before


def test_a_branch_without_the_schema_of_its_head_is_not_merged(bench: BranchBench) -> None:
    bench.alter("dev")
    bench.append("theirs", branch="dev")
    bench.append("mine")
    Path(bench.table("dev").paths.schema(1)).unlink()
    found = plan(bench)
    assert verdict_of(found) is MergeVerdict.REFUSED
    assert "'dev' does not list its schema 1, which snapshot 2 needs" in found.blocks[0].text


def test_the_next_merge_brings_only_what_is_new(bench: BranchBench) -> None:
    bench.append("one", branch="dev")
    bench.append("mine")
    merge(bench)
    bench.append("two", branch="dev")
    found = plan(bench)
    assert found.cost.files_added == 1
    merge(bench, "merge-2")
    assert names(bench) == {"base", "one", "two", "mine"}


def test_a_target_that_did_not_move_takes_over_the_history(bench: BranchBench) -> None:
    bench.append("theirs", branch="dev")
    assert verdict_of(plan(bench)) is MergeVerdict.FAST_FORWARD
    merge(bench)
    head, other = bench.table().head(), bench.table("dev").head()
    assert head is not None
    assert other is not None
    assert head.identity.same_as(other.identity)


@pytest.mark.parametrize("is_rescued", [True, False], ids=["rescued", "no rescue branch"])
def test_what_the_target_was_cut_back_behind_is_no_base(tmp_path: Path, is_rescued: bool) -> None:
    """Its tag stays on the target, which holds none of its rows any more: they would be lost."""
    bench = BranchBench(tmp_path, options=dict(MANAGED))
    for name in ("a", "b", "c"):
        bench.append(name)
    bench.branch("dev")
    bench.append("d", branch="dev")
    run(bench, "rollback", "cut", snapshot=1, cut=True)
    for name in ("x", "y", "z"):
        bench.append(name)
    if not is_rescued:
        shutil.rmtree(bench.table("rescue-cut").paths.root)
        with pytest.raises(PaimonError, match="share no snapshot"):
            run(bench, "merge_branch", "merge", branch="dev")
        return
    run(bench, "merge_branch", "merge", branch="dev")
    assert bench.live_names() == {f"data-{name}.parquet" for name in "axyzbcd"}


@pytest.mark.parametrize("has_moved", [False, True])
def test_a_source_that_only_compacted_brings_nothing(bench: BranchBench, has_moved: bool) -> None:
    commit(bench, branch="dev", compact=(["base"], data_files(["compacted"], total_buckets=-1)))
    if has_moved:
        bench.append("mine")
    _brings_nothing(bench)


@pytest.mark.parametrize("has_moved", [False, True])
def test_a_source_that_took_its_rows_away_again_brings_nothing(
    bench: BranchBench, has_moved: bool
) -> None:
    bench.append("theirs", branch="dev")
    commit(bench, branch="dev", gone=["theirs"])
    if has_moved:
        bench.append("mine")
    _brings_nothing(bench)


def test_an_altered_source_that_only_compacted_is_taken_over(bench: BranchBench) -> None:
    commit(bench, branch="dev", compact=(["base"], data_files(["compacted"], total_buckets=-1)))
    bench.alter("dev")
    assert verdict_of(plan(bench)) is MergeVerdict.FAST_FORWARD


def _brings_nothing(bench: BranchBench) -> None:
    found, before = plan(bench), tree(Path(bench.file_io.root))
    assert verdict_of(found) is MergeVerdict.UP_TO_DATE
    assert found.notes == ("'dev' changed no row since the merge base: there is nothing to merge.",)
    merge(bench)
    assert tree(Path(bench.file_io.root)) == before


def test_the_compaction_of_the_source_is_not_replayed(bench: BranchBench) -> None:
    bench.append("theirs", branch="dev")
    after = data_files(["compacted"], rows=20, total_buckets=-1)
    commit(bench, branch="dev", compact=(["base", "theirs"], after))
    bench.append("mine")
    merge(bench)
    assert names(bench) == {"base", "theirs", "mine"}


def test_a_deleted_file_goes_from_the_target(bench: BranchBench) -> None:
    commit(bench, branch="dev", gone=["base"])
    commit(bench, compact=(["base"], data_files(["compacted"], total_buckets=-1)))
    found = plan(bench)
    assert verdict_of(found) is MergeVerdict.CLEAN
    merge(bench)
    # The target had compacted it: its compaction is taken back, and no row was read.
    assert names(bench) == set()


def test_a_compaction_of_the_target_is_taken_back_where_the_source_deleted(
    bench: BranchBench,
) -> None:
    bench.fence()
    bench.append("mine")
    commit(bench, branch="dev", gone=["base"])
    both = data_files(["compacted"], rows=20, total_buckets=-1)
    commit(bench, compact=(["base", "mine"], both))
    merge(bench, isolation="snapshot")
    assert names(bench) == {"mine"}


def test_a_delete_conflicts_with_rows_that_the_target_inserted(bench: BranchBench) -> None:
    commit(bench, branch="dev", gone=["base"])
    bench.append("mine")
    found = plan(bench)
    assert verdict_of(found) is MergeVerdict.CONFLICTS
    # In a table without partitions the scope settles nothing.
    assert found.conflicts[0].settle_with == (Take.ISOLATION_SNAPSHOT,)
    before = tree(Path(bench.file_io.root))
    with pytest.raises(Refused) as refused:
        merge(bench)
    assert refused.value.kind is ErrorKind.CONFLICTS_OPEN
    assert tree(Path(bench.file_io.root)) == before
    done = merge(bench, "merge-2", isolation="snapshot", scope="partition")
    assert names(bench) == {"mine"}
    assert {
        "Isolation snapshot was set: rows that 'main' added stay as they are.",
        "Insert scope partition was set: rows that 'main' added to partitions that 'dev' did not "
        "change stay as they are.",
    } <= set(done.notes)
    # Nothing is left to merge, and nothing is said to have stayed.
    held = merge(bench, "merge-3", isolation="snapshot")
    assert "Nothing was changed." in held.notes
    assert not any("Isolation" in each for each in held.notes)


def test_a_fast_forward_says_nothing_of_rows_that_the_target_did_not_add(
    bench: BranchBench,
) -> None:
    commit(bench, branch="dev", gone=["base"])
    done = merge(bench, isolation="snapshot")
    assert done.counts.snapshots_added == 1
    assert not any("Isolation" in each for each in done.notes)


def test_both_sides_updated_one_file(bench: BranchBench) -> None:
    for branch in ("main", "dev"):
        new = data_files([f"updated-{branch}"], total_buckets=-1)
        commit(bench, branch=branch, new=new, gone=["base"])
    (conflict,) = plan(bench).conflicts
    assert (conflict.rule, conflict.subject.name) == ("M3", "data-base.parquet")


def test_undo_brings_back_every_byte(bench: BranchBench) -> None:
    bench.append("theirs", branch="dev")
    bench.append("mine")
    before = {
        path: data
        for path, data in tree(Path(bench.file_io.root)).items()
        if "/snapshot/" in path or "/schema/" in path or "/tag/" in path
    }
    merge(bench)
    run(bench, "undo", "undo-1", operation="merge-1")
    after = tree(Path(bench.file_io.root))
    assert {path: after[path] for path in before if "/branch/" not in path} == {
        path: data for path, data in before.items() if "/branch/" not in path
    }
    assert names(bench) == {"base", "mine"}


def test_a_moved_target_stops_the_run(bench: BranchBench) -> None:
    bench.append("theirs", branch="dev")
    bench.append("mine")
    agreed = plan(bench).id
    bench.append("late")
    with pytest.raises((Refused, CommitConflict)) as stopped:
        merge(bench, plan_id=agreed)
    assert stopped.value.kind is ErrorKind.HEAD_MOVED
    assert names(bench) == {"base", "mine", "late"}


def test_a_branch_that_no_fence_keeps_gives_copies(tmp_path: Path) -> None:
    bench = BranchBench(tmp_path, options={"consumer.expiration-time": "1 d"})
    bench.append("base")
    bench.branch("dev")
    bench.append("theirs", branch="dev")
    bench.append("mine")
    data = written(bench, "theirs")
    found = plan(bench)
    assert (found.shares_files, found.cost.bytes_to_copy) == (False, 0)
    assert "get names of their own by hard links" in found.notes[-2]
    merge(bench, "1b9d6bcd-bbfd")
    assert names(bench) == {"base", "theirs-of-1b9d6bcd", "mine"}
    copy = data.parent / "data-theirs-of-1b9d6bcd.parquet"
    assert copy.samefile(data)
    # An expiry of the branch takes the first name away.
    data.unlink()
    assert copy.read_bytes() == b"rows"
    data.write_bytes(b"rows")
    # A copy counts as the file it was copied from: nothing comes twice.
    bench.append("two", branch="dev")
    assert plan(bench).cost.files_added == 1


def test_keys_that_do_not_overlap_are_replayed(keyed: BranchBench) -> None:
    commit(keyed, branch="dev", new=keyed_files("theirs", 10, 20))
    commit(keyed, new=keyed_files("mine", 30, 40))
    found = plan(keyed)
    assert verdict_of(found) is MergeVerdict.CLEAN
    assert found.strategies == {Strategy.REPLAY: 1}
    assert found.known_by == {Knowledge.MANIFESTS: 1}
    merge(keyed)
    assert names(keyed) == {"base", "theirs", "mine"}


def test_a_bucket_that_only_the_source_changed_is_adopted(keyed: BranchBench) -> None:
    commit(keyed, branch="dev", new=keyed_files("theirs", 10, 20, bucket=1))
    commit(keyed, new=keyed_files("mine", 10, 20))
    assert plan(keyed).strategies == {Strategy.ADOPT: 1}
    merge(keyed)
    assert names(keyed) == {"base", "theirs", "mine"}


def test_key_ranges_that_overlap_leave_the_verdict_to_rows(keyed: BranchBench) -> None:
    commit(keyed, branch="dev", new=keyed_files("theirs", 10, 30))
    commit(keyed, new=keyed_files("mine", 30, 40))
    found = plan(keyed)
    assert verdict_of(found) is MergeVerdict.UNDECIDED
    assert found.cost.buckets_to_compare == 1
    assert found.known_by == {Knowledge.KEYS: 1}


def test_after_cross_merges_disjoint_changes_stay_clean(keyed: BranchBench) -> None:
    commit(keyed, branch="dev", new=keyed_files("theirs", 0, 9))
    commit(keyed, new=keyed_files("mine", 20, 29))
    merge(keyed)
    keyed.call("merge_branch", operation="back", branch="main", target="dev")
    commit(keyed, branch="dev", new=keyed_files("theirs-2", 40, 49))
    commit(keyed, new=keyed_files("mine-2", 60, 69))
    found = plan(keyed)
    assert (verdict_of(found), found.cost.files_added) == (MergeVerdict.CLEAN, 1)
    merge(keyed, "merge-2")
    assert names(keyed) == {"base", "theirs", "mine", "theirs-2", "mine-2"}


@pytest.mark.parametrize(
    ("snapshot", "said"),
    [
        (99, "has no snapshot 99: it never was"),
        (1, "Snapshot 1 of 'main' cannot be reverted: what stood before it never was"),
    ],
    ids=["not there", "first"],
)
def test_what_has_no_before_is_not_reverted(bench: BranchBench, snapshot: int, said: str) -> None:
    with pytest.raises(NotFound, match=said):
        preview(bench, "revert", snapshot=snapshot)


def test_a_reverted_merge_takes_back_just_what_it_brought(bench: BranchBench) -> None:
    bench.append("theirs", branch="dev")
    bench.append("mine")
    merge(bench)
    bench.append("later")
    run(bench, "revert", "revert-1", operation="merge-1")
    assert names(bench) == {"base", "mine", "later"}
    # What the revert took back is an ancestor all the same: merging again brings nothing ...
    assert verdict_of(plan(bench)) is MergeVerdict.UP_TO_DATE
    # ... until the revert is reverted.
    run(bench, "revert", "revert-2", operation="revert-1")
    assert names(bench) == {"base", "mine", "later", "theirs"}


def test_a_revert_is_undone_as_its_preview_says(bench: BranchBench) -> None:
    bench.append("theirs", branch="dev")
    bench.append("mine")
    merge(bench)
    before = metadata(bench)
    assert preview(bench, "revert", operation="merge-1").undo.startswith("You can undo this until")
    run(bench, "revert", "back", operation="merge-1")
    assert undo_chance(bench, "merge-1").undone_by == "back"
    run(bench, "undo", "forth", operation="back")
    after = metadata(bench)
    assert {name: after[name] for name in before} == before
    assert "already contains 'dev'" in plan(bench).notes[0]
    # What the revert took back stands again, so it can be undone itself.
    assert undo_chance(bench, "merge-1") == UndoChance(obstacle=None)
    run(bench, "undo", "away", operation="merge-1")
    assert undo_chance(bench, "merge-1").undone_by == "away"


def test_what_a_reverted_revert_brought_back_is_not_told_as_undone(bench: BranchBench) -> None:
    bench.append("theirs", branch="dev")
    bench.append("mine")
    merge(bench)
    run(bench, "revert", "back", operation="merge-1")
    run(bench, "revert", "forth", operation="back")
    found = undo_chance(bench, "merge-1")
    assert found.undone_by is None
    assert "'main' moved since" in str(found.obstacle)


@pytest.mark.parametrize("keys", [(), ("id",)], ids=["rows", "keys"])
def test_what_came_back_as_a_copy_is_reverted_again(tmp_path: Path, keys: tuple[str, ...]) -> None:
    bench = BranchBench(tmp_path, primary_keys=keys, options={"bucket": "3"} if keys else None)
    for number, name in enumerate(("base", "bad", "more")):
        if keys:
            files = data_files([name], keys=(0, 9), bucket=number, total_buckets=3)
            commit(bench, new=files)
        else:
            bench.append(name)
    bench.hide_pins()
    written(bench, "bad", bucket=1 if keys else 0)
    run(bench, "revert", "away", snapshot=2)
    run(bench, "revert", "back", operation="away")
    copy = copy_name("data-bad.parquet", "back")
    assert names(bench) == {"base", "more", *short_names([copy])}
    run(bench, "revert", "again", snapshot=2)
    assert names(bench) == {"base", "more"}
    # Whichever of the reverts is turned around next, it is the newest copy that goes or comes.
    run(bench, "revert", "forth", operation="again")
    run(bench, "revert", "gone", operation="back")
    assert names(bench) == {"base", "more"}


def test_what_came_back_as_a_copy_does_not_come_twice(tmp_path: Path) -> None:
    bench = BranchBench(tmp_path)
    bench.append("base")
    bench.append("kept")
    bench.hide_pins()
    written(bench, "kept")
    commit(bench, gone=["kept"])
    run(bench, "revert", "back", snapshot=3)
    there = names(bench)
    assert there == {"base", *short_names([copy_name("data-kept.parquet", "back")])}
    run(bench, "revert", "twice", snapshot=3)
    assert names(bench) == there


def test_a_branch_takes_away_what_came_back_on_its_target_as_a_copy(tmp_path: Path) -> None:
    bench = BranchBench(tmp_path)
    bench.append("base")
    bench.append("bad")
    bench.branch("dev")
    written(bench, "bad")
    commit(bench, branch="dev", gone=["bad"])
    run(bench, "revert", "away", snapshot=2)
    run(bench, "revert", "back", operation="away")
    merge(bench)
    assert names(bench) == {"base"}


def test_a_copy_that_came_back_is_what_a_branch_brings(tmp_path: Path) -> None:
    bench = BranchBench(tmp_path)
    bench.append("base")
    bench.branch("dev")
    bench.append("theirs", branch="dev")
    bench.append("mine")
    written(bench, "theirs")
    on_dev = "db.t$branch_dev"
    run(bench, "revert", "away", table=on_dev, snapshot=2)
    run(bench, "revert", "back", table=on_dev, operation="away")
    # Nothing on dev names the first file any more once its snapshots expire.
    (Path(bench.path) / "bucket-0" / "data-theirs.parquet").unlink()
    merge(bench, isolation="snapshot")
    assert len(names(bench)) == 3


def test_the_tag_of_a_rollback_stays_though_a_revert_took_it_back(bench: BranchBench) -> None:
    bench.append("mine")
    run(bench, "rollback", "roll", snapshot=1)
    run(bench, "revert", "forth", operation="roll")
    # What the rollback made is in the history, and so are the files that its tag keeps.
    with pytest.raises(Refused, match="rollback roll made snapshot 3"):
        run(bench, "delete_tag", "away", tag="rollback-roll")
    assert undo_chance(bench, "roll").undone_by == "forth"


def test_a_merge_that_was_taken_back_is_not_said_to_be_held(bench: BranchBench) -> None:
    bench.append("theirs", branch="dev")
    bench.append("mine")
    merge(bench)
    run(bench, "revert", "back", operation="merge-1")
    again = run(bench, "merge_branch", "again", branch="dev")
    assert any("operation back (reverted) has taken it back" in each for each in again.notes)
    run(bench, "revert", "forth", operation="back")
    held = run(bench, "merge_branch", "held", branch="dev")
    assert any("already contains 'dev'" in each for each in held.notes)
    run(bench, "rollback", "roll", snapshot=2)
    rolled = run(bench, "merge_branch", "rolled", branch="dev")
    assert any("operation roll (rolled-back) has taken it back" in each for each in rolled.notes)


def test_a_revert_finds_its_files_though_they_were_compacted_since(bench: BranchBench) -> None:
    bench.fence()
    bench.append("theirs", branch="dev")
    bench.append("mine")
    merge(bench)
    after = data_files(["compacted"], rows=30, total_buckets=-1)
    commit(bench, compact=(["base", "mine", "theirs"], after))
    run(bench, "revert", "revert-1", operation="merge-1")
    assert names(bench) == {"base", "mine"}


def test_any_snapshot_can_be_reverted(bench: BranchBench) -> None:
    bench.append("good")
    bench.append("bad")
    bench.append("more")
    run(bench, "revert", "revert-1", snapshot=3)
    assert names(bench) == {"base", "good", "more"}


def test_what_is_reverted_or_picked_twice_adds_no_snapshot(bench: BranchBench) -> None:
    bench.append("bad")
    bench.append("theirs", branch="dev")
    run(bench, "revert", "away", snapshot=2)
    run(bench, "cherry_pick", "pick", branch="dev", snapshot=2)
    again = run(bench, "revert", "again", snapshot=2)
    assert again.notes[0].endswith(
        "snapshot 2 did to rows is left on 'main': there is nothing to revert."
    )
    twice = run(bench, "cherry_pick", "twice", branch="dev", snapshot=2)
    assert "there is nothing to pick" in twice.notes[0]
    assert (again.moves, twice.moves) == ((), ())
    assert preview(bench, "revert", snapshot=2).undo == NOTHING_TO_UNDO
    head = bench.table().head()
    assert head is not None
    assert head.id == 4


def test_an_operation_that_added_several_snapshots_is_not_reverted_by_halves(
    bench: BranchBench,
) -> None:
    bench.append("first", branch="dev")
    bench.append("second", branch="dev")
    run(bench, "fast_forward", "forward-1", branch="dev")
    with pytest.raises(InvalidInput, match="from snapshot 1 to 3; a revert takes back one"):
        run(bench, "revert", "revert-1", operation="forward-1")
    assert names(bench) == {"base", "first", "second"}


def test_one_snapshot_is_picked_from_a_branch(bench: BranchBench) -> None:
    for name in ("one", "two", "three"):
        bench.append(name, branch="dev")
    bench.append("mine")
    run(bench, "cherry_pick", "pick-1", branch="dev", snapshot=3)
    assert names(bench) == {"base", "mine", "two"}
    # Merged later, the picked change comes once.
    merge(bench)
    assert names(bench) == {"base", "mine", "one", "two", "three"}
    head = bench.table().head()
    assert head is not None
    assert head.total_record_count == 50


def test_picking_what_the_target_holds_brings_nothing(bench: BranchBench) -> None:
    bench.append("mine")
    receipt = run(bench, "cherry_pick", "pick-1", branch="dev", snapshot=1)
    assert receipt.moves == ()


def test_snapshots_that_expired_leave_what_both_ends_differ_by(bench: BranchBench) -> None:
    bench.append("one", branch="dev")
    bench.append("two", branch="dev")
    bench.append("mine")
    (Path(bench.table("dev").paths.snapshot(2))).unlink()
    found = plan(bench)
    assert (verdict_of(found), found.cost.files_added) == (MergeVerdict.CLEAN, 2)
    merge(bench)
    assert names(bench) == {"base", "one", "two", "mine"}


def test_a_tag_names_what_both_sides_held_when_its_snapshot_expired(bench: BranchBench) -> None:
    bench.append("theirs", branch="dev")
    bench.append("mine")
    for branch in ("main", "dev"):
        Path(bench.table(branch).paths.snapshot(1)).unlink()
    merge(bench)
    assert names(bench) == {"base", "theirs", "mine"}


@pytest.mark.parametrize("take", ["ours", "theirs"])
def test_a_policy_settles_a_file_that_both_updated(bench: BranchBench, take: str) -> None:
    for branch in ("main", "dev"):
        new = data_files([f"updated-{branch}"], total_buckets=-1)
        commit(bench, branch=branch, new=new, gone=["base"])
    merge(bench, policy=f"version: 1\nkinds: {{whole files: {take}}}")
    assert names(bench) == {"updated-main" if take == "ours" else "updated-dev"}


@pytest.mark.parametrize(("take", "left"), [("ours", "again-main"), ("theirs", "again-dev")])
def test_what_was_made_of_an_updated_file_goes_with_it(
    bench: BranchBench, take: str, left: str
) -> None:
    for branch in ("main", "dev"):
        for old, name in (("base", f"updated-{branch}"), (f"updated-{branch}", f"again-{branch}")):
            commit(bench, branch=branch, new=data_files([name], total_buckets=-1), gone=[old])
    merge(bench, policy=f"version: 1\nkinds: {{whole files: {take}}}")
    assert names(bench) == {left}


def test_a_policy_settles_a_file_that_the_target_updated_and_compacted(bench: BranchBench) -> None:
    bench.fence()
    for branch in ("main", "dev"):
        new = data_files([f"updated-{branch}"], total_buckets=-1)
        commit(bench, branch=branch, new=new, gone=["base"])
    bench.append("other")
    after = data_files(["packed"], total_buckets=-1, rows=20)
    commit(bench, compact=(["updated-main", "other"], after))
    merge(bench, isolation="snapshot", policy="version: 1\nkinds: {whole files: theirs}")
    assert names(bench) == {"updated-dev", "other"}


def delete_rows(bench: BranchBench, branch: str, *gone: str, left: str, rows: int) -> None:
    """What is left of some files is written as another one."""
    commit(bench, branch=branch, new=data_files([left], total_buckets=-1, rows=rows), gone=gone)


def test_files_of_which_both_deleted_rows_are_joined(bench: BranchBench) -> None:
    delete_rows(bench, "dev", "base", left="theirs", rows=7)
    delete_rows(bench, "main", "base", left="ours", rows=8)
    found = plan(bench)
    assert (verdict_of(found), found.conflicts) == (MergeVerdict.UNDECIDED, ())
    assert found.strategies == {Strategy.REWRITE: 1}
    assert (found.cost.files_joined, found.cost.files_added, found.cost.records_added) == (1, 0, -3)
    assert any("the 3 rows that the source deleted" in note for note in found.notes)
    assert found.moves is not None
    (join,) = found.moves.joins
    named = {each["identity"]: each["file_name"] for each in join.ours.to_pylist()}
    named |= {each["identity"]: each["file_name"] for each in join.theirs.to_pylist()}
    held = each_side(join.held, lambda side: {named[each] for each in side})
    assert held == ThreeWay(
        base={"data-base.parquet"}, ours={"data-ours.parquet"}, theirs={"data-theirs.parquet"}
    )


def test_files_that_were_written_as_one_are_joined_as_a_group(tmp_path: Path) -> None:
    bench = BranchBench(tmp_path, options=dict(MANAGED))
    for name in ("one", "two", "three", "alone"):
        bench.append(name)
    bench.branch("dev")
    delete_rows(bench, "dev", "one", "two", left="theirs", rows=15)
    delete_rows(bench, "main", "two", "three", left="ours", rows=15)
    commit(bench, gone=["alone"])
    found = plan(bench)
    assert verdict_of(found) is MergeVerdict.UNDECIDED
    assert found.moves is not None
    (join,) = found.moves.joins
    assert (join.rows_left, join.rows_deleted) == (20, 5)
    assert names_of(found.moves.remove) == {"one", "ours"}


def test_what_the_target_compacted_of_such_files_is_taken_back(bench: BranchBench) -> None:
    bench.append("other")
    delete_rows(bench, "dev", "base", left="theirs", rows=7)
    delete_rows(bench, "main", "base", left="ours", rows=8)
    commit(bench, compact=(["ours", "other"], data_files(["packed"], total_buckets=-1, rows=18)))
    found = plan_with(bench, isolation=Isolation.SNAPSHOT)
    assert found.moves is not None
    assert names_of(found.moves.remove) == {"packed"}
    assert names_of(found.moves.restore) == {"other"}
    assert len(found.moves.joins) == 1


def test_what_was_chosen_once_is_no_delete_of_what_was_left_out(bench: BranchBench) -> None:
    for branch in ("main", "dev"):
        new = data_files([f"updated-{branch}"], total_buckets=-1)
        commit(bench, branch=branch, new=new, gone=["base"])
    merge(bench, policy="version: 1\nkinds: {whole files: ours}")
    assert names(bench) == {"updated-main"}
    # Rows that the chosen file has too: as if it did not matter, they would stay.
    delete_rows(bench, "dev", "updated-dev", left="fewer", rows=7)
    assert verdict_of(plan(bench)) is MergeVerdict.CONFLICTS


def test_deletes_after_a_join_are_joined_again(bench: BranchBench) -> None:
    delete_rows(bench, "dev", "base", left="theirs", rows=7)
    delete_rows(bench, "main", "base", left="ours", rows=8)
    bench.call("merge_branch", operation="merge-1", branch="dev", rows=Joining("joined", 5))
    assert names(bench) == {"joined"}
    delete_rows(bench, "dev", "theirs", left="fewer", rows=4)
    found = plan(bench)
    assert (verdict_of(found), found.cost.files_joined) == (MergeVerdict.UNDECIDED, 1)
    assert found.moves is not None
    assert names_of(found.moves.remove) == {"joined"}


def test_a_merge_that_takes_back_a_compaction_is_no_overwrite(tmp_path: Path) -> None:
    bench = BranchBench(tmp_path, options=dict(MANAGED))
    bench.append("one")
    bench.append("two")
    bench.fence()
    bench.branch("dev")
    commit(bench, compact=(["one", "two"], data_files(["packed"], total_buckets=-1, rows=20)))
    delete_rows(bench, "dev", "one", left="rest", rows=7)
    bench.append("new", branch="dev")
    merge(bench)
    assert names(bench) == {"rest", "two", "new"}
    delete_rows(bench, "dev", "two", left="fewer", rows=9)
    commit(bench, gone=["new"])
    bench.call("merge_branch", operation="merge-2", branch="main", target="dev")
    assert names(bench, "dev") == {"rest", "fewer"}


def test_a_file_that_one_side_updated_keeps_those_written_with_it_from_being_joined(
    tmp_path: Path,
) -> None:
    bench = BranchBench(tmp_path, options=dict(MANAGED))
    bench.append("one")
    bench.append("two")
    bench.branch("dev")
    delete_rows(bench, "dev", "one", left="theirs", rows=7)
    delete_rows(bench, "dev", "two", left="updated", rows=10)
    delete_rows(bench, "main", "one", "two", left="ours", rows=15)
    assert sorted(each.rule for each in plan(bench).conflicts) == ["M1", "M2"]


def test_rows_of_a_file_that_the_target_deleted_do_not_come_back(bench: BranchBench) -> None:
    delete_rows(bench, "dev", "base", left="fewer", rows=8)
    delete_rows(bench, "dev", "fewer", left="fewest", rows=5)
    commit(bench, gone=["base"])
    found = plan(bench)
    # What is written as one with the rest of a delete may be an insert: rows tell, where they may.
    assert found.cost.files_added == 0
    assert found.moves is not None
    assert len(found.moves.joins) == 1


def test_a_policy_settles_an_option_that_both_set(bench: BranchBench) -> None:
    for branch, value in (("main", "3"), ("dev", "4")):
        table = bench.table(branch)
        change = set_options({"num-sorted-run.compaction-trigger": value})
        change_schema(table, bench.store, [change], now_millis=NOW)
    bench.append("theirs", branch="dev")
    (conflict,) = plan(bench).conflicts
    assert conflict.kind is ConflictKind.OPTION
    merge(bench, policy="version: 1\nkinds: {option: theirs}")
    assert bench.table().schema().options["num-sorted-run.compaction-trigger"] == "4"


def test_rows_without_a_value_for_a_new_not_null_column_get_its_default(bench: BranchBench) -> None:
    table = bench.table()
    filled = DataField(id=9, name="filled", type=parse_data_type("INT NOT NULL"), default_value="1")
    schema = table.schema()
    changed = replace(schema, id=1, fields=(*schema.fields, filled), highest_field_id=9)
    Path(table.paths.schema(1)).write_text(changed.to_json())
    bench.append("theirs", branch="dev")
    found = plan(bench)
    assert (verdict_of(found), found.strategies) == (MergeVerdict.CLEAN, {Strategy.REWRITE: 1})
    assert (found.cost.files_added, found.cost.files_joined, found.cost.records_added) == (0, 1, 10)
    assert any("get the default of 'filled'" in note for note in found.notes)


def test_a_branch_without_a_schema_is_no_branch_to_merge(bench: BranchBench) -> None:
    bench.append("mine")
    Path(bench.table("dev").paths.schema(0)).unlink()
    with pytest.raises(PaimonError) as error:
        plan(bench)
    assert "schema" in error.value.message


def test_files_of_a_branch_in_between_that_no_fence_keeps_are_copied(bench: BranchBench) -> None:
    bench.append("inner", branch="dev")
    bench.branch("feat", from_branch="dev")
    bench.append("mine")
    assert plan(bench, "feat").shares_files
    change = set_options({"consumer.changelog-only": "true"})
    change_schema(bench.table("dev"), bench.store, [change], now_millis=NOW)
    found = plan(bench, "feat")
    assert not found.shares_files
    assert any("'consumer.changelog-only' of 'dev'" in note for note in found.notes)
