"""Settles conflicts by a policy, all conflicts of a column at once.

The layers are laid over each other, the strongest last: kind, table, column, predicate, row, cell.
Nothing is settled unless a layer says how.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.three_way import ThreeWay
from branch_console.errors import InvalidInput
from branch_console.expr.predicate import Name, holds, names_in, parse_condition
from branch_console.merge.conflict import ConflictKind, Take
from branch_console.merge.engine_rules import sum_of_deltas
from branch_console.merge.policy import (
    CHOICE,
    EVERY_TABLE,
    KindRule,
    Policy,
    PolicyChoice,
    Settle,
    TablePolicy,
)
from branch_console.merge.row_text import parse_cells

Bools = npt.NDArray[np.bool_]

OURS: Final = 0
THEIRS: Final = 1
BASE: Final = 2
"""Sides as numbers: what a conflict of whole rows is settled to."""


_SIDES: Final = {"theirs": "the source", "ours": "the target", "base": "the base"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OpenConflicts:
    """Conflicts of one column or, where it is None, of whole rows; all arrays have their length.

    Attributes:
        ids: As `conflict_ids` of `branch_console.merge.row_text` makes them.
        kinds: ConflictKind as text.
        values: The values of the column; for whole rows the number of the side.
        texts: The texts of the values, or of the rows.
        row_ids: The id of the whole row of each; None if nobody decided by row.
        row_texts: The texts of these rows; None if nobody decided by row.
        at: The index of each in `keys` and `rows`.
        keys: Columns of the primary key, of all keys.
        rows: All columns on each side, null if the row is not there.
    """

    column: str | None
    ids: pa.Array
    kinds: pa.Array
    values: ThreeWay[pa.Array]
    texts: ThreeWay[pa.Array]
    row_ids: pa.Array | None
    row_texts: ThreeWay[pa.Array] | None
    at: pa.Array
    keys: pa.Table
    rows: ThreeWay[pa.Table]

    def find(self, name: Name) -> pa.Array | None:
        """A column that a condition names, None if there is none."""
        sides = {"base": self.rows.base, "ours": self.rows.ours, "theirs": self.rows.theirs}
        table = self.keys if name.side is None else sides[name.side]
        if name.column not in table.column_names:
            return None
        return table[name.column].combine_chunks().take(self.at)

    def get(self, name: Name) -> pa.Array:
        """A column that a condition names; raises InvalidInput if there is none."""
        found = self.find(name)
        if found is None:
            raise _no_column(name, self)
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Settled:
    """Settled conflicts; all arrays have one value a conflict.

    Attributes:
        values: The values that settle them; meaningless for open ones.
        take: How, as text; null if they are open.
        decided_by: The layer of the policy, or who chose; null if they are open.
        is_choice: Whether it was chosen for this cell or row alone; null if they are open.
        needs_another_look: Whether a choice was made on other values and is not applied.
    """

    values: pa.Array
    take: pa.Array
    decided_by: pa.Array
    is_choice: pa.Array
    needs_another_look: pa.Array

    @property
    def is_open(self) -> Bools:
        """A mask of the conflicts that nothing settles."""
        found: Bools = self.take.is_null().to_numpy(zero_copy_only=False)
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Layer:
    """The conflicts that one layer settles: those where `mask` is true, to `values`.

    `outdated` is what choices for single cells or rows have; a rule has None.
    """

    mask: pa.Array
    values: pa.Array
    take: pa.Array | pa.Scalar
    decided_by: pa.Array | pa.Scalar
    outdated: pa.Array | None = None


def settle_conflicts(conflicts: OpenConflicts, policy: Policy, table: str) -> Settled:
    """Settle conflicts.

    Raises:
        InvalidInput: The policy names a column that the table lacks, a rule does not fit the type
            of its column, or an edit is no value of it.
    """
    count = len(conflicts.ids)
    values = conflicts.values.ours
    take = decided_by = pa.nulls(count, pa.string())
    is_choice = pa.nulls(count, pa.bool_())
    another_look = pa.array(np.zeros(count, dtype=bool))
    for layer in _layers(conflicts, policy, table):
        values = pc.if_else(layer.mask, layer.values, values)
        take = pc.if_else(layer.mask, layer.take, take)
        decided_by = pc.if_else(layer.mask, layer.decided_by, decided_by)
        is_choice = pc.if_else(layer.mask, pa.scalar(layer.outdated is not None), is_choice)
        if layer.outdated is not None:
            # What somebody looked at is no longer so: no weaker rule may decide in their place.
            another_look = pc.and_not(pc.or_(another_look, layer.outdated), layer.mask)
            take = pc.if_else(layer.outdated, pa.scalar(None, pa.string()), take)
            decided_by = pc.if_else(layer.outdated, pa.scalar(None, pa.string()), decided_by)
            is_choice = pc.if_else(layer.outdated, pa.scalar(None, pa.bool_()), is_choice)
    return Settled(
        values=values,
        take=take,
        decided_by=decided_by,
        is_choice=is_choice,
        needs_another_look=another_look,
    )


def by_hand(conflicts: pa.Table) -> int:
    """Return how many conflicts a person settled by a choice for their cell or row.

    Args:
        conflicts: Columns of `row_conflict_schema`.
    """
    settled = conflicts.filter(pc.is_valid(conflicts["take"]))
    return int(pc.sum(settled["is_choice"]).as_py() or 0)


def settlement_words(conflicts: pa.Table) -> str:
    """Say how conflicts are settled: `21,295 take the source, 1 decided by hand`; blank if none is.

    Args:
        conflicts: Columns of `row_conflict_schema`, open ones too.
    """
    settled = conflicts.filter(pc.is_valid(conflicts["take"]))
    number, takes = settled.num_rows, pc.unique(settled["take"]).to_pylist()
    if number == conflicts.num_rows and len(takes) == 1 and takes[0] in _SIDES:
        return f"{'it takes' if number == 1 else 'all take'} {_SIDES[takes[0]]}"
    chosen = by_hand(settled)
    by_rules = (
        settled.filter(pc.invert(settled["is_choice"].fill_null(False)))["take"]
        .value_counts()
        .to_pylist()
    )
    counts = {each["values"]: each["counts"] for each in by_rules}
    order = (*(each for each in _SIDES if each in counts), *sorted(counts.keys() - _SIDES.keys()))
    parts = [_taken_words(take, counts[take]) for take in order]
    if chosen:
        parts.append(f"{chosen:,} decided by hand")
    return ", ".join(parts)


def open_words(conflicts: pa.Table, ways: str) -> str:
    """Say how those conflicts that a merge left open are settled; blank if it left none.

    Args:
        conflicts: Columns of `row_conflict_schema`, settled ones too.
        ways: What settles the conflicts that a decision settles, such as `by a policy`.
    """
    kinds = conflicts.filter(pc.is_null(conflicts["take"]))["kind"]
    hidden = int(pc.sum(pc.equal(kinds, str(ConflictKind.HIDDEN))).as_py() or 0)
    others = len(kinds) - hidden
    parts = []
    if hidden:
        of_them = f"{hidden:,} of them" if others else "it" if hidden == 1 else "them"
        parts.append(
            f"No policy settles {of_them}: a sequence field, a sequence group or a function that "
            "knows an order ranks another row first, so that readers would not see the row that "
            f"the policy takes. Change {'that row' if hidden == 1 else 'those rows'} on a branch."
        )
    if others:
        rest = "the other" if others == 1 else "the others"
        which = rest if hidden else "it" if others == 1 else "them"
        parts.append(f"Settle {which} {ways}.")
    return " ".join(parts)


def _taken_words(take: str, number: int) -> str:
    if take not in _SIDES:
        return f"{number:,} by rule {take}"
    return f"{number:,} {'takes' if number == 1 else 'take'} {_SIDES[take]}"


def _layers(conflicts: OpenConflicts, policy: Policy, table: str) -> Iterator[_Layer]:
    tables = policy.for_table(table)
    yield from _by_kinds(conflicts, policy.kinds, "")
    for each in tables:
        if each.take is not None:
            yield _by_rule(conflicts, each.take, None, f"table {each.table}")
    for each in tables:
        yield from _by_kinds(conflicts, each.kinds, f" in {each.table}")
    for each in tables:
        _check_columns(conflicts, each)
        for column in each.columns:
            if column.column == conflicts.column:
                yield _by_rule(conflicts, column.take, None, f"column {column.column}")
    for each in tables:
        yield from _by_predicates(conflicts, each)
    choices = pa.concat_tables([CHOICE.empty_table(), *(each.choices for each in tables)])
    choices = choices.sort_by([("time_millis", "descending")])
    of_rows = choices.filter(pc.is_null(choices["column"]))
    if conflicts.row_ids is not None and conflicts.row_texts is not None and of_rows.num_rows:
        yield _by_choices(conflicts, of_rows, conflicts.row_ids, conflicts.row_texts)
    if conflicts.column is not None:
        of_cells = choices.filter(pc.equal(choices["column"], conflicts.column))
        if of_cells.num_rows:
            yield _by_choices(conflicts, of_cells, conflicts.ids, conflicts.texts)


def _by_kinds(
    conflicts: OpenConflicts, rules: tuple[KindRule, ...], place: str
) -> Iterator[_Layer]:
    for rule in rules:
        is_kind = pc.equal(conflicts.kinds, str(rule.kind))
        yield _by_rule(conflicts, rule.take, is_kind, f"kind {rule.kind}{place}")


def _check_columns(conflicts: OpenConflicts, policy: TablePolicy) -> None:
    if policy.table != EVERY_TABLE:
        known = conflicts.rows.ours.column_names
        for rule in policy.columns:
            if rule.column not in known:
                raise _no_column(Name(side="ours", column=rule.column), conflicts)


def _by_predicates(conflicts: OpenConflicts, policy: TablePolicy) -> Iterator[_Layer]:
    # The first rule that holds decides, so the last one is laid down first.
    for rule in reversed(policy.where):
        condition = parse_condition(rule.when)
        if rule.column is not None and rule.column != conflicts.column:
            continue
        names = names_in(condition)
        if policy.table == EVERY_TABLE and any(conflicts.find(each) is None for each in names):
            continue
        mask = pc.fill_null(holds(condition, conflicts.get), False)
        yield _by_rule(conflicts, rule.take, mask, f"where {rule.when}")


def _by_rule(
    conflicts: OpenConflicts, settling: PolicyChoice, mask: pa.Array | None, decided_by: str
) -> _Layer:
    settles, values = _apply(conflicts, settling)
    return _Layer(
        mask=settles if mask is None else pc.and_(settles, mask),
        values=values,
        take=pa.scalar(str(settling)),
        decided_by=pa.scalar(decided_by),
    )


def _apply(conflicts: OpenConflicts, settling: PolicyChoice) -> tuple[pa.Array, pa.Array]:
    """Return a mask of the conflicts that a way to settle answers, and the answers."""
    sides = conflicts.values
    everywhere = pa.array(np.ones(len(conflicts.ids), dtype=bool))
    match settling.how:
        case Settle.OURS:
            return everywhere, sides.ours
        case Settle.THEIRS:
            return everywhere, sides.theirs
        case Settle.BASE:
            # Of a row that both sides added the base has no value: NULL would be a third one.
            return pc.not_equal(conflicts.kinds, str(ConflictKind.ADD_ADD)), sides.base
        case Settle.NEWEST:
            ours, theirs = _newest_by(conflicts, settling.by or "")
            settles = pc.or_(ours, theirs)
            if conflicts.column is None:
                # Nobody knows when a row was deleted.
                there = pc.and_(
                    *(pc.is_valid(t) for t in (conflicts.texts.ours, conflicts.texts.theirs))
                )
                settles = pc.and_(settles, there)
            return settles, pc.if_else(theirs, sides.theirs, sides.ours)
    if conflicts.column is None:
        # The others join values; two rows of which one is not there have none in common.
        return pc.invert(everywhere), sides.ours
    try:
        return _join(sides, settling, everywhere)
    except pa.ArrowException as error:
        raise InvalidInput(
            f"Column {conflicts.column!r} is {sides.ours.type} and cannot be settled by "
            f"{str(settling)!r}: {error}. Choose another rule.",
            column=conflicts.column,
        ) from error


def _join(
    sides: ThreeWay[pa.Array], settling: PolicyChoice, everywhere: pa.Array
) -> tuple[pa.Array, pa.Array]:
    match settling.how:
        case Settle.NON_NULL:
            only_one = pc.xor(pc.is_valid(sides.ours), pc.is_valid(sides.theirs))
            return only_one, pc.coalesce(sides.ours, sides.theirs)
        case Settle.MAX:
            return everywhere, pc.max_element_wise(sides.ours, sides.theirs)
        case Settle.MIN:
            return everywhere, pc.min_element_wise(sides.ours, sides.theirs)
        case Settle.SUM_OF_DELTAS:
            return everywhere, sum_of_deltas(sides)
        case Settle.CONCATENATE:
            joined = pc.binary_join_element_wise(
                sides.ours, sides.theirs, settling.separator, null_handling="skip"
            )
            return everywhere, joined
        case Settle.OURS | Settle.THEIRS | Settle.BASE | Settle.NEWEST:
            raise AssertionError(settling)
        case _:
            assert_never(settling.how)


def _newest_by(conflicts: OpenConflicts, by: str) -> tuple[pa.Array, pa.Array]:
    """Return masks of the conflicts in which ours is newer, and in which theirs is newer."""
    ours, theirs = (conflicts.get(Name(side=side, column=by)) for side in ("ours", "theirs"))
    is_theirs = pc.or_(
        pc.fill_null(pc.greater(theirs, ours), False),
        pc.and_(pc.is_valid(theirs), pc.is_null(ours)),
    )
    is_ours = pc.or_(
        pc.fill_null(pc.greater(ours, theirs), False),
        pc.and_(pc.is_valid(ours), pc.is_null(theirs)),
    )
    return is_ours, is_theirs


def _by_choices(
    conflicts: OpenConflicts, choices: pa.Table, ids: pa.Array, texts: ThreeWay[pa.Array]
) -> _Layer:
    at = pc.index_in(ids, value_set=choices["conflict_id"].combine_chunks())
    chosen = choices.take(at).combine_chunks()
    is_chosen = pc.is_valid(at)
    is_same = is_chosen
    for name, now in (("base", texts.base), ("ours", texts.ours), ("theirs", texts.theirs)):
        is_same = pc.and_(is_same, _same_text(chosen[name].combine_chunks(), now))
    take = chosen["take"].combine_chunks()
    values = conflicts.values.ours
    for name, side in (
        (Take.THEIRS, conflicts.values.theirs),
        (Take.BASE, conflicts.values.base),
    ):
        values = pc.if_else(pc.fill_null(pc.equal(take, str(name)), False), side, values)
    is_edit = pc.and_(is_same, pc.fill_null(pc.equal(take, str(Take.VALUE)), False))
    if pc.any(is_edit).as_py():
        if conflicts.column is None or ids is conflicts.row_ids:
            raise InvalidInput("A whole row cannot be edited as one text. Edit its cells.")
        typed = pc.if_else(is_edit, chosen["value"].combine_chunks(), pa.scalar(None, pa.string()))
        edits = parse_cells(typed, values.type, conflicts.column)
        values = pc.if_else(is_edit, edits, values)
    return _Layer(
        mask=is_same,
        values=values,
        take=take,
        decided_by=chosen["decided_by"].combine_chunks(),
        outdated=pc.and_not(is_chosen, is_same),
    )


def _same_text(left: pa.Array, right: pa.Array) -> pa.Array:
    both_null = pc.and_(pc.is_null(left), pc.is_null(right))
    return pc.or_(pc.fill_null(pc.equal(left, right), False), both_null)


def _no_column(name: Name, conflicts: OpenConflicts) -> InvalidInput:
    table = conflicts.keys if name.side is None else conflicts.rows.ours
    return InvalidInput(
        f"The policy names column {name.column!r}. There is: {', '.join(table.column_names)}.",
        column=name.column,
    )
