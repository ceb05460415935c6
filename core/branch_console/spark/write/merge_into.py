"""MERGE INTO: rows of a table that meet rows of a source, and the clauses that say what then.

Both are joined once. Rows of the source that met none are found by their numbers, rows of the table
by what tells them apart, so that each expression sees the columns of its own side only.
Source: Spark MergeRowsExec, Paimon MergeIntoPaimonTable.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Final

from pyspark.sql import Column, DataFrame, functions

from branch_console.commit.rows.row_commit import PreparedRows
from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.table_schema import TableSchema
from branch_console.spark.files.conform import unsupported
from branch_console.spark.session.arrow_frames import own_name
from branch_console.spark.session.session import Progress, WarmSession
from branch_console.spark.write.merge_pruning import rows_that_can_match
from branch_console.spark.write.target_rows import (
    TargetRows,
    check_delete,
    check_target,
    check_update,
    errors_of_statement,
    losing,
    quoted,
    refuse_losing,
    with_values,
)
from branch_console.sql.merges import ClauseAction, MatchKind, MergeClauses
from branch_console.sql.token_reader import quoted_name
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable

_NUMBER: Final = own_name("source")
_CLAUSE: Final = own_name("clause")
_MOVES: Final = own_name("moves")


def merge_into(
    session: WarmSession,
    store: FileIO,
    table: FileStoreTable,
    merge: MergeClauses,
    *,
    write_id: str = "",
    progress: Progress = lambda done, total: None,
) -> PreparedRows:
    """Write what clauses make of the rows of a table and a source.

    Args:
        session: The Spark session for the tasks; it has the views that expressions name.
        store: The store of the table's paths, with the right to write.
        table: The table on the branch to be written.
        merge: The MERGE statement.
        write_id: The id that the names of all files contain.
        progress: Called with tasks done and tasks known; what it raises stops the writing.

    Raises:
        InvalidInput: An expression or a value is wrong, the table takes no such changes, or several
            rows of the source would change one row.
    """

    def kept(rows: DataFrame) -> DataFrame:
        # What is read several times must be the same, also if it is not deterministic.
        return session.run(
            lambda _: rows.localCheckpoint(),
            description=f"merge into {table.identifier}",
            progress=progress,
        )

    schema = table.schema()
    with errors_of_statement():
        source = session.spark.sql(merge.source)
    clauses = _numbered(merge, source.columns, schema)
    check_target(store, table, schema)
    source = kept(source.withColumn(_NUMBER, functions.monotonically_increasing_id()))
    wanted = rows_that_can_match(session, source, merge, schema)
    target = TargetRows.read(session, store, table, wanted)
    met = [each for each in clauses if each.match_kind is MatchKind.MATCHED]
    matched = kept(_matched(target, source, merge, met))
    _refuse_several(session, target, matched, met)
    if any(each.held for each in met):
        _refuse_moves(session, matched)
    changes = [(matched, met)]
    alone = [each for each in clauses if each.match_kind is MatchKind.NOT_MATCHED_BY_SOURCE]
    if alone:
        changes.append((kept(_unchanged_rows(target, matched, merge, alone)), alone))
    updated = []
    for rows, of_rows in changes:
        for each in of_rows:
            if each.action is ClauseAction.UPDATE:
                updated.append(changed := each.new_rows(rows, schema))
                loses = losing(each.values, schema) if schema.primary_keys else None
                if loses is not None:
                    refuse_losing(session, changed, loses)
    fresh = [each for each in clauses if each.match_kind is MatchKind.NOT_MATCHED]
    inserted = []
    if fresh:
        unmet = _unmatched_rows(source, matched, merge, fresh)
        # Several clauses read it several times.
        unmet = kept(unmet) if len(fresh) > 1 else unmet
        inserted = [each.fresh_rows(unmet) for each in fresh]
    return target.replace(
        session,
        deleted=_deleted(target, changes),
        updated=updated,
        inserted=inserted,
        write_id=write_id,
        progress=progress,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clause:
    """A clause with its number, and its star as columns.

    Attributes:
        held: Columns that the source must not change.
    """

    number: int
    match_kind: MatchKind
    action: ClauseAction
    condition: str | None
    values: Mapping[str, str]
    held: tuple[str, ...]

    @property
    def results(self) -> list[Column]:
        """The new values, each as a column of its own, null if another clause holds."""
        holds = functions.col(_CLAUSE) == self.number
        return [
            functions.when(holds, functions.expr(text)).alias(self._result(name))
            for name, text in self.values.items()
        ]

    def new_rows(self, rows: DataFrame, schema: TableSchema) -> DataFrame:
        """The rows of the clause with their new values."""
        values = {name: quoted(self._result(name)) for name in self.values}
        return with_values(rows.where(functions.col(_CLAUSE) == self.number), values, schema)

    def fresh_rows(self, rows: DataFrame) -> DataFrame:
        """The rows that the clause inserts."""
        of_clause = rows.where(functions.col(_CLAUSE) == self.number)
        return of_clause.select(*(quoted(self._result(name)).alias(name) for name in self.values))

    def _result(self, name: str) -> str:
        return f"{self.number} {name}"


def _numbered(
    merge: MergeClauses, columns: Sequence[str], schema: TableSchema
) -> tuple[_Clause, ...]:
    """The clauses with their stars as columns; refused if the table takes no such changes."""
    found = []
    for number, clause in enumerate(merge.clauses):
        values, held = clause.values, tuple[str, ...]()
        if values is None:
            values = _taken_over(merge.source_name, columns, schema, number)
            if clause.action is ClauseAction.UPDATE:
                held = tuple(schema.primary_keys)
                values = {name: text for name, text in values.items() if name not in held}
        if clause.action is ClauseAction.UPDATE and values:
            check_update(schema, values)
        if clause.action is ClauseAction.DELETE and schema.primary_keys:
            check_delete(schema)
        found.append(
            _Clause(
                number=number,
                match_kind=clause.match_kind,
                action=clause.action,
                condition=clause.condition,
                values=values,
                held=held,
            )
        )
    return tuple(found)


def _taken_over(
    source_name: str, columns: Sequence[str], schema: TableSchema, number: int
) -> dict[str, str]:
    """Return what a star stands for: the source's expression for each column of the table."""
    known = {each.lower() for each in columns}
    missing = [name for name in schema.row_type.names if name.lower() not in known]
    if missing:
        raise InvalidInput(
            f"The source has no column {missing[0]!r}, which the star would take from it. It has: "
            f"{', '.join(columns)}.",
            column=missing[0],
            clause=number,
        )
    return {name: _text(source_name, name) for name in schema.row_type.names}


def _matched(
    target: TargetRows, source: DataFrame, merge: MergeClauses, clauses: Sequence[_Clause]
) -> DataFrame:
    """All pairs of rows that match, with the clause that holds for them and what it makes."""
    name = merge.target_name
    with errors_of_statement():
        pairs = target.frame.alias(name).join(
            source.alias(merge.source_name), functions.expr(merge.condition), "inner"
        )
        moves = [
            (functions.col(_CLAUSE) == each.number)
            & ~quoted(key, name).eqNullSafe(quoted(key, merge.source_name))
            for each in clauses
            for key in each.held
        ]
        return _first_matching_clause(pairs, clauses).select(
            *(quoted(each, name) for each in _columns(target)),
            _NUMBER,
            _CLAUSE,
            reduce(or_, moves, functions.lit(False)).alias(_MOVES),
            *(result for each in clauses for result in each.results),
        )


def _unchanged_rows(
    target: TargetRows, matched: DataFrame, merge: MergeClauses, clauses: Sequence[_Clause]
) -> DataFrame:
    """The rows of the table that met none, if a clause holds, and what it makes of them."""
    identity = list(target.identity)
    rows = target.frame.join(matched.select(*map(quoted, identity)), identity, "left_anti")
    with errors_of_statement():
        return (
            _first_matching_clause(rows.alias(merge.target_name), clauses)
            .where(functions.col(_CLAUSE).isNotNull())
            .select(
                *(quoted(each, merge.target_name) for each in _columns(target)),
                _CLAUSE,
                *(result for each in clauses for result in each.results),
            )
        )


def _unmatched_rows(
    source: DataFrame, matched: DataFrame, merge: MergeClauses, clauses: Sequence[_Clause]
) -> DataFrame:
    """The rows of the source that met none, if a clause holds, and what it inserts."""
    rows = source.join(matched.select(_NUMBER), [_NUMBER], "left_anti")
    with errors_of_statement():
        return (
            _first_matching_clause(rows.alias(merge.source_name), clauses)
            .where(functions.col(_CLAUSE).isNotNull())
            .select(_CLAUSE, *(result for each in clauses for result in each.results))
        )


def _first_matching_clause(rows: DataFrame, clauses: Sequence[_Clause]) -> DataFrame:
    """The rows with the number of the first clause that holds; null for none."""
    found: Column = functions.lit(None).cast("int")
    for each in reversed(clauses):
        holds = functions.lit(True) if each.condition is None else functions.expr(each.condition)
        found = functions.when(holds, functions.lit(each.number)).otherwise(found)
    return rows.withColumn(_CLAUSE, found)


def _deleted(
    target: TargetRows, changes: Sequence[tuple[DataFrame, Sequence[_Clause]]]
) -> DataFrame | None:
    """The rows that clauses delete, each once."""
    found = [
        rows.where(functions.col(_CLAUSE).isin(numbers)).select(*map(quoted, _columns(target)))
        for rows, clauses in changes
        if (numbers := [each.number for each in clauses if each.action is ClauseAction.DELETE])
    ]
    if not found:
        return None
    return reduce(DataFrame.unionAll, found).dropDuplicates(list(target.identity))


def _refuse_several(
    session: WarmSession, target: TargetRows, matched: DataFrame, clauses: Sequence[_Clause]
) -> None:
    """Refuse rows that several rows of the source would change, each in its own way."""
    if not clauses or [(each.action, each.condition) for each in clauses] == [
        (ClauseAction.DELETE, None)
    ]:
        return
    several = (
        matched.where(functions.col(_CLAUSE).isNotNull())
        .groupBy(*map(quoted, target.identity))
        .agg(functions.count("*").alias(_NUMBER))
        .where(functions.col(_NUMBER) > 1)
        .limit(1)
    )
    for row in session.run(lambda _: several.collect(), description="merge"):
        values = row.asDict()
        keys = [f"{name} = {values[name]!r}" for name in target.schema.primary_keys]
        which = f" ({', '.join(keys)})" if keys else ""
        raise InvalidInput(
            f"{values[_NUMBER]} rows of the source would change the same row of "
            f"{target.table.identifier.table_name}{which}. Let one row match: by the condition, or "
            "by the source.",
            kind=ErrorKind.MERGE_CARDINALITY,
        )


def _refuse_moves(session: WarmSession, matched: DataFrame) -> None:
    moving = matched.where(functions.col(_MOVES)).limit(1)
    if session.run(lambda _: moving.count(), description="merge"):
        raise unsupported(
            "A star would change the primary key of a row: it takes another key from the source. "
            "Let rows match by their keys, or name the columns."
        )


def _columns(target: TargetRows) -> list[str]:
    """Return the columns that identify rows, then the columns of the table."""
    names = target.schema.row_type.names
    return [*(name for name in target.identity if name not in names), *names]


def _text(*names: str) -> str:
    return ".".join(map(quoted_name, names))
