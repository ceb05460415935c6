"""How the files of a table without a primary key merge: operation by operation, file by file.

The rules are the cells of `conflict_matrix`. What the source removed must go from the target, even
where the target has compacted it in the meantime: then the compaction is taken back, which needs
no row to be read.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from core.diff.logical_log import LogicalLog, Place, Step
from core.diff.table_changes import TableChanges, files_in
from core.diff.table_operation import TableOperation
from core.diff.three_way import ThreeWay
from core.errors import ErrorKind
from core.merge.conflict import Conflict, ConflictKind, Subject, Take
from core.merge.conflict_matrix import Cell, Rule, cells
from core.merge.file_moves import (
    Block,
    BucketMove,
    FileMoves,
    Findings,
    InsertScope,
    Isolation,
    MergeRules,
    Naming,
    Strategy,
)

_REWRITES: Final = frozenset({TableOperation.DELETE, TableOperation.UPDATE})


def merge_keyless_files(
    ours: TableChanges, theirs: TableChanges, rules: MergeRules, naming: Naming
) -> FileMoves:
    """Decide what a merge does with the files of a table without a primary key."""
    merge = _KeylessMerge(ours, theirs, rules, naming)
    return merge.result()


def _held(side: TableChanges) -> set[str]:
    """The files that a side got since the root and holds, as they are or in compacted ones."""
    held = set(side.log.arrived)
    for each in reversed(side.log.compactions):
        if not held.isdisjoint(each.after):
            held |= each.before
    return held


class _KeylessMerge:
    def __init__(
        self, ours: TableChanges, theirs: TableChanges, rules: MergeRules, naming: Naming
    ) -> None:
        self._ours = ours
        self._theirs = theirs
        self._rules = rules
        self._naming = naming
        self._found = Findings()
        self._places = {**_places(ours), **_places(theirs)}
        self._cells = {
            (cell.theirs, cell.ours): cell for cell in cells(theirs.operations, ours.operations)
        }

    def result(self) -> FileMoves:
        ours, theirs = self._ours, self._theirs
        self._check_inserts()
        dropped_theirs, dropped_ours = self._both_removed()
        overwritten = self._overwritten()
        dropped_ours |= overwritten
        incoming = theirs.added - dropped_theirs - _held(ours)
        outgoing = (theirs.removed - ours.removed) | dropped_ours
        live, restored, undone = self._find(outgoing)
        self._check_masks()
        conflicted = {each.subject.partition for each in self._found.conflicts}
        return FileMoves(
            add=theirs.files(incoming),
            restore=ours.files(restored),
            remove=files_in(live | undone, ours.log, theirs.log),
            buckets=tuple(
                BucketMove(place=place, strategy=self._strategy(place, conflicted))
                for place in sorted({self._places[each] for each in incoming | outgoing})
            ),
            conflicts=tuple(self._found.conflicts),
            blocks=tuple(self._found.blocks),
            adopts_masks=theirs.has_masks,
            notes=tuple(self._found.notes),
        )

    def _check_inserts(self) -> None:
        """A delete or update that is replayed could hit rows that the target inserted."""
        inserted = _partitions(self._ours, {TableOperation.INSERT})
        for operation in sorted(_REWRITES):
            cell = self._cells.get((operation, TableOperation.INSERT))
            if cell is None or self._rules.isolation is Isolation.SNAPSHOT:
                continue
            changed = _partitions(self._theirs, {operation})
            if self._rules.scope is InsertScope.TABLE:
                self._conflict(cell, ConflictKind.FILE_RULE, None, cell.settle_with)
                continue
            for partition in sorted(changed & inserted):
                self._conflict(cell, ConflictKind.FILE_RULE, partition, (Take.ISOLATION_SNAPSHOT,))

    def _both_removed(self) -> tuple[set[str], set[str]]:
        """Files that both sides gave up: what of their replacements must not stay, per side."""
        from_theirs: set[str] = set()
        from_ours: set[str] = set()
        removed_theirs, removed_ours = _removers(self._theirs), _removers(self._ours)
        take = self._rules.takes(ConflictKind.FILE_RULE)
        for each in sorted(self._theirs.removed & self._ours.removed):
            place = self._places[each]
            left = _Rewrite.of(removed_theirs.get(each), place, self._places)
            right = _Rewrite.of(removed_ours.get(each), place, self._places)
            if left.operation is TableOperation.OVERWRITE:
                continue  # what the target made of it goes with the partition
            cell = self._cells.get((left.operation, right.operation))
            rule = Rule.A3 if cell is None else cell.rule
            if rule in (Rule.A4, Rule.A5) and left.removed <= self._ours.removed:
                from_theirs |= left.added
                self._note(
                    "The target overwrote rows that the source had changed in "
                    f"{self._naming.partition(place[0])}: they stay overwritten."
                )
            elif (wins := _winner(rule, left, right, take)) is Take.OURS:
                from_theirs |= left.added
            elif wins is Take.THEIRS:
                from_ours |= right.added
            else:
                # Rows of several files that were written again as one cannot be told apart.
                is_alone = len(left.removed) == len(right.removed) == 1
                self._file_conflict(cell, each, (Take.OURS, Take.THEIRS) if is_alone else ())
        return from_theirs & self._theirs.added, from_ours & self._ours.added

    def _overwritten(self) -> set[str]:
        """What the target put into partitions that the source overwrote."""
        partitions = _partitions(self._theirs, {TableOperation.OVERWRITE})
        going = {each for each in self._ours.added if self._places[each][0] in partitions}
        if going:
            rows = sum(self._ours.files(going)["row_count"].to_pylist())
            self._note(f"The source overwrote partitions into which the target put {rows:,} rows.")
        if going and self._rules.strict:
            for cell in self._cells.values():
                if cell.theirs is TableOperation.OVERWRITE and cell.rule is Rule.OK:
                    self._conflict(cell, ConflictKind.FILE_RULE, None, ())
        return going

    def _find(self, outgoing: Iterable[str]) -> tuple[set[str], set[str], set[str]]:
        """Files to remove: those that are live, else what a compaction of the target made of them.

        Returns:
            The live ones; the files from before a compaction that come back; those it wrote.
        """
        live: set[str] = set()
        hidden: set[str] = set()
        for each in outgoing:
            (live if _is_live(each, self._ours) else hidden).add(each)
        try:
            restored, undone = undo_compactions(hidden, self._ours.log)
        except KeyError as error:
            self._file_rewritten(str(error.args[0]))
            return live, set(), set()
        return live, restored - hidden, undone

    def _check_masks(self) -> None:
        ours, theirs = self._ours, self._theirs
        if theirs.has_masks and not (ours.is_empty and not ours.log.compactions):
            text = "The source deleted rows by deletion vectors, and the target changed as well."
        elif ours.has_masks and theirs.removed:
            text = "The target deleted rows by deletion vectors in files that the source rewrote."
        else:
            return
        self._found.blocks.append(
            Block(kind=ErrorKind.UNSUPPORTED, text=f"{text} That cannot be merged here yet.")
        )

    def _strategy(self, place: Place, conflicted: set[str | None]) -> Strategy:
        if conflicted & {None, self._naming.partition(place[0])}:
            return Strategy.CONFLICT
        changed = {self._places[each] for each in self._ours.added | self._ours.removed}
        return Strategy.REPLAY if place in changed else Strategy.ADOPT

    def _conflict(
        self,
        cell: Cell[TableOperation],
        kind: ConflictKind,
        partition: bytes | None,
        settle_with: tuple[Take, ...],
        name: str | None = None,
    ) -> None:
        ours, theirs = (f"{op} since the base" for op in (cell.ours, cell.theirs))
        self._found.conflicts.append(
            Conflict(
                kind=kind,
                rule=cell.id,
                subject=Subject(
                    table=self._naming.table,
                    partition=None if partition is None else self._naming.partition(partition),
                    name=name,
                ),
                sides=ThreeWay(base="", ours=ours, theirs=theirs),
                settle_with=settle_with,
            )
        )

    def _file_conflict(
        self, cell: Cell[TableOperation] | None, identity: str, settle_with: tuple[Take, ...]
    ) -> None:
        entry = self._theirs.files({identity}).to_pylist()[0]
        if cell is None:
            self._file_rewritten(identity)
            return
        place = (entry["partition"], entry["file_name"])
        self._conflict(cell, ConflictKind.FILE_RULE, place[0], settle_with, place[1])

    def _file_rewritten(self, identity: str) -> None:
        entry = self._theirs.files({identity}).to_pylist()
        cell = next(iter(self._cells.values()), None)
        name = entry[0]["file_name"] if entry else identity
        self._found.conflicts.append(
            Conflict(
                kind=ConflictKind.FILE_REWRITTEN,
                rule="003/L" if cell is None else cell.id,
                subject=Subject(table=self._naming.table, name=name),
                sides=ThreeWay(base="live", ours="written again", theirs="changed"),
            )
        )

    def _note(self, text: str) -> None:
        if text not in self._found.notes:
            self._found.notes.append(text)


class _Rewrite:
    """What one commit made of the files of one bucket."""

    def __init__(
        self, operation: TableOperation, removed: frozenset[str], added: frozenset[str]
    ) -> None:
        self.operation = operation
        self.removed = removed
        self.added = added

    @classmethod
    def of(cls, step: Step | None, place: Place, places: Mapping[str, Place]) -> "_Rewrite":
        if step is None:
            return cls(TableOperation.UPDATE, frozenset(), frozenset())
        return cls(
            step.operation,
            frozenset(each for each in step.removed if places.get(each) == place),
            frozenset(each for each in step.added if places.get(each) == place),
        )


def _winner(rule: Rule, left: _Rewrite, right: _Rewrite, take: Take | None) -> Take | None:
    """Whose replacement of a file that both gave up stays alone, None where that is open.

    Only what replaces this one file may go: otherwise rows of other files would go with it.
    """
    left_is_alone, right_is_alone = len(left.removed) == 1, len(right.removed) == 1
    both_deleted = rule is Rule.A2
    if right_is_alone and (take is Take.THEIRS or (both_deleted and not left.added)):
        return Take.THEIRS
    if left_is_alone and (take is Take.OURS or (both_deleted and not right.added)):
        return Take.OURS
    return None


def undo_compactions(wanted: Iterable[str], log: LogicalLog) -> tuple[set[str], set[str]]:
    """Return which files come back, and which live ones go, so that the wanted ones are there.

    Raises:
        KeyError: A file was not taken away by a compaction; its identity is the argument.
    """
    reads = {each: done for done in log.compactions for each in done.before}
    restored: set[str] = set()
    going: set[str] = set()

    def bring_back(identity: str) -> None:
        compaction = reads[identity]
        for each in sorted(compaction.after):
            if each not in restored and each not in log.arrived:
                bring_back(each)
        for each in compaction.after:
            if each in restored:
                restored.discard(each)
            else:
                going.add(each)
        restored.update(compaction.before)

    for each in sorted(wanted):
        if each not in restored:
            bring_back(each)
    return restored, going


def _is_live(identity: str, side: TableChanges) -> bool:
    if identity in side.log.arrived:
        return True
    # What the side's log does not mention was there from the root on.
    return identity not in side.log.left and identity not in side.base_log.added


def _removers(side: TableChanges) -> dict[str, Step]:
    return {each: step for step in side.steps for each in step.removed}


def _places(side: TableChanges) -> dict[str, Place]:
    found: dict[str, Place] = {}
    for entries in (side.base_log.entries, side.log.entries):
        columns = (entries[name].to_pylist() for name in ("identity", "partition", "bucket"))
        for identity, partition, bucket in zip(*columns, strict=True):
            found[identity] = (partition, bucket)
    return found


def _partitions(side: TableChanges, operations: Iterable[TableOperation]) -> frozenset[bytes]:
    wanted = frozenset(operations)
    return frozenset().union(*(s.partitions for s in side.steps if s.operation in wanted))
