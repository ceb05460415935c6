"""L3: without holds and shared files, exactly the snapshots and files go that Java removes."""

import json
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from branch_console.format.receipt import Receipt
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from tests.support.java_paimon import JavaPaimon, JavaTable
from tests.support.local_row_engine import LocalFiles

pytestmark = [pytest.mark.shared_cells, pytest.mark.depth("full")]

_NAME = "db.t"
_HOUR = 3_600_000
# The older version asks how old a snapshot is, and not how long it has had a successor.
_BY_TIME = {"age"}
_COLUMNS = {"id": "INT", "name": "STRING", "pt": "INT"}


@dataclass(frozen=True, kw_only=True)
class Limits:
    """One expiry: its options, and what is done to the table before."""

    options: Mapping[str, str] = field(default_factory=dict)
    consumers: Mapping[str, int] = field(default_factory=dict)
    tags: tuple[int, ...] = ()


LIMITS = {
    "all but one": Limits(options={"snapshot.num-retained.max": "1"}),
    "most": Limits(options={"snapshot.num-retained.max": "3"}),
    "least": Limits(options={"snapshot.num-retained.min": "4", "snapshot.time-retained": "1 ms"}),
    "least beyond all": Limits(options={"snapshot.num-retained.min": "90"}),
    "age": Limits(options={"snapshot.time-retained": "210 min"}),
    "age and most": Limits(
        options={"snapshot.time-retained": "210 min", "snapshot.num-retained.max": "2"}
    ),
    "few at once": Limits(options={"snapshot.num-retained.max": "1", "snapshot.expire.limit": "2"}),
    "a consumer": Limits(
        options={"snapshot.num-retained.max": "1"}, consumers={"late": 3, "later": 5}
    ),
    "a consumer of changelogs": Limits(
        options={"snapshot.num-retained.max": "1", "consumer.changelog-only": "true"},
        consumers={"late": 3},
    ),
    "changelogs stay for a consumer": Limits(
        options={
            "snapshot.num-retained.max": "1",
            "changelog.num-retained.max": "5",
            "consumer.changelog-only": "true",
        },
        consumers={"late": 3},
    ),
    "changelogs stay": Limits(
        options={"snapshot.num-retained.max": "2", "changelog.num-retained.max": "5"}
    ),
    "changelogs stay for long": Limits(
        options={"snapshot.num-retained.max": "2", "changelog.time-retained": "10 d"}
    ),
    "tags": Limits(options={"snapshot.num-retained.max": "1"}, tags=(2, 4)),
}
_ALWAYS = {"snapshot.num-retained.min": "1", "snapshot.time-retained": "1 ms"}


def rows_of_partitions(java: JavaPaimon) -> JavaTable:
    """Files that overwrites remove, in partitions of which one is emptied."""
    options = {"bucket": "1", "bucket-key": "id", "write-only": "true"}
    table = java.create_table(_NAME, _COLUMNS, partition_keys=["pt"], options=options)
    table.write([(1, "ada", 1), (2, "bob", 2)])
    table.write([(3, "cy", 1)])
    table.write([(4, "dan", 2)], overwrite={"pt": "2"})
    table.write([(5, "eve", 3)])
    table.write([(6, "fay", 1)], overwrite={"pt": "1"})
    table.write([(7, "gus", 3)], overwrite={"pt": "3"})
    table.write([(8, "hal", 1)])
    return table


def keys_with_changelog(java: JavaPaimon) -> JavaTable:
    """Keys that are compacted, with changelog files of their own."""
    return _keys(java, {"changelog-producer": "input"})


def keys_without_changelog(java: JavaPaimon) -> JavaTable:
    """Keys whose changelog is what writers added, with levels that a compaction changes."""
    return _keys(java, {})


def _keys(java: JavaPaimon, options: Mapping[str, str]) -> JavaTable:
    given = {"bucket": "1", "write-only": "true", **options}
    table = java.create_table(_NAME, _COLUMNS, primary_keys=["id"], options=given)
    for number in range(3):
        table.write([(number, "ada", 1), (9, f"name {number}", 1)])
    table.compact()
    table.write([(1, "bob", 2)])
    table.compact()
    table.write([(2, "cy", 2)])
    return table


def vectors(java: JavaPaimon) -> JavaTable:
    """Rows that deletion vectors hide: index files and index manifests go too."""
    options = {"bucket": "1", "deletion-vectors.enabled": "true"}
    table = java.create_table(
        _NAME, _COLUMNS, primary_keys=["id"], options={**options, "snapshot.expire.limit": "1"}
    )
    for number in range(4):
        table.write([(number, "ada", 1), (9, f"name {number}", 1)])
        table.compact()
    return table


MakeTable = Callable[[JavaPaimon], JavaTable]
TABLES: tuple[MakeTable, ...] = (
    rows_of_partitions,
    keys_with_changelog,
    keys_without_changelog,
    vectors,
)


# In CI each expiry is of one table, but for those that differ from table to table.
CELLS = [
    pytest.param(
        make,
        name,
        id=f"{make.__name__}, {name}",
        marks=()
        if number % len(TABLES) == place or name.startswith("changelogs")
        else pytest.mark.depth("long"),
    )
    for place, make in enumerate(TABLES)
    for number, name in enumerate(LIMITS)
]


@pytest.fixture(scope="module")
def make(
    open_java: Callable[[Path], JavaPaimon], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[MakeTable], Path]:
    """Makes a warehouse once, whose snapshots are an hour old, two hours and so on."""
    made: dict[MakeTable, Path] = {}

    def of(build: MakeTable) -> Path:
        if build not in made:
            made[build] = tmp_path_factory.mktemp("expire") / "made"
            table = build(open_java(made[build]))
            age_by_hours(made[build])
            assert table.load().snapshotManager().latestSnapshotId() >= 7
        return made[build]

    return of


def age_by_hours(folder: Path) -> None:
    paths = sorted(folder.rglob("snapshot-*"), key=lambda path: int(path.name.split("-")[1]))
    now = int(time.time() * 1000)
    for age, path in enumerate(reversed(paths), start=1):
        raw = json.loads(path.read_text())
        raw["timeMillis"] = now - age * _HOUR
        path.write_text(json.dumps(raw))


def files(warehouse: Path) -> dict[str, bytes]:
    """All files of the table but ours; of hints what they say."""
    found = {}
    for path in (warehouse / "db.db/t").rglob("*"):
        name = str(path.relative_to(warehouse))
        if path.is_file() and "branch-lineage" not in name and not path.name.endswith(".crc"):
            found[name] = path.read_bytes() if path.name in ("EARLIEST", "LATEST") else b""
    return found


@pytest.mark.parametrize(("build", "name"), CELLS)
def test_exactly_what_java_removes_goes(
    build: MakeTable,
    name: str,
    make: Callable[[MakeTable], Path],
    open_java: Callable[[Path], JavaPaimon],
    tmp_path: Path,
) -> None:
    limits = LIMITS[name]
    for side in ("java", "ours"):
        shutil.copytree(make(build), tmp_path / side)
        table = open_java(tmp_path / side).table(_NAME)
        for consumer, at in limits.consumers.items():
            table.set_consumer(consumer, at)
        for at in limits.tags:
            table.create_tag(f"t{at}", at)
    options = {**_ALWAYS, **limits.options}
    java = open_java(tmp_path / "java")
    removed = java.table(_NAME).expire(options)
    receipt = expire(tmp_path / "ours", options)

    theirs, ours = files(tmp_path / "java"), files(tmp_path / "ours")
    if java.version == "1.4.2" and name in _BY_TIME:
        assert receipt.counts.snapshots_removed == min(removed, 3)
        assert {*theirs} - {*ours} <= {"db.db/t/snapshot/EARLIEST"}
        return
    assert receipt.counts.snapshots_removed == removed
    if build is keys_with_changelog and limits.tags:
        # Ours keep the changelog of a snapshot as long as a tag names it.
        longer = {*ours} - {*theirs}
        assert {each.split("/")[2] for each in longer} == {"bucket-0", "manifest"}
        ours = {each: ours[each] for each in theirs}
    if not removed:
        # Java writes the hint also where nothing goes.
        theirs.pop("db.db/t/snapshot/EARLIEST", None)
        ours.pop("db.db/t/snapshot/EARLIEST", None)
    assert ours == theirs


def expire(warehouse: Path, options: Mapping[str, str]) -> Receipt:
    call = ProcedureCall(
        name="expire_snapshots",
        arguments={
            "table": _NAME,
            "options": ",".join(f"{key}={value}" for key, value in options.items()),
            "grace": "0 s",
        },
        actor="ann",
        operation_id="op",
        role="operator",
    )
    return run_call(Warehouse.open(str(warehouse)), LocalFiles(), call, InlineStages())
