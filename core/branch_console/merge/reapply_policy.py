"""Settles conflicts that were found before by another policy, without looking at the table.

What a merge keeps of its conflicts holds the rows of all sides, so that whoever decides sees at
once what a rule makes of a hundred thousand of them: by the very code that a merge settles with.
"""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.rows.same_values import Bools, same_values
from branch_console.diff.three_way import ThreeWay, each_side
from branch_console.expr.predicate import holds, parse_condition
from branch_console.format.values.key_order import sortable
from branch_console.merge.conflict import ConflictKind
from branch_console.merge.policy import Policy
from branch_console.merge.resolution import (
    BASE,
    OURS,
    THEIRS,
    OpenConflicts,
    Settled,
    settle_conflicts,
)
from branch_console.merge.row_text import cell_texts, conflict_ids, row_texts
from branch_console.merge.row_work import FIRST_RANKED, ROWS_OF_SIDES

_BY_COLUMN: TypeAlias = Mapping[str | None, tuple[pa.Array, Settled]]


def reapply_policy(conflicts: pa.Table, policy: Policy, table: str) -> pa.Table:
    """Return conflicts as another policy settles them, in the same order.

    A decision is tried on what readers would see: where a sequence field hides its result, the
    conflict stays open, and `decided_by` says what has no effect.

    Args:
        conflicts: Columns of `row_conflict_schema`, found by the same rule of rows; all those of a
            key, as what readers see of its row follows from them together.
        policy: How they are settled; nothing that they were settled to before counts.
        table: The table's name in the policy.

    Raises:
        InvalidInput: As `settle_conflicts` does.
    """
    whole = conflicts.combine_chunks()
    takes = [pa.nulls(0, pa.string())]
    results, deciders = [pa.nulls(0, pa.string())], [pa.nulls(0, pa.string())]
    is_choice = [pa.nulls(0, pa.bool_())]
    outdated, places = [pa.nulls(0, pa.bool_())], [pa.nulls(0, pa.int64())]
    by_column: dict[str | None, tuple[pa.Array, Settled]] = {}
    for at, found in _columns(whole, with_rows=policy.decides_by_row(table)):
        settled = _settled(found, policy, table)
        by_column[found.column] = (at, settled)
        takes.append(settled.take)
        results.append(_result_texts(found, settled))
        deciders.append(settled.decided_by)
        is_choice.append(settled.is_choice)
        outdated.append(settled.needs_another_look)
        places.append(at)
    order = pc.sort_indices(pa.concat_arrays(places))
    again = {
        "take": takes,
        "result": results,
        "decided_by": deciders,
        "is_choice": is_choice,
        "needs_another_look": outdated,
    }
    for name, parts in again.items():
        position = whole.schema.get_field_index(name)
        values = pa.concat_arrays(parts).take(order)
        whole = whole.set_column(position, whole.schema.field(position), values)
    if FIRST_RANKED in whole.column_names and whole.num_rows:
        whole = _opened_again(whole, pa.array(_ranks_below(whole, by_column)))
    return whole


def without_effect(conflicts: pa.Table) -> pa.ChunkedArray:
    """Return which conflicts stay open as readers would not see the result of their decision."""
    return pc.and_(pc.is_null(conflicts["take"]), pc.is_valid(conflicts["decided_by"]))


def conflicts_where(conflicts: pa.Table, when: str, column: str | None = None) -> pa.Array:
    """Return where a condition holds for conflicts, as booleans in their order.

    Args:
        conflicts: Columns of `row_conflict_schema`.
        when: The condition, see `branch_console.expr.predicate`.
        column: The only column whose cells are meant, None for all.

    Raises:
        InvalidInput: The condition cannot be read, or names a column that the table lacks.
    """
    condition = parse_condition(when)
    whole = conflicts.combine_chunks()
    held = pc.fill_null(holds(condition, _opened(whole, None, with_rows=False).get), False)
    if column is None:
        return held
    is_column = pc.fill_null(pc.equal(whole["column"].combine_chunks(), column), False)
    return pc.and_(held, is_column)


def row_level_conflicts(conflicts: pa.Table) -> pa.Table:
    """Return the conflicts as ones of their whole rows, a key once: what is decided by row."""
    ids = _key_ids(conflicts)
    first = (
        pa.table({"id": ids, "at": np.arange(len(ids))}).group_by("id").aggregate([("at", "min")])
    )
    once = conflicts.take(np.sort(first["at_min"].to_numpy())).combine_chunks()
    texts = _texts_of_rows(_rows(once), once)
    columns = {
        "conflict_id": conflict_ids(_key_ids(once), None),
        "column": pa.nulls(once.num_rows, pa.string()),
        "base": texts.base,
        "ours": texts.ours,
        "theirs": texts.theirs,
    }
    for name, values in columns.items():
        position = once.schema.get_field_index(name)
        once = once.set_column(position, once.schema.field(position), values)
    return once


def _columns(whole: pa.Table, *, with_rows: bool) -> Iterator[tuple[pa.Array, OpenConflicts]]:
    """The conflicts of each column, and of whole rows, with the places they have in the table."""
    for column in pc.unique(whole["column"]).to_pylist():
        is_it = pc.is_null(whole["column"]) if column is None else pc.equal(whole["column"], column)
        mask = pc.fill_null(is_it, False).combine_chunks()
        part = whole.filter(mask).combine_chunks()
        at = pc.indices_nonzero(mask).cast(pa.int64())
        yield at, _opened(part, column, with_rows=with_rows)


def _opened(part: pa.Table, column: str | None, *, with_rows: bool) -> OpenConflicts:
    rows, count = _rows(part), part.num_rows
    texts = ThreeWay(
        base=part["base"].combine_chunks(),
        ours=part["ours"].combine_chunks(),
        theirs=part["theirs"].combine_chunks(),
    )
    if column is None:
        values = ThreeWay(
            base=pa.array(np.full(count, BASE)),
            ours=pa.array(np.full(count, OURS)),
            theirs=pa.array(np.full(count, THEIRS)),
        )
    else:
        values = ThreeWay(
            base=rows.base[column].combine_chunks(),
            ours=rows.ours[column].combine_chunks(),
            theirs=rows.theirs[column].combine_chunks(),
        )
    by_row = column is None or with_rows
    keys = part["key"].combine_chunks()
    return OpenConflicts(
        column=column,
        ids=part["conflict_id"].combine_chunks(),
        kinds=part["kind"].combine_chunks(),
        values=values,
        texts=texts,
        row_ids=_key_ids(part) if by_row else None,
        row_texts=_texts_of_rows(rows, part) if with_rows else (texts if by_row else None),
        at=pa.array(np.arange(count)),
        keys=pa.table(keys.flatten(), names=[field.name for field in keys.type]),
        rows=rows,
    )


def _rows(part: pa.Table) -> ThreeWay[pa.Table]:
    def rows(name: str) -> pa.Table:
        structs = part[name].combine_chunks()
        return pa.table(structs.flatten(), names=[field.name for field in structs.type])

    base, ours, theirs = (rows(name) for name in ROWS_OF_SIDES)
    return ThreeWay(base=base, ours=ours, theirs=theirs)


def _texts_of_rows(rows: ThreeWay[pa.Table], part: pa.Table) -> ThreeWay[pa.Array]:
    base, ours, theirs = (
        row_texts(each, pc.is_valid(part[name].combine_chunks()))
        for each, name in zip((rows.base, rows.ours, rows.theirs), ROWS_OF_SIDES, strict=True)
    )
    return ThreeWay(base=base, ours=ours, theirs=theirs)


def _key_ids(part: pa.Table) -> pa.Array:
    """Return the name of each conflict's key: the first part of the conflict's id."""
    found = pc.extract_regex(part["conflict_id"].combine_chunks(), r"^(?P<key>[^-]*)")
    return found.field("key")


def _settled(found: OpenConflicts, policy: Policy, table: str) -> Settled:
    settled = settle_conflicts(found, policy, table)
    hidden = pc.equal(found.kinds, str(ConflictKind.HIDDEN))
    if not pc.any(hidden).as_py():
        return settled
    # Whatever is chosen, readers see another row: only a change of a branch settles these.
    nobody = pa.scalar(None, pa.string())
    return Settled(
        values=settled.values,
        take=pc.if_else(hidden, nobody, settled.take),
        decided_by=pc.if_else(hidden, nobody, settled.decided_by),
        is_choice=pc.if_else(hidden, pa.scalar(None, pa.bool_()), settled.is_choice),
        needs_another_look=pc.and_not(settled.needs_another_look, hidden),
    )


def _result_texts(found: OpenConflicts, settled: Settled) -> pa.Array:
    if found.column is None:
        texts = (found.texts.ours, found.texts.theirs, found.texts.base)
        count = len(found.ids)
        at = settled.values.to_numpy() * count + np.arange(count)
        results = pa.concat_arrays(texts).take(pa.array(at))
    else:
        results = cell_texts(settled.values)
    return pc.if_else(pc.is_valid(settled.take), results, pa.scalar(None, pa.string()))


# --- what a sequence field hides ----------------------------------------------------------------


def _opened_again(whole: pa.Table, is_hidden: pa.Array) -> pa.Table:
    for name in ("take", "result"):
        position = whole.schema.get_field_index(name)
        values = pc.if_else(is_hidden, pa.scalar(None, pa.string()), whole[name])
        whole = whole.set_column(position, whole.schema.field(position), values)
    return whole


def _ranks_below(whole: pa.Table, by_column: _BY_COLUMN) -> Bools:
    """A mask of the settled conflicts that make their key's result rank below another row.

    These are the ones of a sequence field or of whole rows; where a key has none, all of its own.
    """
    keys = _key_ids(whole).dictionary_encode()
    key_of: npt.NDArray[np.int64] = keys.indices.to_numpy().astype(np.int64)
    count = len(keys.dictionary)
    one_of = np.zeros(count, dtype=np.int64)
    one_of[key_of[::-1]] = np.arange(len(key_of))[::-1]
    one = whole.take(pa.array(one_of)).combine_chunks()
    rows = _rows(one)
    first = one[FIRST_RANKED].combine_chunks()
    names = [field.name for field in first.type.field("row").type]
    follows = np.full(count, -1)
    is_known = pc.is_valid(first).to_numpy(zero_copy_only=False).copy()
    ranks = set(names)
    for column, (at, settled) in by_column.items():
        places = key_of[at.to_numpy()]
        if column is None:
            follows[places] = settled.values.to_numpy()
        if column is None or column in ranks:
            is_known[places[settled.is_open]] = False
    there = np.stack(
        [one[name].is_valid().to_numpy() for name in ("ours_row", "theirs_row", "base_row")]
    )
    is_there = (follows < 0) | there[np.maximum(follows, 0), np.arange(count)]
    below, ties = np.zeros(count, dtype=bool), np.ones(count, dtype=bool)
    descends = pc.fill_null(pc.struct_field(first, "descends"), False)
    for name in names:
        result = _results_of_keys(name, rows, follows, key_of, by_column)
        best = pc.struct_field(first, ["row", name])
        below |= ties & _loses(result, best, descends)
        ties &= same_values(result, best)
    is_hidden = is_known & is_there & below
    is_settled = whole["take"].is_valid().to_numpy()
    decides = whole["column"].is_null().to_numpy() | np.isin(
        whole["column"].to_numpy(zero_copy_only=False).astype(object), names
    )
    has_deciding = np.zeros(count, dtype=bool)
    has_deciding[key_of[decides & is_settled]] = True
    found: Bools = is_hidden[key_of] & is_settled & (decides | ~has_deciding[key_of])
    return found


def _results_of_keys(
    name: str,
    rows: ThreeWay[pa.Table],
    follows: npt.NDArray[np.int64],
    key_of: npt.NDArray[np.int64],
    by_column: _BY_COLUMN,
) -> pa.Array:
    """The values that a column gets in each key: of the row, by decision, or of who changed it."""
    columns = each_side(rows, lambda side: side[name].combine_chunks())
    only_theirs = same_values(columns.base, columns.ours) & ~same_values(
        columns.base, columns.theirs
    )
    side = np.where(follows < 0, np.where(only_theirs, THEIRS, OURS), follows)
    found = side * len(follows) + np.arange(len(follows))
    sources = [columns.ours, columns.theirs, columns.base]
    if name in by_column:
        at, settled = by_column[name]
        found[key_of[at.to_numpy()]] = len(sources) * len(follows) + np.arange(len(at))
        sources.append(settled.values.cast(columns.ours.type))
    return pc.take(pa.concat_arrays(sources), pa.array(found))


def _loses(value: pa.Array, best: pa.Array, descends: pa.Array) -> Bools:
    """Where a sequence ranks below another; without one a row loses, whichever way it is sorted."""
    mine, other = sortable(value), sortable(best)
    # A result with the other zero may be the very row that readers see.
    is_other = pa.array(~same_values(value, best))
    smaller = pc.if_else(descends, pc.greater(mine, other), pc.less(mine, other))
    lacks = pc.and_(pc.is_null(mine), pc.is_valid(other))
    found: Bools = pc.or_(pc.and_(pc.fill_null(smaller, False), is_other), lacks).to_numpy(
        zero_copy_only=False
    )
    return found
