"""The output of commands: aligned tables for people, one JSON document for programs.

Every text that others wrote (names, comments, messages) passes `visible` before it reaches a
terminal, because the name of a branch may be a control sequence.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, time
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeGuard

from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table
from rich.text import Text

from branch_console.errors import PaimonError
from branch_console.format.data_types import (
    ArrayType,
    AtomicType,
    MapType,
    MultisetType,
    RowType,
    VectorType,
    data_type_to_json,
)
from branch_console.format.identifier import Identifier
from branch_console_app.models.parts.wording import NULL

if TYPE_CHECKING:
    import pyarrow as pa

Write: TypeAlias = Callable[[object], str]
"""Formats one value."""
Tell: TypeAlias = Callable[[str, int, int | None], None]
"""Told what goes on, how many units of it are done and, once known, of how many."""

NOT_READ: Final = "-"
ROWS_SHOWN: Final = 50

_ROWS_A_BLOCK: Final = 500
_ROWS_A_BATCH: Final = 8_192
_TYPES: Final = (AtomicType, ArrayType, MapType, MultisetType, RowType, VectorType)
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def print_json(value: object) -> None:
    """Write one JSON document to stdout; Arrow tables in it go out batch by batch."""
    for chunk in json_chunks(value):
        sys.stdout.write(chunk)
    sys.stdout.write("\n")


def json_chunks(value: object) -> Iterator[str]:
    """Encode a value in pieces: an object's keys and a table's rows stand on lines of their own."""
    if _is_arrow_table(value):
        yield from _row_chunks(value)
    elif isinstance(value, Mapping):
        separator = "{"
        for key, part in value.items():
            yield f"{separator}\n{json.dumps(str(key))}: "
            yield from json_chunks(part)
            separator = ","
        yield "\n}" if value else "{}"
    else:
        yield json.dumps(to_plain(value), ensure_ascii=False, allow_nan=False)


def to_plain(value: object) -> object:
    """Turn a value of the core into JSON values.

    A dataclass becomes an object of its fields, a type what Paimon's schema file holds, bytes hex,
    a time ISO text, a decimal and a float without a JSON spelling their text.
    """
    match value:
        case None | bool() | int():
            return value
        case str():
            # Names of others may hold bytes that are no text.
            return str(value).encode("utf-8", "backslashreplace").decode()
        case float():
            return value if math.isfinite(value) else str(value)
        case bytes():
            return value.hex()
        case datetime() | date() | time():
            return value.isoformat()
        case Decimal():
            return str(value)
        case Identifier():
            return to_plain(value.full_name)
        case PaimonError():
            return error_object(value)
        case Mapping():
            return {str(to_plain(key)): to_plain(part) for key, part in value.items()}
    if _is_arrow_table(value):
        return [to_plain(row) for row in value.to_pylist()]
    if isinstance(value, _TYPES):
        return data_type_to_json(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields_of(value)}
    if isinstance(value, Iterable):
        return [to_plain(part) for part in value]
    return to_plain(str(value))


def fields_of(value: Any) -> tuple[dataclasses.Field[Any], ...]:
    """Return the fields of a dataclass's instance."""
    return dataclasses.fields(value)


def error_object(error: PaimonError) -> dict[str, object]:
    """Return an error as JSON values."""
    return {
        "code": str(error.kind),
        "message": to_plain(error.message),
        "facts": {name: to_plain(fact) for name, fact in error.facts.items()},
    }


def error_beside(error: PaimonError | None) -> dict[str, object]:
    """Return what a document holds of an error beside an answer; nothing if there is none."""
    return {} if error is None else {"error": error_object(error)}


def print_error(error: PaimonError, *, as_json: bool) -> None:
    """Tell a failure: a document on stdout, or one line on stderr."""
    if as_json:
        print_json(error_beside(error))
    else:
        print(f"error {error.kind}: {visible(error.message)}", file=sys.stderr)


def print_note(text: str) -> None:
    """Say something beside the answer, on stderr."""
    print(visible(text), file=sys.stderr)


def print_line(text: str = "") -> None:
    """Print a line of the answer."""
    print(visible(text))


def print_fields(fields: Mapping[str, object], *, write: Write | None = None) -> None:
    """Print names and values in two columns, values as `shown` has them or as `write` does."""
    write = write or shown
    rows = [[visible(name), write(value)] for name, value in fields.items()]
    width = max((cell_len(name) for name, _ in rows), default=0)
    _print_block((), rows, [width, 0], [False, False])


def print_rows(
    headings: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    total: int | None = None,
    write: Write | None = None,
) -> None:
    """Print rows under headings, block by block, and how many are left out.

    Args:
        headings: One a column; `>rows` stands right, as figures do.
        rows: Any number; they are formatted as they come.
        total: How many there are in all, if `rows` are only the first.
        write: Formats a value; `shown` where left out.
    """
    source, write = iter(rows), write or shown
    titles = [visible(heading.removeprefix(">")) for heading in headings]
    rights = [heading.startswith(">") for heading in headings]
    widths = [cell_len(title) for title in titles]
    printed = 0
    while block := list(islice(source, _ROWS_A_BLOCK)):
        cells = [[write(value) for value in row] for row in block]
        # A later block keeps the widths of the earlier ones, so that the columns stay aligned.
        widths = [
            max(width, *(cell_len(row[column]) for row in cells))
            for column, width in enumerate(widths)
        ]
        _print_block(titles if printed == 0 else (), cells, widths, rights)
        printed += len(block)
    if printed == 0:
        print_line("none")
    left = (total or printed) - printed
    if left > 0:
        print_line(f"… {left:,} more")


def print_table(
    table: pa.Table,
    limit: int | None,
    columns: Mapping[str, str] | None = None,
    *,
    write: Write | None = None,
) -> None:
    """Print the first rows of an Arrow table.

    Where its columns do not fit the terminal, each row is a block of lines.

    Args:
        table: The table to print.
        limit: How many rows; None for the usual number, 0 for all.
        columns: Column names by heading; all of them where left out.
        write: Formats a value; `shown` where left out.
    """
    write = write or shown
    columns = columns or {name: name for name in table.column_names}
    rows = first_rows(table, limit)
    chosen = rows.select(list(columns.values()))
    headings = [
        f">{heading}" if _is_number(field.type) else heading
        for heading, field in zip(columns, chosen.schema, strict=True)
    ]
    values = (row.values() for batch in _batches(chosen) for row in batch)
    if _is_too_wide(headings, chosen, write):
        _print_blocks(list(columns), values, write, total=table.num_rows, printed=rows.num_rows)
    else:
        print_rows(headings, (tuple(row) for row in values), total=table.num_rows, write=write)


def first_rows(table: pa.Table, limit: int | None, *, as_json: bool = False) -> pa.Table:
    """Return the rows to print: 50 for people and all for programs if nobody says."""
    if limit is None:
        limit = 0 if as_json else ROWS_SHOWN
    return table.slice(0, limit) if limit else table


def shown(value: object) -> str:
    """Format one value for people; what was not read or is not there is a dash."""
    match value:
        case None:
            return NOT_READ
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case datetime():
            return value.isoformat(sep=" ")
        case bytes():
            return value.hex()
        case str():
            return visible(value)
        case Mapping():
            return ", ".join(f"{shown(key)}={shown(part)}" for key, part in value.items())
        case list() | tuple():
            return ", ".join(shown(part) for part in value)
    return visible(str(value))


def sql_value(value: object) -> str:
    """Format a value of an answer to a statement: NULL, and the text NULL in quotes."""
    match value:
        case None:
            return NULL
        case str() if value == NULL:
            return f'"{NULL}"'
        case Mapping():
            return ", ".join(f"{sql_value(key)}={sql_value(part)}" for key, part in value.items())
        case list() | tuple():
            return ", ".join(sql_value(part) for part in value)
    return shown(value)


def visible(text: str) -> str:
    """Spell out what would steer a terminal, break a line or cannot be encoded."""
    text = text.replace("\r\n", "⏎").replace("\n", "⏎")
    return "".join(
        character if character.isprintable() else ascii(character)[1:-1] for character in text
    )


def size(count: int | None) -> str:
    """Write a number of bytes with a unit."""
    if count is None:
        return NOT_READ
    figure, unit = float(count), 0
    while abs(figure) >= 1024 and unit < len(_UNITS) - 1:
        figure, unit = figure / 1024, unit + 1
    return f"{figure:,.1f} {_UNITS[unit]}" if unit else f"{count:,} B"


def local_time(millis: int | None) -> str:
    """Write a time in the zone of this machine, to the second."""
    if millis is None:
        return NOT_READ
    try:
        then = datetime.fromtimestamp(millis / 1000, UTC).astimezone()
    except (OverflowError, OSError, ValueError):
        return f"{millis} ms"  # a broken file may hold any number
    return then.isoformat(sep=" ", timespec="seconds")


def count(number: int, noun: str) -> str:
    """Write a number with its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def short_user(user: str) -> str:
    """Shorten the random name that a writer takes where it is given none."""
    return user[:8] if _UUID.fullmatch(user) else user


@contextmanager
def progress() -> Iterator[Tell]:
    """Show progress on stderr: a bar on a terminal, elsewhere a line whenever the step changes."""
    console = Console(file=sys.stderr)
    if not console.is_terminal:
        yield _tell_lines()
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)

        def tell(message: str, done: int, total: int | None) -> None:
            bar.update(task, description=visible(message), completed=done, total=total)

        yield tell


def _tell_lines() -> Tell:
    last = ""

    def tell(message: str, _done: int, _total: int | None) -> None:
        nonlocal last
        if message and message != last:
            last = message
            print_note(message)

    return tell


def _is_arrow_table(value: object) -> TypeGuard[pa.Table]:
    # Whoever made one has loaded Arrow; who prints other values does not wait for it.
    arrow = sys.modules.get("pyarrow")
    return arrow is not None and isinstance(value, arrow.Table)


def _row_chunks(table: pa.Table) -> Iterator[str]:
    separator = "["
    for batch in _batches(table):
        for row in batch:
            yield f"{separator}\n{_row_text(row)}"
            separator = ","
    yield "\n]" if table.num_rows else "[]"


def _row_text(row: dict[str, Any]) -> str:
    try:
        # Most values of a row are JSON already; this is five times faster than looking at each.
        return json.dumps(row, default=to_plain, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(to_plain(row), ensure_ascii=False, allow_nan=False)


def _batches(table: pa.Table) -> Iterator[list[dict[str, Any]]]:
    for batch in table.to_batches(max_chunksize=_ROWS_A_BATCH):
        yield batch.to_pylist()


def _is_number(data_type: pa.DataType) -> bool:
    import pyarrow.types as kinds  # noqa: PLC0415 - who has a type has loaded Arrow

    return bool(
        kinds.is_integer(data_type) or kinds.is_floating(data_type) or kinds.is_decimal(data_type)
    )


def _print_block(
    titles: Sequence[str], cells: list[list[str]], widths: list[int], rights: list[bool]
) -> None:
    """Print aligned rows, under their titles where there are any."""
    if _is_piped():
        # Rich pads each line to its columns, cuts it to a width, and takes 0.2 ms a row.
        for row in [*([titles] if titles else []), *cells]:
            padded = map(_padded, row, widths, rights)
            sys.stdout.write("  ".join(padded).rstrip() + "\n")
        return
    table = Table(box=None, show_header=bool(titles), pad_edge=False, padding=(0, 2, 0, 0))
    for column, is_right in enumerate(rights):
        title = Text(titles[column]) if titles else ""
        table.add_column(title, justify="right" if is_right else "left", overflow="fold")
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    _console().print(table)


def _padded(cell: str, width: int, is_right: bool) -> str:
    blanks = " " * (width - cell_len(cell))
    return blanks + cell if is_right else cell + blanks


def _is_too_wide(headings: Sequence[str], table: pa.Table, write: Write) -> bool:
    if _is_piped():
        return False
    sample = [headings, *(row.values() for row in table.slice(0, ROWS_SHOWN).to_pylist())]
    widths = (max(cell_len(write(cell)) for cell in column) for column in zip(*sample, strict=True))
    return sum(widths) + 2 * len(headings) > 2 * _console().width


def _print_blocks(
    headings: Sequence[str],
    rows: Iterable[Iterable[object]],
    write: Write,
    *,
    total: int,
    printed: int,
) -> None:
    for number, row in enumerate(rows, start=1):
        print_line(f"{number}.")
        fields = dict(zip((f"  {heading}" for heading in headings), row, strict=True))
        print_fields(fields, write=write)
    if total > printed:
        print_line(f"… {total - printed:,} more")


def _is_piped() -> bool:
    return not sys.stdout.isatty()


def _console() -> Console:
    return Console(file=sys.stdout, highlight=False)
