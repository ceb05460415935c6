"""The page Maintenance in words: what a dry run says, whose files are whose, what remedies it."""

from dataclasses import replace

import pyarrow as pa
import pytest

from branch_console.diff.expiry.dry_run import CleaningDryRun, DueSnapshot, ExpiryDryRun
from branch_console.diff.expiry.retention import HoldKind, SnapshotHold
from branch_console.diff.expiry.storage_cost import (
    FileAmount,
    FileOwner,
    OrphanScan,
    Overlap,
    OwnerCost,
    OwnerKind,
    StorageCost,
    TableStorage,
)
from branch_console.diff.health.finding import HazardSeverity, HealthFinding, Remedy
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.options import Options
from branch_console.format.receipt import Counts, Receipt
from branch_console_app.charts.storage import storage_figure
from branch_console_app.models.maintenance.dry_runs import (
    choice_digest,
    orphan_lines,
    words_of_cleaning,
    words_of_expiry,
)
from branch_console_app.models.maintenance.expiry_limits import limits_sentence
from branch_console_app.models.maintenance.holds import hold_chips, hold_help
from branch_console_app.models.maintenance.remedies import find_remedy, remedies_of
from branch_console_app.models.maintenance.rescues import rescue_lines
from branch_console_app.models.maintenance.storage import (
    MOST_BARS,
    orphan_words,
    overlaps_of,
    storage_alt,
    storage_lines,
)
from tests.unit.app.histories import snapshot

ETL = SnapshotHold(kind=HoldKind.CONSUMER, owner="etl", since_id=2)
UNDO = SnapshotHold(kind=HoldKind.UNDO, owner="0a" * 16, since_id=3, until_millis=1_000_000)
NOTHING = FileAmount(file_count=0, byte_count=0)
MINUTE = 60_000


def due(number: int, branch: str = "main", *holds: SnapshotHold) -> DueSnapshot:
    return DueSnapshot(branch=branch, snapshot=snapshot("m", number), holds=holds)


def expiry(*found: DueSnapshot, **given: object) -> ExpiryDryRun:
    parts = {
        "kept_count": 0, "released": NOTHING, "earlier": (), "grace_millis": 10 * MINUTE, **given,
    }  # fmt: skip
    return ExpiryDryRun(due=found, **parts)  # type: ignore[arg-type]


def orphans(*sizes: int, folder: str = "/w/t") -> pa.Table:
    paths = [f"{folder}/bucket-0/data-{number}.parquet" for number in range(len(sizes))]
    return pa.table(
        {"path": pa.array(paths, pa.string()), "file_size": pa.array(sizes, pa.int64())}
    )


def cleaning(*fresh: int, earlier: tuple[int, ...] = (), **given: object) -> CleaningDryRun:
    parts = {"unknown": (), "grace_millis": 10 * MINUTE, **given}
    return CleaningDryRun(orphans=orphans(*fresh), earlier=orphans(*earlier), **parts)  # type: ignore[arg-type]


def test_an_expiry_says_what_goes_what_is_held_and_what_is_not_due() -> None:
    found = words_of_expiry(
        expiry(
            due(1),
            due(1, "dev"),
            due(2, "main", ETL),
            kept_count=7,
            released=FileAmount(file_count=41, byte_count=3 * 1024),
        )
    )
    assert found.headline == (
        "**2 snapshots of 2 branches would expire.** 41 files with 3.0 KiB would be freed 10 "
        "minutes later, by the next expiry."
    )
    assert found.more == (
        "1 snapshot is due but stays: something still needs it.",
        "7 snapshots are not due.",
    )
    assert (found.typed, found.label) == ("2", "Expire 2 snapshots")


@pytest.mark.parametrize(
    ("dry_run", "headline", "typed", "label"),
    [
        (
            expiry(due(1), grace_millis=0, released=FileAmount(file_count=1, byte_count=5)),
            "**1 snapshot of 1 branch would expire.** 1 file with 5 B would be removed at once.",
            "1",
            "Expire 1 snapshot",
        ),
        (
            expiry(due(1)),
            "**1 snapshot of 1 branch would expire.** No file is freed: other snapshots, tags or "
            "branches still need all of them.",
            "1",
            "Expire 1 snapshot",
        ),
        (
            expiry(earlier=("op",), released=FileAmount(file_count=3, byte_count=30)),
            "**3 files with 30 B of earlier operations would be removed.** No snapshot is due.",
            "3",
            "Remove 3 files",
        ),
        (
            expiry(kept_count=1),
            "**No snapshot is due by these limits.** Nothing would change.",
            None,
            "Expire",
        ),
        (
            expiry(due(2, "main", ETL)),
            "**No snapshot is due by these limits.** Nothing would change.",
            None,
            "Expire",
        ),
    ],
)
def test_an_expiry_says_what_is_typed_before_it_runs(
    dry_run: ExpiryDryRun, headline: str, typed: str | None, label: str
) -> None:
    found = words_of_expiry(dry_run)
    assert (found.headline, found.typed, found.label) == (headline, typed, label)


def test_a_cleaning_says_what_is_noted_what_goes_now_and_what_is_unknown() -> None:
    found = words_of_cleaning(cleaning(10, 20, earlier=(30,), unknown=("/w/t/notes.txt",)))
    assert found.headline == (
        "**3 files with 60 B are named by no snapshot, tag or changelog of any branch.**"
    )
    assert found.more == (
        "2 files are noted now, and removed by the first cleaning after 10 minutes.",
        "1 file that earlier cleanings noted would be removed now.",
        "1 file stays: nothing names it either, but Paimon gives no file such a name.",
    )
    assert (found.typed, found.label) == ("3", "Remove 3 orphan files")
    nothing = words_of_cleaning(cleaning())
    assert nothing.typed is None
    assert nothing.headline.startswith("**No file is an orphan.**")


def test_orphan_files_stand_by_when_they_go_without_the_folder_of_the_table() -> None:
    lines = orphan_lines(cleaning(10, earlier=(30,)), "/w/t")
    assert [(each.shown, each.byte_count) for each in lines] == [
        ("bucket-0/data-0.parquet", 30),
        ("bucket-0/data-0.parquet", 10),
    ]
    assert ["removed" in each.fate for each in lines] == [True, False]
    assert "removed" in orphan_lines(cleaning(10, grace_millis=0), "/w/t")[0].fate


def test_holds_are_chips_that_name_who_holds() -> None:
    chips = hold_chips((ETL, UNDO, ETL))
    assert chips.startswith(":blue-badge[consumer etl, from 2 on] :orange-badge[undo 0a0a")
    assert chips.count("badge[") == 2
    told = hold_help((ETL, UNDO), None)
    assert "Consumer etl keeps snapshot 2 and later ones until somebody ends it." in told
    assert "until 1970-01-01 00:16:40 +00:00." in told
    assert hold_chips(()) == ""


def cost(name: str, alone: int, shared: int = 0, kind: OwnerKind = OwnerKind.BRANCH) -> OwnerCost:
    return OwnerCost(
        owner=FileOwner(kind=kind, name=name),
        head=NOTHING,
        history=NOTHING,
        exclusive=FileAmount(file_count=1, byte_count=alone),
        shared=FileAmount(file_count=1, byte_count=shared),
        reclaimable=NOTHING,
    )


def storage(*costs: OwnerCost, orphans: OrphanScan | None = None) -> TableStorage:
    owners = [each.owner for each in costs]
    pairs = [
        Overlap(owners=(left, right), amount=FileAmount(file_count=1, byte_count=9))
        for number, left in enumerate(owners)
        for right in owners[number + 1 :]
    ]
    total = FileAmount(
        file_count=len(costs), byte_count=sum(each.exclusive.byte_count for each in costs)
    )
    return TableStorage(
        cost=StorageCost(
            total=total, reclaimable=NOTHING, owners=tuple(costs), overlaps=tuple(pairs)
        ),
        holds={"dev": (ETL,)},
        orphans=orphans,
    )


def test_owners_stand_main_first_then_by_what_they_need_alone() -> None:
    found = storage(cost("main", 1), cost("dev", 5), cost("dev", 7, kind=OwnerKind.RETIRED))
    lines = storage_lines(found)
    assert [(each.name, each.kind) for each in lines] == [
        ("main", OwnerKind.BRANCH),
        ("dev", OwnerKind.RETIRED),
        ("dev", OwnerKind.BRANCH),
    ]
    # An operation may be named as a branch is; the holds are of the branch.
    assert [each.holds for each in lines] == [(), (), (ETL,)]
    assert "dev needs 7 B alone and 0 B with others" in storage_alt(lines)


def test_pairs_are_shown_of_one_owner_with_it_first() -> None:
    found = storage(cost("main", 1), cost("dev", 5), cost("sub", 2)).cost
    dev = found.owners[1].owner
    assert [each.owners[0].name for each in overlaps_of(found.overlaps, dev)] == ["dev", "dev"]
    assert [each.owners[1].name for each in overlaps_of(found.overlaps, dev)] == ["main", "sub"]
    assert overlaps_of(found.overlaps, None) == found.overlaps


def test_what_was_not_looked_for_is_not_called_none() -> None:
    assert orphan_words(storage(), 0) == "Nobody has looked for orphan files yet."
    scan = OrphanScan(operation_id="c", time_millis=0, waiting=NOTHING)
    assert orphan_words(storage(orphans=scan), 120_000) == (
        "Orphan files were looked for 2 minutes ago; none waits to be removed."
    )
    waiting = FileAmount(file_count=2, byte_count=20)
    scan = OrphanScan(operation_id="c", time_millis=0, waiting=waiting)
    assert "2 files with 20 B wait" in orphan_words(storage(orphans=scan), 120_000)


def test_bars_are_few_and_their_names_are_text() -> None:
    lines = storage_lines(storage(*(cost(f"<b>{number}</b>", number) for number in range(40))))
    figure = storage_figure(lines, uirevision="t")
    assert {trace.name for trace in figure.data} == {"alone", "with others", "size"}
    assert len(figure.data[0].x) == MOST_BARS
    assert all("<b>" not in text for text in figure.data[0].hovertext)
    assert all("<b>" not in text for text in figure.layout.yaxis.ticktext)


def finding(rule: str, *procedures: str) -> HealthFinding:
    return HealthFinding(
        rule=rule,
        severity=HazardSeverity.CRITICAL,
        branch="dev",
        evidence=(),
        text="It is so.",
        breaks="",
        advice="",
        remedies=tuple(Remedy(procedure=each, arguments={"table": "db.t"}) for each in procedures),
    )


def test_each_remedy_is_a_button_that_an_address_can_name() -> None:
    found = finding("F01", "pin_branch", "fence_branch")
    pin, fence = remedies_of(found)
    assert (pin.form.label, fence.form.procedure) == ("Pin a branch", "fence_branch")
    assert find_remedy([finding("F02", "pin_branch"), found], fence.what) == fence
    assert pin.is_previewed
    assert pin.statement == "CALL sys.pin_branch(table => 'db.t')"
    assert find_remedy([found], "F01:7:dev") is None
    assert find_remedy([found], None) is None


def test_a_finding_with_a_tag_for_each_of_several_snapshots_says_which_button_tags_which() -> None:
    tags = tuple(
        Remedy(
            procedure="create_tag", arguments={"table": "db.t", "tag": f"t{each}", "snapshot": each}
        )
        for each in (1, 4)
    )
    found = replace(finding("F17"), remedies=tags)
    assert [each.form.label for each in remedies_of(found)] == ["Tag snapshot 1", "Tag snapshot 4"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "the newest 10 snapshots stay, and those younger than 1 hour."),
        (
            {"snapshot.num-retained.max": "20", "snapshot.time-retained": "2 d"},
            "the newest 10 snapshots stay, and those younger than 2 days, at most 20 in all.",
        ),
        (
            {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "5"},
            "the newest snapshot stays, and those younger than 1 hour, at most 5 in all.",
        ),
        # Then age counts for nothing.
        ({"snapshot.num-retained.max": "10"}, "only the newest 10 snapshots stay."),
        (
            {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"},
            "only the newest snapshot stays.",
        ),
        ({"snapshot.num-retained.min": "1000000000"}, "all snapshots stay."),
    ],
)
def test_the_limits_of_an_expiry_are_told_by_the_options(
    options: dict[str, str], words: str
) -> None:
    assert limits_sentence(Options(options), "main") == f"By the options of `main`, {words}"


def event(kind: LineageKind, operation: str, millis: int, **given: str) -> LineageEvent:
    rescue = given.pop("rescue", None)
    receipt = None
    if rescue is not None:
        receipt = Receipt(
            operation_id=operation, statement="", actor="ada", plan_id="", moves=(),
            counts=Counts(), notes=(), rescue_branch=rescue, started_millis=0, finished_millis=0,
        )  # fmt: skip
    return LineageEvent(
        id=operation, branch="old", operation_id=operation, actor="ada", kind=kind,
        time_millis=millis, receipt=receipt, **given,
    )  # fmt: skip


def test_branches_that_operations_kept_tell_of_the_operation_and_the_newest_stands_first() -> None:
    events = (
        event(LineageKind.DROPPED, "a", 1, rescue="rescue-a"),
        event(LineageKind.REPLACED, "b", 2, rescue="rescue-b"),
        event(LineageKind.UNDONE, "c", 3, undoes="a"),
    )
    names = ("dev", "rescue-a", "rescue-b", "rescue-lost", "merge-x")
    found = storage(cost("main", 1), cost("rescue-b", 7, kind=OwnerKind.RESCUE))
    lines = rescue_lines(names, events, found)
    assert [each.name for each in lines] == ["rescue-b", "rescue-a", "rescue-lost", "merge-x"]
    assert [each.is_undone for each in lines] == [False, True, False, False]
    assert lines[0].alone == FileAmount(file_count=1, byte_count=7)
    # What was not counted is not called nothing.
    assert lines[1].alone is None
    assert rescue_lines(names, events, None)[0].alone is None


def test_a_form_that_was_changed_has_another_digest() -> None:
    asked = {"table": "db.t", "retain_max": 1}
    assert choice_digest("expire_snapshots", asked) == choice_digest(
        "expire_snapshots", dict(reversed(asked.items()))
    )
    assert choice_digest("expire_snapshots", asked) != choice_digest("orphans", asked)
    assert choice_digest("expire_snapshots", asked) != choice_digest(
        "expire_snapshots", {**asked, "retain_max": 2}
    )
