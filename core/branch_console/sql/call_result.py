"""The answer to a call in SQL: Paimon's columns, and the operation behind them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from branch_console.format.receipt import AnswerRow, Counts, Expected, Receipt
from branch_console.operations.request import ResultColumn, Tells
from branch_console.sql.statement import CALLED

OPERATION_ID: Final = "operation_id"
"""The last column of each answer: the operation, for its receipt and its undo."""

Cell: TypeAlias = str | int | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """The rows that answer a call, in the order of its columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def to_objects(self) -> list[Mapping[str, Cell]]:
        """Return the rows as JSON values."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def expected_of(called: str, expected: Expected) -> CallResult:
    """Return what a run would answer, as a dry run does: there is no operation to name."""
    columns = CALLED[called].answers
    return CallResult(
        columns=tuple(each.name for each in columns),
        rows=tuple(
            tuple(_cell(each, row, expected, "") for each in columns)
            for row in _rows_of(columns, expected)
        ),
    )


def result_of(called: str, done: Receipt | None, operation_id: str, message: str) -> CallResult:
    """Return what a call is answered with.

    Args:
        called: The name behind `CALL sys.`.
        done: Its receipt; None if it changed nothing that a ledger holds, which Paimon answers
            with zeros.
        operation_id: The operation.
        message: The sentence of the result.
    """
    answers = CALLED[called].answers
    return CallResult(
        columns=(*(each.name for each in answers), OPERATION_ID),
        rows=tuple(
            (*(_cell(each, row, done, message) for each in answers), operation_id)
            for row in _rows_of(answers, done)
        ),
    )


def _rows_of(
    answers: tuple[ResultColumn, ...], done: Receipt | Expected | None
) -> tuple[AnswerRow, ...]:
    if not any(each.tells is Tells.ROW for each in answers):
        return ({},)
    rows = () if done is None else done.answer
    nothing = {each.name: each.nothing for each in answers if each.nothing is not None}
    return rows or ((nothing,) if nothing else ())


def _cell(
    column: ResultColumn, row: AnswerRow, done: Receipt | Expected | None, message: str
) -> Cell:
    moves = () if done is None else done.moves
    match column.tells:
        case Tells.DONE:
            return True
        case Tells.MESSAGE:
            return message
        case Tells.BEFORE:
            return moves[0].before_id if moves else None
        case Tells.AFTER:
            return moves[0].after_id if moves else None
        case Tells.ROW:
            return row.get(column.name)
        case count:
            value: int = getattr(Counts() if done is None else done.counts, count)
            return value
