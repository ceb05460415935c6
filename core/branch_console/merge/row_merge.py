"""Three-way merge of rows by primary key, as Arrow kernels over all keys at once.

A row follows the side that changed it; changes of different columns both hold; what is left is a
conflict, which a policy may settle. NULL equals NULL, and mirrored sides give the mirrored verdict.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.rows.same_values import Bools, same_values
from branch_console.diff.three_way import ThreeWay, each_side
from branch_console.format.table_schema import TableSchema
from branch_console.merge.conflict import ConflictKind
from branch_console.merge.engine_rules import EngineRules
from branch_console.merge.policy import Policy, RowRule
from branch_console.merge.resolution import (
    BASE,
    OURS,
    THEIRS,
    OpenConflicts,
    Settled,
    settle_conflicts,
)
from branch_console.merge.row_text import cell_texts, conflict_ids, key_ids, row_texts
from branch_console.merge.row_work import (
    FIRST_RANKED,
    ROWS_OF_SIDES,
    RowVerdict,
    row_conflict_schema,
)

Ints = npt.NDArray[np.int64]

_BY_CELL: Final = -1
_POSITION: Final = {verdict: position for position, verdict in enumerate(RowVerdict)}
# Sums of floats depend on the order of their parts.
_FLOAT_ERROR: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MergedRows:
    """The merged rows and the changes that lead to them.

    Attributes:
        verdicts: How many keys got each verdict; those that none got are left out.
        conflicts: Columns of `row_conflict_schema`, the settled ones too, by key.
        upserts: Rows to write on top of what replay gives, in the columns of the table.
        results: The rows that readers then see for the keys of `upserts`, in their order.
        deletes: The keys to delete, in the columns of the primary key.
    """

    verdicts: Mapping[RowVerdict, int]
    conflicts: pa.Table
    upserts: pa.Table
    results: pa.Table
    deletes: pa.Table


def merge_rows(
    sides: ThreeWay[pa.Table],
    schema: TableSchema,
    policy: Policy,
    *,
    table: str,
    replays: Sequence[pa.Table] | None = None,
) -> MergedRows:
    """Merge the rows of keys that both sides changed.

    Args:
        sides: The rows on each side, in the columns of `schema`; a row that a side lacks is not in
            its table, a key is in a table once.
        schema: The table: its keys, and how its merge engine joins rows.
        policy: When rows conflict, and how conflicts are settled.
        table: The table's name in the policy.
        replays: The rows that readers see after a plain replay of the source's files, for each
            possible order. Theirs if left out.

    Returns:
        Rows and keys are written only if a replay gives something else, and those of an open
        conflict never.

    Raises:
        InvalidInput: The policy does not fit the table, or joined values do not fit their column.
    """
    wanted = replays if replays is not None else (sides.theirs,)
    keys, found = _align((sides.base, sides.ours, sides.theirs, *wanted), schema)
    rows = ThreeWay(base=found[0], ours=found[1], theirs=found[2])
    state = _State.of(keys, rows, schema)
    whole = _row_conflicts(state, policy.rows)
    masks: dict[str | None, Bools] = {
        None: whole,
        **{name: _cell_conflicts(state, name, whole) for name in state.plain},
    }
    is_conflict: Bools = np.logical_or.reduce(list(masks.values()))
    ids = _key_ids(state, is_conflict)
    settled = [
        _settle(state, ids, column, np.flatnonzero(mask), policy, table)
        for column, mask in masks.items()
        if mask.any()
    ]
    follows = _follow(state, settled)
    merged = {name: _merge_column(state, name, follows, settled) for name in state.names}
    is_there = _presence(state, follows)
    verdicts = _verdicts(state, merged, is_conflict)
    counts = np.bincount(verdicts, minlength=len(RowVerdict)).tolist()
    is_closed = np.ones(state.count, dtype=bool)
    for each in settled:
        is_closed[each.at[each.settled.is_open]] = False
    differs = _differ_from(state, merged, is_there, found[3:])
    rows_to_write = is_closed & is_there & differs
    results = _table(state, merged, rows_to_write)
    return MergedRows(
        verdicts={each: count for each, count in zip(RowVerdict, counts, strict=True) if count},
        conflicts=_conflict_table(state, settled),
        upserts=_additions(state, results, found[3], rows_to_write),
        results=results,
        deletes=keys.filter(pa.array(is_closed & ~is_there & differs)),
    )


def changed_keys(
    before: pa.Table, after: pa.Table, schema: TableSchema, *, nearly: bool = False
) -> pa.Table:
    """The keys of rows that came, went or differ between two states, in key order.

    Args:
        before: Rows in the columns of `schema`, a key once.
        after: The same.
        schema: The table.
        nearly: Whether floats that differ by errors of rounding are the same.
    """
    keys, (old, new) = _align((before, after), schema)
    differs = old.is_there != new.is_there
    is_same = _nearly_same if nearly else same_values
    for name in schema.row_type.names:
        if name not in schema.primary_keys:
            differs = differs | ~is_same(old.column(name), new.column(name))
    return keys.filter(pa.array(differs))


def hidden_conflicts(sides: ThreeWay[pa.Table], schema: TableSchema, *, table: str) -> pa.Table:
    """Conflicts of whole rows whose result readers would not see, whatever is written.

    A user's sequence field, or a function that knows an order, puts another row before it.

    Returns:
        Columns of `row_conflict_schema`, one open conflict a key that a side has.
    """
    keys, (base, ours, theirs) = _align((sides.base, sides.ours, sides.theirs), schema)
    state = _State.of(keys, ThreeWay(base=base, ours=ours, theirs=theirs), schema)
    can_conflict = bool(state.plain) or not state.names
    is_hidden = np.full(state.count, can_conflict) | (state.both_changed & state.one_has)
    ids, at = _key_ids(state, is_hidden), np.flatnonzero(is_hidden)
    settled = [_settle(state, ids, None, at, Policy(), table)] if len(at) else []
    found = _conflict_table(state, settled)
    kinds = pa.repeat(pa.scalar(str(ConflictKind.HIDDEN)), found.num_rows)
    position = found.schema.get_field_index("kind")
    return found.set_column(position, found.schema.field(position), kinds)


# --- sides --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Side:
    """The rows of one side, a row a key in the order of all keys; null if it has none."""

    rows: pa.Table
    is_there: Bools

    def column(self, name: str) -> pa.Array:
        return _one_array(self.rows[name])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Changes:
    """Both sides' changes of a column, key by key."""

    ours: Bools
    theirs: Bools
    agree: Bools


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _State:
    """The three sides, and who changed what; `plain` are the columns whose changes may conflict."""

    schema: TableSchema
    rules: EngineRules
    keys: pa.Table
    rows: ThreeWay[_Side]
    changes: Mapping[str, _Changes]
    ours_changed: Bools
    theirs_changed: Bools

    @classmethod
    def of(cls, keys: pa.Table, rows: ThreeWay[_Side], schema: TableSchema) -> "_State":
        rules = EngineRules.of(schema)
        names = (name for name in schema.row_type.names if name not in schema.primary_keys)
        changes = {name: _changes(name, rows, rules) for name in names}
        base, ours, theirs = (each.is_there for each in (rows.base, rows.ours, rows.theirs))
        return cls(
            schema=schema,
            rules=rules,
            keys=keys,
            rows=rows,
            changes=changes,
            ours_changed=np.logical_or.reduce(
                [base != ours, *(each.ours for each in changes.values())]
            ),
            theirs_changed=np.logical_or.reduce(
                [base != theirs, *(each.theirs for each in changes.values())]
            ),
        )

    @property
    def count(self) -> int:
        return int(self.keys.num_rows)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.changes)

    @property
    def plain(self) -> tuple[str, ...]:
        return tuple(name for name in self.changes if name not in self.rules.functions)

    @property
    def both_changed(self) -> Bools:
        return self.ours_changed & self.theirs_changed

    @property
    def both_have(self) -> Bools:
        return self.rows.ours.is_there & self.rows.theirs.is_there

    @property
    def one_has(self) -> Bools:
        found: Bools = self.rows.ours.is_there != self.rows.theirs.is_there
        return found


def _align(tables: Sequence[pa.Table], schema: TableSchema) -> tuple[pa.Table, list[_Side]]:
    """All keys in order, and each table with a row for each of them."""
    names = list(schema.primary_keys)
    places = [f"at {number}" for number in range(len(tables))]
    nowhere = pa.scalar(None, pa.int64())
    parts = []
    for place, rows in zip(places, tables, strict=True):
        at = {
            each: pa.array(np.arange(rows.num_rows))
            if each == place
            else pa.repeat(nowhere, rows.num_rows)
            for each in places
        }
        keys = {name: _one_array(rows[name]) for name in names}
        parts.append(pa.table({**keys, **at}))
    grouped = pa.concat_tables(parts).group_by(names, use_threads=False)
    found = grouped.aggregate([(place, "max") for place in places])
    found = found.sort_by([(name, "ascending") for name in names]).combine_chunks()
    wanted = pa.schema([field.remove_metadata().with_nullable(True) for field in tables[0].schema])
    sides = []
    for place, rows in zip(places, tables, strict=True):
        at = _one_array(found[f"{place}_max"])
        plain = rows.select(wanted.names).cast(wanted).combine_chunks()
        sides.append(_Side(rows=plain.take(at), is_there=_bools(pc.is_valid(at))))
    return found.select(names), sides


def _changes(name: str, rows: ThreeWay[_Side], rules: EngineRules) -> _Changes:
    columns = each_side(rows, lambda side: side.column(name))
    ours, theirs = (
        ~same_values(columns.base, columns.ours),
        ~same_values(columns.base, columns.theirs),
    )
    if not rules.adds_columns:
        # A new row is new in every column, and a null in it is a value like another.
        ours = ours | (rows.ours.is_there & ~rows.base.is_there)
        theirs = theirs | (rows.theirs.is_there & ~rows.base.is_there)
    return _Changes(ours=ours, theirs=theirs, agree=same_values(columns.ours, columns.theirs))


# --- conflicts ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _SettledColumn:
    """The conflicts of one column, or of whole rows, and what became of them; `at` are keys."""

    at: Ints
    conflicts: OpenConflicts
    settled: Settled


def _row_conflicts(state: _State, rule: RowRule) -> Bools:
    """Return a mask of the rows that conflict as a whole."""
    nowhere = np.zeros(state.count, dtype=bool)
    if state.rules.keeps_ours:
        return nowhere
    is_delete = state.both_changed & state.one_has
    match rule:
        case RowRule.CELL:
            return is_delete
        case RowRule.ROW:
            images = [~state.changes[name].agree for name in state.plain]
            differ: Bools = np.logical_or.reduce([nowhere, *images])
            return is_delete | (state.both_changed & state.both_have & differ)
        case _:
            assert_never(rule)


def _cell_conflicts(state: _State, name: str, whole: Bools) -> Bools:
    if state.rules.keeps_ours:
        return np.zeros(state.count, dtype=bool)
    changes = state.changes[name]
    return ~whole & state.both_have & changes.ours & changes.theirs & ~changes.agree


def _key_ids(state: _State, wanted: Bools) -> pa.Array:
    """The ids of some keys, null for the others: a hash a key takes its time."""
    at = np.cumsum(wanted) - 1
    ids = key_ids(state.keys.filter(pa.array(wanted)))
    return ids.take(pa.array(at, mask=~wanted))


def _settle(
    state: _State, ids: pa.Array, column: str | None, at: Ints, policy: Policy, table: str
) -> _SettledColumn:
    conflicts = _conflicts_at(state, ids, column, pa.array(at), policy, table)
    settled = settle_conflicts(conflicts, policy, table)
    return _SettledColumn(at=at, conflicts=conflicts, settled=settled)


def _conflicts_at(
    state: _State, ids: pa.Array, column: str | None, at: pa.Array, policy: Policy, table: str
) -> OpenConflicts:
    keys = ids.take(at)

    def whole_rows() -> ThreeWay[pa.Array]:
        return each_side(
            state.rows, lambda side: row_texts(side.rows.take(at), pa.array(side.is_there).take(at))
        )

    if column is None:
        base, ours, theirs = (pa.array(np.full(len(at), side)) for side in (BASE, OURS, THEIRS))
        values = ThreeWay(base=base, ours=ours, theirs=theirs)
        texts = whole_rows()
        texts_of_rows: ThreeWay[pa.Array] | None = texts
    else:
        values = each_side(state.rows, lambda side: side.column(column).take(at))
        texts = each_side(values, cell_texts)
        texts_of_rows = whole_rows() if policy.decides_by_row(table) else None
    return OpenConflicts(
        column=column,
        ids=conflict_ids(keys, column),
        kinds=_kinds(state, at.to_numpy()),
        values=values,
        texts=texts,
        row_ids=None if texts_of_rows is None else conflict_ids(keys, None),
        row_texts=texts_of_rows,
        at=at,
        keys=state.keys,
        rows=each_side(state.rows, lambda side: side.rows),
    )


def _kinds(state: _State, at: Ints) -> pa.Array:
    there = each_side(state.rows, lambda side: side.is_there[at])
    kinds = np.where(there.base, str(ConflictKind.MODIFY_MODIFY), str(ConflictKind.ADD_ADD))
    kinds = np.where(there.ours == there.theirs, kinds, str(ConflictKind.DELETE_MODIFY))
    return pa.array(kinds, pa.string())


def _conflict_table(state: _State, settled: Sequence[_SettledColumn]) -> pa.Table:
    layout = row_conflict_schema(state.schema)
    parts = [layout.empty_table(), *(_conflict_rows(state, each, layout) for each in settled)]
    if not settled:
        return parts[0]
    # Stable, so that the conflicts of a key keep the order of its columns.
    order = np.argsort(np.concatenate([each.at for each in settled]), kind="stable")
    return pa.concat_tables(parts).take(pa.array(order))


def _conflict_rows(state: _State, each: _SettledColumn, layout: pa.Schema) -> pa.Table:
    conflicts, settled = each.conflicts, each.settled
    count = len(each.at)
    keys = state.keys.take(pa.array(each.at))
    parts = [_one_array(keys[name]) for name in state.schema.primary_keys]
    if conflicts.column is None:
        texts = (conflicts.texts.ours, conflicts.texts.theirs, conflicts.texts.base)
        at = settled.values.to_numpy() * count + np.arange(count)
        results = pa.concat_arrays(texts).take(pa.array(at))
    else:
        results = cell_texts(settled.values)
    columns = {
        "conflict_id": conflicts.ids,
        "key": pa.StructArray.from_arrays(parts, fields=list(layout.field("key").type)),
        "column": pa.repeat(pa.scalar(conflicts.column, pa.string()), count),
        "kind": conflicts.kinds,
        "base": conflicts.texts.base,
        "ours": conflicts.texts.ours,
        "theirs": conflicts.texts.theirs,
        "take": settled.take,
        "result": pc.if_else(pc.is_valid(settled.take), results, pa.scalar(None, pa.string())),
        "decided_by": settled.decided_by,
        "is_choice": settled.is_choice,
        "needs_another_look": settled.needs_another_look,
        **{
            field.name: _structs(side, pa.array(each.at), field.type)
            for field, side in zip(
                (layout.field(name) for name in ROWS_OF_SIDES),
                (state.rows.base, state.rows.ours, state.rows.theirs),
                strict=True,
            )
        },
    }
    if FIRST_RANKED in layout.names:
        # Only who reads the files knows it.
        columns[FIRST_RANKED] = pa.nulls(count, layout.field(FIRST_RANKED).type)
    return pa.table(columns, schema=layout)


def _structs(side: _Side, at: pa.Array, kind: pa.StructType) -> pa.Array:
    """Whole rows of a side, null if it has none."""
    rows = side.rows.take(at)
    columns = [_one_array(rows[field.name]) for field in kind]
    is_gone = pc.invert(pa.array(side.is_there).take(at))
    return pa.StructArray.from_arrays(columns, fields=list(kind), mask=is_gone)


# --- results ------------------------------------------------------------------------------------


def _follow(state: _State, settled: Sequence[_SettledColumn]) -> Ints:
    """The side that each row follows as a whole, or _BY_CELL."""
    if state.rules.keeps_ours:
        return np.where(state.rows.ours.is_there, OURS, THEIRS)
    changed = np.where(state.theirs_changed, THEIRS, OURS)
    follows = np.where(state.one_has, changed, _BY_CELL)
    for each in settled:
        if each.conflicts.column is None:
            follows[each.at] = each.settled.values.to_numpy()
    return follows


def _merge_column(
    state: _State, name: str, follows: Ints, settled: Sequence[_SettledColumn]
) -> pa.Array:
    columns = each_side(state.rows, lambda side: side.column(name))
    changes, here = state.changes[name], np.arange(state.count)
    sources = [columns.ours, columns.theirs, columns.base]
    side = np.where(changes.theirs & ~changes.ours, THEIRS, OURS)
    if name in state.rules.functions:
        sources.append(state.rules.combine(name, columns))
        # What both sides added stays, whichever row was chosen for the other columns.
        side = np.where(state.both_have, len(sources) - 1, np.maximum(follows, OURS))
    else:
        side = np.where(follows == _BY_CELL, side, follows)
    found = side * state.count + here
    for each in settled:
        if each.conflicts.column == name:
            found[each.at] = len(sources) * state.count + np.arange(len(each.at))
            sources.append(each.settled.values)
    return pa.concat_arrays(sources).take(pa.array(found))


def _presence(state: _State, follows: Ints) -> Bools:
    rows = state.rows
    there = np.stack([rows.ours.is_there, rows.theirs.is_there, rows.base.is_there])
    chosen: Bools = there[np.maximum(follows, OURS), np.arange(state.count)]
    return np.where(follows == _BY_CELL, state.both_have, chosen)


def _verdicts(state: _State, merged: Mapping[str, pa.Array], is_conflict: Bools) -> Ints:
    """The verdict of each key, as its position in RowVerdict."""
    ours, theirs = state.rows.ours, state.rows.theirs
    is_once = np.ones(state.count, dtype=bool)
    for name, column in merged.items():
        is_once &= same_values(column, ours.column(name)) & same_values(column, theirs.column(name))
    found = np.where(is_once, _POSITION[RowVerdict.ONCE], _POSITION[RowVerdict.BOTH])
    nobody_has = ~ours.is_there & ~theirs.is_there
    found = np.where(nobody_has, _POSITION[RowVerdict.DELETED], found)
    one = np.where(state.theirs_changed, _POSITION[RowVerdict.THEIRS], _POSITION[RowVerdict.OURS])
    found = np.where(state.both_changed, found, one)
    if state.rules.keeps_ours:
        found = np.where(ours.is_there, _POSITION[RowVerdict.OURS], one)
    nobody_changed = ~state.ours_changed & ~state.theirs_changed
    found = np.where(nobody_changed, _POSITION[RowVerdict.UNCHANGED], found)
    return np.where(is_conflict, _POSITION[RowVerdict.CONFLICT], found)


# --- what to write ------------------------------------------------------------------------------


def _differ_from(
    state: _State, merged: Mapping[str, pa.Array], is_there: Bools, replays: Sequence[_Side]
) -> Bools:
    """Return a mask of the rows for which a replay gives another result."""
    differs = np.zeros(state.count, dtype=bool)
    for replay in replays:
        differs |= replay.is_there != is_there
        for name, column in merged.items():
            differs |= is_there & ~_nearly_same(column, replay.column(name))
    return differs


def _nearly_same(left: pa.Array, right: pa.Array) -> Bools:
    if not pa.types.is_floating(left.type):
        return same_values(left, right)
    # Arrow gives a null as NaN.
    first, second = (each.to_numpy(zero_copy_only=False) for each in (left, right))
    near: Bools = np.isclose(first, second, rtol=_FLOAT_ERROR, atol=0, equal_nan=True)
    near &= _bools(pc.is_null(left)) == _bools(pc.is_null(right))
    return near


def _table(state: _State, merged: Mapping[str, pa.Array], wanted: Bools) -> pa.Table:
    mask = pa.array(wanted)
    columns = {**{name: _one_array(state.keys[name]) for name in state.schema.primary_keys}}
    columns |= merged
    return pa.table({name: columns[name].filter(mask) for name in state.schema.row_type.names})


def _additions(state: _State, results: pa.Table, seen: _Side, wanted: Bools) -> pa.Table:
    found = results
    mask = pa.array(wanted)
    for name in state.rules.functions:
        column = state.rules.addition(
            name, _one_array(results[name]), seen.column(name).filter(mask)
        )
        found = found.set_column(found.schema.get_field_index(name), name, column)
    return found


# --- values -------------------------------------------------------------------------------------


def _bools(array: pa.Array) -> Bools:
    found: Bools = array.to_numpy(zero_copy_only=False)
    return found


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks()
