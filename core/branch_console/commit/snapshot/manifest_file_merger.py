"""Merging manifests: many small ones become few, and what was added and deleted again goes.

The set of live files never changes (C25). Manifests that lose nothing are joined block by block,
as the bytes their writer wrote; the others are encoded anew.
Source: Paimon ManifestFileMerger, ManifestFileLegacyMerger.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.commit.snapshot.manifest_write import NewFiles, manifest_line
from branch_console.errors import FormatError
from branch_console.format import options as table_options
from branch_console.format.avro_encoding import whole
from branch_console.format.avro_frames import AvroFrame, join_files, read_frame
from branch_console.format.manifest_entry import NO_FILES, FileKind
from branch_console.format.manifest_list import MANIFEST_FILE_META
from branch_console.format.options import Options
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.binary_row import EMPTY_ROW, decode_row, encode_row
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.manifest_scan import prune_manifests
from branch_console.table.scan_filter import ScanFilter

Flags = npt.NDArray[np.bool_]
_RANGES: Final = ("bucket", "level", "row_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePolicy:
    """When manifests are merged; sizes in bytes."""

    target_size: int
    full_size: int
    min_count: int

    @classmethod
    def of(cls, options: Options) -> "MergePolicy":
        """Return what the options of a table ask for."""
        return cls(
            target_size=options.read(table_options.MANIFEST_TARGET_FILE_SIZE),
            full_size=options.read(table_options.MANIFEST_FULL_COMPACTION_SIZE),
            min_count=options.read(table_options.MANIFEST_MERGE_MIN_COUNT),
        )

    def at_once(self) -> "MergePolicy":
        """The policy by which all that may be merged is merged [Paimon compactManifest]."""
        return replace(self, full_size=1, min_count=1)


def is_full_due(manifests: pa.Table, policy: MergePolicy) -> bool:
    """Whether small manifests, and those with deletes, together are worth a full merge."""
    sizes = manifests["file_size"].to_numpy()
    return int(sizes[_must_change(manifests, policy)].sum()) >= policy.full_size


def count_mergeable(manifests: pa.Table, policy: MergePolicy) -> int:
    """How many manifests are small, or delete files."""
    return int(_must_change(manifests, policy).sum())


def minor_runs(sizes: Sequence[int], policy: MergePolicy) -> list[range]:
    """Return runs of neighbours to merge: each that reaches the target size, and a long tail."""
    runs, start, total = [], 0, 0
    for end, size in enumerate(sizes, 1):
        total += size
        if total >= policy.target_size:
            runs.append(range(start, end))
            start, total = end, 0
    if len(sizes) - start >= policy.min_count:
        runs.append(range(start, len(sizes)))
    return [run for run in runs if len(run) > 1]


class ManifestFileMerger:
    """Merges the manifests of one branch into new files, which are not published here."""

    def __init__(self, table: FileStoreTable, schema: TableSchema, files: NewFiles) -> None:
        self._table = table
        self._schema = schema
        self._files = files

    def merge(self, manifests: pa.Table, policy: MergePolicy) -> pa.Table:
        """Merge as far as the policy says.

        Args:
            manifests: Columns of MANIFEST_FILE_META: all manifests of a snapshot, oldest first.
            policy: When to merge.

        Returns:
            The same columns; what stayed as it was is the same row.

        Raises:
            FormatError: A manifest is missing or broken.
        """
        if is_full_due(manifests, policy):
            return self._merge_fully(manifests, _must_change(manifests, policy), policy)
        runs = minor_runs(manifests["file_size"].to_pylist(), policy)
        if not runs:
            return manifests
        parts, start = [], 0
        for run in runs:
            parts.append(manifests.slice(start, run.start - start))
            parts.append(self._merge_run(manifests.slice(run.start, len(run)), policy))
            start = run.stop
        return pa.concat_tables([*parts, manifests.slice(start)])

    def without_deletes_of(
        self, manifests: pa.Table, added: pa.Table, policy: MergePolicy
    ) -> pa.Table:
        """Merge so that no manifest says any more that one of the added files was deleted.

        Paimon's readers take all deletes together first: a file that is added again after such an
        entry would stay invisible to them.

        Args:
            manifests: As for `merge`.
            added: Columns of MANIFEST_ENTRY: what the next snapshot adds.
            policy: The size of new manifests.
        """
        deletes = self._deletes(manifests)
        if not pc.any(pc.is_in(added["identity"], value_set=whole(deletes["identity"]))).as_py():
            return manifests
        return self._merge_fully(manifests, _has_deletes(manifests), policy, at_least=1)

    def _merge_fully(
        self, manifests: pa.Table, must_change: Flags, policy: MergePolicy, at_least: int = 2
    ) -> pa.Table:
        """Fold everything: no DELETE is left, and what nothing deletes from stays as it is."""
        deletes = self._deletes(manifests)
        may_change = must_change.copy()
        if deletes.num_rows:
            wanted = ScanFilter(partitions=frozenset(pc.unique(deletes["partition"]).to_pylist()))
            hit = prune_manifests(manifests, wanted, self._schema.partition_type)["file_name"]
            may_change |= pc.is_in(manifests["file_name"], value_set=whole(hit)).to_numpy()
        if may_change.sum() < at_least:
            return manifests
        folded = self._fold(manifests.filter(pa.array(may_change)))
        if folded.has_deletes:
            raise FormatError(
                f"Manifests of {self._table.identifier} delete a file that none of them adds. "
                "Restore them, or roll back to a snapshot before."
            )
        may_stay = set(manifests["file_name"].filter(pa.array(~must_change)).to_pylist())
        stays = [each.line for each in folded.sources if each.is_whole and each.name in may_stay]
        joined = [each for each in folded.sources if not (each.is_whole and each.name in may_stay)]
        return pa.concat_tables(
            [
                manifests.filter(pa.array(~may_change)),
                pa.Table.from_pylist(stays, schema=MANIFEST_FILE_META),
                self._join(joined, policy),
                self._files.add_manifests(folded.rest),
            ]
        )

    def _merge_run(self, run: pa.Table, policy: MergePolicy) -> pa.Table:
        """Merge neighbours; deletes of files that are added before them stay."""
        folded = self._fold(run)
        return pa.concat_tables(
            [self._join(folded.sources, policy), self._files.add_manifests(folded.rest)]
        )

    def _deletes(self, manifests: pa.Table) -> pa.Table:
        entries = self._table.read_manifests(manifests.filter(pa.array(_has_deletes(manifests))))
        return entries.filter(pc.equal(entries["kind"], int(FileKind.DELETE)))

    def _fold(self, manifests: pa.Table) -> "_Folded":
        """Let the entries of manifests cancel each other, and find the blocks that lose nothing."""
        lines = manifests.to_pylist()
        if not _has_deletes(manifests).any() and all(self._is_described(line) for line in lines):
            return _Folded(
                sources=[self._source(line) for line in lines],
                rest=NO_FILES,
                has_deletes=False,
            )
        entries = self._table.read_manifests(manifests)
        keep = _is_kept(entries)
        sources, is_rest, start = [], keep.copy(), 0
        for line in lines:
            source = self._source(line)
            end = start + source.frame.records
            kept, intact = keep[start:end], np.ones(end - start, dtype=bool)
            if not (kept.all() and self._is_described(line)):
                source, intact = self._part(source, entries.slice(start, end - start), kept)
            is_rest[start:end] &= ~intact
            if source.frame.blocks:
                sources.append(source)
            start = end
        kinds = entries["kind"].filter(pa.array(keep))
        return _Folded(
            sources=sources,
            rest=entries.filter(pa.array(is_rest)),
            has_deletes=int(FileKind.DELETE) in pc.unique(kinds).to_pylist(),
        )

    def _part(self, source: "_Source", entries: pa.Table, keep: Flags) -> tuple["_Source", Flags]:
        """The blocks of a manifest that lose no entry, and which entries they hold."""
        ends = np.cumsum(source.frame.counts)
        starts = ends - source.frame.counts
        blocks = [
            block for block, (a, b) in enumerate(zip(starts, ends, strict=True)) if keep[a:b].all()
        ]
        intact = np.zeros(len(keep), dtype=bool)
        for block in blocks:
            intact[starts[block] : ends[block]] = True
        held = entries.filter(pa.array(intact))
        line = manifest_line(held, "", 0, self._schema) if blocks else source.line
        part = _Source(line=line, frame=source.frame.only(blocks), data=source.data, is_whole=False)
        return part, intact

    def _is_described(self, line: dict[str, Any]) -> bool:
        """Whether a line tells the partitions of its manifest; not every writer's do."""
        known = line["partition_stats"]["min_values"] != EMPTY_ROW
        return known or not self._schema.partition_keys

    def _join(self, sources: Sequence["_Source"], policy: MergePolicy) -> pa.Table:
        """Join manifests block by block; those of one layout and codec go together."""
        joined = []
        for group in _groups(sources, policy.target_size):
            if len(group) == 1 and group[0].is_whole:
                joined.append(group[0].line)
                continue
            data = join_files((each.frame, each.data) for each in group)
            name = self._files.add_finished(data)
            lines = [each.line for each in group]
            joined.append(_joined_line(lines, name, len(data), self._schema))
        return pa.Table.from_pylist(joined, schema=MANIFEST_FILE_META)

    def _source(self, line: dict[str, Any]) -> "_Source":
        path = self._table.paths.manifest(line["file_name"])
        data = self._table.reader.read_immutable(path)
        frame = read_frame(data)
        wanted = line["num_added_files"] + line["num_deleted_files"]
        if frame.records != wanted:
            raise FormatError(
                f"{path} is broken: it holds {frame.records} entries where its manifest list tells "
                f"of {wanted}. Restore the file.",
                path=path,
            )
        return _Source(line=line, frame=frame, data=data, is_whole=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """A manifest to be joined, or some of its blocks: its line, its frame and its bytes."""

    line: dict[str, Any]
    frame: AvroFrame
    data: bytes
    is_whole: bool

    @property
    def name(self) -> str:
        """The file that the blocks are of; none for a part."""
        return str(self.line["file_name"])

    @property
    def size(self) -> int:
        """Bytes of the blocks."""
        return sum(end - start for start, end in self.frame.blocks)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Folded:
    """Manifests after their entries cancelled: blocks to be copied, and entries to be encoded."""

    sources: list[_Source]
    rest: pa.Table
    has_deletes: bool


def _groups(sources: Sequence[_Source], target_size: int) -> Iterator[list[_Source]]:
    """Manifests with equal headers, in their order, as many a group as reach the target size."""
    open_groups: dict[bytes, list[_Source]] = {}
    for source in sources:
        group = open_groups.setdefault(source.frame.header, [])
        group.append(source)
        if sum(each.size for each in group) >= target_size:
            yield open_groups.pop(source.frame.header)
    yield from open_groups.values()


def _must_change(manifests: pa.Table, policy: MergePolicy) -> Flags:
    is_small: Flags = manifests["file_size"].to_numpy() < policy.target_size
    return is_small | _has_deletes(manifests)


def _has_deletes(manifests: pa.Table) -> Flags:
    found: Flags = manifests["num_deleted_files"].to_numpy() > 0
    return found


def _is_kept(entries: pa.Table) -> Flags:
    """Return a mask of the entries that stay when ADD and DELETE cancel.

    A DELETE of a file that has no ADD here stays.
    """
    deleted = entries.filter(pc.equal(entries["kind"], int(FileKind.DELETE)))
    dead = whole(deleted["identity"])
    is_touched = pc.is_in(entries["identity"], value_set=dead).to_numpy()
    rows = np.flatnonzero(is_touched)
    touched = entries.select(["kind", "identity"]).take(pa.array(rows))
    codes = whole(touched["identity"]).dictionary_encode().indices.to_numpy()
    signs = 1 - 2 * touched["kind"].to_numpy()
    balance = np.zeros(codes.max() + 1 if len(codes) else 0, dtype=np.int64)
    np.add.at(balance, codes, signs)
    keep: Flags = ~is_touched
    # Of an identity the last entry of the sign that is left over speaks for all of them.
    last = {(code, sign): row for row, code, sign in zip(rows, codes, signs, strict=True)}
    keep[[last[code, sign] for code, sign in enumerate(np.sign(balance)) if sign]] = True
    return keep


def _joined_line(
    lines: Sequence[dict[str, Any]], name: str, size: int, schema: TableSchema
) -> dict[str, Any]:
    """The line of a manifest with all entries of several."""
    ranges = {}
    for column in _RANGES:
        lows = [line[f"min_{column}"] for line in lines]
        highs = [line[f"max_{column}"] for line in lines]
        ranges[f"min_{column}"] = None if None in lows else min(lows)
        ranges[f"max_{column}"] = None if None in highs else max(highs)
    return {
        "file_name": name,
        "file_size": size,
        "num_added_files": sum(line["num_added_files"] for line in lines),
        "num_deleted_files": sum(line["num_deleted_files"] for line in lines),
        "partition_stats": _joined_stats(lines, schema),
        "schema_id": schema.id,
        **ranges,
    }


def _joined_stats(lines: Sequence[dict[str, Any]], schema: TableSchema) -> dict[str, Any]:
    """Return the common partition bounds of several manifests; none if one has no bounds."""
    types = schema.partition_type.types
    stats = [line["partition_stats"] for line in lines]
    sizes = [line["num_added_files"] + line["num_deleted_files"] for line in lines]
    lows = [decode_row(each["min_values"], types) for each in stats]
    highs = [decode_row(each["max_values"], types) for each in stats]
    low, high, nulls = [], [], []
    for index in range(len(types)):
        counts = [each["null_counts"][index] for each in stats]
        nulls.append(None if None in counts else sum(counts))
        # Where all are null there is nothing to bound.
        bounded = [at for at, size in enumerate(sizes) if counts[at] != size]
        low.append(_end([lows[at][index] for at in bounded], min))
        high.append(_end([highs[at][index] for at in bounded], max))
    return {
        "min_values": encode_row(low, types),
        "max_values": encode_row(high, types),
        "null_counts": nulls,
    }


def _end(bounds: list[Any], end: Callable[[list[Any]], Any]) -> Any:
    """The least or greatest bound, None if one is unknown: NaN has no place in the order."""
    is_known = all(each is not None and each == each for each in bounds)  # noqa: PLR0124
    return end(bounds) if bounds and is_known else None
