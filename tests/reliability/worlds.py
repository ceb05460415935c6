"""Small tables with real rows, built once and copied, and what a person does to them."""

import datetime as dt
import itertools
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.format.manifest_entry import MANIFEST_ENTRY, file_identity
from branch_console.spark.files.conform import conform
from branch_console.spark.files.data_files import WriteTarget, write_bucket
from branch_console.spark.files.deletion_vectors import drop_marks, mark_rows
from branch_console.spark.kernels.merge_on_read import VALUE_KIND
from branch_console.table.file_store_table import FileStoreTable
from tests.support.branch_bench import BranchBench
from tests.support.commit_tables import UNPARTITIONED, data_files, message

TABLE = Path("db.db") / "t"
World = Callable[[Path], None]

_CREATED = dt.datetime(2026, 1, 2, 3, 4, 5)

_UNAWARE = -1
KINDS: Mapping[str, tuple[bool, Mapping[str, str]]] = {
    "row ids": (False, {"row-tracking.enabled": "true"}),
    "vectors": (False, {"deletion-vectors.enabled": "true"}),
    "keys": (True, {}),
    "partial updates": (True, {"merge-engine": "partial-update"}),
    "aggregates": (True, {"merge-engine": "aggregation"}),
}
"""Tables beside the plain one: whether they have keys, and their options."""
_numbers = itertools.count(1)


class RowBench(BranchBench):
    """A BranchBench whose data files exist: one row each, whose name is that of the file."""

    def __init__(self, root: Path, *, keyed: bool = False, **options: str) -> None:
        if keyed:
            super().__init__(root, primary_keys=("id",), options={"bucket": "1", **options})
        else:
            super().__init__(root, options=options)

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

    def put(
        self,
        file: str,
        rows: Mapping[int, str],
        *,
        branch: str = "main",
        gone: Sequence[int] = (),
        instead_of: Sequence[str] = (),
        hides: Mapping[str, Sequence[int]] | None = None,
        level: int = 0,
    ) -> None:
        """Commit a file of rows by their id, as a writer does.

        Args:
            file: What it is called.
            rows: Names by id.
            branch: That gets it.
            gone: Ids of rows that it deletes.
            instead_of: Files that go, without which it has all of their rows that stay.
            hides: Places of rows in other files that a compaction found to be older.
            level: Above 0 another commit brings it there, as a compaction does.
        """
        table = self.table(branch)
        head = table.head()
        live = MANIFEST_ENTRY.empty_table() if head is None else table.live_files(head)
        new = self._file_of(branch, file, rows, gone, live)
        names = pa.array([f"data-{each}-0.parquet" for each in instead_of], pa.string())
        old = live.filter(pc.is_in(live["file_name"], value_set=names))
        self._commit(branch, new_files=new, deleted_files=old)
        if level:
            index = self._vectors(branch, _files_of(hides)) if hides else None
            self._commit(
                branch,
                compact_before=new,
                compact_after=_at_level(new, level),
                **({} if index is None else {"compact_new_index_files": index.new_index_files}),
            )

    def replace(
        self,
        file: str,
        rows: Mapping[int, str],
        files: pa.Table,
        *,
        branch: str,
        compacts: bool = False,
    ) -> None:
        """Commit a file of rows in place of live ones, or none where no row is left.

        Args:
            file: What it is called.
            rows: Names by id.
            files: The entries that go.
            branch: That gets it.
            compacts: Whether this is a compaction, and no change of rows.
        """
        table = self.table(branch)
        head = table.head()
        assert head is not None
        new = self._file_of(branch, file, rows, [], files) if rows else files.slice(0, 0)
        place, names = (UNPARTITIONED, 0), files["file_name"].to_pylist()
        come, go = drop_marks(table, head, self._target(table), place, names)
        parts = {"deleted_files": files, "new_files": new}
        index = {"new_index_files": come, "deleted_index_files": go}
        if compacts:
            parts = {"compact_before": files, "compact_after": new}
            index = {f"compact_{name}": each for name, each in index.items()}
        self._commit(branch, **parts, **index)

    def hide(self, hidden: Mapping[str, Sequence[int]], *, branch: str = "main") -> None:
        """Commit deletion vectors for rows at these places of files."""
        self.hide_in(_files_of(hidden), branch=branch)

    def hide_in(self, hidden: Mapping[str, Sequence[int]], *, branch: str) -> None:
        """The same by the whole names of the files."""
        found = self._vectors(branch, hidden)
        self._commit(
            branch,
            new_index_files=found.new_index_files,
            deleted_index_files=found.deleted_index_files,
        )

    def _commit(self, branch: str, **tables: pa.Table) -> None:
        message = self.message(**tables)
        self.committer(branch).commit([message], user="alice", identifier=next(_numbers))

    def _target(self, table: FileStoreTable) -> WriteTarget:
        return WriteTarget(
            schema=table.schema(), paths=table.data_paths(), store=self.file_io, created=_CREATED
        )

    def _file_of(
        self, branch: str, file: str, rows: Mapping[int, str], gone: Sequence[int], live: pa.Table
    ) -> pa.Table:
        """Write a data file; its sequence numbers follow on those of the live files."""
        target = self._target(self.table(branch))
        ids = [*rows, *gone]
        columns = {
            "id": pa.array(ids, pa.int64()),
            "name": pa.array([*rows.values(), *(None for _ in gone)], pa.string()),
            "pt": pa.array([0] * len(ids), pa.int32()),
            VALUE_KIND: pa.array([*(0 for _ in rows), *(3 for _ in gone)], pa.int8()),
        }
        written = write_bucket(
            target,
            UNPARTITIONED,
            0,
            [conform(pa.table(columns), target.schema)],
            next_sequence=(pc.max(live["max_sequence_number"]).as_py() or 0) + 1,
            file_id=file,
        )
        return written.new_files

    def _vectors(self, branch: str, hidden: Mapping[str, Sequence[int]]) -> CommitMessage:
        """Write deletion vectors for rows at these places of files."""
        table = self.table(branch)
        head = table.head()
        assert head is not None
        places = {file: np.array(rows) for file, rows in hidden.items()}
        deleted = {(UNPARTITIONED, 0): places}
        (found,) = mark_rows(table, head, self._target(table), deleted)
        return found

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


def of_kind(kind: str, world: World) -> World:
    """A world whose table is one of KINDS."""
    is_keyed, options = KINDS[kind]

    def build(root: Path) -> None:
        RowBench(root, keyed=is_keyed, **options)
        world(root)

    build.__name__ = f"{world.__name__}_of_{kind.replace(' ', '_')}"
    return build


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


def settled(root: Path) -> None:
    """A table with a primary key of which two branches changed the same rows, and others."""
    bench = RowBench(root, keyed=True, **{"write-only": "true"})
    bench.put("base", {1: "a", 2: "a", 3: "a", 4: "a"}, level=5)
    bench.branch("dev")
    bench.put("theirs", {1: "theirs", 2: "theirs"}, gone=[4], branch="dev")
    bench.put("ours", {1: "ours", 3: "ours", 4: "ours"})


def settled_copies(root: Path) -> None:
    """The same, where other engines expire snapshots: files are copied."""
    bench = RowBench(root, keyed=True)
    bench.put("base", {1: "a", 2: "a"}, level=5)
    bench.branch("dev")
    bench.alter("dev")
    bench.put("theirs", {1: "theirs", 5: "theirs"}, branch="dev")
    bench.alter("main", "other")
    bench.put("ours", {1: "ours", 6: "ours"})


def vectors_of_keys(root: Path) -> None:
    """A table with a primary key whose readers do not look at level 0: changes were compacted."""
    bench = RowBench(root, keyed=True, **{"deletion-vectors.enabled": "true"})
    bench.put("base", {1: "a", 2: "a", 3: "a", 4: "a"}, level=5)
    bench.branch("dev")
    bench.put("theirs", {1: "theirs", 2: "theirs"}, branch="dev", level=4, hides={"base": [0, 1]})
    bench.put("ours", {1: "ours", 3: "ours"}, level=4, hides={"base": [0, 2]})


def first_rows(root: Path) -> None:
    """A table that keeps the first row of each key, to which two branches added one key."""
    bench = RowBench(root, keyed=True, **{"merge-engine": "first-row", "write-only": "true"})
    bench.put("base", {1: "a"}, level=5)
    bench.branch("dev")
    bench.put("theirs", {2: "theirs", 4: "theirs"}, branch="dev", level=4)
    bench.put("ours", {2: "ours", 3: "ours"}, level=4)


def hidden(root: Path) -> None:
    """A table without keys whose branches hid rows of the same file, and of others."""
    bench = RowBench(root, **{"deletion-vectors.enabled": "true"})
    bench.put("one", {1: "a", 2: "a", 3: "a", 4: "a"})
    bench.put("two", {5: "a", 6: "a"})
    bench.branch("dev")
    bench.put("new", {7: "theirs", 8: "theirs"}, branch="dev")
    bench.hide({"one": [0, 1], "new": [0]}, branch="dev")
    bench.hide({"one": [1, 2], "two": [1]})


def written_again(root: Path) -> None:
    """A table without keys of which both branches wrote a file again without some of its rows."""
    bench = RowBench(root, **{"write-only": "true"})
    bench.put("one", {1: "a", 2: "a", 3: "a", 4: "a"})
    bench.branch("dev")
    bench.put("theirs", {2: "a", 3: "a", 4: "a"}, branch="dev", instead_of=["one"])
    bench.put("ours", {1: "a", 3: "a", 4: "a"}, instead_of=["one"])


def hidden_and_written_again(root: Path) -> None:
    """The same, where the branch hid its row, and has another file for which its vector stays."""
    bench = RowBench(root, **{"deletion-vectors.enabled": "true"})
    bench.put("one", {1: "a", 2: "a", 3: "a", 4: "a"})
    bench.put("two", {5: "a", 6: "a"})
    bench.branch("dev")
    bench.hide({"one": [0], "two": [0]}, branch="dev")
    bench.put("ours", {1: "a", 3: "a", 4: "a"}, instead_of=["one"])


def _files_of(hidden: Mapping[str, Sequence[int]]) -> dict[str, Sequence[int]]:
    return {f"data-{file}-0.parquet": places for file, places in hidden.items()}


def _at_level(files: pa.Table, level: int) -> pa.Table:
    levels = pa.repeat(pa.scalar(level, pa.int32()), files.num_rows)
    at = files.schema.get_field_index("level")
    raised = files.set_column(at, MANIFEST_ENTRY.field("level"), levels)
    at = files.schema.get_field_index("identity")
    return raised.set_column(at, MANIFEST_ENTRY.field("identity"), file_identity(raised))


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
