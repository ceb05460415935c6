"""What keeps the files that branches share: fences, pins and twins of every verb, and their end."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pytest

from branch_console.commit.base.fences import fence_state, remove_fence
from branch_console.commit.schema.schema_commit import change_schema, set_options
from branch_console.diff.changes.file_history import copy_name
from branch_console.errors import ErrorKind, NotAllowed, Refused
from branch_console.format.receipt import Receipt
from branch_console.procedures.call.call import Argument
from branch_console.procedures.recover import recover_table
from tests.support.branch_bench import NOW, BranchBench, store_of
from tests.support.commit_tables import message
from tests.support.expiry_bench import ExpiryBench
from tests.support.faulty_store import At, FaultyStore, Killed
from tests.support.lifecycle import preview, run, undo_chance, without_hints, without_renames

Options: TypeAlias = dict[str, str]
IGNORED = {"consumer.expiration-time": "1 d"}


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """Main and dev each with a commit of their own; other software made dev, without a fence."""
    bench = BranchBench(tmp_path)
    bench.append("base")
    bench.branch("dev", fence=False)
    bench.append("theirs", branch="dev")
    bench.append("mine")
    return bench


def commit_gone(bench: BranchBench, branch: str, *names: str) -> None:
    """Commit that some files of a branch go."""
    table = bench.table(branch)
    head = table.head()
    assert head is not None
    files, wanted = table.live_files(head), {f"data-{name}.parquet" for name in names}
    gone = files.filter(pa.array([each in wanted for each in files["file_name"].to_pylist()]))
    removal = message(total_buckets=-1, deleted_files=gone)
    bench.committer(branch).commit([removal], user="etl", identifier=head.id + 1)


def is_fenced(bench: BranchBench, branch: str) -> bool:
    return fence_state(bench.table(branch)).is_effective


def pins(bench: BranchBench) -> dict[str, int]:
    tags = bench.table().tags.all()
    return {tag.name: tag.snapshot.id for tag in tags if tag.name.startswith("branch-pin-")}


def texts(bench: BranchBench, name: str, **arguments: Argument) -> list[str]:
    return [each.text for each in preview(bench, name, "op", **arguments).consequences]


def merge(bench: BranchBench) -> Receipt:
    return run(bench, "merge_branch", branch="dev")


def update(bench: BranchBench) -> Receipt:
    return run(bench, "merge_branch", branch="main", target="dev")


def pick(bench: BranchBench) -> Receipt:
    return run(bench, "cherry_pick", branch="dev", snapshot=2)


def pick_from_main(bench: BranchBench) -> Receipt:
    return run(bench, "cherry_pick", branch="main", snapshot=2, target="dev")


def force(bench: BranchBench) -> Receipt:
    return run(bench, "fast_forward", branch="dev", force=True)


def replace_main(bench: BranchBench) -> Receipt:
    return run(bench, "replace_main", branch="dev")


def cut(bench: BranchBench) -> Receipt:
    return run(bench, "rollback", snapshot=1, cut=True)


def roll_back(bench: BranchBench) -> Receipt:
    return run(bench, "rollback", table="db.t$branch_dev", snapshot=1)


def cut_dev(bench: BranchBench) -> Receipt:
    return run(bench, "rollback", table="db.t$branch_dev", snapshot=1, cut=True)


def revert(bench: BranchBench) -> Receipt:
    commit_gone(bench, "main", "mine")
    return run(bench, "revert", snapshot=3)


def revert_dev(bench: BranchBench) -> Receipt:
    commit_gone(bench, "dev", "theirs")
    return run(bench, "revert", table="db.t$branch_dev", snapshot=3)


@pytest.mark.parametrize(
    ("verb", "fenced", "pinned"),
    [
        (merge, {"dev"}, [3]),
        (update, {"dev"}, [2]),
        (pick, {"dev"}, [3]),
        (pick_from_main, {"dev"}, [2]),
        (force, {"dev", "rescue-op"}, [1, 2]),
        (replace_main, {"dev", "rescue-op"}, [1, 2]),
        (cut, {"rescue-op"}, [1]),
        (roll_back, {"dev"}, []),
        (cut_dev, {"dev", "rescue-op"}, []),
        (revert, set(), [2, 4]),
        (revert_dev, {"dev"}, []),
    ],
)
def test_every_verb_fences_the_branches_that_share_and_pins_main(
    bench: BranchBench, verb: Callable[[BranchBench], Receipt], fenced: set[str], pinned: list[int]
) -> None:
    receipt = verb(bench)
    there = {"main", *bench.table().branches.names()}
    assert {name for name in there if is_fenced(bench, name)} == fenced
    assert sorted(pins(bench).values()) == pinned
    told = [f"Branch {name!r} is fenced" for name in fenced if not name.startswith("rescue-")]
    assert all(any(note.startswith(each) for note in receipt.notes) for each in told)
    # What a pin names is what main holds under that number.
    for name, number in pins(bench).items():
        there_now = bench.table().snapshots.find(number)
        assert there_now is not None
        assert bench.table().tags.get(name).snapshot.identity.same_as(there_now.identity)


def test_a_preview_says_what_is_added_and_a_second_merge_adds_no_fence(bench: BranchBench) -> None:
    fence = (
        "Adds a fence to 'dev', so that an expiry there cannot remove files that other branches "
        "read."
    )
    tag = "Snapshot 3 of 'main' gets a tag, so that files which other branches need stay"
    told = texts(bench, "merge_branch", branch="dev")
    assert fence in told
    assert any(each.startswith(tag) for each in told)
    assert pins(bench) == {}
    merge(bench)
    bench.append("more", branch="dev")
    told = texts(bench, "merge_branch", branch="dev")
    assert fence not in told
    assert any(each.startswith(tag.replace("3", "4")) for each in told)


def test_a_merge_that_brings_no_file_keeps_its_base_and_pins_nothing(bench: BranchBench) -> None:
    commit_gone(bench, "dev", "theirs", "base")
    run(bench, "merge_branch", branch="dev", isolation="snapshot")
    assert (is_fenced(bench, "dev"), pins(bench)) == (True, {})


@pytest.mark.parametrize("verb", [merge, force, replace_main, cut])
def test_undo_takes_the_pins_and_leaves_the_fences(
    bench: BranchBench, verb: Callable[[BranchBench], Receipt]
) -> None:
    before = of_main_and_dev(bench)
    verb(bench)
    assert undo_chance(bench, "op").obstacle is None
    run(bench, "undo", "back", operation="op")
    after = of_main_and_dev(bench)
    fence = after.pop("db.db/t/branch/branch-dev/consumer/consumer-branch-console-fence", None)
    assert (fence is None) is (verb is cut)
    assert after == before


def of_main_and_dev(bench: BranchBench) -> dict[str, bytes]:
    """Snapshots, schemas, tags and consumers of both branches."""
    folders = ("snapshot", "schema", "tag", "consumer", "branch/branch-dev")
    roots = tuple(f"db.db/t/{each}/" for each in folders)
    return {name: data for name, data in without_hints(bench).items() if name.startswith(roots)}


def test_a_pin_stays_while_the_branch_is_there_under_any_name(bench: BranchBench) -> None:
    merge(bench)
    run(bench, "rename_branch", "name", branch="dev", to="fix")
    with pytest.raises(Refused, match="branch 'fix' holds files that it keeps"):
        run(bench, "delete_tag", "away", tag="branch-pin-op")
    run(bench, "drop_branch", "drop", branch="fix")
    with pytest.raises(Refused, match="branch 'rescue-drop' holds files"):
        run(bench, "delete_tag", "away", tag="branch-pin-op")
    bench.append("other")
    run(bench, "create_tag", "mine", tag="branch-pin-of-mine")
    run(bench, "delete_tag", "free", tag="branch-pin-of-mine")


def test_pins_of_a_protected_branch_get_a_twin(bench: BranchBench) -> None:
    run(bench, "protect_branch", "guard", branch="dev")
    merge(bench)
    assert pins(bench) == {"branch-pin-op": 3, "branch-pin-op-twin": 3}
    with pytest.raises(Refused, match="branch 'dev' holds files"):
        run(bench, "delete_tag", "away", tag="branch-pin-op-twin")
    run(bench, "undo", "back", operation="op")
    assert pins(bench) == {}


def test_a_fenced_main_needs_no_pin(bench: BranchBench) -> None:
    bench.fence()
    merge(bench)
    assert (is_fenced(bench, "dev"), pins(bench)) == (True, {})


@pytest.mark.parametrize("change", ["option", "tag"])
def test_files_are_copied_if_neither_fence_nor_pin_holds(bench: BranchBench, change: str) -> None:
    if change == "option":
        ignore_fences(bench, "dev")
    else:
        bench.hide_pins()
    data = Path(bench.path) / "bucket-0" / "data-theirs.parquet"
    data.parent.mkdir(exist_ok=True)
    data.write_bytes(b"rows")
    reason = (
        "'consumer.expiration-time' of 'dev'" if change == "option" else "Tag 'foreign' of main"
    )
    assert any(reason in each for each in texts(bench, "merge_branch", branch="dev"))
    merge(bench)
    copy = copy_name("data-theirs.parquet", "op")
    assert bench.live_names() == {"data-base.parquet", "data-mine.parquet", copy}
    assert (is_fenced(bench, "dev"), pins(bench)) == (False, {})


def ignore_fences(bench: BranchBench, branch: str) -> None:
    change_schema(bench.table(branch), bench.store, [set_options(IGNORED)], now_millis=NOW)


def test_a_history_that_may_not_be_shared_is_merged_not_taken_over(tmp_path: Path) -> None:
    bench = BranchBench(tmp_path, options=dict(IGNORED))
    bench.append("base")
    bench.branch("dev")
    bench.append("theirs", branch="dev")
    path = Path(bench.path) / "bucket-0" / "data-theirs.parquet"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"rows")
    with pytest.raises(Refused, match="Or merge 'dev': a merge copies the files") as refused:
        run(bench, "fast_forward", branch="dev")
    assert refused.value.kind is ErrorKind.FILES_IN_USE
    merge(bench)
    assert bench.live_names() == {"data-base.parquet", copy_name("data-theirs.parquet", "op")}


@pytest.mark.parametrize("cuts", [False, True])
def test_a_branch_that_ignores_fences_is_not_rolled_back(bench: BranchBench, cuts: bool) -> None:
    ignore_fences(bench, "dev")
    before = without_hints(bench)
    with pytest.raises(Refused, match=r"Option 'consumer\.expiration-time' of 'dev'"):
        run(bench, "rollback", table="db.t$branch_dev", snapshot=1, cut=cuts)
    assert without_hints(bench) == before


def test_main_is_fenced_if_no_pin_would_hold_and_files_cannot_be_copied(bench: BranchBench) -> None:
    bench.append("later")
    bench.branch("kept")
    told = texts(bench, "replace_main", branch="dev")
    assert any(each.startswith("Adds a fence to 'main'") for each in told)
    replace_main(bench)
    assert (is_fenced(bench, "main"), pins(bench)) == (True, {})


def test_branches_are_fenced_from_birth_to_rescue_and_back(bench: BranchBench) -> None:
    for name, arguments in (("new", {}), ("bare", {"empty": True})):
        bench.branch(name, **arguments)
        assert is_fenced(bench, name)
    run(bench, "rename_branch", "name", branch="new", to="next")
    assert is_fenced(bench, "next")
    assert not is_fenced(bench, "dev")
    run(bench, "drop_branch", "drop", branch="dev")
    assert is_fenced(bench, "rescue-drop")
    remove_fence(bench.table("rescue-drop"), bench.store)
    run(bench, "undo", "back", operation="drop")
    assert is_fenced(bench, "dev")


def test_a_branch_without_a_fence_is_for_operators(bench: BranchBench) -> None:
    with pytest.raises(NotAllowed, match="make a branch without a fence"):
        bench.call("create_branch", operation="no", branch="open", fence=False, role="editor")
    bench.call("create_branch", operation="yes", branch="open", fence=False)
    assert not is_fenced(bench, "open")


@pytest.mark.depth("full")
@pytest.mark.parametrize("has_renames", [True, False], ids=["renames", "copies"])
@pytest.mark.parametrize("name", ["merge_branch", "fast_forward"])
def test_a_merge_killed_at_any_change_is_fenced_before_and_pinned_after(
    tmp_path: Path, name: str, has_renames: bool
) -> None:
    number, ends = 0, set()
    while True:
        number += 1
        bench = BranchBench(tmp_path / f"at-{number}")
        bench.append("base")
        bench.branch("dev", fence=False)
        bench.append("theirs", branch="dev")
        if name == "merge_branch":
            bench.append("mine")
        head = bench.table().snapshots.latest_id() or 0
        inner = bench.store if has_renames else without_renames(Path(bench.file_io.root))
        faulty = FaultyStore(inner=inner, fault=At(call=number))
        try:
            run(bench, name, branch="dev", store=faulty.store)
            break
        except Killed:
            pass
        has_come = (bench.table().snapshots.latest_id() or 0) > head
        # Never are files shared by an unfenced branch, however short.
        assert is_fenced(bench, "dev") or not has_come
        recover_table(bench.warehouse(clock=lambda: NOW + 3_600_000), bench.table())
        came = "data-theirs.parquet" in bench.live_names()
        assert bool(pins(bench)) is came
        assert is_fenced(bench, "dev") or not came
        ends.add(came)
    assert True in ends


@pytest.mark.parametrize("verb", ["fast_forward", "merge_branch", "cherry_pick"])
def test_what_is_shared_is_not_copied_by_a_single_byte(tmp_path: Path, verb: str) -> None:
    bench = ExpiryBench(tmp_path / "made")
    bench.add("a")
    bench.branch("dev")
    bench.add("b", branch="dev")
    if verb != "fast_forward":
        bench.add("m")
    folder = Path(bench.path) / "bucket-0"

    def files() -> dict[str, tuple[int, int, bytes]]:
        return {
            each.name: (each.stat().st_ino, each.stat().st_nlink, each.read_bytes())
            for each in folder.iterdir()
        }

    before = files()
    counter = FaultyStore(inner=store_of(bench.root))
    given = {"snapshot": 2} if verb == "cherry_pick" else {}
    bench.call(verb, operation="op", store=counter.store, branch="dev", **given)
    assert bench.live_names() >= {"data-b.parquet"}
    assert files() == before
    assert not [each for each in counter.changes if "/bucket-" in str(each)]
