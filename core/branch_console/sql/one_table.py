"""Pieces of SQL that may read one table and nothing else: conditions of its rows, and queries."""

from typing import Final

from sqlglot import TokenType

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.identifier import Identifier
from branch_console.sql.place import Origins
from branch_console.sql.query import Query, parse_query
from branch_console.sql.token_reader import TokenReader, quoted_name, statement_error

_DEPTH: Final = {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}


def check_condition(text: str, table: Identifier) -> None:
    """Refuse a condition that sees more than the rows of a table, or is none.

    Raises:
        InvalidInput: It cannot be read, ends the brackets around it, or reads a table; the message
            names the place in it.
    """
    words = TokenReader(text)
    depth = 0
    for number, token in enumerate(words.tokens):
        depth += _DEPTH.get(token.token_type, 0)
        if depth < 0:
            break
        if token.token_type is TokenType.SEMICOLON:
            raise statement_error(words.place(number), "';' cannot stand in a condition")
    if depth:
        raise InvalidInput(
            f"The brackets of {text!r} do not match.", kind=ErrorKind.INVALID_ARGUMENT
        )
    if len(TokenReader(f"{text})").tokens) == len(words.tokens):
        raise InvalidInput(
            f"{text!r} ends with a comment, which would hide what is behind it. Leave it out.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )
    before = f"SELECT * FROM {quoted_name(table.database)}.{quoted_name(table.table)} WHERE ("
    parse_query_of(f"{before}{text})", table, Origins.within(before, text), is_row_query=True)


def parse_query_of(
    text: str, table: Identifier, origins: Origins | None = None, *, is_row_query: bool = False
) -> Query:
    """Read a query that reads one table, as it stands there and nothing else.

    Args:
        text: Names the table without a branch.
        table: The table.
        origins: The places of its parts in the given text.
        is_row_query: Whether it reads the table once only.

    Raises:
        InvalidInput: It is no query, or reads another table, branch or version.
    """
    query = parse_query(text, origins)
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
