"""Settles conflicts that were found before by another policy, without looking at the table.

What a merge keeps of its conflicts holds the rows of all sides, so that whoever decides sees at
once what a rule makes of a hundred thousand of them: by the very code that a merge settles with.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.three_way import ThreeWay
from branch_console.expr.predicate import holds, parse_condition
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
from branch_console.merge.row_work import ROWS_OF_SIDES


def reapply_policy(conflicts: pa.Table, policy: Policy, table: str) -> pa.Table:
    """Return conflicts as another policy settles them, in the same order.

    Args:
        conflicts: Columns of `row_conflict_schema`, found by the same rule of rows.
        policy: How they are settled; nothing that they were settled to before counts.
        table: The table's name in the policy.

    Raises:
        InvalidInput: As `settle_conflicts` does.
    """
    whole = conflicts.combine_chunks()
    takes = [pa.nulls(0, pa.string())]
    results, deciders = [pa.nulls(0, pa.string())], [pa.nulls(0, pa.string())]
    outdated, places = [pa.nulls(0, pa.bool_())], [pa.nulls(0, pa.int64())]
    for at, found in _columns(whole, with_rows=policy.decides_by_row(table)):
        settled = _settled(found, policy, table)
        takes.append(settled.take)
        results.append(_result_texts(found, settled))
        deciders.append(settled.decided_by)
        outdated.append(settled.needs_another_look)
        places.append(at)
    order = pc.sort_indices(pa.concat_arrays(places))
    again = {
        "take": takes,
        "result": results,
        "decided_by": deciders,
        "needs_another_look": outdated,
    }
    for name, parts in again.items():
        position = whole.schema.get_field_index(name)
        values = pa.concat_arrays(parts).take(order)
        whole = whole.set_column(position, whole.schema.field(position), values)
    return whole


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
