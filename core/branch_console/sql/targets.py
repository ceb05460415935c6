"""The parts that all statements that write rows have: target, columns, expressions."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from sqlglot import Token, TokenType

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.identifier import BRANCH_MARK, Identifier
from branch_console.format.kept_elsewhere import WITHOUT_CALLBACKS_OPTION
from branch_console.format.near_names import did_you_mean, nearest_names
from branch_console.format.scan_options import check_branch, written_branch
from branch_console.sql.hints import clause_length, clause_options, table_options
from branch_console.sql.place import Origins, Place
from branch_console.sql.query import Query, RewrittenQuery, TableReference, parse_query
from branch_console.sql.token_reader import TokenReader, statement_error

_TRAVELS: Final = tuple(
    f"{before}{what} AS OF"
    for before in ("", "FOR ")
    for what in ("VERSION", "SYSTEM_VERSION", "TIMESTAMP", "SYSTEM_TIME")
)
_COMMA: Final = frozenset({TokenType.COMMA})
_CLOSED_BY: Final = {
    TokenType.L_PAREN: TokenType.R_PAREN,
    TokenType.L_BRACKET: TokenType.R_BRACKET,
    TokenType.CASE: TokenType.END,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A table that a statement changes.

    Attributes:
        identifier: The table, on `main` if no branch is named.
        names_branch: Whether the branch is named.
        place: Its place in the statement.
        name: How the statement calls it: by its alias, else by its name.
        without_callbacks: Why the statement goes on without what Paimon does for others.
    """

    identifier: Identifier
    names_branch: bool
    place: Place
    name: str
    without_callbacks: str | None = None

    def on(self, branch: str) -> Identifier:
        """The table on the branch that is named, or else of the session."""
        return self.identifier if self.names_branch else self.identifier.on_branch(branch)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedColumn:
    """A column of the target that a statement names."""

    name: str
    place: Place


def unknown_column(column: NamedColumn, known: Iterable[str]) -> InvalidInput:
    """Return the error for a column that is not there, with what is near."""
    hint = did_you_mean(nearest_names(column.name, known))
    return InvalidInput(f"{column.place}: the table has no column {column.name!r}.{hint}")


def is_default(word: Token) -> bool:
    """Whether a word asks for the value that a column gets by itself."""
    quoted = (TokenType.IDENTIFIER, TokenType.STRING)
    return word.token_type not in quoted and word.text.upper() == "DEFAULT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of the text of a query: its first character, and behind its last one."""

    start: int
    end: int

    def of(self, query: RewrittenQuery) -> str:
        """The part in the query over views."""
        return query.part(self.start, self.end)


def read_target(words: TokenReader) -> Target:
    """Take the name of a table that is changed; options behind it are not taken.

    Raises:
        InvalidInput: It names no table.
    """
    place = words.place(words.at)
    database = words.name("a table, as database.table")
    words.expect_kind(TokenType.DOT, "'.' and a table")
    name = words.name("a table")
    if words.kind() is TokenType.DOT:
        raise words.error("a table is named by its database and its name")
    try:
        identifier = Identifier.parse(f"{database}.{name}")
    except InvalidInput as error:
        raise statement_error(place, error.message.rstrip("."), error.kind) from error
    if identifier.system_table is not None:
        raise statement_error(place, "a system table is read-only", ErrorKind.UNSUPPORTED)
    if identifier.catalog_tag is not None:
        raise statement_error(place, "a tag of the catalog is read-only", ErrorKind.UNSUPPORTED)
    names_branch = BRANCH_MARK in name or identifier.is_of_catalog
    return Target(identifier=identifier, names_branch=names_branch, place=place, name=name)


def read_written_target(words: TokenReader) -> Target:
    """Take the name of a table whose rows are changed, with the dynamic options behind it.

    Raises:
        InvalidInput: It names no table, or an option is not honoured by writes.
    """
    target = read_target(words)
    place = words.place(words.at)
    options = dict(_options_behind(words))
    reason = options.pop(WITHOUT_CALLBACKS_OPTION, None)
    if reason is not None and not reason.strip():
        raise statement_error(
            place, f"the option {WITHOUT_CALLBACKS_OPTION!r} needs a reason as its value"
        )
    target = replace(target, without_callbacks=reason)
    try:
        branch = written_branch(options)
        if branch is None:
            return target
        check_branch(target.identifier, branch, names_branch=target.names_branch)
    except InvalidInput as error:
        raise statement_error(place, error.message.rstrip("."), error.kind) from error
    return replace(target, identifier=target.identifier.on_branch(branch), names_branch=True)


def _options_behind(words: TokenReader) -> Mapping[str, str]:
    """Take dynamic options: a hint, or a clause WITH."""
    place, following = words.place(words.at), words.tokens[words.at :]
    if words.kind() is TokenType.HINT:
        return table_options(words.next().text, place)
    length = clause_length(following)
    first, words.at = words.at, words.at + length
    return clause_options(words.between(first), place) if length else MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Words of a statement: the first, and behind the last one."""

    start: int
    end: int


class TargetReader(TokenReader):
    """The words of a statement that changes rows of a table which it calls by a name."""

    def with_alias(self, target: Target, following: str) -> Target:
        """Take the name that a statement gives its target, unless `following` comes at once."""
        has_as = self.takes("AS")
        if not has_as and (self.at >= len(self.tokens) or self.stands(following)):
            return target
        return replace(target, name=self.name(f"{following}, or an alias"))

    def table_read(self) -> str:
        """Take a table that is read, perhaps at a version or time; return its bare name.

        Options behind it are read again with the query that the statement becomes.
        """
        self.name("a table, as database.table, or a query in parentheses")
        self.expect_kind(TokenType.DOT, "'.' and a table")
        name = self.name("a table")
        _options_behind(self)
        if any(self.takes(each) for each in _TRAVELS):
            self.value()
            _options_behind(self)
        return name

    def own_column(self, target: Target) -> NamedColumn:
        """Take the name of a column that gets a value, perhaps behind the name of the target."""
        place = self.place(self.at)
        name = self.name("a column")
        if self.takes_kind(TokenType.DOT):
            if name.lower() != target.name.lower():
                raise statement_error(place, f"{name!r} is not the table that is updated")
            name = self.name("a column")
        if self.kind() is TokenType.DOT:
            raise self.error("a column is updated as a whole")
        return NamedColumn(name=name, place=place)

    def assignment(self, target: Target, *ends: str) -> tuple[NamedColumn, Span]:
        """Take a column, and the expression of its value, which goes to a comma or such a word."""
        column = self.own_column(target)
        self.expect_kind(TokenType.EQ, "'=' and a value")
        return column, self.expression(*ends, before=_COMMA)

    def expression(self, *ends: str, before: Collection[TokenType] = ()) -> Span:
        """Take an expression: up to such words, or a sign, that stand in no parentheses or CASE."""
        first = self.at
        closing: list[TokenType] = []
        while self.at < len(self.tokens):
            kind = self.tokens[self.at].token_type
            if not closing and (kind in before or any(map(self.stands, ends))):
                break
            # Columns may have such names, too.
            is_field = self.at > first and self.tokens[self.at - 1].token_type is TokenType.DOT
            if kind in _CLOSED_BY and not is_field:
                closing.append(_CLOSED_BY[kind])
            elif closing and kind is closing[-1]:
                closing.pop()
            elif kind in (TokenType.R_PAREN, TokenType.R_BRACKET):
                raise self.unexpected("what goes on with the expression")
            self.at += 1
        if self.at == first:
            raise self.unexpected("an expression")
        return Span(start=first, end=self.at)


class Assembled:
    """A query put together from parts of a statement, which knows where these stand there.

    Attributes:
        text: The query so far.
    """

    def __init__(self, words: TokenReader, text: str) -> None:
        """Begin with words that are not the statement's."""
        self.text = text
        self._words = words
        self._origins = {0: words.start}
        self._targets: list[Part] = []

    def add(self, text: str, *, before: Span | None = None) -> None:
        """Go on with words that are not the statement's; they stand where `before` begins."""
        if before is not None:
            self._origins[len(self.text)] = self._words.place(before.start)
        self.text += text

    def take(self, span: Span) -> Part:
        """Go on with words of the statement."""
        self._origins[len(self.text)] = self._words.place(span.start)
        start = len(self.text)
        first, last = self._words.tokens[span.start], self._words.tokens[span.end - 1]
        self.text += self._words.text[first.start : last.end + 1]
        return Part(start=start, end=len(self.text))

    def take_target(self, span: Span) -> None:
        """Go on with the table that is changed, its options and its alias."""
        self._targets.append(self.take(span))

    def take_value(self, span: Span) -> Part | None:
        """Go on with the value of a column; None if the statement says DEFAULT."""
        if span.end - span.start == 1 and is_default(self._words.tokens[span.start]):
            # What the column gets by itself, its schema tells; NULL fits into any.
            self.add("NULL", before=span)
            return None
        return self.take(span)

    def query(self) -> Query:
        """Read the whole.

        Raises:
            InvalidInput: It is no query, or holds what is not run here.
        """
        found = parse_query(self.text, Origins(parts=tuple(self._origins.items())))
        return replace(found, references=tuple(map(self._as_read, found.references)))

    def _as_read(self, reference: TableReference) -> TableReference:
        """The reference without what the options of a changed table say to its commit alone."""
        if not any(part.start <= reference.start < part.end for part in self._targets):
            return reference
        kept = [each for each in reference.options if each[0] != WITHOUT_CALLBACKS_OPTION]
        return replace(reference, options=tuple(kept))
