"""What a table on disk is, whoever reads it: the histories of its branches, and what breaks them.

Files are read straight from the disk, past every cache. What a snapshot says is decoded once a
process, for as long as it and the manifests behind it are the same bytes.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.index_manifest import deletion_vector_entries
from branch_console.format.snapshot import Snapshot
from branch_console.format.values.deletion_vector import DeletionVectorRange, read_deletion_vectors
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable

_LEDGER = "branch-lineage"
# Rows of a merge get names of their own each time.
_RANDOM = re.compile(r"rows-[0-9a-f]{32}-[0-9a-f-]{32,36}")
_TIMES = re.compile(rb'"(finishedMillis|timeMillis)" ?: ?\d+')


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A snapshot or tag: who made it, and what is live in it; names of manifests are left out."""

    id: int
    schema_id: int
    user: str
    identifier: int
    kind: str
    rows: int | None
    index: bool
    files: frozenset[str]
    hidden: frozenset[tuple[str, tuple[int, ...]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchOnDisk:
    """The metadata files of one branch, by number or name."""

    schemas: Mapping[int, bytes]
    snapshots: Mapping[int, bytes]
    tags: Mapping[str, bytes]

    @property
    def head(self) -> bytes | None:
        """The newest snapshot."""
        return self.snapshots[max(self.snapshots)] if self.snapshots else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a snapshot file says, and the bytes of the manifests and lists it needs."""

    point: Point
    needs: Mapping[str, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What lay in the folder of a table at one moment."""

    branches: Mapping[str, BranchOnDisk]
    manifests: Mapping[str, bytes]


_readings: dict[tuple[str, bytes], Reading] = {}


def look_at(table: Path) -> Seen:
    """Read all metadata of a table; for several questions about one moment, once is enough."""
    return Seen(branches=branches_of(table), manifests=manifests_of(table))


def branches_of(table: Path) -> dict[str, BranchOnDisk]:
    """Every branch that a listing of the folder shows, main first."""
    found = {MAIN_BRANCH: _branch(table)}
    folder = table / "branch"
    for each in sorted(folder.iterdir()) if folder.is_dir() else ():
        if each.is_dir() and each.name.startswith("branch-"):
            found[each.name.removeprefix("branch-")] = _branch(each)
    return found


def exact(table: Path) -> dict[str, bytes]:
    """The bytes of all schemas, snapshots and tags, by branch and name."""
    return {
        f"{branch} {kind} {name}": data
        for branch, found in branches_of(table).items()
        for kind, files in (
            ("schema", found.schemas),
            ("snapshot", found.snapshots),
            ("tag", found.tags),
        )
        for name, data in files.items()
    } | {f"{branch} exists": b"" for branch in branches_of(table)}


def meaning(table: Path) -> dict[str, object]:
    """The same, with what snapshots and tags say in place of their bytes."""
    there = manifests_of(table)
    return {
        name: data
        if " schema " in name or name.endswith(" exists")
        else reading(table, data, there).point
        for name, data in exact(table).items()
    }


def ledger(table: Path) -> dict[str, bytes]:
    """The files of journal and ledger, without the times at which something ended."""
    folder = table / _LEDGER
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    return {
        each.name: _TIMES.sub(b"", each.read_bytes())
        for each in files
        if each.is_file() and not each.name.startswith(".")
    }


def manifests_of(table: Path) -> dict[str, bytes]:
    """Every manifest and list of a table by its name."""
    return dict(_files(table / "manifest", ""))


def reading(table: Path, data: bytes, there: Mapping[str, bytes] | None = None) -> Reading:
    """Decode a snapshot or tag file and the manifests behind it.

    Args:
        table: Its folder.
        data: The file.
        there: The manifests of the table, where they have been read already.
    """
    found = manifests_of(table) if there is None else there
    known = _readings.get((table.name, data))
    if known is None or any(found.get(name) != held for name, held in known.needs.items()):
        known = _readings[table.name, data] = _read(table, data, found)
    return known


def digests(root: Path) -> dict[int, bytes]:
    """The digest of each file of a world by its number on the disk, which its copies share."""
    return {
        each.inode(): _digest(each.path)
        for folder, *_ in os.walk(root)
        for each in os.scandir(folder)
        if each.is_file()
    }


def fingerprint(
    table: Path, *, leftovers: bool = True, shared: Mapping[int, bytes] | None = None
) -> bytes:
    """A digest of all bytes and folders of a table: what is equal need not be looked at twice.

    Args:
        table: Its folder.
        leftovers: Whether temporary files count, which no reader opens.
        shared: The digests of the world of which it is a copy. That world has to be there still.
    """
    digest = hashlib.sha256()
    folders = [""]
    while folders:
        folder = folders.pop()
        digest.update(f"{folder}/\0".encode())
        for each in sorted(os.scandir(f"{table}{folder}"), key=lambda entry: entry.name):
            if each.is_dir():
                folders.append(f"{folder}/{each.name}")
            elif leftovers or not each.name.endswith(".tmp"):
                known = None if shared is None else shared.get(each.inode())
                digest.update(f"{each.name}\0".encode() + (known or _digest(each.path)))
    return digest.digest()


def _digest(path: str) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123  # of many thousand files: paths stay text
        return hashlib.sha256(file.read()).digest()


def rows(table: Path, branch: str = MAIN_BRANCH) -> list[tuple[int, str, int]]:
    """The rows at the head of a branch, from its files as they lie there.

    Of a key the row counts that has the highest sequence number; what readers of a table do not
    look at, because nobody compacted it yet, is left out.
    """
    opened = _open(table).on(branch)
    head = opened.head()
    if head is None:
        return []
    schema = opened.schema()
    gone = hidden(table, branch)
    found: dict[object, tuple[int, tuple[int, str, int] | None]] = {}
    for file in opened.live_files(head).select(["file_name", "level"]).to_pylist():
        if schema.primary_keys and schema.skips_level_0 and file["level"] == 0:
            continue
        (path,) = table.glob(f"**/{file['file_name']}")
        for place, row in enumerate(pq.read_table(path, partitioning=None).to_pylist()):
            if place in gone.get(file["file_name"], ()):
                continue
            key = row["id"] if schema.primary_keys else (file["file_name"], place)
            number = row.get("_SEQUENCE_NUMBER", 0)
            is_there = row.get("_VALUE_KIND", 0) in (0, 2)
            if key not in found or found[key][0] < number:
                held = (row["id"], row["name"], row["pt"])
                found[key] = (number, held if is_there else None)
    return sorted(row for _, row in found.values() if row is not None)


def hidden(table: Path, branch: str = MAIN_BRANCH) -> dict[str, tuple[int, ...]]:
    """The places of deleted rows by data file, at the head of a branch."""
    opened = _open(table).on(branch)
    head = opened.head()
    return {} if head is None else {name: places for _, name, places in _masks(opened, head)}


def live(table: Path, branch: str = MAIN_BRANCH) -> frozenset[str]:
    """The names of the live files at the head of a branch."""
    head = branches_of(table)[branch].head
    return frozenset() if head is None else reading(table, head).point.files


def data_files(table: Path) -> frozenset[str]:
    """Every data file on the disk, live or not."""
    return frozenset(
        str(each.relative_to(table))
        for each in table.glob("**/bucket-*/*")
        if each.is_file() and not each.name.startswith(".")
    )


def data_and_index_files(table: Path) -> list[str]:
    """Every data and index file on the disk, live or not; what a run names anew is told alike."""
    return sorted(
        _told(str(each.relative_to(table)))
        for pattern in ("**/bucket-*/*", "index/*")
        for each in table.glob(pattern)
        if each.is_file() and not each.name.startswith(".")
    )


def problems(table: Path, seen: Seen | None = None) -> list[str]:
    """Whatever a reader of some branch would stumble over; empty where all is well.

    Args:
        table: Its folder.
        seen: What lies there, where that has been looked at already.
    """
    now = seen or look_at(table)
    found = []
    for name, branch in now.branches.items():
        found += [f"{name}: {problem}" for problem in _problems(table, branch, now.manifests)]
    return found


def unreferenced(table: Path) -> set[str]:
    """Manifests and lists that no snapshot and no tag of any branch needs."""
    there = manifests_of(table)
    return {each for each in there if not each.startswith(".")} - {
        name
        for branch in branches_of(table).values()
        for data in (*branch.snapshots.values(), *branch.tags.values())
        for name in reading(table, data, there).needs
    }


def _problems(table: Path, branch: BranchOnDisk, there: Mapping[str, bytes]) -> Iterator[str]:
    if not branch.schemas:
        yield "has no schema"
    ids = sorted(branch.snapshots)
    if ids and ids != list(range(ids[0], ids[-1] + 1)):
        yield f"snapshots {ids} have a gap (C01)"
    for name, data in (*branch.snapshots.items(), *branch.tags.items()):
        try:
            found = reading(table, data, there)
        except Exception as error:  # whatever a reader trips over
            yield f"{name} cannot be read: {error}"
            continue
        if isinstance(name, int) and found.point.id != name:
            yield f"snapshot-{name} says it is {found.point.id}"
        if found.point.schema_id not in branch.schemas:
            yield f"{name} lacks schema {found.point.schema_id}"
    for number, data in branch.schemas.items():
        if json.loads(data)["id"] != number:
            yield f"schema-{number} is another one"


def _branch(folder: Path) -> BranchOnDisk:
    return BranchOnDisk(
        schemas={int(name): data for name, data in _files(folder / "schema", "schema-")},
        snapshots={int(name): data for name, data in _files(folder / "snapshot", "snapshot-")},
        tags=dict(_files(folder / "tag", "tag-")),
    )


def _files(folder: Path, prefix: str) -> Iterator[tuple[str, bytes]]:
    # Read for every state that a crash leaves: paths stay text.
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208
    except FileNotFoundError:
        return
    for name in names:
        if name.startswith(prefix):
            with open(f"{folder}/{name}", "rb") as file:  # noqa: PTH123
                yield name.removeprefix(prefix), file.read()


def _open(table: Path) -> FileStoreTable:
    files = FileIO.for_url(str(table.parents[1]))
    return FileStoreTable.open(files, str(table), Identifier(database="db", table="t"))


def _masks(
    opened: FileStoreTable, snapshot: Snapshot
) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """Deletion vectors: the index file, the data file and the places in it."""
    for entry in deletion_vector_entries(opened.index_entries(snapshot)).to_pylist():
        path = opened.paths.index(entry["file_name"])
        ranges = [DeletionVectorRange(**each) for each in entry["dv_ranges"]]
        with open(path, "rb") as file:  # noqa: PTH123
            vectors = read_deletion_vectors(file.read(), ranges, path)
        for name, places in vectors.items():
            yield entry["file_name"], name, tuple(sorted(places))


def _hidden(opened: FileStoreTable, snapshot: Snapshot) -> frozenset[tuple[str, tuple[int, ...]]]:
    return frozenset((_told(name), places) for _, name, places in _masks(opened, snapshot))


def _told(name: str) -> str:
    return _RANDOM.sub("rows", name)


def _read(table: Path, data: bytes, there: Mapping[str, bytes]) -> Reading:
    snapshot, opened = Snapshot.from_json(data), _open(table)
    lists = (
        snapshot.base_manifest_list,
        snapshot.delta_manifest_list,
        snapshot.changelog_manifest_list,
        snapshot.index_manifest,
    )
    manifests = opened.manifests(snapshot)["file_name"].to_pylist()
    return Reading(
        point=Point(
            id=snapshot.id,
            schema_id=snapshot.schema_id,
            user=snapshot.commit_user,
            identifier=snapshot.commit_identifier,
            kind=str(snapshot.commit_kind),
            rows=snapshot.total_record_count,
            index=snapshot.index_manifest is not None,
            files=frozenset(map(_told, opened.live_files(snapshot)["file_name"].to_pylist())),
            hidden=_hidden(opened, snapshot),
        ),
        needs={name: there[name] for name in (*lists, *manifests) if name is not None},
    )
