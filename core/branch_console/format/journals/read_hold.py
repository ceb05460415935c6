"""The hold of a running read: its snapshots, its reader, and when it ends at the latest."""

from dataclasses import dataclass
from typing import Final

from branch_console.format.journals.codec import Codec, Layout
from branch_console.format.journals.keys import inlined, needed, needed_identity, parts, perhaps
from branch_console.format.journals.rows import WriterProcess
from branch_console.format.snapshot import SnapshotIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldSnapshot:
    """A snapshot that is read, on the branch on which it was found."""

    branch: str
    id: int
    identity: SnapshotIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadHold:
    """One running read of one table.

    Attributes:
        operation_id: The query, comparison or merge that reads.
        procedure: Its procedure.
        actor: The person who asked for it.
        reader: The process that reads; a hold of one that died keeps nothing.
        until_millis: When it ends, if the reader cannot be asked.
    """

    operation_id: str
    procedure: str
    actor: str
    reader: WriterProcess
    since_millis: int
    until_millis: int
    snapshots: tuple[HeldSnapshot, ...]


READ_HOLD: Final = Codec(
    what="hold of a running read",
    reads={
        1: Layout(
            ReadHold,
            needed("operationId", str),
            needed("procedure", str),
            needed("actor", str),
            inlined("reader", Layout(WriterProcess, perhaps("host", str), perhaps("process", int))),
            needed("sinceMillis", int),
            needed("untilMillis", int),
            parts(
                "snapshots",
                Layout(
                    HeldSnapshot,
                    needed("branch", str),
                    needed("id", int),
                    needed_identity("identity"),
                ),
            ),
        )
    },
)
