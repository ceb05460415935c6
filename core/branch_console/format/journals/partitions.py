"""The journals of what is done to partitions."""

import binascii
from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from branch_console.errors import FormatError
from branch_console.format.journals.codec import Codec, Layout
from branch_console.format.journals.keys import identity, needed, parts, perhaps, values
from branch_console.format.journals.terms import (
    CALLBACKS,
    PLAN_ID,
    REASON,
    UNDOES,
    OperationJournal,
)
from branch_console.format.json_text import JsonObject
from branch_console.format.snapshot import SnapshotIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedPartition:
    """A partition that goes.

    Attributes:
        partition: The encoded BinaryRow.
        name: Its name in Paimon's answers: `dt=2026-01-31, hour=7`.
    """

    partition: bytes
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DropPartitionsJournal(OperationJournal):
    """Partitions whose rows go, in a new snapshot.

    Attributes:
        expected_head: The head on which this was decided.
    """

    partitions: tuple[DroppedPartition, ...]
    expected_head: SnapshotIdentity | None = None
    expected_head_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMark:
    """The file by which a partition is marked as done.

    Attributes:
        folder: The folder of the partition below the table.
        before: The file that is there; None if there is none.
        after: Its new state; None if it is removed.
    """

    folder: str
    before: str | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkDoneJournal(OperationJournal):
    """Partitions that are marked as done, or no longer."""

    marks: tuple[PartitionMark, ...]


def _partitions(raw: JsonObject, key: str) -> tuple[DroppedPartition, ...]:
    found = []
    for each in raw.objects(key):
        try:
            partition = b64decode(each.get("partition", str), validate=True)
        except (binascii.Error, ValueError) as error:
            raise FormatError(f"The {raw.what} has a partition that is not base64.") from error
        found.append(DroppedPartition(partition=partition, name=each.get("name", str)))
    return tuple(found)


def _objects(partitions: Iterable[DroppedPartition]) -> list[dict[str, object]]:
    return [
        {"partition": b64encode(each.partition).decode(), "name": each.name} for each in partitions
    ]


DROP_PARTITIONS_JOURNAL: Final = Codec(
    what="journal of partitions that are dropped",
    reads={
        1: Layout(
            DropPartitionsJournal,
            PLAN_ID,
            REASON,
            values("partitions", _partitions, _objects),
            identity("expectedHead"),
            perhaps("expectedHeadId", int),
            CALLBACKS,
        )
    },
)
_MARKS: Final = parts(
    "marks",
    Layout(PartitionMark, needed("folder", str), perhaps("before", str), perhaps("after", str)),
)
MARK_DONE_JOURNAL: Final = Codec(
    what="journal of partitions that are done",
    reads={1: Layout(MarkDoneJournal, PLAN_ID, _MARKS)},
)
UNMARK: Final = (_MARKS, PLAN_ID, REASON, UNDOES)
"""The journal of an undo that takes such marks back."""
