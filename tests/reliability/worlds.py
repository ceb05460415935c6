"""Small tables with real rows, built once and copied, and what a person does to them."""

import itertools
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from core.commit.commit_message import CommitMessage
from core.commit.commit_store import CommitStore
from core.commit.file_store_commit import FileStoreCommit
from core.format.manifest_entry import MANIFEST_ENTRY
from core.table.file_store_table import FileStoreTable
from tests.support.branch_bench import BranchBench
from tests.support.commit_tables import data_files, message

TABLE = Path("db.db") / "t"
World = Callable[[Path], None]

_UNAWARE = -1
_numbers = itertools.count(1)


class RowBench(BranchBench):
    """A BranchBench whose data files exist: one row each, whose name is that of the file."""

    def __init__(self, root: Path, *, keyed: bool = False) -> None:
        if keyed:
            super().__init__(root, primary_keys=("id",), options={"bucket": "1"})
        else:
            super().__init__(root)

    @property
    def root(self) -> Path:
        """The folder of the table."""
        return Path(self.path)

    def files(self, *names: str, level: int = 0) -> pa.Table:
        """Write a data file of each name, with a row whose key is taken from the name."""
        keyed = bool(self.table().schema().primary_keys)
        parts = []
        for name in names:
            key = key_of(name)
            path = self.root / "bucket-0" / f"data-{name}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                pq.write_table(_rows(name, key, keyed=keyed), path, compression="zstd")
                _sync(path)
            entry = data_files(
                [name],
                rows=1,
                level=level,
                keys=(key, key) if keyed else None,
                total_buckets=1 if keyed else _UNAWARE,
            )
            at = MANIFEST_ENTRY.get_field_index("file_size")
            size = pa.array([path.stat().st_size], pa.int64())
            parts.append(entry.set_column(at, MANIFEST_ENTRY.field("file_size"), size))
        return pa.concat_tables(parts) if parts else MANIFEST_ENTRY.empty_table()

    def message(self, **tables: pa.Table) -> CommitMessage:
        """What a writer of this table hands to the commit."""
        keyed = bool(self.table().schema().primary_keys)
        return message(total_buckets=1 if keyed else _UNAWARE, **tables)

    def add(self, *names: str, branch: str = "main", level: int = 0) -> None:
        """Commit files of that name to a branch."""
        self.committer(branch).commit(
            [self.message(new_files=self.files(*names, level=level))],
            user="alice",
            identifier=next(_numbers),
        )

    def change(
        self,
        *names: str,
        branch: str = "main",
        gone: Sequence[str] = (),
        compact: Sequence[str] = (),
        level: int = 0,
    ) -> None:
        """Commit files in place of others, as a change of rows or as a compaction."""
        table = self.table(branch)
        head = table.head()
        assert head is not None
        files = table.live_files(head)
        wanted = pa.array([f"data-{name}.parquet" for name in (*gone, *compact)], pa.string())
        old = files.filter(pc.is_in(files["file_name"], value_set=wanted))
        new = self.files(*names, level=level)
        kinds = ("compact_before", "compact_after") if compact else ("deleted_files", "new_files")
        self.committer(branch).commit(
            [self.message(**dict(zip(kinds, (old, new), strict=True)))],
            user="alice",
            identifier=next(_numbers),
        )

    def commit_through(self, store: CommitStore | None, branch: str = "main") -> FileStoreCommit:
        """A committer that works through a store, and never waits."""
        used = store or self.store
        table = FileStoreTable.open(used.files, self.path, self.identifier).on(branch)
        return FileStoreCommit(table, used, sleep=lambda _: None)


def key_of(name: str) -> int:
    """The key of the row in the data file of that name."""
    return sum(ord(each) * 131**place for place, each in enumerate(name)) % 1_000_003


def copy_world(origin: Path, to: Path) -> Path:
    """A copy of a warehouse that shares the files: none of them is ever changed in place."""
    shutil.rmtree(to, ignore_errors=True)
    for folder, _, names in os.walk(origin):
        copy = f"{to}{folder.removeprefix(str(origin))}"
        os.makedirs(copy)  # noqa: PTH103  # one of many thousand copies: paths stay text
        for name in names:
            os.link(f"{folder}/{name}", f"{copy}/{name}")
    return to


def ahead(root: Path) -> None:
    """A branch that is two snapshots, a schema and a tag ahead of main."""
    bench = RowBench(root)
    bench.add("a")
    bench.add("b")
    bench.tag("v1")
    bench.branch("dev")
    bench.add("c", branch="dev")
    bench.alter("dev")
    bench.tag("v2", "dev")
    bench.add("d", branch="dev")


def diverged(root: Path) -> None:
    """The same, and main went on with two commits, a schema and a tag of the same name."""
    ahead(root)
    bench = RowBench(root)
    bench.add("x")
    bench.alter("main", "other")
    bench.tag("v2")
    bench.add("y")


def expired(root: Path) -> None:
    """A table whose first snapshot lives on only in a tag."""
    bench = RowBench(root)
    bench.add("a")
    bench.tag("v1")
    bench.add("b")
    (bench.root / "snapshot" / "snapshot-1").unlink()
    (bench.root / "snapshot" / "EARLIEST").write_text("2")


def unpinned(root: Path) -> None:
    """A branch whose base tag somebody deleted on main."""
    ahead(root)
    (RowBench(root).root / "tag" / "tag-branch-base-dev").unlink()


def keyed(root: Path) -> None:
    """A primary-key table with a compacted file and two new ones."""
    bench = RowBench(root, keyed=True)
    bench.add("p", level=5)
    bench.add("q", "r")


def shared(root: Path) -> None:
    """Two branches that went on, of a table whose snapshots no engine expires."""
    BranchBench(root, options={"write-only": "true"})
    bench = RowBench(root)
    bench.add("a")
    bench.branch("dev")
    bench.add("c", branch="dev")
    bench.add("d", branch="dev")
    bench.add("x")


def rewritten(root: Path) -> None:
    """A branch whose rows changed, and a main that compacted them."""
    bench = RowBench(root)
    bench.add("a")
    bench.add("b")
    bench.branch("dev")
    bench.change("c", branch="dev", gone=["b"])
    bench.change("ab", compact=["a", "b"])


def keyed_rewritten(root: Path) -> None:
    """The same with a primary key, where the branch compacted too."""
    keyed(root)
    bench = RowBench(root)
    bench.branch("dev")
    bench.change("s", branch="dev", gone=["q"])
    bench.change("rs", branch="dev", compact=["r", "s"], level=4)
    bench.change("w", compact=["p", "q", "r"], level=5)


def _rows(name: str, key: int, *, keyed: bool) -> pa.Table:
    values: dict[str, Sequence[object]] = {"id": [key], "name": [name], "pt": [0]}
    types = {"id": pa.int64(), "name": pa.string(), "pt": pa.int32()}
    if keyed:
        values = {"_KEY_id": [key], "_SEQUENCE_NUMBER": [0], "_VALUE_KIND": [0], **values}
        types |= {"_KEY_id": pa.int64(), "_SEQUENCE_NUMBER": pa.int64(), "_VALUE_KIND": pa.int8()}
    return pa.table({field: pa.array(each, types[field]) for field, each in values.items()})


def _sync(path: Path) -> None:
    """Bring a file down to the disk, as writers do before they hand it to a commit."""
    for each in (path, path.parent):
        handle = os.open(each, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)
