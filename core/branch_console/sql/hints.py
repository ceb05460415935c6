"""Hints: `/*+ … */` behind a table or behind SELECT, and `WITH (…)` behind a table.

Behind a table stand Paimon's dynamic options, which are ours to honour; behind SELECT stand Spark's
hints. Spark only logs a hint that it does not know, and SQL takes a hint for a comment, so that
every word of a hint is judged here: what nobody would honour is refused by its name.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from sqlglot import Token, TokenType

from branch_console.errors import ErrorKind
from branch_console.format.near_names import did_you_mean, nearest_names
from branch_console.sql.place import Place
from branch_console.sql.token_reader import TokenReader, quoted_name, statement_error

_START: Final = "/*+"
_END: Final = "*/"
_OPTIONS: Final = "OPTIONS"
_JOIN_HINTS: Final = frozenset(
    {
        *("BROADCAST", "BROADCASTJOIN", "MAPJOIN", "MERGE", "SHUFFLE_MERGE", "MERGEJOIN"),
        *("SHUFFLE_HASH", "SHUFFLE_REPLICATE_NL"),
    }
)
SPARK_HINTS: Final = (
    *sorted(_JOIN_HINTS),
    *("COALESCE", "REPARTITION", "REPARTITION_BY_RANGE", "REBALANCE"),
)
"""The hints behind SELECT that Spark honours."""


def table_options(hint: str, place: Place) -> Mapping[str, str]:
    """Return the dynamic options of a hint behind a table.

    Args:
        hint: The hint with its signs: `/*+ OPTIONS('key' = 'value') */`.
        place: Its place in the statement.

    Raises:
        InvalidInput: It holds anything else.
    """
    words = _words_of(hint, place)
    words.takes_kind(TokenType.COMMA)
    name, at = words.name(_OPTIONS), words.place(0)
    if name.upper() != _OPTIONS:
        what = f"the hint {name} is not honoured behind a table, but {_OPTIONS}('key' = 'value')"
        raise statement_error(at, what, ErrorKind.UNSUPPORTED)
    found = words.options()
    words.expect_end()
    return found


def clause_options(clause: str, place: Place) -> Mapping[str, str]:
    """Return the dynamic options of a clause `WITH ('key' = 'value')` behind a table.

    Raises:
        InvalidInput: It is none.
    """
    words = TokenReader(clause, place)
    words.expect("WITH")
    found = words.options()
    words.expect_end()
    return found


def clause_length(tokens: Sequence[Token]) -> int:
    """Return how many words a clause `WITH (…)` has that comes first; 0 if none comes."""
    kinds = [token.token_type for token in tokens[:2]]
    if kinds != [TokenType.WITH, TokenType.L_PAREN]:
        return 0
    ends = (number for number, token in enumerate(tokens) if token.token_type is TokenType.R_PAREN)
    return next(ends, len(tokens) - 1) + 1


def spark_hint(hint: str, place: Place, relations: Collection[str]) -> str:
    """Return a hint behind SELECT as Spark honours it.

    Args:
        hint: The hint with its signs.
        place: Its place in the statement.
        relations: The names that the statement gives what it reads.

    Raises:
        InvalidInput: Spark has no such hint, or it names what the statement does not read.
    """
    words = _words_of(hint, place)
    parts: list[str] = []
    while not parts or words.at < len(words.tokens):
        if parts:
            words.takes_kind(TokenType.COMMA)
        at = words.place(words.at)
        name = words.name("a hint")
        if name.upper() not in SPARK_HINTS:
            raise statement_error(at, _unknown(name), ErrorKind.UNSUPPORTED)
        parts.append(name + _arguments(words, name, relations))
    return f"{_START} {', '.join(parts)} {_END}"


def _unknown(name: str) -> str:
    if name.upper() == _OPTIONS:
        return f"{name} is not honoured behind SELECT; write it behind the table that it is for"
    near = did_you_mean(nearest_names(name, SPARK_HINTS)).rstrip("?")
    what = f"the hint {name} is not honoured; Spark honours {', '.join(SPARK_HINTS)}"
    return f"{what};{near.replace(' Did', ' did')}" if near else what


def _arguments(words: TokenReader, name: str, relations: Collection[str]) -> str:
    if words.kind() is not TokenType.L_PAREN:
        return ""
    if name.upper() in _JOIN_HINTS:
        known = {relation.lower() for relation in relations}
        named = words.listed(lambda: _relation(words, known))
        return f"({', '.join(map(quoted_name, named))})"
    # Nothing but numbers and columns: an expression could call any function.
    given = words.listed(lambda: _number_or_column(words, name))
    return f"({', '.join(given)})"


def _number_or_column(words: TokenReader, hint: str) -> str:
    first = words.at
    if words.kind() is TokenType.NUMBER:
        return str(words.number())
    parts = [words.name("a number or a column")]
    while words.takes_kind(TokenType.DOT):
        parts.append(words.name("a column"))
    if words.kind() is TokenType.L_PAREN:
        what = f"the hint {hint} calls {words.between(first)}, but takes only numbers and columns"
        raise words.error(what, back=words.at - first)
    return ".".join(map(quoted_name, parts))


def _relation(words: TokenReader, known: Collection[str]) -> str:
    at = words.place(words.at)
    name = words.name("a table of the statement")
    while words.takes_kind(TokenType.DOT):
        # Spark sees a table under its own name, without its database.
        name = words.name("a table of the statement")
    if name.lower() not in known:
        raise statement_error(at, f"the hint names {name!r}, which the statement does not read")
    return name


def _words_of(hint: str, place: Place) -> TokenReader:
    return TokenReader(hint[len(_START) : -len(_END)], place.behind(_START))
