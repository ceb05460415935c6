"""What statements must make of the rows of one table: a plain model, which knows no files."""

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from tests.support.sql_expressions import Expr, Row, holds


class RefusedStatement(Exception):
    """The statement must be refused, and nothing be changed."""


@dataclass(frozen=True, slots=True)
class ModelColumn:
    """A column; its kind is int or str."""

    type: str
    is_nullable: bool = True

    @property
    def kind(self) -> str:
        """What its values are."""
        return "str" if self.type == "STRING" else "int"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelClause:
    """A clause of MERGE INTO.

    Attributes:
        meets: `matched`, `source` (a row of the source that met none) or `target`.
        does: `update`, `delete` or `insert`.
        values: By column.
    """

    meets: str
    does: str
    condition: Expr | None = None
    values: Mapping[str, Expr] = field(default_factory=dict)


@dataclass
class TableModel:
    """One table on one branch.

    Attributes:
        engine: What becomes of rows with one key: the merge engine of the table; aggregation sums.
    """

    columns: dict[str, ModelColumn]
    keys: tuple[str, ...] = ()
    partition: tuple[str, ...] = ()
    rows: list[Row] = field(default_factory=list)
    engine: str = "deduplicate"

    def copy(self) -> "TableModel":
        """The same table, to be changed apart."""
        return replace(self, columns=dict(self.columns), rows=deepcopy(self.rows))

    def kinds(self) -> dict[str, str]:
        """int or str, by column."""
        return {name: column.kind for name, column in self.columns.items()}

    def listed(self) -> list[tuple[Any, ...]]:
        """All rows in an order that does not depend on how they came."""
        return sorted((tuple(row[name] for name in self.columns) for row in self.rows), key=repr)

    # ---- ALTER TABLE ---------------------------------------------------------------------------

    def add(self, name: str, type: str) -> None:
        """Add a column at the end."""
        self.columns[name] = ModelColumn(type)
        for row in self.rows:
            row[name] = None

    def drop(self, name: str) -> None:
        """Drop a column and its values."""
        del self.columns[name]
        for row in self.rows:
            del row[name]

    def rename(self, name: str, new: str) -> None:
        """Rename a column, which keeps its place."""
        self.columns = {new if each == name else each: c for each, c in self.columns.items()}
        for row in self.rows:
            row[new] = row.pop(name)

    def retype(self, name: str, type: str) -> None:
        """Give a column a wider type, which changes no value."""
        self.columns[name] = replace(self.columns[name], type=type)

    def allow_null(self, name: str) -> None:
        """Allow nulls in a column."""
        self.columns[name] = replace(self.columns[name], is_nullable=True)

    def move(self, name: str, after: str | None) -> None:
        """Move a column to the front, or behind another one."""
        moved = self.columns.pop(name)
        names = list(self.columns)
        names.insert(0 if after is None else names.index(after) + 1, name)
        self.columns = {each: self.columns.get(each, moved) for each in names}

    # ---- rows ----------------------------------------------------------------------------------

    def insert(self, rows: Iterable[Row]) -> None:
        """Add rows, or with a key put them in the place of those with the same one."""
        new = [self._whole(row) for row in rows]
        if self.keys:
            held = {self._key(row): row for row in self.rows}
            for row in new:
                held[self._key(row)] = self._merged(held.get(self._key(row)), row)
            self.rows = list(held.values())
        else:
            self.rows = [*self.rows, *new]

    def overwrite(self, rows: Iterable[Row], static: Mapping[str, Any] | None) -> None:
        """Put rows in the place of partitions: those of `static`, or None those that get rows."""
        new = [self._whole(row) for row in rows]
        if static is not None:
            kept = [r for r in self.rows if any(r[name] != v for name, v in static.items())]
        elif self.partition:
            gone = {self._place(row) for row in new}
            kept = [row for row in self.rows if self._place(row) not in gone]
        else:
            kept = []
        self.rows = kept
        self.insert(new)

    def update(self, values: Mapping[str, Expr], condition: Expr | None) -> None:
        """Give columns new values where a condition is true."""
        if self.engine == "aggregation":
            raise RefusedStatement
        self.rows = [
            self._changed(row, values, {"t": row}) if holds(condition, {"t": row}) else row
            for row in self.rows
        ]

    def delete(self, condition: Expr | None) -> None:
        """Delete the rows for which a condition is true."""
        if self.engine == "aggregation":
            raise RefusedStatement
        self.rows = [row for row in self.rows if not holds(condition, {"t": row})]

    def merge(self, source: Sequence[Row], on: Expr, clauses: Sequence[ModelClause]) -> None:
        """Let rows meet those of a source; the first clause that holds is carried out."""
        if self.engine == "aggregation" and any(each.does != "insert" for each in clauses):
            raise RefusedStatement
        kept: list[Row] = []
        met: set[int] = set()
        matched = [each for each in clauses if each.meets == "matched"]
        only_deletes = [(c.does, c.condition) for c in matched] == [("delete", None)]
        for row in self.rows:
            pairs = [{"t": row, "s": other} for other in source]
            pairs = [env for env in pairs if holds(on, env)]
            met |= {id(env["s"]) for env in pairs}
            chosen = [(_first(matched, env), env) for env in pairs]
            if not pairs:
                alone = [each for each in clauses if each.meets == "target"]
                chosen = [(_first(alone, {"t": row}), {"t": row})]
            acting = [(clause, env) for clause, env in chosen if clause is not None]
            if len(acting) > 1 and not only_deletes:
                raise RefusedStatement
            kept += [row] if not acting else []
            for clause, env in acting[:1]:
                if clause.does == "update":
                    kept.append(self._changed(row, clause.values, env))
        fresh = [each for each in clauses if each.meets == "source"]
        come = [
            {name: value.of({"s": other}) for name, value in clause.values.items()}
            for other in source
            if id(other) not in met and (clause := _first(fresh, {"s": other})) is not None
        ]
        whole = [self._whole(row) for row in come]
        self.rows = kept
        self.insert(whole)

    def _changed(self, row: Row, values: Mapping[str, Expr], env: Mapping[str, Row]) -> Row:
        new = {name: value.of(env) for name, value in values.items()}
        is_cleared = any(value is None and row[name] is not None for name, value in new.items())
        if self.engine == "partial-update" and is_cleared:
            # For this engine a null says that nothing changes.
            raise RefusedStatement
        return self._whole({**row, **new})

    def _merged(self, old: Row | None, new: Row) -> Row:
        if old is None or self.engine == "deduplicate":
            return new
        found = {name: old[name] if new[name] is None else new[name] for name in new}
        if self.engine == "aggregation":
            for name in set(new) - set(self.keys):
                if old[name] is not None and new[name] is not None:
                    found[name] = old[name] + new[name]
        return found

    def _whole(self, row: Row) -> Row:
        """The row with nulls in columns that it leaves out."""
        found = {name: row.get(name) for name in self.columns}
        if any(found[name] is None and not c.is_nullable for name, c in self.columns.items()):
            raise RefusedStatement
        return found

    def _key(self, row: Row) -> tuple[Any, ...]:
        return tuple(row[name] for name in self.keys)

    def _place(self, row: Row) -> tuple[Any, ...]:
        return tuple(row[name] for name in self.partition)


def _first(clauses: Iterable[ModelClause], env: Mapping[str, Row]) -> ModelClause | None:
    return next((each for each in clauses if holds(each.condition, env)), None)
