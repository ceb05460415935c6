"""A table whose data files are there, and what each of its references needs, found one by one."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.commit.base.commit_store import CommitStore
from branch_console.errors import FormatError
from branch_console.format.data_types import STRING
from branch_console.format.manifest_entry import FileSource
from branch_console.format.receipt import Receipt
from branch_console.format.snapshot import Snapshot
from branch_console.format.values.binary_row import encode_row
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.dispatch import run_call
from branch_console.storage.table_paths import CHANGELOG_PREFIX, SNAPSHOT_PREFIX
from branch_console.table.data_file_paths import data_file_paths, index_file_paths
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.versioned_files import decode_states, list_prefixed, values_of
from tests.support.branch_bench import BranchBench, TrustingRows
from tests.support.commit_tables import UNPARTITIONED, data_files, message

LATER = 4_000_000_000_000
"""Long after all that tests commit."""
DAYS = tuple(
    (datetime.fromtimestamp(LATER / 1_000, UTC) - timedelta(days=ago)).strftime("%Y-%m-%d")
    for ago in range(5)
)
"""The partitions of a table of days, the newest first."""
AT_ONCE = "snapshot.num-retained.min=1,snapshot.time-retained=1 ms"


class ExpiryBench(BranchBench):
    """A BranchBench that makes the data files which its commits name.

    Attributes:
        has_days: Whether it has partitions, a day each; the name of a file tells its day.
    """

    def __init__(self, root: Path, *, has_days: bool = False, **given: object) -> None:
        if has_days:
            given["partition_keys"] = ["name"]
        super().__init__(root, **given)  # type: ignore[arg-type]
        self.root = root
        self.has_days = has_days

    def day(self, name: str) -> str | None:
        """The day of a file, given without prefix and suffix; None without partitions."""
        return DAYS[crc32(name.encode()) % len(DAYS)] if self.has_days else None

    def add(self, *names: str, branch: str = "main", watermark: int | None = None) -> None:
        """Commit files, and make them."""
        buckets = self.table(branch).schema().num_buckets
        self.committer(branch).commit(
            [
                message(
                    partition,
                    new_files=data_files(each, partition=partition, total_buckets=buckets),
                )
                for partition, each in self._by_partition(names)
            ],
            user="alice",
            identifier=hash((branch, names)) % (1 << 40),
            watermark=watermark,
        )
        self._make(names)

    def folder(self, day: str | None) -> Path:
        """The folder of the bucket of a day."""
        root = Path(self.path)
        return (root if day is None else root / f"name={day}") / "bucket-0"

    def replace(self, *names: str, branch: str = "main") -> None:
        """Commit files in place of all that are live, if there are any, and make them."""
        self.swap(self.live_names(branch), names, branch=branch)

    def swap(self, gone: set[str], names: tuple[str, ...], branch: str = "main") -> None:
        """Commit files in place of some that are live, given these by their file names."""
        table = self.table(branch)
        head = table.head()
        if head is None:
            self.add(*names, branch=branch)
            return
        live = table.live_files(head)
        doomed = live.filter(pc.is_in(live["file_name"], pa.array(sorted(gone), pa.string())))
        there = [*self._by_partition(names)]
        self.committer(branch).commit(
            [
                *(
                    message(each, deleted_files=doomed.filter(pc.equal(doomed["partition"], each)))
                    for each in pc.unique(doomed["partition"]).to_pylist()
                ),
                *(message(each, new_files=data_files(new, partition=each)) for each, new in there),
            ],
            user="alice",
            identifier=hash((branch, names, head.id)) % (1 << 40),
        )
        self._make(names)

    def compact(self, gone: set[str], name: str, branch: str = "main") -> bool:
        """Commit a compaction of live files, if there are any, given these by their file names.

        Where there are days, those of the day of the new file are compacted.
        """
        table = self.table(branch)
        head = table.head()
        day, partition = self.day(name), self._partition(name)
        gone = {each for each in gone if self.day(_bare(each)) == day}
        if head is None or not gone:
            return False
        live = table.live_files(head)
        before = live.filter([each in gone for each in live["file_name"].to_pylist()])
        after = data_files([name], partition=partition)
        at = after.schema.get_field_index("file_source")
        compacted = pa.array([int(FileSource.COMPACT)], pa.int32())
        after = after.set_column(at, after.schema.field(at), compacted)
        self.committer(branch).commit(
            [message(partition, compact_before=before, compact_after=after)],
            user="compactor",
            identifier=hash((branch, name, head.id)) % (1 << 40),
        )
        self._make((name,))
        return True

    def _make(self, names: tuple[str, ...]) -> None:
        for name in names:
            path = self.folder(self.day(name)) / f"data-{name}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(name.encode())

    def live_by_day(self, branch: str = "main") -> dict[str, set[str]]:
        """The live files of a branch by their days."""
        found: dict[str, set[str]] = {}
        for name in self.live_names(branch):
            found.setdefault(self.day(_bare(name)) or "", set()).add(name)
        return found

    def data_path(self, file_name: str) -> Path:
        """Where a data file lies."""
        return self.folder(self.day(_bare(file_name))) / file_name

    def _partition(self, name: str) -> bytes:
        day = self.day(name)
        return UNPARTITIONED if day is None else encode_row([day], [STRING])

    def _by_partition(self, names: Iterable[str]) -> Iterator[tuple[bytes, list[str]]]:
        found: dict[bytes, list[str]] = {}
        for name in names:
            found.setdefault(self._partition(name), []).append(name)
        yield from found.items()

    def expire(
        self,
        operation: str = "expiry",
        *,
        branch: str = "main",
        store: CommitStore | None = None,
        now: int = LATER,
        **arguments: Argument,
    ) -> Receipt:
        """Expire all that may go of a branch but its newest snapshot."""
        given: dict[str, Argument] = {"retain_max": 1, "options": AT_ONCE, "grace": "0 s"}
        name = "db.t" if branch == "main" else f"db.t$branch_{branch}"
        return self.call(
            "expire_snapshots",
            operation=operation,
            store=store,
            clock=lambda: now,
            **{**given, "table": name, **arguments},
        )

    def run(
        self,
        name: str,
        operation: str,
        now: int,
        arguments: Mapping[str, Argument],
        store: CommitStore | None = None,
    ) -> Receipt:
        """Call a procedure whose arguments may be called as those of `call` are."""
        call = ProcedureCall(
            name=name,
            arguments={"table": "db.t", **arguments},
            actor="ann",
            operation_id=operation,
            role="operator",
        )
        warehouse = self.warehouse(store, clock=lambda: now)
        return run_call(warehouse, TrustingRows(), call, InlineStages())

    def broken(self) -> list[str]:
        """What references of any branch name and is not there."""
        found = set()
        for table, snapshot, is_changelog in self._references():
            try:
                named = (
                    _written_by(table, snapshot) if is_changelog else _needed_by(table, snapshot)
                )
            except FormatError as error:
                found.add(str(error.facts.get("path")))
            else:
                found |= {path for path in named if not Path(path).exists()}
        return sorted(found)

    def needed(self) -> set[str]:
        """Every file that a snapshot, a tag or a changelog of any branch names."""
        found: set[str] = set()
        for table, snapshot, is_changelog in self._references():
            found |= _written_by(table, snapshot) if is_changelog else _needed_by(table, snapshot)
        return found

    def _references(self) -> Iterator[tuple[FileStoreTable, Snapshot, bool]]:
        """Every snapshot that a branch lists or tags, and every one that is a changelog."""
        main = self.table()
        for branch in ("main", *main.branches.names()):
            table = main.on_listed(branch)
            for snapshot in _named(table, table.paths.snapshot_dir, SNAPSHOT_PREFIX):
                yield table, snapshot, False
            for tag in table.tags.all():
                yield table, tag.snapshot, False
            for changelog in _named(table, table.paths.changelog_dir, CHANGELOG_PREFIX):
                yield table, changelog, True

    def snapshot_ids(self, branch: str = "main") -> tuple[int, ...]:
        """The ids of a branch."""
        return self.table(branch).snapshots.ids()

    def data_names(self) -> set[str]:
        """The names of the data files that are there, without prefix and suffix."""
        folder = Path(self.path) / "bucket-0"
        return {path.stem.removeprefix("data-") for path in folder.glob("data-*")}


def _bare(file_name: str) -> str:
    return file_name.removeprefix("data-").removesuffix(".parquet")


def _named(table: FileStoreTable, folder: str, prefix: str) -> tuple[Snapshot, ...]:
    listed = list_prefixed(table.reader, folder, prefix)
    return tuple(values_of(decode_states(table.reader, listed, Snapshot.from_json)))


def _written_by(table: FileStoreTable, changelog: Snapshot) -> set[str]:
    return set(data_file_paths(table, table.delta_entries(changelog)).to_pylist())


def _needed_by(table: FileStoreTable, snapshot: Snapshot) -> set[str]:
    paths = table.paths
    lists = [snapshot.base_manifest_list, snapshot.delta_manifest_list]
    if snapshot.changelog_manifest_list is not None:
        lists.append(snapshot.changelog_manifest_list)
    found = {paths.manifest(each) for each in lists}
    for each in lists:
        manifests = table.scan.read_list(paths, each)
        found |= {paths.manifest(name) for name in manifests["file_name"].to_pylist()}
    found |= set(data_file_paths(table, table.live_files(snapshot)).to_pylist())
    found |= set(data_file_paths(table, table.changelog_entries(snapshot)).to_pylist())
    if snapshot.index_manifest is not None:
        found.add(paths.manifest(snapshot.index_manifest))
        found |= set(index_file_paths(table, table.index_entries(snapshot)))
    if snapshot.statistics is not None:
        found.add(paths.statistics(snapshot.statistics))
    return found
