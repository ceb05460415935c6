"""How the files of a table without a primary key merge: operation by operation, file by file.

The rules are the cells of `conflict_matrix`. What the source removed must go from the target, even
where the target has compacted it in the meantime: then the compaction is taken back, which needs
no row to be read.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

from branch_console.diff.changes.file_history import Place, Step, keys_of
from branch_console.diff.changes.rewrite_graph import NO_REWRITES, RewriteGraph
from branch_console.diff.changes.table_changes import TableChanges, files_in
from branch_console.diff.file_masks import HiddenRows, MaskKey, hidden_on_sides
from branch_console.diff.history_move import count
from branch_console.diff.table_operation import TableOperation
from branch_console.diff.three_way import ThreeWay
from branch_console.merge.compactions import live_files, undo_compactions
from branch_console.merge.conflict import Conflict, ConflictKind, Subject, Take
from branch_console.merge.conflict_matrix import Cell, CellRule, cells
from branch_console.merge.file_moves import (
    BucketMove,
    DisplayNames,
    FileMoves,
    Findings,
    Knowledge,
    MergeRules,
    Strategy,
)
from branch_console.merge.file_touches import (
    MIXED_ADVICE,
    FileTouch,
    advice_to_settle,
    touched_together,
    touches_of,
    ways_to_settle,
    winner,
)
from branch_console.merge.joined_deletes import (
    JoinedDeletes,
    Update,
    join_deletes,
    overruled_updates,
    touched_files,
)
from branch_console.operations.isolation import InsertScope, Isolation

_DID: Final[Mapping[TableOperation, str]] = {
    TableOperation.INSERT: "added rows",
    TableOperation.DELETE: "deleted rows",
    TableOperation.UPDATE: "updated rows",
    TableOperation.OVERWRITE: "replaced rows",
}
_BOTH_CHANGED: Final = ThreeWay(base="live", ours="written again", theirs="changed")
_LOST_ADVICE: Final = (
    "The target rewrote this file, and the rows that the source changed in it cannot be found in "
    "the new files. Revert one of the changes."
)
_INSERT_ADVICE: Final = (
    "The source {did}, and the target has added rows since, which this {change} did not see. "
    "Isolation 'snapshot' keeps the added rows as they are."
)
_OVERWRITTEN_ADVICE: Final = (
    "The source replaced rows, and with them it would remove what the target wrote since. Merge "
    "without strict to let the source win, or revert one of the changes."
)
_TWICE_ADVICE: Final = (
    "The target would have these rows twice: it holds a file that this one was made of, or what "
    "was left of it. Take back on the target what brought that file, or leave this change out."
)
_READ_FIRST: Final = (
    " The rows are read first: if those of one side cannot be matched with those of the other, "
    "the merge stops and changes nothing."
)
_REPLACED_ADVICE: Final = (
    "The source wrote every file of this partition again and recorded no operation: this may be an "
    "update or an overwrite.{isolation} Settle 'whole files' in a policy: 'theirs' takes the "
    "source for an overwrite, which replaces what the target did there; 'ours' keeps the target."
)


def merge_keyless_files(
    ours: TableChanges,
    theirs: TableChanges,
    rules: MergeRules,
    naming: DisplayNames,
    rewrites: RewriteGraph = NO_REWRITES,
) -> FileMoves:
    """Decide what a merge does with the files of a table without a primary key.

    Args:
        ours: The target's changes since the base.
        theirs: The source's changes since the base.
        rules: The chosen rules of the merge.
        naming: How things are told.
        rewrites: The known rewrites of files.
    """
    return _KeylessMerge(ours, theirs, rules, naming, rewrites).result()


@dataclass(slots=True, kw_only=True)
class _Settled:
    """The version of each contested file that is kept.

    Attributes:
        from_theirs, from_ours: Added files of a side that are left out, by identity.
        dropped: Files for which the change of the source is ignored.
        taken: Files in which the rows that the source hides are hidden.
        joins: Files that one side rewrote, and of which both deleted rows or the target updated
            some.
        is_chosen: Whether the target's version is kept of rows that the source wrote as well.
    """

    from_theirs: set[str] = field(default_factory=set)
    from_ours: set[str] = field(default_factory=set)
    dropped: set[MaskKey] = field(default_factory=set)
    taken: set[MaskKey] = field(default_factory=set)
    joins: list[JoinedDeletes] = field(default_factory=list)
    is_chosen: bool = False

    def take_ours(self, key: MaskKey, left: FileTouch) -> None:
        self.from_theirs |= left.added
        self.dropped.add(key)

    def take_theirs(self, key: MaskKey, right: FileTouch) -> None:
        self.from_ours |= right.added
        self.taken.add(key)


class _Judged(NamedTuple):
    """The cell and the rule that what the source and the target did to one file falls into."""

    cell: Cell[TableOperation] | None
    rule: CellRule
    touches: tuple[FileTouch, FileTouch]


class _KeylessMerge:
    def __init__(
        self,
        ours: TableChanges,
        theirs: TableChanges,
        rules: MergeRules,
        naming: DisplayNames,
        rewrites: RewriteGraph,
    ) -> None:
        self._ours = ours
        self._theirs = theirs
        self._rules = rules
        self._naming = naming
        self._rewrites = rewrites
        self._found = Findings()
        self._keys = {**_keys(ours), **_keys(theirs)}
        changed = (self._keys[each] for each in ours.added | ours.removed)
        self._changed_by_ours = frozenset(key[:2] for key in (*changed, *ours.masks))
        self._hidden = hidden_on_sides(
            ThreeWay(base=ours.base_log.masks, ours=ours.log.masks, theirs=theirs.log.masks)
        )
        self._cells = {
            (cell.theirs, cell.ours): cell for cell in cells(theirs.operations, ours.operations)
        }
        self._left_of, self._right_of = (touches_of(each, self._keys) for each in (theirs, ours))

    def result(self) -> FileMoves:
        ours, theirs = self._ours, self._theirs
        self._check_cells()
        settled = self._both_touched()
        dropped_ours = settled.from_ours | self._overwritten()
        incoming = theirs.added - settled.from_theirs
        self._check_shared(incoming, ours.added - dropped_ours)
        outgoing = {
            each
            for each in theirs.removed - ours.removed
            if self._keys[each] not in settled.dropped
        } | dropped_ours
        outgoing = outgoing.union(*(each.held.ours for each in settled.joins))
        changed = self._changed_masks(settled, incoming | outgoing | settled.from_theirs)
        live, restored, undone = self._find(outgoing, changed.keys())
        masks = changed | self._arriving_masks(incoming, restored - outgoing, changed)
        self._tell_hidden(changed)
        self._tell_joined(settled.joins)
        conflicted = {each.subject.partition for each in self._found.conflicts}
        places = {self._keys[each][:2] for each in incoming | outgoing}
        written = {each.place for each in settled.joins}
        return FileMoves(
            add=theirs.files(incoming),
            restore=ours.files(restored - outgoing),
            remove=files_in(live | undone, ours.log, theirs.log),
            buckets=tuple(
                self._bucket_move(place, conflicted, written)
                for place in sorted(places | {key[:2] for key in changed})
            ),
            conflicts=tuple(self._found.conflicts),
            blocks=tuple(self._found.blocks),
            masks=masks,
            joins=tuple(settled.joins),
            is_complete=not settled.is_chosen,
            notes=tuple(self._found.notes),
        )

    def _check_cells(self) -> None:
        """Operations that never both stand, whichever files they touched."""
        for cell in self._cells.values():
            if cell.rule is CellRule.CONFLICT and cell.settle_with:
                self._check_inserts(cell)
            elif cell.rule is CellRule.CONFLICT:
                self._conflict(
                    cell, ConflictKind.FILE_RULE, None, (), advice="Revert one of the changes."
                )
        self._check_replaced()

    def _check_inserts(self, cell: Cell[TableOperation]) -> None:
        """A delete or update that is replayed could hit rows that the target inserted."""
        if self._rules.isolation is Isolation.SNAPSHOT:
            return
        steps = [
            step
            for step in self._theirs.lasting_steps
            if step.operation is cell.theirs and not step.may_be_overwrite
        ]
        advice = _INSERT_ADVICE.format(did=_DID[cell.theirs], change=cell.theirs)
        if steps and self._rules.scope is InsertScope.TABLE:
            self._conflict(cell, ConflictKind.FILE_RULE, None, cell.settle_with, advice=advice)
            return
        inserted = _partitions_of(s for s in self._ours.lasting_steps if s.operation is cell.ours)
        for partition in sorted(_partitions_of(steps) & inserted):
            ways = (Take.ISOLATION_SNAPSHOT,)
            self._conflict(cell, ConflictKind.FILE_RULE, partition, ways, advice=advice)

    def _check_replaced(self) -> None:
        """A rewrite of whole partitions could have been meant to replace what the target added."""
        if self._take is not None:
            return
        for partition in sorted(self._replaced & self._inserted):
            (cell,) = cells(frozenset({TableOperation.UPDATE}), frozenset({TableOperation.INSERT}))
            ways = (Take.ISOLATION_SNAPSHOT, Take.OURS, Take.THEIRS)
            self._conflict(
                cell,
                ConflictKind.FILE_RULE,
                partition,
                ways,
                advice=_REPLACED_ADVICE.format(
                    isolation=" Isolation 'snapshot' keeps what both sides added."
                ),
                may_be_overwrite=(False, True),
            )

    @cached_property
    def _replaced(self) -> frozenset[bytes]:
        """Partitions that the source wrote again, or replaced, and that the target changed too."""
        replaced = _partitions_of(s for s in self._theirs.lasting_steps if s.may_be_overwrite)
        both = self._left_of.keys() & self._right_of.keys()
        touched = {key[0] for key in both if self._left_of[key].may_be_overwrite}
        return replaced & (self._inserted | touched) - self._overwritten_by_source

    @cached_property
    def _inserted(self) -> frozenset[bytes]:
        """Partitions to which the target added rows, if these count for the source's changes."""
        if self._rules.isolation is Isolation.SNAPSHOT:
            return frozenset()
        written = (each.added for each in self._right_of.values())
        new = self._ours.added.difference(*written)
        return frozenset(self._keys[each][0] for each in new)

    def _check_shared(self, incoming: Set[str], held: Set[str]) -> None:
        """Rows that the target holds in files that were written with them before, or since."""
        for each, other in self._rewrites.files_sharing_rows(incoming, held).items():
            has = f"has rows of it in {self._keys[other][2]}"
            sides = ThreeWay(base="", ours=has, theirs="adds it")
            self._file_rewritten(self._keys[each][2], sides, _TWICE_ADVICE)

    def _both_touched(self) -> "_Settled":
        """Files that both sides touched: the part of either side that must not stay."""
        settled = _Settled()
        left_of, right_of = self._left_of, self._right_of
        open_: dict[MaskKey, _Judged] = {}
        joined: dict[MaskKey, _Judged] = {}
        holding: set[MaskKey] = set()
        deleted: set[str] = set()
        dropped = Counter[bytes]()
        ours_gone = {key for key, each in right_of.items() if each.is_gone}
        decided = self._settle_replaced(settled)
        for key in sorted(left_of.keys() & right_of.keys()):
            left, right = left_of[key], right_of[key]
            if left.operation is TableOperation.OVERWRITE or key[0] in decided:
                continue  # what the target made of it goes with the partition, or stays with it
            cell = self._cells.get((left.operation, right.operation))
            rule = self._rule_of(cell, key, left, right)
            judged = _Judged(cell, rule, (left, right))
            if self._is_overwritten(rule, left, ours_gone):
                settled.take_ours(key, left)
                settled.is_chosen = True
                dropped[key[0]] += 1
            elif self._both_hold(rule, key, left, right):
                holding.add(key)
            elif self._is_update_deleted(rule, key, right):
                holding.add(key)
                deleted |= right.added
            elif self._is_joined(rule, left, right):
                joined[key] = judged
            else:
                open_[key] = judged
        self._tell_dropped(dropped)
        if deleted:
            settled.from_ours |= deleted
            self._note(overruled_updates(self._rows_in(deleted)))
        for files in touched_together({**joined, **open_}, left_of, right_of):
            by_source = [left_of[key].operation for key in files & left_of.keys()]
            if not files & left_of.keys() & right_of.keys() <= joined.keys() | holding:
                self._settle(settled, files, {**joined, **open_})
            elif self._take is None and {*by_source} != {TableOperation.DELETE}:
                for key in sorted(files & joined.keys()):
                    self._mixed_conflict(key, joined[key].cell)
            else:
                self._join(settled, files, left_of, right_of)
        settled.from_theirs &= self._theirs.added
        settled.from_ours &= self._ours.added
        return settled

    def _settle_replaced(self, settled: _Settled) -> frozenset[bytes]:
        """Let one side alone have the partitions that the source may have replaced, if chosen.

        Returns:
            The partitions of which nothing else is to be decided.
        """
        if self._take is Take.OURS:
            for key, left in self._left_of.items():
                if key[0] in self._replaced:
                    settled.take_ours(key, left)
                    settled.is_chosen = True
        return frozenset() if self._take is None else self._replaced

    def _is_overwritten(self, rule: CellRule, left: FileTouch, gone: Set[MaskKey]) -> bool:
        """Whether the target replaced the rows of a file that the source changed, and no others."""
        if rule not in (CellRule.M4, CellRule.M5):
            return False
        return not left.added or (left.files <= gone and left.adds_nothing_new)

    def _rule_of(
        self, cell: Cell[TableOperation] | None, key: MaskKey, left: FileTouch, right: FileTouch
    ) -> CellRule:
        """Return the rule for files that both sides touched."""
        if cell is None:
            return CellRule.M3
        # Rows that one side shows again would go with the file that the other gave up.
        shown = (each.masks[key].shown for each in (self._ours, self._theirs) if key in each.masks)
        is_open = cell.rule is CellRule.M2 and (left.is_gone or right.is_gone) and any(shown)
        return CellRule.M1 if is_open else cell.rule

    def _settle(
        self, settled: _Settled, files: frozenset[MaskKey], judged: Mapping[MaskKey, _Judged]
    ) -> None:
        """Let the touches of one side stay alone, of source or target, or find that it is open.

        Args:
            settled: Gets what must not stay.
            files: Files that were written again together.
            judged: All files of which not both touches can stand as they are.
        """
        ways = ways_to_settle(files, self._left_of, self._right_of)
        take = self._take if self._take in ways else None
        if take is Take.OURS:
            for key in files & self._left_of.keys():
                settled.take_ours(key, self._left_of[key])
        for key in sorted(files & judged.keys()):
            cell, rule, (left, right) = judged[key]
            match winner(rule, left, right, take):
                case Take.OURS:
                    settled.take_ours(key, left)
                    # Where the target deleted the whole file, nothing of it is another version.
                    settled.is_chosen |= (
                        rule is not CellRule.M2 or bool(right.added) or not right.is_gone
                    )
                case Take.THEIRS:
                    settled.take_theirs(key, right)
                case _:
                    self._file_conflict(cell, key, ways)

    def _join(
        self,
        settled: _Settled,
        files: frozenset[MaskKey],
        left_of: Mapping[MaskKey, FileTouch],
        right_of: Mapping[MaskKey, FileTouch],
    ) -> None:
        """Have files written again without the rows that a side deleted."""
        join = join_deletes(
            next(iter(files))[:2],
            (self._ours, self._theirs),
            ours=touched_files(files, self._ours, right_of, self._keys),
            theirs=touched_files(files, self._theirs, left_of, self._keys),
            hidden=self._hidden_files,
            take=self._take,
            update=_update_of([right_of[key] for key in sorted(files & right_of.keys())]),
            is_recorded=all(
                touches[key].is_pure and touches[key].operation is TableOperation.DELETE
                for touches in (left_of, right_of)
                for key in files & touches.keys()
            ),
        )
        settled.is_chosen |= self._take is not None
        settled.from_theirs |= join.held.theirs.keys()
        settled.joins.append(join)

    @property
    def _take(self) -> Take | None:
        """Return the choice for files that both sides touched."""
        return self._rules.takes(ConflictKind.FILE_RULE)

    @cached_property
    def _hidden_files(self) -> dict[str, ThreeWay[HiddenRows]]:
        """The positions that each side hides, by identity of the file."""
        hidden = self._hidden
        return {each: hidden[key] for each, key in self._keys.items() if key in hidden}

    def _both_hold(self, rule: CellRule, key: MaskKey, left: FileTouch, right: FileTouch) -> bool:
        """Whether what both did to one file is both done by hiding rows of it, or by its going."""
        if rule is CellRule.M2:
            return not (left.added or right.added) and not (left.is_gone and right.is_gone)
        if rule is not CellRule.OK or left.is_gone or right.is_gone:
            return False
        # Of a row that both touched, the version that the target wrote could not be found.
        theirs, ours = self._theirs.masks[key], self._ours.masks[key]
        return theirs.hidden.isdisjoint(ours.hidden)

    def _is_update_deleted(self, rule: CellRule, key: MaskKey, right: FileTouch) -> bool:
        """Whether the source deleted each row that the target updated, so that no version stays.

        Which version is of which row only rows tell; if all of them go it does not matter.
        """
        if rule is not CellRule.OK or self._rules.strict or not right.is_pure:
            return False
        # An update of several partitions may have moved rows from one to another.
        places = (step.places for step in self._ours.steps if key[:2] in step.places)
        if any(len(each) > 1 for each in places):
            return False
        theirs, ours = self._theirs.masks, self._ours.masks
        if not right.files <= theirs.keys() & ours.keys():
            return False
        updated = sum(len(ours[key].hidden) for key in right.files)
        are_deleted = all(ours[key].hidden <= theirs[key].hidden for key in right.files)
        return are_deleted and updated == self._rows_in(right.added)

    def _rows_in(self, files: Set[str]) -> int:
        """How many rows files of the target hold, hidden ones too."""
        return sum(self._ours.files(files)["row_count"].to_pylist())

    def _is_joined(self, rule: CellRule, left: FileTouch, right: FileTouch) -> bool:
        """Whether rows must be read to know what is left of a file, beyond what deletes say."""
        # No log lists a file that neither side rewrote.
        if not (left.is_gone or right.is_gone):
            return False
        if rule is CellRule.M2:
            return bool(left.added or right.added)
        # Of a row that both touched the delete wins; what was chosen in an earlier merge, and left
        # no commit that tells of it, is open.
        return rule is CellRule.OK and not self._rules.strict and bool(right.files)

    def _changed_masks(
        self, settled: "_Settled", moved: Collection[str]
    ) -> dict[MaskKey, HiddenRows]:
        """Masks of files that the target holds and in which the source hid rows."""
        moving = {self._keys[each] for each in moved}
        gone = {self._keys[each] for each in self._ours.removed}
        left = gone | moving | settled.dropped
        changed = {}
        for key, change in self._theirs.masks.items():
            ours = self._hidden_by_us(key)
            rows = change.after if key in settled.taken else change.on(ours)
            if key not in left and rows != ours:
                changed[key] = rows
        return changed

    def _arriving_masks(
        self,
        incoming: Collection[str],
        restored: Collection[str],
        changed: Mapping[MaskKey, HiddenRows],
    ) -> dict[MaskKey, HiddenRows]:
        """Masks of files that arrive or come back."""
        come = {self._keys[each] for each in incoming}
        back = {self._keys[each] for each in restored} - changed.keys()
        theirs = self._theirs.log.masks
        masks = {key: theirs[key].after for key in come & theirs.keys()}
        masks |= {key: self._hidden_by_us(key) for key in back}
        return {key: hidden for key, hidden in masks.items() if hidden}

    def _hidden_by_us(self, key: MaskKey) -> HiddenRows:
        """The mask of a file on the target, or the last one before a compaction took the file."""
        return self._hidden[key].ours if key in self._hidden else HiddenRows()

    def _tell_hidden(self, changed: Mapping[MaskKey, HiddenRows]) -> None:
        rows = sum(len(self._theirs.masks[key].hidden) for key in changed)
        if rows:
            self._note(
                f"{count(rows, 'row')} that the source deleted are hidden in "
                f"{count(len(changed), 'data file')} of the target by deletion vectors."
            )

    def _tell_joined(self, joins: Collection[JoinedDeletes]) -> None:
        for what, are_updates in (
            ("Both sides deleted rows of the same files", False),
            ("The target updated rows of files of which the source deleted some", True),
        ):
            some = [each for each in joins if (each.update is not None) is are_updates]
            if some:
                files = sum(each.file_count for each in some)
                rows = sum(each.rows_deleted for each in some)
                self._note(
                    f"{what}: what is left of {count(files, 'data file')} is written again, "
                    f"without the {count(rows, 'row')} that the source deleted."
                    + ("" if all(each.is_certain for each in some) else _READ_FIRST)
                )

    def _tell_dropped(self, dropped: Mapping[bytes, int]) -> None:
        for partition, files in sorted(dropped.items()):
            place = f" of {name}" if (name := self._naming.partition(partition)) else ""
            self._note(
                f"The target overwrote {count(files, 'data file')}{place} in which the source had "
                "changed rows: these changes are dropped."
            )

    @cached_property
    def _overwritten_by_source(self) -> frozenset[bytes]:
        steps = self._theirs.lasting_steps
        return _partitions_of(s for s in steps if s.operation is TableOperation.OVERWRITE)

    def _overwritten(self) -> set[str]:
        """Files that the target added to partitions which the source overwrote."""
        partitions = self._overwritten_by_source
        if self._take is Take.THEIRS:
            partitions |= self._replaced
        going = {each for each in self._ours.added if self._keys[each][0] in partitions}
        if going:
            rows = count(self._rows_in(going), "row")
            self._note(f"The source overwrote partitions into which the target put {rows}.")
        if going and self._rules.strict:
            for cell in self._cells.values():
                if cell.theirs is TableOperation.OVERWRITE and cell.rule is CellRule.OK:
                    self._conflict(
                        cell, ConflictKind.FILE_RULE, None, (), advice=_OVERWRITTEN_ADVICE
                    )
        return going

    def _find(
        self, outgoing: set[str], masked: Collection[MaskKey]
    ) -> tuple[set[str], set[str], set[str]]:
        """Files that are touched: those that are live, else what the target compacted of them.

        Returns:
            The live ones that go; the files from before a compaction that come back, of which
            some may go; those it wrote.
        """
        touched = outgoing | {each for each, key in self._keys.items() if key in masked}
        live = live_files(touched, self._ours)
        try:
            restored, undone = undo_compactions(touched - live, self._ours.log)
        except KeyError as error:
            self._file_rewritten(self._keys[str(error.args[0])][2])
            return live & outgoing, set(), set()
        return live & outgoing, restored, undone

    def _bucket_move(
        self, place: Place, conflicted: set[str | None], written: set[Place]
    ) -> BucketMove:
        if conflicted & {None, self._naming.partition(place[0])}:
            return BucketMove(place=place, strategy=Strategy.CONFLICT)
        if place in written:
            return BucketMove(place=place, strategy=Strategy.REWRITE, knowledge=Knowledge.ROWS)
        is_shared = place in self._changed_by_ours
        return BucketMove(place=place, strategy=Strategy.REPLAY if is_shared else Strategy.ADOPT)

    def _conflict(
        self,
        cell: Cell[TableOperation],
        kind: ConflictKind,
        partition: bytes | None,
        settle_with: tuple[Take, ...],
        name: str | None = None,
        advice: str = "",
        may_be_overwrite: tuple[bool, bool] = (False, False),
    ) -> None:
        ours, theirs = (
            _DID[op].replace(" ", " or replaced ", 1) if is_open else _DID[op]
            for op, is_open in zip((cell.ours, cell.theirs), may_be_overwrite, strict=True)
        )
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
                advice=advice,
            )
        )

    def _file_conflict(
        self, cell: Cell[TableOperation] | None, key: MaskKey, ways: tuple[Take, ...]
    ) -> None:
        if cell is None:
            self._file_rewritten(key[2])
            return
        advice = advice_to_settle(ways)
        if key[0] in self._replaced:
            ways, advice = (Take.OURS, Take.THEIRS), _REPLACED_ADVICE.format(isolation="")
        touches = self._right_of[key], self._left_of[key]
        self._conflict(
            cell,
            ConflictKind.FILE_RULE,
            key[0],
            ways,
            key[2],
            advice,
            (touches[0].may_be_overwrite, touches[1].may_be_overwrite),
        )

    def _mixed_conflict(self, key: MaskKey, cell: Cell[TableOperation] | None) -> None:
        """Rows that the source updated in other files stand among those that it left of this."""
        if cell is None:
            self._file_rewritten(key[2])
            return
        ways = (Take.OURS, Take.THEIRS)
        self._conflict(cell, ConflictKind.FILE_RULE, key[0], ways, key[2], MIXED_ADVICE)

    def _file_rewritten(
        self, name: str, sides: ThreeWay[str] = _BOTH_CHANGED, advice: str = _LOST_ADVICE
    ) -> None:
        cell = next(iter(self._cells.values()), None)
        self._found.conflicts.append(
            Conflict(
                kind=ConflictKind.FILE_REWRITTEN,
                rule="M9" if cell is None else cell.id,
                subject=Subject(table=self._naming.table, name=name),
                sides=sides,
                advice=advice,
            )
        )

    def _note(self, text: str) -> None:
        if text not in self._found.notes:
            self._found.notes.append(text)


def _update_of(touches: Collection[FileTouch]) -> Update | None:
    """Return how surely updates among touches are pure; None if no touch is an update."""
    if all(each.operation is not TableOperation.UPDATE for each in touches):
        return None
    return Update.PURE if all(each.is_pure for each in touches) else Update.INFERRED


def _keys(side: TableChanges) -> dict[str, MaskKey]:
    return {
        identity: key
        for entries in (side.base_log.entries, side.log.entries)
        for identity, key in keys_of(entries)
    }


def _partitions_of(steps: Iterable[Step]) -> frozenset[bytes]:
    return frozenset[bytes]().union(*(step.partitions for step in steps))
