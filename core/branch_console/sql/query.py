"""A query as text: the tables that it reads, and the same query over views.

The text stays as it was written, word for word, but for the tables in it: what a function means is
Spark's business. Words and tables are found by sqlglot; what Spark could read differently
(comments, unusual literals) is left out or refused, so that both see the same query.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, Final, TypeAlias

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError
from sqlglot.parsers.spark import SparkParser

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.identifier import BRANCH_MARK, Identifier
from branch_console.format.scan_options import moment_millis
from branch_console.sql.calls import find_refused_call
from branch_console.sql.functions import TABLE_FUNCTIONS
from branch_console.sql.hints import clause_length, clause_options, spark_hint, table_options
from branch_console.sql.place import Origins, Place
from branch_console.sql.pushdown import PushedComparison, comparisons_in
from branch_console.sql.token_reader import HintTokenizer, cut, quoted_name

_MAX_LENGTH: Final = 100_000
_VERSION_WORDS: Final = (
    ("VERSION", "AS", "OF"),
    ("FOR", "VERSION", "AS", "OF"),
    ("FOR", "SYSTEM_VERSION", "AS", "OF"),
)
_TIME_WORDS: Final = (
    ("TIMESTAMP", "AS", "OF"),
    ("FOR", "TIMESTAMP", "AS", "OF"),
    ("FOR", "SYSTEM_TIME", "AS", "OF"),
)
# As Spark cuts them: what does not match may end elsewhere for Spark.
_LITERALS: Final = {
    TokenType.STRING: re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL),
    TokenType.RAW_STRING: re.compile(r"[rR](?:'[^']*'|\"[^\"]*\")", re.DOTALL),
    TokenType.IDENTIFIER: re.compile(r"`(?:[^`]|``)*`", re.DOTALL),
}
_TIMES_WITHOUT_PARENTHESES: Final = frozenset({"current_timestamp", "current_date"})
_GOES_ON: Final = frozenset(
    {TokenType.PLUS, TokenType.DASH, TokenType.DCOLON, TokenType.DOT, TokenType.STRING}
)


class _Parser(SparkParser):
    """Spark's, but for functions: how they are called is for Spark to judge, which knows more."""

    FUNCTIONS: ClassVar[dict[str, Callable[..., exp.Expr]]] = {}

    def _parse_version(self) -> exp.Version | None:
        found = super()._parse_version()
        if found is not None:
            found.meta["last"] = self._index - 1
        return found

    def _parse_table_alias(self, *arguments: Any, **named: Any) -> exp.TableAlias | None:
        # Behind a version or time, sqlglot takes PIVOT and UNPIVOT for the name of the table.
        is_pivot = self._curr and self._curr.token_type in (TokenType.PIVOT, TokenType.UNPIVOT)
        follows = self._next.text.upper() if self._next else ""
        if is_pivot and follows in ("(", "INCLUDE", "EXCLUDE"):
            return None
        return super()._parse_table_alias(*arguments, **named)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReference:
    """A table as a query names it.

    Attributes:
        written: Database and table, as they stand there.
        identifier: The identifier it means, on `main` if no branch is named.
        names_branch: Whether the branch is named.
        version: A tag or a snapshot id, of any branch, to travel to.
        time_millis: A time to travel to.
        time_expression: An expression for that time, which an engine evaluates.
        options: The dynamic options behind it, in their order.
        place: Its place in the statement.
        start: Its first character.
        name_end: Behind the last one of its name.
        end: Behind its last one, versions and times among them.
        alias_at: The offset at which a name for it must be written; None if it has one.
    """

    written: str
    identifier: Identifier
    names_branch: bool
    version: str | None
    time_millis: int | None
    time_expression: str | None
    options: tuple[tuple[str, str], ...]
    place: Place
    start: int
    name_end: int
    end: int
    alias_at: int | None

    @property
    def state(self) -> "ReferenceState":
        """The subject of the read, equal for references that read the same."""
        return self.identifier, self.names_branch, self.version, self.time_millis, self.options

    @property
    def names_state(self) -> bool:
        """Whether it travels to a version or time."""
        return any(
            each is not None for each in (self.version, self.time_millis, self.time_expression)
        )


ReferenceState: TypeAlias = tuple[
    Identifier, bool, str | None, int | None, tuple[tuple[str, str], ...]
]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """Dynamic options in a query.

    Attributes:
        behind: Behind the last character of the word that they follow.
        at: Their first character.
    """

    options: Mapping[str, str]
    behind: int
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RewrittenQuery:
    """A query over views.

    Attributes:
        text: The text for Spark.
        words: The offsets of its words, rising, and their offsets in the query.
        query: The query.
    """

    text: str
    words: tuple[tuple[int, int], ...]
    query: "Query"

    def place_of(self, offset: int) -> Place:
        """Return the place in the given text of the word at an offset of this text."""
        starts = [written for start, written in self.words if start <= offset]
        return self.query.place_of(starts[-1] if starts else 0)

    def part(self, start: int, end: int) -> str:
        """The text of a part of the query."""
        first = min((at for at, written in self.words if written >= start), default=0)
        last = min((at for at, written in self.words if written >= end), default=len(self.text))
        return self.text[first:last].strip()

    def within(self, before: str, behind: str) -> "RewrittenQuery":
        """The same query inside of another one."""
        words = tuple((at + len(before), written) for at, written in self.words)
        return RewrittenQuery(text=before + self.text + behind, words=words, query=self.query)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A statement that reads.

    Attributes:
        text: As it was written.
        origins: Its places in the given text.
        references: The tables in it, in their order.
        words: All words of it, as Spark compares names: a column that it uses is among them.
        takes_all_columns: Whether columns are used without being named.
        comparisons: What holds for each row that is used of a table, by where it is named.
    """

    text: str
    origins: Origins
    references: tuple[TableReference, ...]
    words: frozenset[str]
    takes_all_columns: bool
    comparisons: Mapping[int, tuple[PushedComparison, ...]]
    _cuts: tuple[tuple[int, int], ...]
    _changed: Mapping[int, tuple[int, str]]

    def columns_of(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the columns of a table that the query can need, in their order; at least one."""
        known = tuple(names)
        if self.takes_all_columns:
            return known
        return tuple(name for name in known if _folded(name) in self.words) or known[:1]

    def over(self, views: Sequence[str]) -> RewrittenQuery:
        """Return the query with a view in the place of each reference, in their order."""
        changes = dict(self._changed)
        names = {}
        for reference, view in zip(self.references, views, strict=True):
            changes[reference.start] = (reference.end, view)
            if reference.alias_at is not None:
                names[reference.alias_at] = quoted_name(reference.written.partition(".")[2])
        text, skipped_to, last_end = "", 0, 0
        words = []
        for start, end in self._cuts:
            if start < skipped_to:
                continue
            text += " " if start > last_end else ""
            words.append((len(text), start))
            end_of_change, replaced = changes.get(start, (end, self.text[start:end]))
            text += replaced
            skipped_to = last_end = end_of_change
            if last_end in names:
                text += f" AS {names[last_end]}"
        return RewrittenQuery(text=text, words=tuple(words), query=self)

    def at_times(self, millis: Sequence[int]) -> "Query":
        """Return the query with the times that its expressions of times tell, in their order."""
        moments = iter(millis)
        references = tuple(
            each
            if each.time_expression is None
            else replace(each, time_millis=next(moments), time_expression=None)
            for each in self.references
        )
        return replace(self, references=references)

    def replacing(self, words: Mapping[int, str]) -> "Query":
        """Return the query with other texts for words, by where these begin."""
        ends = dict(self._cuts)
        changed = {start: (ends[start], text) for start, text in words.items()}
        return replace(self, _changed=MappingProxyType({**self._changed, **changed}))

    def place_of(self, offset: int) -> Place:
        """Return the place of a part of the query in the given text."""
        return self.origins.place_of(offset, self.text)


def parse_query(text: str, origins: Origins | None = None) -> Query:
    """Read a statement that reads.

    Args:
        text: One statement, without a semicolon behind it.
        origins: The places of its parts in the given text, for messages.

    Raises:
        InvalidInput: It is no query, or holds what is not run here.
    """
    return _Reader(text, origins or Origins()).query()


class _Reader:
    def __init__(self, text: str, origins: Origins) -> None:
        self._text = text
        self._origins = origins
        if len(text) > _MAX_LENGTH:
            raise InvalidInput(
                f"The statement has {len(text):,} characters; {_MAX_LENGTH:,} are the most."
            )
        # The words without hints; those behind SELECT; the options behind tables.
        self._tokens: list[Token] = []
        self._hints: list[Token] = []
        self._options: list[_Options] = []
        self._split(cut(text, HintTokenizer(), self._place))

    def _split(self, tokens: Sequence[Token]) -> None:
        at = 0
        while at < len(tokens):
            token = tokens[at]
            before = self._tokens[-1] if self._tokens else None
            length = 0 if before is None else clause_length(tokens[at:])
            if before is not None and token.token_type is TokenType.HINT:
                if before.token_type is TokenType.SELECT:
                    self._hints.append(token)
                else:
                    found = table_options(token.text, self._place(token.start))
                    self._take_options(found, before, token)
            elif before is not None and length:
                clause = self._text[token.start : tokens[at + length - 1].end + 1]
                found = clause_options(clause, self._place(token.start))
                self._take_options(found, before, token)
            else:
                self._tokens.append(token)
            at += length or 1

    def _take_options(self, options: Mapping[str, str], before: Token, at: Token) -> None:
        behind = before.end + 1
        if any(each.behind == behind for each in self._options):
            raise self.error(at.start, "this table has options already; give all of them at once")
        self._options.append(_Options(options=options, behind=behind, at=at.start))

    def query(self) -> Query:
        self._check_words()
        tree = self._tree()
        self._check_tree(tree)
        references = tuple(sorted(self._references(tree), key=lambda each: each.start))
        self._check_options(references)
        changed = {start: (end, "") for start, end in _database_prefixes(tree, references)}
        changed |= self._checked_hints(tree)
        return Query(
            text=self._text,
            origins=self._origins,
            references=references,
            words=frozenset(_folded(token.text) for token in self._tokens),
            # A pipe hands on all columns of a table that it joins, and of what it extends.
            takes_all_columns=self._has_pipes() or _takes_all_columns(tree),
            comparisons={} if self._has_pipes() else comparisons_in(tree),
            _cuts=tuple(
                sorted({(each.start, each.end + 1) for each in (*self._tokens, *self._hints)})
            ),
            _changed=MappingProxyType(changed),
        )

    def _check_options(self, references: Iterable[TableReference]) -> None:
        """Refuse options that no table has: they would be dropped."""
        ends = {end for each in references for end in (each.name_end, each.end)}
        for options in self._options:
            if options.behind not in ends:
                raise self.error(
                    options.at,
                    f"the options {', '.join(map(repr, options.options))} stand behind no table; "
                    "write them directly behind its name",
                )

    def _checked_hints(self, tree: exp.Expr) -> dict[int, tuple[int, str]]:
        named = (exp.Table, exp.Subquery, exp.CTE, exp.Lateral, exp.Values, exp.Unnest)
        relations = {node.alias_or_name for node in tree.find_all(*named)}
        return {
            token.start: (
                token.end + 1,
                spark_hint(token.text, self._place(token.start), relations),
            )
            for token in self._hints
        }

    def _has_pipes(self) -> bool:
        return any(token.token_type is TokenType.PIPE_GT for token in self._tokens)

    def _check_words(self) -> None:
        for token in self._tokens:
            literal = _LITERALS.get(token.token_type)
            written = self._text[token.start : token.end + 1]
            if literal is not None and not literal.fullmatch(written):
                raise self.error(token.start, "this text can be read in two ways; write it plainly")

    def _tree(self) -> exp.Expr:
        try:
            trees = _Parser(dialect=Spark()).parse(self._tokens, self._text)
        except ParseError as error:
            raise self._syntax_error(error) from error
        except RecursionError as error:
            raise InvalidInput("The statement is nested too deeply to be read.") from error
        found = [tree for tree in trees if tree is not None]
        if len(found) != 1:
            raise InvalidInput("One statement is run at a time.")
        return found[0]

    def _check_tree(self, tree: exp.Expr) -> None:
        if not isinstance(tree, exp.Query | exp.Values):
            raise self.error(0, "found another statement; expected a query, such as SELECT")
        for node in tree.walk():
            if isinstance(node, exp.QueryTransform):
                raise self.error(0, "TRANSFORM … USING starts a program and is not run")
            writes = isinstance(node, exp.Command | exp.DDL | exp.DML | exp.Into)
            if writes and not isinstance(node, exp.Query):
                raise self.error(0, "a query can hold no other statement")
            if isinstance(node, exp.Placeholder | exp.Parameter | exp.SessionParameter):
                raise self.error(0, "there are no parameters that could be filled in")
        refused = find_refused_call(self._tokens, tree)
        if refused is not None:
            raise self.error(refused.offset, refused.reason, kind=ErrorKind.UNSUPPORTED)

    def _references(self, tree: exp.Expr) -> Iterator[TableReference]:
        known = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
        for table in tree.find_all(exp.Table):
            if isinstance(table.this, exp.Values | exp.Query):
                continue  # a relation in parentheses, whose tables are met by themselves
            if isinstance(table.this, exp.Func):
                self._check_function(table.this)
            elif isinstance(table.this, exp.Identifier) and table.args.get("db") is None:
                if table.name.lower() not in known:
                    raise self.error(
                        table.this.meta["start"],
                        f"{table.name!r} names no table; write database.table",
                        kind=ErrorKind.TABLE_NOT_FOUND,
                        table=table.name,
                    )
            else:
                yield self._reference(table)

    def _check_function(self, function: exp.Func) -> None:
        name = function.name.lower()
        if name not in TABLE_FUNCTIONS:
            at = function.meta.get("start", 0)
            raise self.error(at, f"{name} is no table function that is run here")

    def _reference(self, table: exp.Table) -> TableReference:
        database, name = table.args["db"], table.this
        start = database.meta["start"]
        if not isinstance(name, exp.Identifier) or table.args.get("catalog") is not None:
            raise self.error(start, "a table is named by its database and its name")
        written = f"{database.name}.{name.name}"
        try:
            identifier = Identifier.parse(written)
        except InvalidInput as error:
            raise self.error(start, error.message.rstrip("."), kind=error.kind) from error
        name_end = name.meta["end"] + 1
        version, time_millis, time_expression, end = self._travel(table, name_end)
        options = [each.options for each in self._options if each.behind in (name_end, end)]
        if len(options) > 1:
            raise self.error(start, "this table has options twice; give all of them at once")
        return TableReference(
            written=written,
            identifier=identifier,
            names_branch=BRANCH_MARK in name.name or identifier.is_of_catalog,
            version=version,
            time_millis=time_millis,
            time_expression=time_expression,
            options=tuple(options[0].items()) if options else (),
            place=self._place(start),
            start=start,
            name_end=name_end,
            end=end,
            alias_at=None if table.alias else self._behind_sample(end),
        )

    def _travel(self, table: exp.Table, end: int) -> tuple[str | None, int | None, str | None, int]:
        travel = table.args.get("version")
        if travel is None:
            return None, None, None, end
        at = next(number for number, token in enumerate(self._tokens) if token.start >= end)
        for words in (*_VERSION_WORDS, *_TIME_WORDS):
            found = [token.text.upper() for token in self._tokens[at : at + len(words)]]
            if found != list(words):
                continue
            first, last = at + len(words), travel.meta["last"]
            value, behind = self._tokens[first], self._tokens[first + 1 :]
            if words in _TIME_WORDS and first < last and value.token_type is not TokenType.NUMBER:
                start, end = value.start, self._tokens[last].end + 1
                return None, None, self._time_expression(travel, start, end), end
            self._check_ends_travel(behind)
            if words in _VERSION_WORDS:
                return self._version(value), None, None, value.end + 1
            return None, *self._time(value), value.end + 1
        raise self.error(
            self._tokens[at].start, "a table travels by VERSION AS OF or TIMESTAMP AS OF"
        )

    def _check_ends_travel(self, behind: Sequence[Token]) -> None:
        if behind and behind[0].token_type in _GOES_ON:
            raise self.error(behind[0].start, "a version or time is one number or one text")

    def _version(self, value: Token) -> str:
        is_id = value.token_type is TokenType.NUMBER and value.text.isdigit()
        if is_id or (value.token_type is TokenType.STRING and value.text):
            return value.text
        raise self.error(value.start, "a version is a snapshot id, or a tag in quotes")

    def _time(self, value: Token) -> tuple[int | None, str | None]:
        if value.token_type is TokenType.NUMBER and value.text.isdigit():
            return int(value.text) * 1000, None  # Paimon takes seconds since the epoch
        if value.token_type is TokenType.STRING:
            with suppress(ValueError):
                return moment_millis(value.text), None
        if value.text.lower() in _TIMES_WITHOUT_PARENTHESES:
            return None, value.text
        raise self.error(
            value.start,
            "a time is a text such as '2026-01-31 12:00:00', seconds, or an expression such as "
            "current_timestamp() - INTERVAL 1 DAY",
        )

    def _time_expression(self, travel: exp.Expr, start: int, end: int) -> str:
        if travel.find(exp.Column, exp.Query) is not None:
            raise self.error(start, "the time of a table is told without columns or other tables")
        return self._text[start:end]

    def _behind_sample(self, end: int) -> int:
        """Return the position for a name: after the table and its sample."""
        rest = [token for token in self._tokens if token.start >= end]
        if not rest or rest[0].token_type is not TokenType.TABLE_SAMPLE:
            return end
        depth = 0
        for number, token in enumerate(rest):
            if token.token_type is TokenType.L_PAREN:
                depth += 1
            elif token.token_type is TokenType.R_PAREN:
                depth -= 1
                following = rest[number + 1].text.upper() if number + 1 < len(rest) else ""
                if depth == 0 and following != "REPEATABLE":
                    return token.end + 1
        return end

    def _syntax_error(self, error: ParseError) -> InvalidInput:
        found = error.errors[0] if error.errors else {}
        word = str(found.get("highlight") or "")
        lines = self._text.split("\n")
        line, column = int(found.get("line") or 1), int(found.get("col") or 1)
        before = sum(len(each) + 1 for each in lines[: line - 1])
        offset = before + max(0, column - max(1, len(word)))
        what = f"{word!r} cannot stand there" if word else "the statement is not complete"
        if self._origins.is_behind(offset):
            return self.error(offset, "the condition is not complete")
        why = str(found.get("description", "")).rstrip(".")
        if self._origins.end is not None and why == "Expecting )":
            # That bracket is none that anybody wrote.
            why = "what stands before it is complete"
        # The parser names its own classes, which nobody who writes SQL knows.
        if "<class" in why:
            why = "what stands before it is not complete"
        return self.error(offset, f"{what} ({why})")

    def _place(self, offset: int) -> Place:
        return self._origins.place_of(offset, self._text)

    def error(
        self, offset: int, what: str, *, kind: ErrorKind = ErrorKind.INVALID_ARGUMENT, **facts: str
    ) -> InvalidInput:
        return InvalidInput(f"{self._place(offset)}: {what}.", kind=kind, **facts)


def _folded(name: str) -> str:
    """Return a name as Java's `equalsIgnoreCase` compares it, which Spark asks."""
    return name.upper().lower()


def _takes_all_columns(tree: exp.Expr) -> bool:
    """Whether a star, a list of new names, a pivot or a natural join uses columns without a word.

    A name too much costs time, a name too few gives wrong rows: only a lone star of `count(*)` is
    known to need no column.
    """
    stars = (star for star in tree.find_all(exp.Star) if star.parent and not _counts_rows(star))
    is_natural = any(
        "NATURAL" in str(join.args.get("method") or "").upper() for join in tree.find_all(exp.Join)
    )
    return (
        is_natural
        or next(stars, None) is not None
        or tree.find(exp.Pivot) is not None
        or any(_renames_columns(alias) for alias in tree.find_all(exp.TableAlias))
    )


def _counts_rows(star: exp.Star) -> bool:
    """Whether a star is that of `count(*)`: with EXCEPT or another argument, it means columns."""
    call = star.parent
    return (
        isinstance(call, exp.Anonymous)
        and call.name.lower() == "count"
        and len(call.expressions) == 1
        and not any(star.args.values())
    )


def _renames_columns(alias: exp.TableAlias) -> bool:
    """Whether an alias such as `x(a, b)` names columns of a table by their places."""
    return bool(alias.args.get("columns")) and isinstance(alias.parent, exp.Table | exp.Subquery)


def _database_prefixes(
    tree: exp.Expr, references: Sequence[TableReference]
) -> Iterator[tuple[int, int]]:
    """The databases before columns, which views have none of: `db.` of `db.t.column`."""
    tables = {each.written.lower() for each in references}
    for column in tree.find_all(exp.Column):
        database, table = column.args.get("db"), column.args.get("table")
        if database is None or table is None:
            continue
        if f"{database.name}.{table.name}".lower() in tables:
            yield database.meta["start"], table.meta["start"]
