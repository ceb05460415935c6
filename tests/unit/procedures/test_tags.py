import json
import shutil
from pathlib import Path

import pytest

from branch_console.errors import AlreadyExists, InvalidInput, NotFound, Refused
from branch_console.format.lineage_event import LineageKind
from branch_console.format.receipt import Counts
from branch_console.procedures.branch.tags import retention_seconds
from branch_console.procedures.call.consequence import Weight
from tests.support.branch_bench import BranchBench, tree
from tests.support.lifecycle import preview, run


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    bench = BranchBench(tmp_path)
    bench.append("a")
    bench.append("b")
    return bench


def foreign_branch(bench: BranchBench, name: str, *, tag: str) -> None:
    """Make a branch as Paimon does: no ledger, and copies of tag, snapshot and schema."""
    main, made = bench.table().paths, bench.table(name).paths
    number = bench.table().tags.get(tag).snapshot.id
    for source, target in (
        (main.schema(0), made.schema(0)),
        (main.tag(tag), made.tag(tag)),
        (main.snapshot(number), made.snapshot(number)),
    ):
        bench.store.publisher.publish(target, Path(source).read_bytes())


def test_a_tag_and_its_end_are_in_the_ledger(bench: BranchBench) -> None:
    bench.call("create_tag", tag="v1", snapshot=1)
    path = Path(bench.table().paths.tag("v1"))
    assert path.read_bytes() == Path(bench.table().paths.snapshot(1)).read_bytes()
    receipt = bench.call("delete_tag", operation="away", tag="v1", reason="old")
    assert not path.exists()
    assert receipt.counts.tags_removed == 1
    events = bench.table().ledger.events()
    assert [(each.kind, each.tag, each.reason) for each in events] == [
        (LineageKind.TAGGED, "v1", None),
        (LineageKind.UNTAGGED, "v1", "old"),
    ]


def test_tags_name_the_head_or_a_snapshot_and_never_two(bench: BranchBench) -> None:
    bench.call("create_tag", operation="one", tag="now")
    bench.call("create_tag", operation="two", tag="then", snapshot=1)
    tags = bench.table().tags
    assert (tags.get("now").snapshot.id, tags.get("then").snapshot.id) == (2, 1)
    with pytest.raises(AlreadyExists, match="names snapshot 2"):
        bench.call("create_tag", operation="three", tag="now", snapshot=1)
    with pytest.raises(InvalidInput):
        bench.call("create_tag", operation="four", tag="12")


def test_a_tag_moves_only_where_that_is_asked_for(bench: BranchBench) -> None:
    bench.call("create_tag", operation="one", tag="now", snapshot=1)
    with pytest.raises(AlreadyExists, match=r"names snapshot 1, for good\. Choose another"):
        bench.call("create_tag", operation="two", tag="now")
    receipt = bench.call("create_tag", operation="two", tag="now", replace=True)
    assert bench.table().tags.get("now").snapshot.id == 2
    told = preview(bench, "delete_tag", tag="now").consequences[0].text
    assert told == "The name 'now' is gone from 'main': it meant snapshot 2."
    assert (receipt.counts.tags_added, receipt.counts.tags_removed) == (1, 1)


def test_a_tag_that_expires_is_written_as_paimon_does(bench: BranchBench) -> None:
    path = Path(bench.table().paths.snapshot(2))
    path.write_text(path.read_text().rstrip().removesuffix("}") + ', "unknown" : "kept" }')
    bench.call("create_tag", tag="week", time_retained="P7D")
    tag = bench.table().tags.get("week")
    assert tag.time_retained_seconds == 604_800
    assert tag.create_time is not None
    raw = json.loads(Path(bench.table().paths.tag("week")).read_text())
    assert raw["unknown"] == "kept"
    assert raw["tagTimeRetained"] == 604_800.0
    assert isinstance(raw["tagCreateTime"], list)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *(("P7D", 604_800), ("PT12H", 43_200), ("P1DT6H", 108_000), ("P2W", 1_209_600)),
        # As Paimon's procedures and options write it.
        *(("PT90S", 90), ("7 d", 604_800), ("1D", 86_400), ("12h", 43_200), ("1500", 1.5)),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert retention_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "P", "PT", "0 d", "P0D", "-P1D", "P1Y", "P1DT", "7 x"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(InvalidInput, match="no time for which a tag can be kept"):
        retention_seconds(text)


@pytest.mark.parametrize("name", ["delete_tag", "create_tag"])
def test_a_base_tag_stays_while_its_branch_lives(bench: BranchBench, name: str) -> None:
    bench.branch("dev", snapshot=1)
    more = {"replace": True} if name == "create_tag" else {}
    before = tree(Path(bench.file_io.root))
    with pytest.raises(Refused, match="it is the base tag of branch 'dev'") as caught:
        bench.call(name, tag="branch-base-dev", **more)
    assert caught.value.kind == "FILES_IN_USE"
    assert tree(Path(bench.file_io.root)) == before


def test_the_last_tag_at_the_fork_of_a_foreign_branch_stays(bench: BranchBench) -> None:
    bench.tag("v2")
    foreign_branch(bench, "dev", tag="v2")
    with pytest.raises(Refused, match="nothing else keeps the snapshot that branch 'dev' began at"):
        bench.call("delete_tag", tag="v2")
    bench.tag("v2-again")
    bench.call("delete_tag", operation="now", tag="v2")
    with pytest.raises(Refused):
        bench.call("delete_tag", operation="then", tag="v2-again")


def test_a_tag_that_a_foreign_branch_holds_as_well_stays(bench: BranchBench) -> None:
    bench.tag("v2")
    bench.append("c")
    foreign_branch(bench, "dev", tag="v2")
    bench.append("x", branch="dev")
    # Its early history expired, so that its oldest snapshot is one of its own.
    bench.store.remover.remove([bench.table("dev").paths.snapshot(2)])
    with pytest.raises(Refused, match="nothing else keeps the snapshot that branch 'dev' began at"):
        bench.call("delete_tag", tag="v2")
    bench.call("create_tag", operation="again", tag="v2-again", snapshot=2)
    bench.call("delete_tag", operation="now", tag="v2")


def test_the_fork_of_an_older_branch_of_that_name_does_not_count(bench: BranchBench) -> None:
    bench.branch("dev", snapshot=1)
    bench.tag("v2")
    # Paimon drops it, and makes another one, of which the ledger knows nothing.
    shutil.rmtree(bench.table("dev").paths.root)
    foreign_branch(bench, "dev", tag="v2")
    with pytest.raises(Refused, match="nothing else keeps the snapshot that branch 'dev' began at"):
        bench.call("delete_tag", tag="v2")
    bench.append("x", branch="dev")
    bench.store.remover.remove([bench.table("dev").paths.snapshot(2)])
    with pytest.raises(Refused, match="nothing else keeps"):
        bench.call("delete_tag", operation="late", tag="v2")


def test_the_fork_of_a_dropped_branch_of_that_name_does_not_count(bench: BranchBench) -> None:
    bench.branch("dev", snapshot=1)
    bench.tag("v2")
    run(bench, "drop_branch", "drop", branch="dev")
    foreign_branch(bench, "dev", tag="v2")
    with pytest.raises(Refused, match="nothing else keeps the snapshot that branch 'dev' began at"):
        bench.call("delete_tag", tag="v2")


def test_a_base_tag_stays_though_the_branch_lost_its_own_copy(bench: BranchBench) -> None:
    bench.branch("dev", snapshot=2)
    bench.append("x", branch="dev")
    paths = bench.table("dev").paths
    bench.store.remover.remove([paths.snapshot(2), paths.tag("branch-base-dev")])
    with pytest.raises(Refused, match="it is the base tag of branch 'dev'"):
        bench.call("delete_tag", tag="branch-base-dev")


def test_the_tag_of_a_pinned_foreign_branch_stays_once_its_early_history_expired(
    bench: BranchBench,
) -> None:
    bench.tag("v2")
    foreign_branch(bench, "dev", tag="v2")
    run(bench, "pin_branch", "pin", branch="dev")
    bench.append("x", branch="dev")
    paths = bench.table("dev").paths
    bench.store.remover.remove([paths.snapshot(2), paths.tag("v2")])
    with pytest.raises(Refused, match="it is the base tag of branch 'dev'"):
        bench.call("delete_tag", operation="gone", tag="branch-base-dev")


def test_tags_at_what_a_branch_of_ours_shares_may_go(bench: BranchBench) -> None:
    bench.branch("dev")
    bench.append("x", branch="dev")
    bench.tag("v3", branch="dev")
    run(bench, "fast_forward", "on", branch="dev")
    assert "v3" in bench.table().tags.names()
    bench.call("delete_tag", operation="gone", tag="v3")


def test_a_tag_of_a_branch_is_another_one(bench: BranchBench) -> None:
    bench.branch("dev")
    bench.call("create_tag", table="db.t$branch_dev", tag="v1")
    assert bench.table("dev").tags.names() == ("branch-base-dev", "v1")
    with pytest.raises(NotFound, match="no tag 'v1'"):
        bench.call("delete_tag", operation="main", tag="v1")
    bench.call("delete_tag", operation="dev", table="db.t$branch_dev", tag="v1")


def test_a_repeated_click_makes_and_deletes_once(bench: BranchBench) -> None:
    made = bench.call("create_tag", operation="make", tag="v1", snapshot=1)
    gone = bench.call("delete_tag", operation="gone", tag="v1")
    bench.call("create_tag", operation="again", tag="v1", snapshot=2)
    assert bench.call("create_tag", operation="make", tag="v1", snapshot=1) == made
    assert bench.call("delete_tag", operation="gone", tag="v1") == gone
    assert bench.table().tags.get("v1").snapshot.id == 2


def test_a_base_tag_never_gets_a_retention_time(bench: BranchBench) -> None:
    bench.branch("dev", snapshot=1)
    before = tree(Path(bench.file_io.root))
    with pytest.raises(Refused, match="cannot be given a retention time: it is the base tag"):
        bench.call(
            "create_tag", tag="branch-base-dev", snapshot=1, replace=True, time_retained="PT1S"
        )
    assert tree(Path(bench.file_io.root)) == before
    bench.call("create_tag", operation="same", tag="branch-base-dev", snapshot=1, replace=True)
    assert bench.table().tags.get("branch-base-dev").time_retained_seconds is None


def test_a_tag_that_nothing_stands_on_gets_a_retention_time_and_loses_it(
    bench: BranchBench,
) -> None:
    bench.tag("v2")
    bench.call("create_tag", operation="end", tag="v2", replace=True, time_retained="P7D")
    assert bench.table().tags.get("v2").time_retained_seconds == 604_800
    bench.call("create_tag", operation="keep", tag="v2", replace=True)
    assert bench.table().tags.get("v2").time_retained_seconds is None


def test_a_tag_that_lasts_for_another_time_is_replaced_only_where_that_is_asked_for(
    bench: BranchBench,
) -> None:
    bench.tag("v2")
    bench.call("create_tag", operation="week", tag="week", time_retained="P7D")
    before = tree(Path(bench.file_io.root))
    for arguments, lasts in (
        ({"tag": "v2", "time_retained": "P7D"}, "for good"),
        ({"tag": "week", "time_retained": "P8D"}, "until it expires by itself"),
        ({"tag": "week"}, "until it expires by itself"),
    ):
        taken = f"names snapshot 2, {lasts}. Choose another"
        with pytest.raises(AlreadyExists, match=taken):
            preview(bench, "create_tag", **arguments)
        with pytest.raises(AlreadyExists, match=taken):
            bench.call("create_tag", **arguments)
    assert tree(Path(bench.file_io.root)) == before
    found = preview(bench, "create_tag", tag="week", replace=True)
    assert "It no longer expires by itself." in [each.text for each in found.consequences]


@pytest.mark.parametrize("retained", [None, "P7D"])
def test_a_tag_that_is_as_asked_stays_and_says_so(bench: BranchBench, retained: str | None) -> None:
    bench.call("create_tag", operation="first", tag="v2", time_retained=retained)
    before = tree(Path(bench.file_io.root))
    found = preview(bench, "create_tag", tag="v2", time_retained=retained)
    assert [each.weight for each in found.consequences] == [Weight.KEEPS]
    assert found.undo == "There is nothing to undo."
    receipt = bench.call("create_tag", operation="second", tag="v2", time_retained=retained)
    assert receipt.counts == Counts()
    assert receipt.notes[-1] == "Nothing was changed."
    assert tree(Path(bench.file_io.root)) == before


def test_a_time_begins_anew_where_a_tag_is_replaced_by_the_same(bench: BranchBench) -> None:
    bench.call("create_tag", operation="first", tag="v2", time_retained="P7D")
    again = {"tag": "v2", "time_retained": "P7D", "replace": True}
    assert preview(bench, "create_tag", **again).title.startswith("Replace tag 'v2'")
    receipt = bench.call("create_tag", operation="second", **again)
    assert (receipt.counts.tags_added, receipt.counts.tags_removed) == (1, 1)


def test_undo_gives_no_retention_time_to_what_a_branch_stands_on(bench: BranchBench) -> None:
    bench.call("create_tag", operation="week", tag="v2", time_retained="P7D")
    bench.call("create_tag", operation="keep", tag="v2", replace=True)
    foreign_branch(bench, "dev", tag="v2")
    with pytest.raises(Refused, match="cannot be given a retention time: nothing else keeps"):
        run(bench, "undo", "back", operation="keep")


def test_undo_takes_a_retention_time_away_from_what_a_branch_stands_on(bench: BranchBench) -> None:
    bench.tag("v2")
    bench.call("create_tag", operation="week", tag="v2", replace=True, time_retained="P7D")
    foreign_branch(bench, "dev", tag="v2")
    run(bench, "undo", "back", operation="week")
    assert bench.table().tags.get("v2").time_retained_seconds is None
