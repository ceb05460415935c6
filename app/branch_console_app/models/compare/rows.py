"""Rows that differ as people read them: a mark, the key, and each cell before and after."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from branch_console.diff.rows.row_diff import (
    AFTER,
    BEFORE,
    CHANGED,
    COPIES_AFTER,
    COPIES_BEFORE,
    KIND,
)
from branch_console.diff.rows.row_diff_index import RowDiffIndex, RowFilter
from branch_console.diff.rows.row_kind import RowKind
from branch_console.format.data_types import AtomicType, DataType, TypeRoot
from branch_console.format.table_schema import TableSchema
from branch_console_app.models.parts.query_answer import to_csv
from branch_console_app.models.parts.wording import MINUS, NULL, count, visible

MARKS: Final = {RowKind.ADDED: "+", RowKind.REMOVED: MINUS, RowKind.CHANGED: "~"}
_ARROW: Final = " → "
_LONGEST: Final = 200
_QUOTED: Final = frozenset({"", NULL, '""'})
"""Texts that would be taken for no value, or for an empty text."""
_WIDE: Final = 8
_NUMBERS: Final = frozenset(
    {TypeRoot.DECIMAL, TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.INT, TypeRoot.BIGINT,
     TypeRoot.FLOAT, TypeRoot.DOUBLE}
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class RowLine:
    """One row that differs.

    Attributes:
        cells: The texts by column; for a changed cell the old and the new value.
        changed: Columns whose cells differ.
        copies: Without a key, how many more copies that side has; 1 with a key.
    """

    kind: RowKind
    cells: Mapping[str, str]
    changed: frozenset[str]
    copies: int


def row_lines(rows: pa.Table, found: RowDiffIndex) -> tuple[RowLine, ...]:
    """Return rows with the columns of `row_diff_schema` as lines."""
    return tuple(_line(row, found) for row in rows.to_pylist())


def _line(row: Mapping[str, Any], found: RowDiffIndex) -> RowLine:
    kind = RowKind(row[KIND])
    changed = frozenset(found.columns[at] for at in row[CHANGED])
    side = BEFORE if kind is RowKind.REMOVED else AFTER
    cells = {
        name: f"{cell_text(row[BEFORE + name])}{_ARROW}{cell_text(row[AFTER + name])}"
        if name in changed
        else cell_text(row[side + name])
        for name in found.columns
    }
    copies = abs(row[COPIES_AFTER] - row[COPIES_BEFORE])
    return RowLine(kind=kind, cells=cells, changed=changed, copies=copies or 1)


def cell_text(value: Any) -> str:
    """Write a value so that NULL, blanks at its ends and line breaks are seen.

    The text NULL is written in quotes, as an empty text is.
    """
    match value:
        case None:
            return NULL
        case str():
            text = _blanks(value)
        case bytes():
            text = value.hex()
        case bool():
            text = "true" if value else "false"
        case list() | dict() | tuple():
            text = json.dumps(value, ensure_ascii=False, default=_plain)
        case _:
            text = str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _blanks(text: str) -> str:
    if text in _QUOTED:
        return f'"{text}"'
    lead = len(text) - len(text.lstrip(" "))
    trail = len(text) - len(text.rstrip(" ")) if lead < len(text) else 0
    inner = text[lead : len(text) - trail] if trail else text[lead:]
    shown = inner.replace("\r\n", "⏎").replace("\n", "⏎")
    return f"{'·' * lead}{visible(shown)}{'·' * trail}"


def _plain(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


def shown_columns(found: RowDiffIndex, *, only_changed: bool) -> tuple[str, ...]:
    """The key columns first; then all others, or those in which any cell differs."""
    cells = found.changed_cells()
    others = [name for name in found.columns if name not in found.keys]
    if only_changed:
        others = [name for name in others if cells[name]]
    return (*found.keys, *others)


def is_wide(found: RowDiffIndex) -> bool:
    """Whether a reader is better off with only the columns that differ."""
    changes = found.count(RowFilter(kind=RowKind.CHANGED))
    return len(found.columns) > _WIDE and changes == found.count(RowFilter())


def summary(found: RowDiffIndex) -> str:
    """Tell how many rows differ; Markdown."""
    rows = found.difference
    # Without a key no row is another one that changed.
    numbers = (rows.added, rows.removed, *((rows.changed,) if found.keys else ()))
    parts = (f"{count(each.high)} {kind}" for each, kind in zip(numbers, RowKind, strict=False))
    return f"**{', '.join(parts)}**"


def changed_words(found: RowDiffIndex) -> str | None:
    """Tell in which columns changed rows differ most; None if no row changed."""
    changes = found.count(RowFilter(kind=RowKind.CHANGED))
    most = [(name, number) for name, number in found.changed_cells().items() if number][:5]
    if not changes:
        return None
    return ", ".join(f"{name} in {100 * number / changes:.0f} %" for name, number in most)


def export_rows(tables: Iterable[pa.Table], found: RowDiffIndex) -> Iterator[pa.Table]:
    """Rows to take away: positions of changed columns become their names."""
    for rows in tables:
        names = [[found.columns[at] for at in each] for each in rows[CHANGED].to_pylist()]
        at = rows.schema.get_field_index(CHANGED)
        yield rows.set_column(at, CHANGED, pa.array(names, pa.list_(pa.string())))


def csv_of(tables: Iterable[pa.Table], found: RowDiffIndex) -> Iterator[bytes]:
    """The rows as CSV, piece by piece; the first piece holds the head."""
    is_first = True
    for rows in export_rows(tables, found):
        data = to_csv(rows)
        yield data if is_first else data.partition(b"\n")[2]
        is_first = False


def condition_example(schema: TableSchema) -> str:
    """Return a condition on rows that this table could be asked for: `dep_delay > 60`."""
    named = [field for field in schema.fields if field.name.isidentifier()]
    values = [field for field in named if field.name not in schema.primary_keys]
    numbers = (field for field in values if _is_number(field.type))
    number = next(numbers, None)
    if number is not None:
        return f"{number.name} > 60"
    first = next(iter([*values, *named]), None)
    return "" if first is None else f"{first.name} is not null"


def _is_number(kind: DataType) -> bool:
    return isinstance(kind, AtomicType) and kind.root in _NUMBERS
