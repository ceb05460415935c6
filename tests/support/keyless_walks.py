"""Walks of tables without keys: each row has a name of its own, and files hold some of them.

A merged branch must hold every row that either side has seen and neither has deleted.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.diff.changes.file_history import Place, keys_of, original_name
from branch_console.diff.file_masks import HiddenRows, MaskKey
from branch_console.diff.masks import masks_of
from branch_console.diff.three_way import each_side
from branch_console.format.data_types import INT
from branch_console.format.manifest_entry import MANIFEST_ENTRY
from branch_console.format.values.binary_row import encode_row
from branch_console.merge.conflict import Take
from branch_console.merge.file_moves import FileMoves
from branch_console.merge.joined_deletes import HeldFiles, JoinedDeletes, kept_by_both
from branch_console.merge.row_work import JoinedDeletesResult, RowScope
from branch_console.procedures.merge.deletion_vectors import write_masks
from branch_console.procedures.merge.side_log import read_masks
from branch_console.table.file_store_table import FileStoreTable
from tests.support.branch_bench import TrustingRows
from tests.support.commit_tables import UNPARTITIONED, data_files, message
from tests.support.merge_walk import BRANCHES, Walk, WalkBench

Death: TypeAlias = tuple[str, int]
"""A row, and a number for how it went: what took it away may be taken back."""


@dataclass
class KeylessWalk(Walk):
    """Rows have names; a file holds some of them."""

    options: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"write-only": "true", "deletion-vectors.enabled": "true"}
    )
    partition_keys: ClassVar[tuple[str, ...]] = ()
    rows: dict[str, frozenset[str]] = field(default_factory=dict)
    lies_in: dict[str, bytes] = field(default_factory=dict)
    seen: dict[str, frozenset[str]] = field(default_factory=dict)
    deaths: dict[str, frozenset[Death]] = field(default_factory=dict)
    taken_back: dict[str, frozenset[Death]] = field(default_factory=dict)

    def engine(self) -> TrustingRows:
        return NamedRows(self)

    def start(self) -> None:
        self.bench = WalkBench(
            self.root, partition_keys=self.partition_keys, options=dict(self.options)
        )
        self.seen = dict.fromkeys(BRANCHES, frozenset())
        self.deaths = dict.fromkeys(BRANCHES, frozenset())
        self.taken_back = dict.fromkeys(BRANCHES, frozenset())
        for number in range(3):
            self.write("main", number)
        super().start()
        self.seen = dict.fromkeys(BRANCHES, self.seen["main"])

    def write(self, branch: str, first: int = 0, _: int = 0) -> None:
        name = self.new_rows(branch, 2, self.partition(first))
        self.commit(branch, self.message(new_files=self.entries(name)))

    def change(self, branch: str, first: int, second: int) -> None:
        """Delete the rows of a file, or update them."""
        live = self.live(branch)
        if not live.num_rows:
            return
        old = live.slice(first % live.num_rows, 1)
        held = self.rows[old["file_name"][0].as_py()]
        gone = frozenset(self.shown(branch, old))
        parts = {"deleted_files": old} | self.without_vectors(branch, old, "")
        # Fewer rows in another file would be what a delete has left of this one.
        if second % 2 and gone == held:
            parts["new_files"] = self.entries(self.updated(branch, gone, old))
        self.kill(branch, gone)
        self.commit(branch, self.message(**parts))

    def compact(self, branch: str, first: int, second: int) -> None:
        live = self.in_a_partition(self.live(branch), first)
        if live.num_rows < 2:
            return
        size = 2 + first % (live.num_rows - 1)
        start = second % (live.num_rows - size + 1)
        old = live.slice(start, size)
        left = frozenset(self.shown(branch, old))
        vectors = self.without_vectors(branch, old, "compact_")
        new = {} if not left else {"compact_after": self.entries(self.new_file(left, old))}
        self.commit(branch, self.message(compact_before=old, **new, **vectors))

    def hide(self, branch: str, first: int, second: int) -> None:
        """Delete a row by a deletion vector."""
        live = self.live(branch)
        if not live.num_rows:
            return
        file = live.slice(first % live.num_rows, 1)
        left = self.shown(branch, file)
        if not left:
            return
        gone = left[second % len(left)]
        (key,) = (each for _, each in keys_of(file))
        at = sorted(self.rows[key[2]]).index(gone)
        hidden = self.vectors(branch).get(key, HiddenRows()) | HiddenRows([at])
        self.kill(branch, {gone})
        vectors = self.index(branch, {key: hidden})
        self.commit(branch, message(key[0], total_buckets=-1, **vectors))

    def vectors(self, branch: str) -> Mapping[MaskKey, HiddenRows]:
        table = self.console.table(self.bench.identifier).on(branch)
        head = table.head()
        return {} if head is None else read_masks(table, masks_of(table.index_entries(head)))

    def without_vectors(self, branch: str, files: pa.Table, prefix: str) -> dict[str, pa.Table]:
        """What takes the vectors of files that go along with them."""
        gone = {key: HiddenRows() for _, key in keys_of(files)}
        return self.index(branch, gone, prefix)

    def index(
        self, branch: str, vectors: Mapping[MaskKey, HiddenRows], prefix: str = ""
    ) -> dict[str, pa.Table]:
        table = self.bench.table(branch)
        head = table.head()
        assert head is not None
        none = MANIFEST_ENTRY.empty_table()
        moves = FileMoves(add=none, restore=none, remove=none, masks=vectors)
        parts = {}
        for each in write_masks(self.bench.store, table, head, moves):
            for name in ("new_index_files", "deleted_index_files"):
                parts[f"{prefix}{name}"] = getattr(each, name)
        return parts

    def shown(self, branch: str, files: pa.Table) -> list[str]:
        """The rows of files that no vector hides."""
        vectors = self.vectors(branch)
        return sorted(
            row
            for _, key in keys_of(files)
            for at, row in enumerate(sorted(self.rows[key[2]]))
            if at not in vectors.get(key, ())
        )

    def new_rows(self, branch: str, count: int, partition: bytes) -> str:
        """A file of rows that no other holds."""
        name = self.new_file(frozenset(f"row-{next(self.numbers)}" for _ in range(count)))
        self.lies_in[name] = partition
        self.seen[branch] |= self.rows[name]
        return name

    def updated(self, branch: str, rows: frozenset[str], old: pa.Table) -> str:
        """A file of the new versions of rows, which have names of their own."""
        return self.new_rows(branch, len(rows), old["partition"][0].as_py())

    def new_file(self, rows: frozenset[str], old: pa.Table | None = None) -> str:
        """A file of rows that lay in others."""
        name = f"data-f{next(self.numbers)}.parquet"
        self.rows[name] = rows
        if old is not None:
            self.lies_in[name] = old["partition"][0].as_py()
        return name

    def entries(self, name: str) -> pa.Table:
        short = name.removeprefix("data-").removesuffix(".parquet")
        rows, partition = len(self.rows[name]), self.lies_in[name]
        return data_files([short], rows=rows, partition=partition, total_buckets=-1)

    def part(self, place: Place, **files: pa.Table) -> CommitMessage:
        """What changes in one bucket."""
        return message(*place, total_buckets=-1, **files)

    def message(self, **files: pa.Table) -> CommitMessage:
        """What changes in the partition of some files."""
        partition = next(each["partition"][0].as_py() for each in files.values() if each.num_rows)
        return message(partition, total_buckets=-1, **files)

    def partition(self, number: int) -> bytes:
        """One of the partitions that rows are written to, encoded."""
        return UNPARTITIONED if not self.partition_keys else encode_row([number % 2], [INT])

    def in_a_partition(self, files: pa.Table, number: int) -> pa.Table:
        """Those of some files that lie in one of their partitions."""
        partitions = sorted(set(files["partition"].to_pylist())) or [UNPARTITIONED]
        return files.filter(pc.equal(files["partition"], partitions[number % len(partitions)]))

    def kill(self, branch: str, rows: Iterable[str]) -> None:
        self.deaths[branch] |= {(row, next(self.numbers)) for row in rows}

    def dead(self, *branches: str) -> frozenset[str]:
        """The rows that are dead once branches know all that any of them knows."""
        deaths = frozenset().union(*(self.deaths[each] for each in branches))
        deaths = deaths.difference(*(self.taken_back[each] for each in branches))
        return frozenset(row for row, _ in deaths)

    def content(self, branch: str) -> object:
        return self.shown(branch, self.live(branch))

    def model(self, branch: str) -> object:
        return sorted(self.seen[branch] - self.dead(branch))

    def merged(self, source: str, target: str) -> object:
        return sorted((self.seen[source] | self.seen[target]) - self.dead(source, target))

    def take_over(self, source: str, target: str) -> None:
        for known in (self.seen, self.deaths, self.taken_back):
            known[target] |= known[source]

    def may_be_refused(self, source: str, target: str) -> bool:
        theirs, ours = ({row for row, _ in self.deaths[each]} for each in (source, target))
        return bool(theirs - ours or self.seen[source] & ours) and bool(theirs)


@dataclass
class RewritingWalk(KeylessWalk):
    """No deletion vectors: what is left of a file, or of two, is written as another one."""

    options: ClassVar[Mapping[str, str]] = MappingProxyType({"write-only": "true"})

    def hide(self, branch: str, first: int, second: int) -> None:
        """Delete a row by writing its file again, every third time together with another."""
        live = self.in_a_partition(self.live(branch), first)
        if not live.num_rows:
            return
        at = {first % live.num_rows, (first + second % 3 // 2) % live.num_rows}
        old = live.take(pa.array(sorted(at)))
        held = self.shown(branch, old)
        if not held:
            return
        gone = held[second % len(held)]
        left = frozenset(held) - {gone}
        parts = {"deleted_files": old} | self.without_vectors(branch, old, "")
        if left:
            parts["new_files"] = self.entries(self.new_file(left, old))
        self.kill(branch, {gone})
        self.commit(branch, self.message(**parts))


@dataclass
class MixedWalk(RewritingWalk):
    """Rows are deleted by vectors, or by writing what is left of their files again."""

    options: ClassVar[Mapping[str, str]] = KeylessWalk.options

    def hide(self, branch: str, first: int, second: int) -> None:
        hide = RewritingWalk.hide if first % 2 else KeylessWalk.hide
        hide(self, branch, first // 2, second)


class NamedRows(TrustingRows):
    """Joins deletes of files whose rows have names."""

    def __init__(self, walk: KeylessWalk) -> None:
        super().__init__()
        self.walk = walk

    def join_deletes(
        self, _: FileStoreTable, scope: RowScope, work: Sequence[JoinedDeletes], *__: object
    ) -> JoinedDeletesResult[CommitMessage]:
        messages, changed = [], []
        for each in work:
            files = pa.concat_tables([each.ours, each.theirs])
            names = dict(
                zip(*(files[n].to_pylist() for n in ("identity", "file_name")), strict=True)
            )
            rows = {
                identity: self.walk.rows[original_name(name)] for identity, name in names.items()
            }
            sides = each_side(each.held, lambda held, rows=rows: sorted(joined(held, rows)))
            new = tuple(packed(joined(dict.fromkeys(held), rows)) for held in each.inserted)
            kept = kept_by_both(each_side(sides, packed), new, each.update)
            if kept is not None:
                left = frozenset(itertools.compress(sides.ours, kept[0]))
                left |= frozenset(itertools.compress(sides.theirs, kept[1]))
            elif each.take is not None:
                left = frozenset(sides.ours if each.take is Take.OURS else sides.theirs)
            else:
                changed.append(str(each.place))
                continue
            new = {}
            if left:
                new = {"new_files": self.walk.entries(self.walk.new_file(left, files))}
            messages.append(self.walk.part(each.place, **new))
        return JoinedDeletesResult(messages=tuple(messages), unresolved_files=tuple(changed))


def joined(held: HeldFiles, rows: Mapping[str, frozenset[str]]) -> list[str]:
    return [
        row
        for each, hidden in held.items()
        for at, row in enumerate(sorted(rows[each]))
        if at not in (hidden or ())
    ]


def packed(rows: Iterable[str]) -> pa.ChunkedArray:
    return pa.chunked_array([[row.encode() for row in rows]], pa.large_binary())
