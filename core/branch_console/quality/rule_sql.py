"""Rules as Spark SQL: one query counts for all rules of rows, one more for each that compares rows.

Texts of people are part of these queries; whoever runs them looks at them first (package `sql`).
"""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_FLOOR, Context, Decimal, InvalidOperation
from functools import partial
from typing import Any, Final

from sqlglot import exp

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.data_types import (
    AtomicType,
    DataField,
    DataType,
    MapType,
    MultisetType,
    TypeRoot,
    has_fine_times,
    parts_of,
    with_nullable,
)
from branch_console.format.identifier import Identifier
from branch_console.format.table_schema import TableSchema
from branch_console.quality.rule_file import TABLE_IN_QUERY
from branch_console.quality.rules import MOST_EXAMPLES, QualityRule, RuleKind

OF_ROWS: Final = frozenset(
    {RuleKind.NOT_NULL, RuleKind.IN_RANGE, RuleKind.IN_SET, RuleKind.MATCHES}
)
"""Rules that each row passes or fails by itself."""

COUNTED: Final = OF_ROWS | {RuleKind.ROW_COUNT_BETWEEN, RuleKind.FRESHNESS}
"""Rules that one query counts together."""

LISTS_ROWS: Final = OF_ROWS | {RuleKind.UNIQUE, RuleKind.SQL}
"""Rules that some rows fail; the others speak of the table as a whole."""

_EXACT: Final = frozenset(
    {TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.INT, TypeRoot.BIGINT, TypeRoot.DECIMAL}
)
# Digits of the largest whole number of each type.
_DIGITS: Final = {
    TypeRoot.TINYINT: 3,
    TypeRoot.SMALLINT: 5,
    TypeRoot.INT: 10,
    TypeRoot.BIGINT: 19,
}
_WIDE: Final = Context(prec=80)
_FLOATING: Final = frozenset({TypeRoot.FLOAT, TypeRoot.DOUBLE})
# Spark compares no values of these types, or they are too large to be compared.
_NOT_COMPARED: Final = frozenset(
    {TypeRoot.VARIANT, TypeRoot.BLOB, TypeRoot.GEOMETRY, TypeRoot.GEOGRAPHY}
)
_TEXTS: Final = frozenset({TypeRoot.CHAR, TypeRoot.VARCHAR})
# As in 12:00:00.0000001; zeros behind six digits change nothing.
_FINER: Final = re.compile(r"[.,]\d{6}\d*[1-9]")
# Such a query returns rows of the table.
_OF_ALL_COLUMNS: Final = re.compile(
    rf"\s*SELECT\s+\*\s+FROM\s+{re.escape(TABLE_IN_QUERY)}\s+WHERE\b", re.IGNORECASE
)
_COLUMN: Final = r"(?:\w+|`[^`]+`)"
# Such a query returns columns of the table, under the names that they have.
_OF_SOME_COLUMNS: Final = re.compile(
    rf"\s*SELECT\s+({_COLUMN}(?:\s*,\s*{_COLUMN})*)\s+FROM\s+{re.escape(TABLE_IN_QUERY)}"
    r"(?:\s+WHERE\b|\s*;?\s*$)",
    re.IGNORECASE,
)
_EASTMOST: Final = timedelta(hours=14)
_TIMES: Final = {
    TypeRoot.DATE: (date.fromisoformat, "DATE"),
    TypeRoot.TIME: (time.fromisoformat, "TIME"),
    TypeRoot.TIMESTAMP: (datetime.fromisoformat, "TIMESTAMP_NTZ"),
    TypeRoot.TIMESTAMP_LTZ: (datetime.fromisoformat, "TIMESTAMP"),
}


def count_query(
    rules: Sequence[QualityRule], schema: TableSchema, table: Identifier, now_millis: int
) -> str:
    """Return one SELECT that counts for rules of COUNTED.

    Its one row has for the rule at position n the columns `rows_n` and `failures_n`, or of
    `freshness` with a column `newest_n`, of the values that are not after `now_millis`, and
    `future_n`, how many are.

    Raises:
        InvalidInput: A rule does not fit the columns.
    """
    parts = [
        part
        for number, rule in enumerate(rules)
        for part in _counts(number, rule, schema, now_millis)
    ]
    # Rules of the last commit ask nothing of rows.
    return f"SELECT {', '.join(['count(*) AS total', *parts])} FROM {table_sql(table)}"


def duplicate_query(rule: QualityRule, schema: TableSchema, table: Identifier) -> str:
    """Return a SELECT of `rows`, and of `failures`: rows that share their values with another.

    Raises:
        InvalidInput: A rule does not fit the columns.
    """
    return (
        "SELECT coalesce(sum(n), 0) AS rows_0, "
        "coalesce(sum(CASE WHEN n > 1 AND is_whole THEN n END), 0) AS failures_0 "
        f"FROM (SELECT count(*) AS n, {_whole(rule, schema)} AS is_whole FROM {table_sql(table)} "
        f"WHERE {_scope(rule)} GROUP BY {_columns(rule, schema)})"
    )


def equal_times_query(rule: QualityRule, schema: TableSchema, table: Identifier) -> str | None:
    """Return a SELECT of `failures_0`: rows whose times equal a bound, or those of another row.

    A query has times to the microsecond, so that finer digits may tell these apart. None if the
    rule compares no times that are finer.

    Raises:
        InvalidInput: A rule does not fit the columns.
    """
    if not _compares_fine_times(rule, schema):
        return None
    if rule.kind is RuleKind.UNIQUE:
        return duplicate_query(rule, schema, table)
    field = _field(rule.columns[0], schema)
    values = rule.values or tuple(each for each in (rule.low, rule.high) if each is not None)
    equal = f"{_name(field.name)} IN ({', '.join(literal(each, field) for each in values)})"
    return f"SELECT count_if({_scope(rule)} AND {equal}) AS failures_0 FROM {table_sql(table)}"


def _compares_fine_times(rule: QualityRule, schema: TableSchema) -> bool:
    compares = rule.kind in (RuleKind.UNIQUE, RuleKind.IN_RANGE, RuleKind.IN_SET)
    return compares and any(has_fine_times(_field(each, schema).type) for each in rule.columns)


def example_query(rule: QualityRule, schema: TableSchema, table: Identifier) -> str:
    """Return a SELECT of some rows that fail; of `unique` the values with how often they occur.

    Raises:
        InvalidInput: A rule does not fit the columns, or speaks of no rows.
    """
    if rule.kind is RuleKind.SQL:
        return f"SELECT * FROM ({sql_query(rule, table)}) LIMIT {MOST_EXAMPLES}"
    return f"{failing_rows_query(rule, schema, table_sql(table))} LIMIT {MOST_EXAMPLES}"


def failing_rows_query(rule: QualityRule, schema: TableSchema, source: str) -> str:
    """Return a SELECT of all rows that fail; of `unique` the values with how often they occur.

    Args:
        rule: A rule of LISTS_ROWS.
        schema: The columns.
        source: What is read, as a query names it.

    Raises:
        InvalidInput: A rule does not fit the columns.
    """
    if rule.kind is RuleKind.SQL:
        return _query_over(rule, source)
    if rule.kind is RuleKind.UNIQUE:
        names, number = _columns(rule, schema), _number_name(rule)
        return (
            f"SELECT {names}, count(*) AS {number} FROM {source} WHERE {_scope(rule)} "
            f"AND {_whole(rule, schema)} GROUP BY {names} HAVING count(*) > 1 "
            f"ORDER BY {number} DESC"
        )
    fails = f"({_fails(rule, schema)})"
    where = fails if rule.where is None else f"{_scope(rule)} AND {fails}"
    return f"SELECT * FROM {source} WHERE {where}"


def new_rows_query(
    rule: QualityRule, schema: TableSchema, before: TableSchema, table: Identifier
) -> str | None:
    """Return a SELECT of some rows that fail in a state and do not in the one before.

    It names the table as often for the state as for the one before, the state first. None if the
    two have nothing that their rows can be compared by, such as the key of a keyed table.

    Args:
        rule: A rule of LISTS_ROWS.
        schema: The columns.
        before: The columns in the state before.
        table: The table.

    Raises:
        InvalidInput: A rule does not fit the columns.
    """
    now, then = (failing_rows_query(rule, each, table_sql(table)) for each in (schema, before))
    compared = _compared(rule, schema, before)
    if rule.kind is RuleKind.SQL and not _OF_ALL_COLUMNS.match(rule.query or ""):
        if not schema.primary_keys:
            # What columns the query has is not known; two queries of one text have the same.
            return f"SELECT * FROM (({now}) EXCEPT ({then})) LIMIT {MOST_EXAMPLES}"
        # Without the key nothing tells a new row from one with another value in a column.
        if schema.primary_keys != before.primary_keys or not _selects_key(rule, schema):
            return None
    if not compared:
        return None
    equal = " AND ".join(f"{write('now')} <=> {write('then')}" for write in compared)
    if rule.kind is RuleKind.UNIQUE:
        # Values that occur more often than before are new in the rows that were added.
        number = _number_name(rule)
        equal += f" AND `then`.{number} >= `now`.{number}"
    return (
        f"SELECT `now`.* FROM ({now}) AS `now` LEFT ANTI JOIN ({then}) AS `then` ON {equal} "
        f"LIMIT {MOST_EXAMPLES}"
    )


def _selects_key(rule: QualityRule, schema: TableSchema) -> bool:
    """Whether the query of a rule returns all columns of the primary key, each once."""
    found = _OF_SOME_COLUMNS.match(rule.query or "")
    if found is None:
        return False
    names = [each.strip("`").lower() for each in re.findall(_COLUMN, found[1])]
    return all(names.count(key.lower()) == 1 for key in schema.primary_keys)


def _compared(
    rule: QualityRule, schema: TableSchema, before: TableSchema
) -> list[Callable[[str], str]]:
    """Return what tells a row from others in two states, each as SQL of the name of a state."""
    if rule.kind is RuleKind.UNIQUE:
        return [partial(_as_written, _field(each, schema).name) for each in rule.columns]
    keys = schema.primary_keys
    if keys and keys == before.primary_keys:
        # Another value in a row that failed before makes it no new one.
        return [partial(_as_written, each) for each in keys]
    types = {each.name: with_nullable(each.type, nullable=True) for each in before.fields}
    shared = (
        each
        for each in schema.fields
        if types.get(each.name) == with_nullable(each.type, nullable=True)
    )
    return [partial(write, each.name) for each in shared if (write := _comparison(each.type))]


def _comparison(data_type: DataType) -> Callable[[str, str], str] | None:
    """Return how a column is written to be compared; None if Spark has no order of its values."""
    if _is_compared(data_type):
        return _as_written
    # Spark compares no maps; their entries have an order where the parts have one.
    if isinstance(data_type, MapType | MultisetType) and all(
        map(_is_compared, parts_of(data_type))
    ):
        return _entries
    return None


def _is_compared(data_type: DataType) -> bool:
    if isinstance(data_type, AtomicType):
        return data_type.root not in _NOT_COMPARED
    is_map = isinstance(data_type, MapType | MultisetType)
    return not is_map and all(map(_is_compared, parts_of(data_type)))


def _as_written(column: str, state: str) -> str:
    return f"`{state}`.{_name(column)}"


def _entries(column: str, state: str) -> str:
    return f"sort_array(map_entries({_as_written(column, state)}))"


def partition_query(rule: QualityRule, schema: TableSchema, table: Identifier) -> str:
    """Return a SELECT of the values of each partition as text, and last how many rows fail in it.

    Args:
        rule: A rule of OF_ROWS.
        schema: The columns, with the keys of partitions.
        table: The table.

    Raises:
        InvalidInput: The rule does not fit the columns.
    """
    names = [_name(each) for each in schema.partition_keys]
    # A key may be called as the count is.
    texts = ", ".join(f"CAST({name} AS STRING) AS p{at}" for at, name in enumerate(names))
    failing = failing_rows_query(rule, schema, table_sql(table))
    return f"SELECT {texts}, count(*) AS n FROM ({failing}) GROUP BY {', '.join(names)}"


def sql_query(rule: QualityRule, table: Identifier) -> str:
    """Return the SELECT of a `sql` rule over its table."""
    return _query_over(rule, table_sql(table))


def _query_over(rule: QualityRule, source: str) -> str:
    assert rule.query is not None
    return rule.query.replace(TABLE_IN_QUERY, source)


def table_sql(table: Identifier) -> str:
    """Write a table as a query names it."""
    return f"{_name(table.database)}.{_name(table.table)}"


def literal(text: str, field: DataField) -> str:
    """Write a value of a column.

    Raises:
        InvalidInput: The text is no value of its type, or the type has no order.
    """
    root = field.type.root if isinstance(field.type, AtomicType) else None
    try:
        if root in _EXACT:
            return f"({format(_finite(text), 'f')})"
        if root in _FLOATING:
            return f"CAST({_text(str(_finite(text)))} AS {root})"
        if root in _TEXTS:
            return _text(text)
        if root is TypeRoot.BOOLEAN and text.lower() in ("true", "false"):
            return text.lower()
        if root in _TIMES:
            read, name = _TIMES[root]
            if _FINER.search(text):
                raise _unfit(f"{text!r} is finer than a microsecond, and times are compared by it.")
            written = _text(str(read(text.strip())))
            # Spark casts no text to a TIME.
            return f"TIME {written}" if root is TypeRoot.TIME else f"CAST({written} AS {name})"
    except (ValueError, InvalidOperation):
        pass
    else:
        if root is not TypeRoot.BOOLEAN:
            raise _unfit(f"Column {field.name!r} is {field.type}, which is not compared.")
    raise _unfit(f"{text!r} is no {field.type}, which column {field.name!r} is.")


def _counts(number: int, rule: QualityRule, schema: TableSchema, now_millis: int) -> Iterable[str]:
    scope = _scope(rule)
    if rule.kind is RuleKind.FRESHNESS:
        for name in rule.columns:
            field = _dated(name, schema)
            # A value in the future, such as the year 9999, tells nothing of how old the rows are.
            is_past = f"{_name(field.name)} <= {_moment(now_millis, field)}"
            yield f"max(CASE WHEN {is_past} THEN {_name(field.name)} END) AS newest_{number}"
            yield f"count_if(NOT ({is_past})) AS future_{number}"
        return
    yield f"count_if({scope}) AS rows_{number}"
    if rule.kind in OF_ROWS:
        yield f"count_if({scope} AND ({_fails(rule, schema)})) AS failures_{number}"


def _fails(rule: QualityRule, schema: TableSchema) -> str:
    """When a row fails; NULL, which counts as no, where a value is missing."""
    fields = [_field(name, schema) for name in rule.columns]
    if rule.kind is RuleKind.NOT_NULL:
        return " OR ".join(f"{_name(field.name)} IS NULL" for field in fields)
    field = fields[0]
    column = _name(field.name)
    is_text = isinstance(field.type, AtomicType) and field.type.root in _TEXTS
    match rule.kind:
        case RuleKind.IN_RANGE:
            _check_order(rule, field)
            bounds = [
                _bound(column, text, sign, field)
                for text, sign in (
                    (rule.low, "<=" if rule.excludes_low else "<"),
                    (rule.high, ">=" if rule.excludes_high else ">"),
                )
                if text is not None
            ]
            if isinstance(field.type, AtomicType) and field.type.root in _FLOATING:
                bounds.append(f"isnan({column})")
            return " OR ".join(bounds)
        case RuleKind.IN_SET:
            values = [(each, literal(each, field)) for each in rule.values]
            held = [written for each, written in values if _is_held(each, field)]
            return f"{column} NOT IN ({', '.join(held)})" if held else f"{column} IS NOT NULL"
        case RuleKind.MATCHES if is_text:
            return f"NOT ({column} RLIKE {_text(rule.pattern or '')})"
        case _:
            raise _unfit(f"Column {field.name!r} is {field.type}, and only texts are matched.")


def _check_order(rule: QualityRule, field: DataField) -> None:
    """Refuse bounds between which no value lies."""
    if rule.low is None or rule.high is None:
        return
    root = field.type.root if isinstance(field.type, AtomicType) else None
    literal(rule.low, field)
    literal(rule.high, field)
    read: Callable[[str], Any] = str.encode
    if root in _EXACT | _FLOATING:
        read = Decimal
    elif root in _TIMES:
        read = _TIMES[root][0]
    low, high = read(rule.low.strip()), read(rule.high.strip())
    try:
        is_above = low > high
    except TypeError:
        return  # one time has a zone and the other has none
    if is_above:
        raise _unfit(f"'min' is {rule.low!r} and above 'max', which is {rule.high!r}.")


def _bound(column: str, text: str, sign: str, field: DataField) -> str:
    """Compare a column with a bound that its own type may not hold, such as 0.5 for an INT."""
    written = literal(text, field)
    if not _is_exact(field):
        return f"{column} {sign} {written}"
    most, step = _grid(field)
    value = Decimal(text)
    if value.copy_abs() >= most:
        return f"{column} IS NOT NULL" if sign[0] == ("<" if value > 0 else ">") else "false"
    # Spark rounds a bound with more digits than it has room for, and may count an end wrongly.
    floor = value.quantize(step, ROUND_FLOOR, _WIDE)
    if floor == value:
        return f"{column} {sign} ({floor:f})"
    return f"{column} {'<=' if sign[0] == '<' else '>'} ({floor:f})"


def _is_held(text: str, field: DataField) -> bool:
    """Whether a column can hold a value at all: what is finer or larger is in none of its rows."""
    if not _is_exact(field):
        return True
    most, step = _grid(field)
    value = Decimal(text)
    return value.copy_abs() < most and value == value.quantize(step, ROUND_FLOOR, _WIDE)


def _is_exact(field: DataField) -> bool:
    return isinstance(field.type, AtomicType) and field.type.root in _EXACT


def _grid(field: DataField) -> tuple[Decimal, Decimal]:
    """The power of ten that no value of an exact number reaches, and its smallest step."""
    assert isinstance(field.type, AtomicType)
    scale = field.type.scale or 0
    precision = field.type.precision or _DIGITS[field.type.root]
    return Decimal(1).scaleb(precision - scale), Decimal(1).scaleb(-scale)


def _scope(rule: QualityRule) -> str:
    return "true" if rule.where is None else f"({rule.where})"


def _whole(rule: QualityRule, schema: TableSchema) -> str:
    names = (_name(_field(each, schema).name) for each in rule.columns)
    return f"({' AND '.join(f'{name} IS NOT NULL' for name in names)})"


def _columns(rule: QualityRule, schema: TableSchema) -> str:
    return ", ".join(_name(_field(each, schema).name) for each in rule.columns)


def _number_name(rule: QualityRule) -> str:
    """Name the column that counts beside the columns of a rule."""
    taken = {each.casefold() for each in rule.columns}
    name = "rows"
    while name in taken:
        name += "_"
    return _name(name)


def _field(name: str, schema: TableSchema) -> DataField:
    found = schema.find_field(name)
    if found is None:
        raise _unfit(f"There is no column {name!r}.")
    return found


def _dated(name: str, schema: TableSchema) -> DataField:
    field = _field(name, schema)
    root = field.type.root if isinstance(field.type, AtomicType) else None
    if root not in _TIMES or root is TypeRoot.TIME:
        raise _unfit(f"Column {name!r} is {field.type}, which tells no day.")
    return field


def _moment(millis: int, field: DataField) -> str:
    """Write a time as a value of a column; times without a zone are of UTC."""
    at = datetime.fromtimestamp(millis / 1000, UTC)
    root = field.type.root if isinstance(field.type, AtomicType) else None
    if root is TypeRoot.DATE:
        # East of Greenwich tomorrow begins up to so much earlier.
        return literal(str((at + _EASTMOST).date()), field)
    return literal(str(at if root is TypeRoot.TIMESTAMP_LTZ else at.replace(tzinfo=None)), field)


def _finite(text: str) -> Decimal:
    found = Decimal(text)
    if not found.is_finite():
        raise ValueError(text)
    return found


def _name(name: str) -> str:
    return str(exp.to_identifier(name, quoted=True).sql("spark"))


def _text(text: str) -> str:
    return str(exp.Literal.string(text).sql("spark"))


def _unfit(what: str) -> InvalidInput:
    return InvalidInput(what, kind=ErrorKind.INVALID_ARGUMENT)
