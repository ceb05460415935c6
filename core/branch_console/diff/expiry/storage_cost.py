"""The cost of a table's files by who needs them: branches, rescue branches, retired names.

A file that two branches need is free for the second one, so that the costs of branches do not add
up to the cost of the table. Each file is counted once in the total, and once for each pair of
owners that share it.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from branch_console.diff.expiry.reachability import Flags, ReferredManifests, Rows, Words, reach
from branch_console.diff.expiry.retention import SnapshotHold
from branch_console.errors import PaimonError
from branch_console.format.scan_options import moment_text

_BITS: Final = 64
_GROUPS_AT_ONCE: Final = 65_536
_NO_FILES: Final[Mapping[str, int]] = MappingProxyType({})
_Matrix: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]


class OwnerKind(StrEnum):
    """The kind of an owner of files."""

    BRANCH = "branch"
    RESCUE = "rescue branch"
    RETIRED = "retired snapshots"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOwner:
    """An owner of files.

    Attributes:
        name: The branch, or the expiry that retired snapshots.
    """

    kind: OwnerKind
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedReference:
    """A reference as its owner has it.

    Attributes:
        owner: The number of the owner.
        manifests: What it leads to; the owner in there is not looked at.
        index_files: The paths and sizes of the index files that it names.
        is_head: Whether it is what readers of the owner get.
        is_going: Whether a release would take it now.
    """

    owner: int
    manifests: ReferredManifests
    index_files: Mapping[str, int] = field(default_factory=lambda: _NO_FILES)
    is_head: bool = False
    is_going: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAmount:
    """Some files: how many, and their bytes."""

    file_count: int
    byte_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerCost:
    """The files that one owner needs.

    Attributes:
        head: The files of its newest snapshot.
        history: The files of older snapshots, tags and changelogs that its newest snapshot lacks.
        exclusive: The files that no other owner needs.
        shared: The files that another owner needs too.
        reclaimable: The files that could be removed now if this owner's removable references were
            removed.
    """

    owner: FileOwner
    head: FileAmount
    history: FileAmount
    exclusive: FileAmount
    shared: FileAmount
    reclaimable: FileAmount


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """The files that two owners need, whoever else does."""

    owners: tuple[FileOwner, FileOwner]
    amount: FileAmount


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageCost:
    """The cost of a table's files.

    Attributes:
        total: All files that somebody needs, each counted once.
        reclaimable: The files that could be removed from the table now.
        owners: In the order in which they were given.
        overlaps: The pairs that share anything, the most first.
    """

    total: FileAmount
    reclaimable: FileAmount
    owners: tuple[OwnerCost, ...]
    overlaps: tuple[Overlap, ...]


def storage_cost(
    files: pa.Table, references: Sequence[OwnedReference], owners: Sequence[FileOwner]
) -> StorageCost:
    """Count the files of each owner.

    Args:
        files: Columns of FILE_COLUMNS; every entry of every manifest that a reference names.
        references: All references of the table.
        owners: By their numbers.
    """
    # References of one owner that count alike are one owner to the masks.
    roles = {
        role: number
        for number, role in enumerate(dict.fromkeys(_role(each) for each in references))
    }
    groups = _group(files, references, roles)
    needed, head, stays = (np.zeros((len(groups.files), len(owners)), bool) for _ in range(3))
    for (column, is_head, is_going), number in roles.items():
        has_role = _bit(groups.masks, number)
        needed[:, column] |= has_role
        if is_head:
            head[:, column] |= has_role
        if not is_going:
            stays[:, column] |= has_role
    owners_of = needed.sum(axis=1)
    is_needed, is_alone = owners_of > 0, owners_of == 1
    may_go = stays.sum(axis=1) == 0
    costs = []
    for number, owner in enumerate(owners):
        has, at_head = needed[:, number], head[:, number]
        costs.append(
            OwnerCost(
                owner=owner,
                head=groups.amount(at_head),
                history=groups.amount(has & ~at_head),
                exclusive=groups.amount(has & is_alone),
                shared=groups.amount(has & ~is_alone),
                reclaimable=groups.amount(has & is_alone & ~stays[:, number]),
            )
        )
    return StorageCost(
        total=groups.amount(is_needed),
        reclaimable=groups.amount(is_needed & may_go),
        owners=tuple(costs),
        overlaps=_overlaps(groups, needed, owners),
    )


_Role: TypeAlias = tuple[int, bool, bool]


def _role(reference: OwnedReference) -> _Role:
    return reference.owner, reference.is_head, reference.is_going


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Groups:
    """Files that the same roles need, counted together: there are few such groups.

    Attributes:
        masks: A bit for each role, 64 a column.
        files: How many files each group has.
        sizes: Their bytes.
    """

    masks: Words
    files: Rows
    sizes: Rows

    def amount(self, chosen: Flags) -> FileAmount:
        return FileAmount(
            file_count=int(self.files[chosen].sum()), byte_count=int(self.sizes[chosen].sum())
        )


def _group(
    files: pa.Table, references: Sequence[OwnedReference], roles: Mapping[_Role, int]
) -> _Groups:
    found = reach(files, [replace(each.manifests, owner=roles[_role(each)]) for each in references])
    words = {f"word {number}": found.owners[:, number] for number in range(found.owners.shape[1])}
    summed = (
        pa.table({**words, "size": found.sizes})
        .group_by(list(words))
        .aggregate([("size", "count"), ("size", "sum")])
    )
    index_masks, index_sizes = _index_groups(references, roles, len(words))
    masks = np.stack([summed[each].to_numpy() for each in words], axis=1)
    return _Groups(
        masks=np.concatenate([masks, index_masks]),
        files=np.concatenate(
            [summed["size_count"].to_numpy(), np.ones(len(index_sizes), np.int64)]
        ),
        sizes=np.concatenate([summed["size_sum"].to_numpy(), index_sizes]),
    )


def _index_groups(
    references: Sequence[OwnedReference], roles: Mapping[_Role, int], words: int
) -> tuple[Words, Rows]:
    """The roles that need each index file, and its bytes."""
    sizes: dict[str, int] = {}
    needed: dict[str, int] = {}
    for reference in references:
        bit = 1 << roles[_role(reference)]
        for path, size in reference.index_files.items():
            sizes[path] = size
            needed[path] = needed.get(path, 0) | bit
    masks = np.zeros((len(needed), words), np.uint64)
    for row, bits in enumerate(needed.values()):
        for word in range(words):
            masks[row, word] = bits >> (word * _BITS) & (1 << _BITS) - 1
    return masks, np.array(list(sizes.values()), np.int64)


def _bit(masks: Words, number: int) -> Flags:
    word, bit = divmod(number, _BITS)
    flags: Flags = (masks[:, word] >> np.uint64(bit)) & np.uint64(1) != 0
    return flags


def _overlaps(groups: _Groups, needed: _Matrix, owners: Sequence[FileOwner]) -> tuple[Overlap, ...]:
    files, sizes = (np.zeros((len(owners), len(owners)), np.int64) for _ in range(2))
    for first in range(0, len(needed), _GROUPS_AT_ONCE):
        part = slice(first, first + _GROUPS_AT_ONCE)
        both = needed[part].astype(np.int64)
        files += both.T @ (both * groups.files[part, None])
        sizes += both.T @ (both * groups.sizes[part, None])
    found = [
        Overlap(
            owners=(owners[left], owners[right]),
            amount=FileAmount(
                file_count=int(files[left, right]), byte_count=int(sizes[left, right])
            ),
        )
        for left, right in itertools.combinations(range(len(owners)), 2)
        if files[left, right]
    ]
    return tuple(sorted(found, key=lambda each: (-each.amount.byte_count, -each.amount.file_count)))


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanScan:
    """Files that the last cleaning of orphan files left.

    Attributes:
        operation_id: The cleaning.
        waiting: The files that it or an earlier cleaning recorded and a later one removes.
    """

    operation_id: str
    time_millis: int
    waiting: FileAmount


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadOwner:
    """An owner of which something could not be read.

    Attributes:
        is_counted: Whether its files are known, and only those that may be removed are not.
        blocked_until: When undo ends of the operation that removed it from its branch, in
            milliseconds; None for other owners, and once it has ended.
    """

    owner: FileOwner
    error: PaimonError
    is_counted: bool = False
    blocked_until: int | None = None

    @property
    def sentence(self) -> str:
        """Return how that limits the figures."""
        name = self.owner.name
        who = {
            OwnerKind.BRANCH: f"Branch {name!r}",
            OwnerKind.RESCUE: f"Rescue branch {name!r}",
            OwnerKind.RETIRED: f"What operation {name!r} removed",
        }[self.owner.kind]
        if self.blocked_until is not None:
            return (
                f"Expiry is blocked until {moment_text(self.blocked_until)}: what operation "
                f"{name!r} removed cannot be read. Its bytes are not counted."
            )
        if self.is_counted:
            return f"{who} cannot expire: its bytes are counted, and none of them as reclaimable."
        return f"{who} cannot be read: its bytes are not counted, and expiry is blocked."


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStorage:
    """The cost of a table's files, and the reasons that keep files which could be removed.

    Attributes:
        holds: The reasons that keep snapshots from expiring, by branch; unknown if `unread` has
            any.
        orphans: None if no cleaning has looked for orphans.
        unread: Owners that cannot be read; nothing is reclaimable if the figures leave one out.
    """

    cost: StorageCost
    holds: Mapping[str, tuple[SnapshotHold, ...]]
    orphans: OrphanScan | None
    unread: tuple[UnreadOwner, ...] = ()
