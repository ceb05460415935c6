"""Snapshots of a branch: the head whatever the hints say (C21), broken files, time travel."""

from pathlib import Path

import pytest

from branch_console.errors import ErrorKind, FormatError, InvalidInput, NotFound
from branch_console.format.scan_options import ScanOptions
from branch_console.format.tag import Tag
from branch_console.storage.file_io import FileIO
from branch_console.storage.file_remover import FileRemover
from branch_console.table.scan_state import state_asked
from tests.support.table_files import TableFiles, a_schema, a_snapshot

MINUTE = 60_000


@pytest.fixture(params=["local", "memory"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> TableFiles:
    url = str(tmp_path) if request.param == "local" else f"memory://{tmp_path}"
    made = TableFiles(FileIO.for_url(url))
    made.schema()
    made.snapshots(*(a_snapshot(number) for number in range(2, 6)))
    return made


@pytest.mark.parametrize("hint", [None, "5", "3", "2", "99", "0", "-1", "", "garbage", "5\n"])
def test_the_head_found_is_the_same_whatever_the_hints_say(
    files: TableFiles, hint: str | None
) -> None:
    if hint is not None:
        files.write(files.paths.latest_hint, hint)
        files.write(files.paths.earliest_hint, hint)
    snapshots = files.table().snapshots
    head = snapshots.latest()
    assert head is not None
    assert (head.id, snapshots.latest_id(), snapshots.earliest_id()) == (5, 5, 2)


@pytest.mark.parametrize("left_out", [{3}, {5}, {3, 5}, {2, 3, 4, 5}])
def test_a_listing_that_leaves_snapshots_out_is_made_whole(
    files: TableFiles, left_out: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshots = files.table().snapshots
    head = snapshots.latest()
    store, names = type(files.file_io), {f"snapshot-{each}" for each in left_out}
    whole = store.list
    monkeypatch.setattr(
        store, "list", lambda *path: [each for each in whole(*path) if each.name not in names]
    )
    # What stood before the oldest that is known may have expired.
    oldest = min({2, 3, 4, 5} - left_out, default=5)
    assert [each.id for each in snapshots.walk()] == list(range(5, oldest - 1, -1))
    assert snapshots.latest() == head


def test_a_gap_in_the_files_stays_one(files: TableFiles) -> None:
    FileRemover(files.file_io).remove([files.paths.snapshot(3)])
    assert files.table().snapshots.ids() == (2, 4, 5)


def test_other_files_in_the_folder_are_no_snapshots(files: TableFiles) -> None:
    folder = files.paths.snapshot_dir
    for name in ("snapshot-x", "snapshot-", "snapshot-07", ".snapshot-9.uuid.tmp", "snapshot-0"):
        files.write(f"{folder}/{name}", "{}")
    files.write(f"{folder}/snapshot-8/inside", "")
    assert files.table().snapshots.ids() == (2, 3, 4, 5)


def test_a_branch_before_its_first_commit_has_no_head(files: TableFiles) -> None:
    table = files.table("empty")
    assert table.head() is None
    assert table.snapshots.latest_id() is None
    assert list(table.snapshots.walk()) == []
    assert table.snapshots.at_time(10**15) is None


def test_walking_goes_from_the_newest_back(files: TableFiles) -> None:
    assert [each.id for each in files.table().snapshots.walk()] == [5, 4, 3, 2]
    files.snapshots(*(a_snapshot(number) for number in range(6, 60)))
    assert [each.id for each in files.table().snapshots.walk()] == list(range(59, 1, -1))


def test_a_walk_ends_where_a_snapshot_expires_meanwhile_or_is_broken(files: TableFiles) -> None:
    files.snapshots(*(a_snapshot(number) for number in range(6, 60)))
    walk = files.table().snapshots.walk()
    assert next(walk).id == 59
    FileRemover(files.file_io).remove([files.paths.snapshot(20)])
    assert [each.id for each in walk] == list(range(58, 20, -1))
    files.write(files.paths.snapshot(20), "{")
    walk = files.table().snapshots.walk()
    assert [next(walk).id for _ in range(39)] == list(range(59, 20, -1))
    with pytest.raises(FormatError, match="snapshot-20 is broken"):
        next(walk)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("", ErrorKind.BROKEN_FILE),
        (a_snapshot(3).to_json()[:40], ErrorKind.BROKEN_FILE),
        ("[]", ErrorKind.BROKEN_FILE),
        ('{"version": 3}', ErrorKind.BROKEN_FILE),
        (a_snapshot(3).to_json().replace('"version" : 3', '"version" : 9'), "UNKNOWN_VERSION"),
    ],
    ids=["empty", "truncated", "no object", "fields missing", "newer version"],
)
def test_a_broken_snapshot_names_its_file_and_spoils_no_other(
    files: TableFiles, content: str, kind: ErrorKind
) -> None:
    path = files.write(files.paths.snapshot(3), content)
    snapshots = files.table().snapshots
    told = "is broken" if kind is ErrorKind.BROKEN_FILE else "cannot be read"
    with pytest.raises(FormatError, match=f"snapshot-3 {told}: ") as caught:
        snapshots.get(3)
    assert caught.value.facts["path"] == path
    assert caught.value.kind == kind
    states = snapshots.states()
    assert [(each.name, each.error is None) for each in states] == [
        ("2", True),
        ("3", False),
        ("4", True),
        ("5", True),
    ]
    assert snapshots.get(5).id == 5
    with pytest.raises(FormatError):
        snapshots.all()


def test_bytes_that_are_no_text_are_broken(files: TableFiles) -> None:
    files.write(files.paths.snapshot(5), b"\xff\xfe\x00{")
    with pytest.raises(FormatError, match="snapshot-5"):
        files.table().head()


def test_a_missing_snapshot_says_which_there_are(files: TableFiles) -> None:
    with pytest.raises(NotFound, match=r"no snapshot 1: .* It has 2 to 5\.") as caught:
        files.table().snapshots.get(1)
    assert caught.value.kind is ErrorKind.SNAPSHOT_NOT_FOUND


def test_a_new_snapshot_is_seen_by_the_same_handle(files: TableFiles) -> None:
    table = files.table()
    assert table.snapshots.latest_id() == 5
    files.snapshots(a_snapshot(6))
    assert table.snapshots.latest_id() == 6


def test_a_handle_follows_a_head_that_moves_far_or_back(files: TableFiles) -> None:
    snapshots = files.table().snapshots
    remover = FileRemover(files.file_io)
    for newest in (5, 6, 9, 80, 70, 5, 4, 90):
        known = set(snapshots.ids())
        files.snapshots(*(a_snapshot(each) for each in range(2, newest + 1) if each not in known))
        remover.remove([files.paths.snapshot(each) for each in known if each > newest])
        head = snapshots.latest()
        assert head is not None
        assert head.id == newest
    # What was seen last has expired meanwhile.
    files.snapshots(a_snapshot(91), a_snapshot(92))
    remover.remove([files.paths.snapshot(each) for each in range(2, 92)])
    assert [each.id for each in snapshots.walk()] == [92]
    head = snapshots.latest()
    assert head is not None
    assert head.id == 92


def test_a_snapshot_id_that_is_used_again_is_read_again(files: TableFiles) -> None:
    table = files.table()
    assert table.snapshots.get(5).commit_user == "m"
    files.snapshots(a_snapshot(5, "other writer"))
    assert table.snapshots.get(5).commit_user == "other writer"


@pytest.mark.parametrize(
    ("minutes", "expected"), [(1.9, None), (2, 2), (3.5, 3), (4, 4), (5, 5), (99, 5)]
)
def test_time_travel_finds_the_newest_snapshot_at_or_before(
    files: TableFiles, minutes: float, expected: int | None
) -> None:
    found = files.table().snapshots.at_time(int(minutes * MINUTE))
    assert (found and found.id) == expected


def test_versions_are_tags_ids_or_either_of_a_branch(files: TableFiles) -> None:
    files.tag(Tag(name="v1", snapshot=a_snapshot(3)))
    files.tag(Tag(name="4", snapshot=a_snapshot(2)))
    files.schema(a_schema(), branch="dev")
    files.snapshots(a_snapshot(7, "dev"), branch="dev")
    files.tag(Tag(name="v1.0", snapshot=a_snapshot(7, "dev")), branch="dev")
    table = files.table()
    assert table.snapshot_for("v1").id == 3
    assert table.snapshot_for("5").id == 5
    assert table.snapshot_for("4").id == 2  # a tag goes before an id, as in Paimon
    assert table.snapshot_for("dev.7").commit_user == "dev"
    assert table.snapshot_for("dev.v1.0").id == 7
    assert table.on("dev").snapshot_for("main.v1").id == 3
    assert table.snapshot_for(timestamp_millis=3 * MINUTE).id == 3


@pytest.mark.parametrize("version", ["nope", "dev.7", "a/b", "", "...", "9" * 30])
def test_a_version_that_is_not_there_says_so(files: TableFiles, version: str) -> None:
    with pytest.raises(NotFound):
        files.table().snapshot_for(version)


@pytest.mark.parametrize(
    ("millis", "told"), [(1, "1970-01-01 00:00:00.001+00:00"), (-(10**17), f"-{10**17} ms")]
)
def test_a_time_before_all_snapshots_is_told_as_a_date(
    files: TableFiles, millis: int, told: str
) -> None:
    with pytest.raises(NotFound) as refused:
        files.table().snapshot_for(timestamp_millis=millis)
    assert refused.value.message == (
        f"db.t has no snapshot at or before {told}. Choose a later time."
    )
    assert refused.value.facts["time_millis"] == millis


def test_times_in_the_wrong_order_are_told_as_dates(files: TableFiles) -> None:
    options = ScanOptions.parse({"incremental-between-timestamp": "1577836800000,0"})
    with pytest.raises(InvalidInput) as refused:
        state_asked(files.table(), options)
    assert refused.value.message == (
        "The option 'incremental-between-timestamp' is '1577836800000,0': 2020-01-01 "
        "00:00:00+00:00 comes after 1970-01-01 00:00:00+00:00. Name the earlier one first."
    )


def test_travel_needs_one_destination(files: TableFiles) -> None:
    with pytest.raises(InvalidInput):
        files.table().snapshot_for()
    with pytest.raises(InvalidInput):
        files.table().snapshot_for("1", timestamp_millis=1)
    with pytest.raises(NotFound, match="at or before"):
        files.table().snapshot_for(timestamp_millis=1)
