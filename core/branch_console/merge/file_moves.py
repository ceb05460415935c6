"""How a merge moves files, as values: a strategy per bucket, what comes, what goes, what waits."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

import pyarrow as pa

from branch_console.diff.changes.file_history import Place
from branch_console.diff.file_masks import HiddenRows, MaskKey, rows_digest
from branch_console.errors import ErrorKind
from branch_console.format.manifest_entry import MANIFEST_ENTRY
from branch_console.merge.conflict import Conflict, ConflictKind, Take
from branch_console.merge.joined_deletes import JoinedDeletes
from branch_console.operations.isolation import InsertScope, Isolation


class Strategy(StrEnum):
    """The actions of a merge on a bucket.

    Attributes:
        KEEP: Nothing: the source changed no row of it.
        ADOPT: Only the source changed it: its files come, and what it gave up goes.
        REPLAY: Both changed it, and the changes do not touch: the source's files are added.
        DELTA: Rows that both changed are settled and written; the rest is replayed.
        REWRITE: Its rows are written again.
        CONFLICT: Nothing, until a conflict is settled.
    """

    KEEP = "keep"
    ADOPT = "adopt"
    REPLAY = "replay"
    DELTA = "delta"
    REWRITE = "rewrite"
    CONFLICT = "conflict"


class Knowledge(StrEnum):
    """The levels of knowledge that settle a question, the cheapest first.

    Attributes:
        MANIFESTS: Counts, key ranges and statistics.
        KEYS: The key columns of the changed files; rows are read of keys that both sides changed.
        ROWS: All columns of the changed files.
    """

    MANIFESTS = "manifests"
    KEYS = "keys"
    ROWS = "rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRules:
    """The choices that a person has about a merge.

    Attributes:
        strict: Turn what the rules overrule and only report into conflicts.
        policy: The digest of the policy that settles conflicts of rows; empty without one.
        kinds: How all conflicts of a kind are settled; each kind once.
        kinds_in: The same for one table by its name, or by `*` for every table; `in_table` picks
            those of a table, which a plan is made by.
        notes: Sentences on how the policy was read.
    """

    strict: bool = False
    scope: InsertScope = InsertScope.TABLE
    isolation: Isolation = Isolation.SERIALIZABLE
    policy: str = ""
    kinds: tuple[tuple[ConflictKind, Take], ...] = ()
    # None is left where a plan is made, and its digest would change with that of each other table.
    kinds_in: tuple[tuple[str, ConflictKind, Take], ...] = field(default=(), repr=False)
    # It decides nothing, and the ids of plans are digests of what rules print.
    notes: tuple[str, ...] = field(default=(), repr=False)

    def takes(self, kind: ConflictKind) -> Take | None:
        """How conflicts of a kind are settled, None if they stay open."""
        return next((take for each, take in self.kinds if each is kind), None)

    def in_table(self, *names: str) -> "MergeRules":
        """The rules as they are for one table: what is said of it is stronger than of every one.

        Args:
            names: Under which a policy speaks of the table, the strongest last.
        """
        if not self.kinds_in:
            return self
        kinds = dict(self.kinds)
        for name in names:
            kinds |= {kind: take for table, kind, take in self.kinds_in if table == name}
        return replace(self, kinds=tuple(kinds.items()), kinds_in=())

    def choosing(self, kind: ConflictKind, take: Take) -> "MergeRules":
        """The rules with one more choice, which settles conflicts of a kind."""
        match take:
            case Take.SCOPE_PARTITION:
                return replace(self, scope=InsertScope.PARTITION)
            case Take.ISOLATION_SNAPSHOT:
                return replace(self, isolation=Isolation.SNAPSHOT)
            case _:
                others = tuple(each for each in self.kinds if each[0] is not kind)
                return replace(self, kinds=(*others, (kind, take)))


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketMove:
    """The action on one bucket; `place` is its encoded partition and number."""

    place: Place
    strategy: Strategy
    knowledge: Knowledge = Knowledge.MANIFESTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Why a merge cannot run at all, in a sentence."""

    kind: ErrorKind
    text: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FileMoves:
    """The files that a merge adds and removes, and its conflicts.

    Attributes:
        add: Files of the source, as its schemas know them, with the columns of MANIFEST_ENTRY.
        restore: Files of the target from before a compaction of its own.
        remove: Live files of the target.
        buckets: The buckets that change, and those that cannot.
        row_places: Buckets where only their rows tell whether both sides changed the same.
        replays: Files of the source in such buckets, added once the rows are settled. Where they
            are none, the rows that are written hold all that the source changed.
        adopts_index: Buckets whose index files (hash index, deletion vectors) become the source's.
        masks: The deletion vectors that files of a table without a primary key get; empty ones go.
        joins: Files whose rows are written again without those that either side deleted; those of
            the target are among `remove`.
        is_complete: Whether all rows without a key that the source wrote come, are deleted, or are
            written again; else the target's version of some may stand.
        brings_back: Whether a file comes that the target had before.
        notes: Sentences on decisions of the rules against a side.
    """

    add: pa.Table
    restore: pa.Table
    remove: pa.Table
    buckets: tuple[BucketMove, ...] = ()
    row_places: tuple[Place, ...] = ()
    replays: pa.Table = field(default_factory=MANIFEST_ENTRY.empty_table)
    conflicts: tuple[Conflict, ...] = ()
    blocks: tuple[Block, ...] = ()
    adopts_index: frozenset[Place] = frozenset()
    masks: Mapping[MaskKey, HiddenRows] = field(default_factory=dict)
    joins: tuple[JoinedDeletes, ...] = ()
    is_complete: bool = False
    brings_back: bool = False
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether no file moves, no row is hidden or shown, and no row has to be looked at."""
        tables = (self.add, self.replays, self.restore, self.remove)
        others = (self.masks, self.joins, self.row_places, self.adopts_index)
        return not (any(each.num_rows for each in tables) or any(others))

    @property
    def digest_parts(self) -> list[list[str]]:
        """Return JSON values that differ if the files of two decisions differ."""
        tables = (self.add, self.replays, self.restore, self.remove)
        hidden = sorted(f"{key!r} {rows_digest(rows)}" for key, rows in self.masks.items())
        files = (sorted(table["identity"].to_pylist()) for table in tables)
        return [*files, hidden, *(each.digest_parts for each in self.joins)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DisplayNames:
    """The names of files and partitions for people.

    Attributes:
        partition: Writes an encoded partition, such as `day=2026-11-21`; empty without any.
    """

    table: str
    partition: Callable[[bytes], str]

    def place(self, partition: bytes) -> str:
        """Name a partition in a sentence, or the table where it has no partitions."""
        name = self.partition(partition)
        return f"partition {name!r}" if name else f"table {self.table}"


@dataclass(slots=True, kw_only=True)
class Findings:
    """Files and findings, collected while the rules are applied."""

    conflicts: list[Conflict] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
