"""Pieces of SQL that may read one table and nothing else: conditions of its rows, and queries."""

from typing import Final

from sqlglot import TokenType

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.identifier import Identifier
from branch_console.sql.query import Query, parse_query
from branch_console.sql.words import Words

_DEPTH: Final = {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}


def check_condition(text: str) -> None:
    """Refuse a condition that would end the brackets around it.

    Raises:
        InvalidInput: It closes more than it opens, or cannot be cut into words.
    """
    depth = 0
    for token in Words(text).tokens:
        depth += _DEPTH.get(token.token_type, 0)
        if depth < 0:
            break
    if depth:
        raise InvalidInput(
            f"The brackets of {text!r} do not match.", kind=ErrorKind.INVALID_ARGUMENT
        )


def parse_query_of(text: str, table: Identifier, *, is_row_query: bool = False) -> Query:
    """Read a query that reads one table, as it stands there and nothing else.

    Args:
        text: Names the table without a branch.
        table: The table.
        is_row_query: Whether it reads the table once only.

    Raises:
        InvalidInput: It is no query, or reads another table, branch or version.
    """
    query = parse_query(text)
    for each in query.references:
        is_it = each.identifier.table_name == table.table_name and not each.names_branch
        travels = each.names_state or each.options
        if not is_it or travels or each.identifier.system_table is not None:
            raise InvalidInput(
                f"{each.written} is read, where only {table.table_name} may be, as it is judged.",
                kind=ErrorKind.UNSUPPORTED,
                table=each.written,
            )
    if not query.references or (is_row_query and len(query.references) > 1):
        raise InvalidInput(
            f"{table.table_name} must be read, and only once.", kind=ErrorKind.INVALID_ARGUMENT
        )
    return query
