"""Tags, changelogs and partitions leave as Paimon's own procedures take them, in both versions."""

import datetime as dt
import json
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import jpype
import pytest

from branch_console.format.receipt import Receipt
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from tests.support.java_paimon import JavaPaimon, JavaTable, java_class
from tests.support.local_row_engine import LocalFiles

pytestmark = [pytest.mark.shared_cells, pytest.mark.depth("full")]

NAME = "db.t"
COLUMNS = {"id": "INT", "name": "STRING", "dt": "STRING"}
HOUR = 3_600_000
BUCKETS = {"bucket": "1", "bucket-key": "id", "write-only": "true"}


def call(warehouse: Path, procedure: str, **arguments: Argument) -> Receipt:
    asked = ProcedureCall(
        name=procedure,
        arguments={"table": NAME, **arguments},
        actor="ann",
        operation_id=f"op-{procedure}",
        role="operator",
    )
    return run_call(Warehouse.open(str(warehouse)), LocalFiles(), asked, InlineStages())


def files(warehouse: Path, folder: str = "") -> dict[str, bytes]:
    """All files of the table but ours, with what metadata says."""
    found = {}
    root = warehouse / "db.db" / "t" / folder
    for path in root.rglob("*"):
        name = str(path.relative_to(root))
        if path.is_file() and "branch-lineage" not in name and not name.endswith(".crc"):
            is_said = path.parent.name in ("tag", "changelog", "snapshot") or "_SUCCESS" in name
            found[name] = path.read_bytes() if is_said else b""
    return found


def both(tmp_path: Path) -> tuple[Path, Path]:
    """Two copies of what was made: for Java, and for ours."""
    for side in ("theirs", "ours"):
        shutil.copytree(tmp_path / "made", tmp_path / side)
    return tmp_path / "theirs", tmp_path / "ours"


def made_rows(java: JavaPaimon, options: Mapping[str, str] | None = None) -> JavaTable:
    """Files that overwrites take from a partition, so that tags keep some."""
    given = {**BUCKETS, **(options or {})}
    table = java.create_table(NAME, COLUMNS, partition_keys=["dt"], options=given)
    for number in range(4):
        table.write([(number, "ada", "a")], overwrite={"dt": "a"})
    return table


def age(warehouse: Path, hours: Mapping[int, int]) -> None:
    """Say that snapshots were committed so many hours ago, by their ids."""
    now = int(time.time() * 1000)
    for number, ago in hours.items():
        path = warehouse / "db.db" / "t" / "snapshot" / f"snapshot-{number}"
        raw = json.loads(path.read_text())
        raw["timeMillis"] = now - ago * HOUR
        path.write_text(json.dumps(raw))


def test_tags_are_replaced_renamed_and_deleted_as_java_does(
    open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    table = made_rows(open_java(tmp_path / "made"))
    for number, name in enumerate(("one", "two", "three"), start=1):
        table.create_tag(name, number)
    theirs, ours = both(tmp_path)
    java = open_java(theirs).table(NAME).load()
    java.replaceTag("one", jpype.JLong(4), None)
    java.renameTag("two", "second")
    java.deleteTags("three, missing")
    call(ours, "replace_tag", tag="one", snapshot=4)
    call(ours, "rename_tag", tag="two", target_tag="second")
    call(ours, "delete_tag", tag="three")
    assert files(ours) == files(theirs)


def test_a_tag_from_a_time_or_a_watermark_is_the_first_at_or_after_it(
    open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    table = made_rows(open_java(tmp_path / "made"))
    age(tmp_path / "made", {1: 40, 2: 30, 3: 20, 4: 10})
    manager = table.load().snapshotManager()
    for number, snapshot in enumerate(table.snapshots()):
        for moved in (-1, 0, 1):
            moment = snapshot["timeMillis"] + moved
            found = manager.laterOrEqualTimeMills(jpype.JLong(moment))
            if found is None:
                continue
            copy = tmp_path / f"{number}{moved}"
            shutil.copytree(tmp_path / "made", copy)
            done = call(copy, "create_tag_from_timestamp", tag="new", timestamp=moment)
            assert done.answer[0]["snapshot"] == int(found.id())


def expired_tags(table: JavaTable, older_than: dt.datetime | None) -> list[str]:
    store = table.load({"tag.time-expire-enabled": "true"})
    expiry = store.store().newTagAutoManager(store).getTagTimeExpire()
    if older_than is not None:
        parse = jpype.JClass("java.time.LocalDateTime").parse
        expiry.withOlderThanTime(parse(older_than.isoformat()))
    return [str(each) for each in expiry.expire()]


@pytest.mark.parametrize("is_older", [False, True], ids=["by their time", "older than"])
def test_tags_expire_with_the_files_that_java_removes(
    is_older: bool, open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    table = made_rows(open_java(tmp_path / "made"))
    table.create_tag("gone", 1, dt.timedelta(milliseconds=1))
    table.create_tag("stays", 2, dt.timedelta(days=1))
    table.create_tag("for good", 3)
    table.expire_snapshots(1)
    older = None
    if is_older:
        older = (dt.datetime.now() + dt.timedelta(hours=1)).replace(microsecond=0)
    theirs, ours = both(tmp_path)
    expected = expired_tags(open_java(theirs).table(NAME), older)
    assert expected
    asked = {} if older is None else {"older_than": older.isoformat(" ")}
    done = call(ours, "expire_tags", grace="0 s", **asked)
    assert [each["expired_tags"] for each in done.answer] == sorted(expected)
    assert files(ours).keys() == files(theirs).keys()


RULES: Mapping[str, Mapping[str, str]] = {
    "daily": {},
    "hourly": {"tag.creation-period": "hourly", "tag.period-formatter": "without_dashes"},
    "plain hours": {
        "tag.creation-period": "hourly",
        "tag.period-formatter": "without_dashes_and_spaces",
    },
    "two hours": {"tag.creation-period": "two-hours", "tag.creation-delay": "30 min"},
    "by the minute": {"tag.creation-period-duration": "90 min"},
    "completed": {"tag.creation-period": "hourly", "tag.automatic-completion": "true"},
    "few": {"tag.creation-period": "hourly", "tag.num-retained-max": "2"},
    "for a time": {"tag.creation-period": "hourly", "tag.default-time-retained": "1 d"},
    "elsewhere": {"sink.process-time-zone": "America/Los_Angeles"},
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(each, marks=() if number < 4 else pytest.mark.depth("long"))
        for number, each in enumerate(RULES)
    ],
)
def test_a_branch_gets_the_tags_of_java(
    name: str, open_java: Callable[[Path], JavaPaimon], tmp_path: Path, rng: Random
) -> None:
    options = {"tag.automatic-creation": "process-time", **RULES[name]}
    made_rows(open_java(tmp_path / "made"), options)
    hours = sorted(rng.sample(range(1, 80), 4), reverse=True)
    age(tmp_path / "made", dict(enumerate(hours, start=1)))
    theirs, ours = both(tmp_path)
    open_java(theirs).table(NAME).load().newTagAutoManager().run()
    call(ours, "trigger_tag_automatic_creation", grace="0 s")
    expected, found = files(theirs, "tag"), files(ours, "tag")
    assert found.keys() == expected.keys(), hours
    assert found
    if "tag.default-time-retained" not in options:
        assert {each: json.loads(found[each]) for each in found} == {
            each: json.loads(expected[each]) for each in expected
        }


CHANGELOG_LIMITS: Mapping[str, Mapping[str, str]] = {
    "most": {"changelog.num-retained.max": "4"},
    "least": {"changelog.num-retained.min": "5", "changelog.time-retained": "1 ms"},
    "few at once": {"changelog.num-retained.max": "3", "snapshot.expire.limit": "2"},
    "age": {"changelog.time-retained": "150 min"},
    "a reader": {"changelog.num-retained.max": "3"},
    "all": {},
}


def with_changelogs(java: JavaPaimon, producer: str) -> JavaTable:
    options = {"bucket": "1", "write-only": "true", "changelog-producer": producer}
    table = java.create_table(NAME, COLUMNS, primary_keys=["id"], options=options)
    for number in range(7):
        table.write([(1, f"name {number}", "a")])
        if number % 3 == 2:
            table.compact()
    return table


@pytest.mark.parametrize("producer", ["input", "none"])
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(each, marks=() if each in ("most", "all") else pytest.mark.depth("long"))
        for each in CHANGELOG_LIMITS
    ],
)
def test_changelogs_expire_as_java_expires_them(
    name: str, producer: str, open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    table = with_changelogs(open_java(tmp_path / "made"), producer)
    latest = int(table.load().snapshotManager().latestSnapshotId())
    age(tmp_path / "made", {number: latest - number + 1 for number in range(1, latest + 1)})
    open_java(tmp_path / "made").table(NAME).expire_snapshots(1, keep_changelogs=20)
    if name == "a reader":
        table.set_consumer("etl", 3)
    theirs, ours = both(tmp_path)
    limits = {
        "changelog.num-retained.min": "1",
        "changelog.time-retained": "1 ms",
        **CHANGELOG_LIMITS[name],
    }
    java = open_java(theirs).table(NAME).load(limits)
    expiry = java.newExpireChangelog()
    if name == "all":
        expiry.expireAll()
        call(ours, "expire_changelogs", delete_all=True, grace="0 s")
    else:
        removed = int(expiry.config(java.coreOptions().expireConfig()).expire())
        open_java(ours).table(NAME).set_options(limits)
        done = call(ours, "expire_changelogs", grace="0 s")
        assert done.answer == (({"result": str(removed)},) if removed else ())
    expected = files(theirs)
    found = {each: data for each, data in files(ours).items() if each != "schema/schema-1"}
    assert found == expected


def expired_partitions(table: JavaTable, options: Mapping[str, str]) -> list[str]:
    loaded = table.load({**options, "partition.expiration-check-interval": "0"})
    expiry = loaded.store().newPartitionExpire("", loaded)
    found = expiry.expire(jpype.JLong(2**63 - 1)) or []
    return [str(each.toString())[1:-1] for each in found]


PARTITIONS: Mapping[str, Mapping[str, Argument]] = {
    "values": {"expiration_time": "2 d"},
    "formatter": {"expiration_time": "2 d", "timestamp_formatter": "yyyyMMdd"},
    "pattern": {"expiration_time": "2 d", "timestamp_pattern": "$dt 00:00:00"},
    "few": {"expiration_time": "2 d", "max_expires": 1},
    "strict day": {"expiration_time": "2 d", "timestamp_formatter": "yyyy-MM-dd"},
    "quoted": {"expiration_time": "2 d", "timestamp_formatter": "yyyy'-'MM-dd[ HH:mm:ss]"},
    "updates": {"expiration_time": "1 ms", "expire_strategy": "update-time"},
    "young updates": {"expiration_time": "9 d", "expire_strategy": "update-time"},
}
OPTION_OF = {
    "expiration_time": "partition.expiration-time",
    "timestamp_formatter": "partition.timestamp-formatter",
    "timestamp_pattern": "partition.timestamp-pattern",
    "max_expires": "partition.expiration-max-num",
    "expire_strategy": "partition.expiration-strategy",
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(each, marks=() if number < 2 else pytest.mark.depth("long"))
        for number, each in enumerate(PARTITIONS)
    ],
)
def test_partitions_expire_as_java_expires_them(
    name: str, open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    java = open_java(tmp_path / "made")
    table = java.create_table(NAME, COLUMNS, partition_keys=["dt"], options=BUCKETS)
    today = dt.date.today()
    old = [today - dt.timedelta(days=ago) for ago in (1, 3, 4)]
    values: list[str | None] = [
        *(each.isoformat() for each in old),
        *(each.strftime("%Y%m%d") for each in old),
        "0000-01-01", "2020-02-30", "2020-2-3", "2020-02-03 25:00:00", "20200230", "no day", None,
    ]  # fmt: skip
    table.write([(number, "ada", value) for number, value in enumerate(values)])
    theirs, ours = both(tmp_path)
    asked = PARTITIONS[name]
    options = {OPTION_OF[each]: str(value) for each, value in asked.items()}
    expected = expired_partitions(open_java(theirs).table(NAME), options)
    done = call(ours, "expire_partitions", **asked)
    assert [each["expired_partitions"] for each in done.answer] == expected
    rows = open_java(ours).table(NAME).rows()
    assert sorted(rows, key=repr) == sorted(open_java(theirs).table(NAME).rows(), key=repr)
    heads = [open_java(side).table(NAME).snapshots()[-1] for side in (theirs, ours)]
    assert heads[0]["commitKind"] == heads[1]["commitKind"]
    assert heads[0].get("deltaRecordCount") == heads[1].get("deltaRecordCount")


def test_partitions_are_marked_as_java_marks_them(
    open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    table = made_rows(open_java(tmp_path / "made"))
    assert table
    theirs, ours = both(tmp_path)
    java = open_java(theirs).table(NAME).load()
    action: Any = java_class("partition.actions.SuccessFileMarkDoneAction")(
        java.fileIO(), java.location()
    )
    for value in ("a", "x=y"):
        action.markDone(
            str(
                java_class("utils.PartitionPathUtils").generatePartitionPath(
                    jpype.JClass("java.util.LinkedHashMap")({"dt": value})
                )
            )
        )
    call(ours, "mark_partition_done", partitions="dt=a;dt=x=y")
    marks = [
        {name: json.loads(data) for name, data in files(side).items() if "_SUCCESS" in name}
        for side in (theirs, ours)
    ]
    assert marks[0].keys() == marks[1].keys()
    for name, said in marks[1].items():
        assert said.keys() == marks[0][name].keys()
    texts = [(side / "db.db/t/dt=a/_SUCCESS").read_text() for side in (theirs, ours)]
    assert [text.translate({ord(each): None for each in "0123456789"}) for text in texts] == [
        texts[0].translate({ord(each): None for each in "0123456789"})
    ] * 2
