"""Merging manifests: many small ones become few, and what was added and deleted again goes.

The set of live files never changes (C25). Manifests that lose nothing are joined block by block,
as the bytes their writer wrote; the others are encoded anew.
Source: Paimon ManifestFileMerger, ManifestFileLegacyMerger.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from core.commit.manifest_write import NewFiles
from core.errors import FormatError
from core.format import options as table_options
from core.format.avro_encoding import one_array
from core.format.avro_frames import AvroFrame, join_files, read_frame
from core.format.binary_row import EMPTY_ROW, decode_row, encode_row
from core.format.manifest_entry import FileKind
from core.format.manifest_list import MANIFEST_FILE_META
from core.format.options import Options
from core.format.table_schema import TableSchema
from core.table.file_store_table import FileStoreTable
from core.table.manifest_scan import ScanFilter, prune_manifests

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


def is_full_due(manifests: pa.Table, policy: MergePolicy) -> bool:
    """Whether small manifests, and those with deletes, together are worth a full merge."""
    sizes = manifests["file_size"].to_numpy()
    return int(sizes[_must_change(manifests, policy)].sum()) >= policy.full_size


def minor_runs(sizes: Sequence[int], policy: MergePolicy) -> list[range]:
    """Which neighbours become one: each time the target size is reached, and a long tail."""
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
        if not pc.any(pc.is_in(added["identity"], value_set=_identities(deletes))).as_py():
            return manifests
        return self._merge_fully(manifests, _has_deletes(manifests), policy, at_least=1)

    def _merge_fully(
        self, manifests: pa.Table, must_change: Flags, policy: MergePolicy, at_least: int = 2
    ) -> pa.Table:
        """Fold everything: no DELETE is left, and what nothing deletes from stays as it is."""
        deletes = self._deletes(manifests)
        partitions = frozenset(pc.unique(deletes["partition"]).to_pylist())
        wanted = ScanFilter(partitions=partitions)
        hit = prune_manifests(manifests, wanted, self._schema.partition_type)["file_name"]
        may_change = must_change.copy()
        if deletes.num_rows:
            may_change |= pc.is_in(manifests["file_name"], value_set=_whole(hit)).to_numpy()
        if may_change.sum() < at_least:
            return manifests
        dead = _identities(deletes)
        if len(dead):
            self._table.read_manifests(manifests.filter(pa.array(may_change)))  # all at once
        is_plain = np.array(
            [
                not change or self._is_plain(manifests.slice(row, 1), dead)
                for row, change in enumerate(may_change)
            ],
            dtype=bool,
        )
        stays = is_plain & ~must_change
        rewritten = manifests.filter(pa.array(~is_plain))
        entries = self._table.read_manifests(rewritten)
        kept = _live_of(entries)
        if pc.any(pc.equal(kept["kind"], int(FileKind.DELETE))).as_py():
            raise FormatError(
                f"Manifests of {self._table.identifier} delete a file that none of them adds. "
                "Restore them, or roll back to a snapshot before."
            )
        return pa.concat_tables(
            [
                manifests.filter(pa.array(stays)),
                self._join(manifests.filter(pa.array(is_plain & must_change)), policy),
                self._files.add_manifests(kept),
            ]
        )

    def _merge_run(self, run: pa.Table, policy: MergePolicy) -> pa.Table:
        """Merge neighbours; deletes of files that are added before them stay."""
        dead = _identities(self._deletes(run))
        is_plain = [self._is_plain(run.slice(row, 1), dead) for row in range(run.num_rows)]
        others = self._table.read_manifests(run.filter(pc.invert(pa.array(is_plain))))
        return pa.concat_tables(
            [
                self._join(run.filter(pa.array(is_plain)), policy),
                self._files.add_manifests(_live_of(others)),
            ]
        )

    def _deletes(self, manifests: pa.Table) -> pa.Table:
        entries = self._table.read_manifests(manifests.filter(pa.array(_has_deletes(manifests))))
        return entries.filter(pc.equal(entries["kind"], int(FileKind.DELETE)))

    def _is_plain(self, manifest: pa.Table, dead: pa.Array) -> bool:
        """Whether a manifest loses no entry, and its line can be made from that of the old one."""
        bounds = manifest["partition_stats"][0].as_py()
        is_known = bounds["min_values"] != EMPTY_ROW or not self._schema.partition_keys
        if not is_known or _has_deletes(manifest)[0]:
            return False
        if not len(dead):
            return True
        identities = self._table.read_manifests(manifest)["identity"]
        return not pc.any(pc.is_in(identities, value_set=dead)).as_py()

    def _join(self, manifests: pa.Table, policy: MergePolicy) -> pa.Table:
        """Join manifests block by block; those of one layout and codec go together."""
        read = [self._frame(row) for row in manifests.to_pylist()]
        joined = []
        for group in _groups(read, policy.target_size):
            if len(group) == 1:
                joined.append(group[0].line)
                continue
            data = join_files((each.frame, each.data) for each in group)
            name = self._files.add_finished(data)
            lines = [each.line for each in group]
            joined.append(_joined_line(lines, name, len(data), self._schema))
        return pa.Table.from_pylist(joined, schema=MANIFEST_FILE_META)

    def _frame(self, line: dict[str, Any]) -> "_Source":
        path = self._table.paths.manifest(line["file_name"])
        data = self._table.reader.read_immutable(path)
        frame = read_frame(data)
        if frame.records != line["num_added_files"] + line["num_deleted_files"]:
            raise FormatError(
                f"{path} is broken: it holds {frame.records} entries where its manifest list tells "
                f"of {line['num_added_files']}. Restore the file.",
                path=path,
            )
        return _Source(line=line, frame=frame, data=data)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """A manifest to be joined: its line, its frame and its bytes."""

    line: dict[str, Any]
    frame: AvroFrame
    data: bytes


def _groups(sources: Sequence[_Source], target_size: int) -> Iterator[list[_Source]]:
    """Manifests with equal headers, in their order, as many a group as reach the target size."""
    open_groups: dict[bytes, list[_Source]] = {}
    for source in sources:
        group = open_groups.setdefault(source.frame.header, [])
        group.append(source)
        if sum(len(each.data) for each in group) >= target_size:
            yield open_groups.pop(source.frame.header)
    yield from open_groups.values()


def _must_change(manifests: pa.Table, policy: MergePolicy) -> Flags:
    is_small: Flags = manifests["file_size"].to_numpy() < policy.target_size
    return is_small | _has_deletes(manifests)


def _has_deletes(manifests: pa.Table) -> Flags:
    found: Flags = manifests["num_deleted_files"].to_numpy() > 0
    return found


def _live_of(entries: pa.Table) -> pa.Table:
    """Entries without those that cancel each other; a DELETE of an unknown file stays."""
    deleted = entries.filter(pc.equal(entries["kind"], int(FileKind.DELETE)))
    is_touched = pc.is_in(entries["identity"], value_set=_identities(deleted)).to_numpy()
    rows = np.flatnonzero(is_touched)
    touched = entries.select(["kind", "identity"]).take(pa.array(rows))
    codes = _identities(touched).dictionary_encode().indices.to_numpy()
    signs = 1 - 2 * touched["kind"].to_numpy()
    balance = np.zeros(codes.max() + 1 if len(codes) else 0, dtype=np.int64)
    np.add.at(balance, codes, signs)
    keep = ~is_touched
    # Of an identity the last entry of the sign that is left over speaks for all of them.
    last = {(code, sign): row for row, code, sign in zip(rows, codes, signs, strict=True)}
    keep[[last[code, sign] for code, sign in enumerate(np.sign(balance)) if sign]] = True
    return entries.filter(pa.array(keep))


def _joined_line(
    lines: Sequence[dict[str, Any]], name: str, size: int, schema: TableSchema
) -> dict[str, Any]:
    """The line of a manifest with all entries of several, none of which holds a DELETE."""
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
        "num_deleted_files": 0,
        "partition_stats": _joined_stats([line["partition_stats"] for line in lines], schema),
        "schema_id": schema.id,
        **ranges,
    }


def _joined_stats(stats: Sequence[dict[str, Any]], schema: TableSchema) -> dict[str, Any]:
    types = schema.partition_type.types
    lows = [decode_row(each["min_values"], types) for each in stats]
    highs = [decode_row(each["max_values"], types) for each in stats]
    low, high, nulls = [], [], []
    for index in range(len(types)):
        low.append(min((row[index] for row in lows if row[index] is not None), default=None))
        high.append(max((row[index] for row in highs if row[index] is not None), default=None))
        counts = [each["null_counts"][index] for each in stats]
        nulls.append(None if None in counts else sum(counts))
    return {
        "min_values": encode_row(low, types),
        "max_values": encode_row(high, types),
        "null_counts": nulls,
    }


def _identities(entries: pa.Table) -> pa.Array:
    return _whole(entries["identity"])


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return one_array(column, column.type)
