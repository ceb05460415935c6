"""The owners of files: references as bits, manifests as masks of them, files as XOR of masks.

A reference is whatever leads to files: a snapshot, a tag, a changelog, a retired name. In one
reference the entries of a file alternate between ADD and DELETE and end at 0 or 1, so a file is
live in a reference exactly if an odd number of the manifests that the reference lists have an entry
of it. So one sort serves all references, 64 at a time.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from branch_console.format.manifest_entry import FileKind

Words: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]
Rows: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Flags: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]

_BITS: Final = 64
_ONE: Final = np.uint64(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferredManifests:
    """The manifests that one reference leads to, by their numbers.

    Attributes:
        owner: The owner of the reference, as a number.
        live: The manifests of its state: files that are added and not deleted are needed.
        added: The manifests of changelog files: added files are needed.
        written: The manifests of a delta that is a changelog itself: files that a writer added or
            deleted are needed, files that a compaction wrote are not.
    """

    owner: int
    live: tuple[int, ...] = ()
    added: tuple[int, ...] = ()
    written: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reach:
    """The owners that need each file.

    Attributes:
        names: The number of each file's name, rising.
        sizes: The bytes of each file.
        owners: A bit for each owner, 64 a column.
    """

    names: Words
    sizes: Rows
    owners: Words

    def needed_by(self, owner: int) -> Flags:
        """Whether an owner needs each file."""
        word, bit = divmod(owner, _BITS)
        flags: Flags = (self.owners[:, word] >> np.uint64(bit)) & _ONE != 0
        return flags

    def only_needed_by(self, owner: int) -> Flags:
        """Whether an owner needs each file and no other does."""
        word, bit = divmod(owner, _BITS)
        others = self.owners.copy()
        others[:, word] &= ~(_ONE << np.uint64(bit))
        flags: Flags = self.needed_by(owner) & ~others.any(axis=1)
        return flags


def reach(files: pa.Table, references: Sequence[ReferredManifests]) -> Reach:
    """Decide which owners need which files.

    Args:
        files: Columns of FILE_COLUMNS; every entry of every manifest that a reference names.
        references: All references of the table; a manifest that one names may be missing in
            `files` only if it has no entries.
    """
    owners = max((each.owner for each in references), default=-1) + 1
    owner_words = -(-owners // _BITS) or 1
    if not files.num_rows:
        return Reach(
            names=np.zeros(0, np.uint64),
            sizes=np.zeros(0, np.int64),
            owners=np.zeros((0, owner_words), np.uint64),
        )
    order, starts = _grouped(_numbers(files, "identity"), _numbers(files, "name"))
    entries = _Entries.of(_numbers(files, "manifest")[order], starts)
    is_added, is_written = _flags(files, order)
    # Column by column, as they are filled and looked at.
    needed = np.zeros((len(starts), owner_words), np.uint64, order="F")
    for masks in _masks(references, int(entries.manifest.max()) + 1):
        bits = entries.xor(masks.live)
        for mask, counts in ((masks.added, is_added), (masks.written, is_written)):
            if mask is not None:
                bits |= np.bitwise_or.reduceat(np.where(counts, mask[entries.manifest], 0), starts)
        _add_owners(needed, bits, masks.owners)
    return _by_name(files, order[starts], needed)


def unbalanced(files: pa.Table, references: Sequence[ReferredManifests], names: Words) -> Words:
    """Return those of the names whose entries contradict each other in some reference.

    What an even number of entries makes look dead may have been added twice. So what is about to
    leave is counted once more, entry by entry.

    Args:
        files: Columns of FILE_COLUMNS, as for `reach`.
        references: As for `reach`.
        names: Numbers of file names.
    """
    chosen = np.flatnonzero(np.isin(_numbers(files, "name"), names))
    if not len(chosen):
        return names[:0]
    part = files.take(pa.array(chosen))
    order, starts = _grouped(_numbers(part, "identity"), _numbers(part, "name"))
    manifest = _numbers(part, "manifest")[order]
    signs = (1 - 2 * _numbers(part, "kind")[order]).astype(np.int8)
    is_wrong = np.zeros(len(starts), dtype=bool)
    for masks in _masks(references, int(manifest.max()) + 1):
        listed = masks.live[manifest].view(np.uint8).reshape(-1, _BITS // 8)
        counts = np.unpackbits(listed, axis=1).view(np.int8) * signs[:, None]
        balance = np.add.reduceat(counts, starts, axis=0, dtype=np.int32)
        is_wrong |= ((balance < 0) | (balance > 1)).any(axis=1)
    found: Words = np.unique(_numbers(part, "name")[order][starts][is_wrong])
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Masks:
    """The references, of 64, that name each manifest, and the references that each owner has."""

    live: Words
    added: Words | None
    written: Words | None
    owners: Mapping[int, np.uint64]


def _masks(references: Sequence[ReferredManifests], manifests: int) -> Iterator[_Masks]:
    for first in range(0, len(references), _BITS):
        found: dict[str, Words] = {"live": np.zeros(manifests, np.uint64)}
        owners: dict[int, np.uint64] = {}
        for number, reference in enumerate(references[first : first + _BITS]):
            bit = _ONE << np.uint64(number)
            owners[reference.owner] = owners.get(reference.owner, np.uint64(0)) | bit
            for kind in ("live", "added", "written"):
                named = np.array(getattr(reference, kind), dtype=np.int64)
                named = named[named < manifests]
                if len(named):
                    mask = found.setdefault(kind, np.zeros(manifests, np.uint64))
                    mask[named] |= bit
        yield _Masks(
            live=found["live"],
            added=found.get("added"),
            written=found.get("written"),
            owners=owners,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Entries:
    """The entries of each file; of most files there is one, which needs no folding.

    Attributes:
        manifest: The manifest of each entry; the entries of one file are neighbours.
        first: The manifest of the first entry of each file.
        several: The files that have several entries.
        folded: The manifests of their entries.
        starts: Where each of them begins in `folded`.
    """

    manifest: Rows
    first: Rows
    several: Rows
    folded: Rows
    starts: Rows

    @classmethod
    def of(cls, manifest: Rows, starts: Rows) -> "_Entries":
        counts = np.diff(np.r_[starts, len(manifest)])
        has_several = counts > 1
        ends = np.cumsum(counts[has_several])
        return cls(
            manifest=manifest,
            first=manifest[starts],
            several=np.flatnonzero(has_several),
            folded=manifest[np.repeat(has_several, counts)],
            starts=np.r_[0, ends[:-1]] if len(ends) else ends,
        )

    def xor(self, mask: Words) -> Words:
        """The XOR of what the manifests of each file have."""
        bits: Words = mask[self.first]
        if len(self.several):
            bits[self.several] = np.bitwise_xor.reduceat(mask[self.folded], self.starts)
        return bits


def _add_owners(needed: Words, bits: Words, owners: Mapping[int, np.uint64]) -> None:
    """Note for each file which owners have one of its references.

    There are few ways in which files are referred to, and each is looked at once.
    """
    coded = pa.array(bits).dictionary_encode()
    ways, way = coded.dictionary.to_numpy(), coded.indices.to_numpy()
    words: dict[int, Words] = {}
    for owner, theirs in owners.items():
        word, bit = divmod(owner, _BITS)
        has_owner = ((ways & theirs) != 0).astype(np.uint64) << np.uint64(bit)
        words[word] = words.get(word, np.uint64(0)) | has_owner
    for word, found in words.items():
        needed[:, word] |= found[way]


def _grouped(identity: Words, name: Words) -> tuple[Rows, Rows]:
    """An order in which entries of one file stand together, and where each file begins."""
    order = np.argsort(identity)
    high, low = identity[order], name[order]
    is_same = high[1:] == high[:-1]
    if (is_same & (low[1:] != low[:-1])).any():
        # Two files share half of their number: rare enough to sort once more.
        order = np.lexsort((name, identity))
        high, low = identity[order], name[order]
        is_same = (high[1:] == high[:-1]) & (low[1:] == low[:-1])
    starts = np.flatnonzero(np.r_[True, ~is_same])
    return order, starts


def _by_name(files: pa.Table, rows: Rows, needed: Words) -> Reach:
    """Join the identities of each file name: its levels, or buckets that use one name."""
    names = _numbers(files, "name")[rows]
    order = np.argsort(names)
    names = names[order]
    starts = np.flatnonzero(np.r_[True, names[1:] != names[:-1]])
    owners = np.empty((len(starts), needed.shape[1]), np.uint64, order="F")
    for word in range(needed.shape[1]):
        owners[:, word] = np.bitwise_or.reduceat(needed[order, word], starts)
    sizes = _numbers(files, "file_size")[rows][order]
    return Reach(names=names[starts], sizes=np.maximum.reduceat(sizes, starts), owners=owners)


def _flags(files: pa.Table, order: Rows) -> tuple[Flags, Flags]:
    is_added = _numbers(files, "kind")[order] == FileKind.ADD
    is_written = ~_numbers(files, "is_compacted")[order]
    return is_added, is_written


def _numbers(files: pa.Table, column: str) -> np.ndarray[Any, Any]:
    found: np.ndarray[Any, Any] = files[column].to_numpy()
    return found
