"""Statements about tables themselves: CREATE TABLE, DROP TABLE, ALTER TABLE."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from types import MappingProxyType
from typing import Final, TypeAlias

from sqlglot import TokenType

from branch_console.errors import InvalidInput
from branch_console.format.data_types import DataField, DataType, with_nullable
from branch_console.sql.place import Place
from branch_console.sql.targets import NamedColumn, Target, read_target
from branch_console.sql.token_reader import TokenReader, statement_error
from branch_console.sql.types import parse_type

_ENDS_TYPE: Final = frozenset(
    {"NOT", "NULL", "COMMENT", "DEFAULT", "GENERATED", "FIRST", "AFTER", "PRIMARY"}
)


_CHANGES: Final = (
    "RENAME TO, RENAME COLUMN, ADD COLUMN, DROP COLUMN, ALTER COLUMN, SET ('key' = 'value'), "
    "SET TBLPROPERTIES, RESET ('key') or UNSET TBLPROPERTIES"
)


class TableStatementKind(StrEnum):
    """The statements on a table; the name of its procedure."""

    CREATE = "create_table"
    DROP = "drop_table"
    ALTER = "alter_table"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddColumn:
    """A column that comes, at the end, at the start, or behind another one."""

    column: NamedColumn
    type: DataType
    comment: str | None
    after: str | None = None
    first: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DropColumn:
    """A column that goes."""

    column: NamedColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameColumn:
    """A column that gets another name."""

    column: NamedColumn
    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RetypeColumn:
    """A column that gets a wider type."""

    column: NamedColumn
    type: DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentColumn:
    """A column that gets another comment."""

    column: NamedColumn
    comment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowNull:
    """A column that may be null from now on."""

    column: NamedColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveColumn:
    """A column that goes to another place: behind another one, or to the front."""

    column: NamedColumn
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetOptions:
    """Options that get a value."""

    options: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsetOptions:
    """Options that go back to their defaults."""

    keys: tuple[str, ...]


Change: TypeAlias = (
    AddColumn
    | DropColumn
    | RenameColumn
    | RetypeColumn
    | CommentColumn
    | AllowNull
    | MoveColumn
    | SetOptions
    | UnsetOptions
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStatement:
    """A statement about a table.

    Attributes:
        kind: The kind of the statement.
        target: The table.
        is_lenient: Whether a table that is there, or is not, is nothing to speak of.
        columns: The columns of a new table, with their ids.
        partition_keys: The partition keys of a new table.
        primary_keys: The primary keys of a new table.
        options: The options of a new table.
        comment: The comment of a new table.
        changes: The changes of an ALTER.
        to: The new name of the table.
    """

    kind: TableStatementKind
    target: Target
    is_lenient: bool = False
    columns: tuple[DataField, ...] = ()
    partition_keys: tuple[str, ...] = ()
    primary_keys: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    comment: str | None = None
    changes: tuple[Change, ...] = ()
    to: Target | None = None


def parse_table_statement(text: str, start: Place | None = None) -> TableStatement:
    """Read a statement about a table.

    Args:
        text: One statement, without a semicolon behind it.
        start: Its start in the given text, for the places in messages.

    Raises:
        InvalidInput: It is none, or something in it is not served.
    """
    reader = _Reader(text, start)
    found = reader.statement()
    reader.expect_end()
    return found


class _Reader(TokenReader):
    def statement(self) -> TableStatement:
        if self.takes("CREATE TABLE"):
            return self._create()
        if self.takes("DROP TABLE"):
            is_lenient = self.takes("IF EXISTS")
            return TableStatement(
                kind=TableStatementKind.DROP, target=read_target(self), is_lenient=is_lenient
            )
        self.expect("ALTER TABLE")
        return self._alter()

    def _create(self) -> TableStatement:
        is_lenient = self.takes("IF NOT EXISTS")
        target = read_target(self)
        ids = count()
        fields: list[DataField] = []
        primary_keys: tuple[str, ...] = ()
        self.expect_kind(TokenType.L_PAREN, "'(' and columns")
        while not fields or not self.takes_kind(TokenType.R_PAREN):
            if fields:
                self.expect_kind(TokenType.COMMA, "','")
            if self.takes("PRIMARY KEY"):
                primary_keys = self._names()
                self.takes("NOT ENFORCED")
                continue
            fields.append(self._field(lambda: next(ids)))
        options: dict[str, str] = {}
        partition_keys: tuple[str, ...] = ()
        comment = None
        while self.at < len(self.tokens):
            if self.takes("USING"):
                if self.name("paimon").lower() != "paimon":
                    raise self.error("tables are made USING paimon", back=1)
            elif self.takes("PARTITIONED BY"):
                partition_keys = self._names()
            elif self.takes("COMMENT"):
                comment = self._string("a comment")
            elif self.takes("TBLPROPERTIES") or self._takes_list("WITH"):
                options |= self.options()
            elif self.stands("AS") or self.stands("SELECT"):
                raise self.error("create the table first, then INSERT INTO it")
            else:
                raise self.unexpected("PARTITIONED BY, COMMENT, TBLPROPERTIES or the end")
        # Paimon keeps keys in the schema, and takes them as options too.
        listed = options.pop("primary-key", None)
        primary_keys = primary_keys or _split(listed)
        partition_keys = partition_keys or _split(options.pop("partition", None))
        return TableStatement(
            kind=TableStatementKind.CREATE,
            target=target,
            is_lenient=is_lenient,
            columns=tuple(
                DataField(
                    id=each.id,
                    name=each.name,
                    type=with_nullable(each.type, False)
                    if each.name in primary_keys
                    else each.type,
                    description=each.description,
                )
                for each in fields
            ),
            partition_keys=partition_keys,
            primary_keys=primary_keys,
            options=MappingProxyType(options),
            comment=comment,
        )

    def _field(self, next_id: Callable[[], int]) -> DataField:
        name, number = self.name("a column"), next_id()
        data_type, comment = self._type(next_id), None
        while self.at < len(self.tokens):
            if self.takes("NOT NULL"):
                data_type = with_nullable(data_type, False)
            elif self.takes("COMMENT"):
                comment = self._string("a comment")
            elif self.stands("DEFAULT") or self.stands("GENERATED"):
                raise self.error("values that columns get by themselves are not served")
            elif not self.takes("NULL"):
                break
        return DataField(id=number, name=name, type=data_type, description=comment)

    def _type(self, next_id: Callable[[], int]) -> DataType:
        first, depth = self.at, 0
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            ends = token.token_type in (TokenType.COMMA, TokenType.R_PAREN)
            if depth == 0 and (ends or token.text.upper() in _ENDS_TYPE):
                break
            if token.token_type is not TokenType.STRING:
                depth += sum(map(token.text.count, "(<")) - sum(map(token.text.count, ")>"))
            self.at += 1
        if self.at == first:
            raise self.unexpected("a type")
        try:
            return parse_type(self.between(first), next_id)
        except InvalidInput as error:
            raise statement_error(
                self.place(first), error.message.rstrip("."), error.kind
            ) from error

    def _alter(self) -> TableStatement:
        target = read_target(self)
        if self.takes("RENAME TO"):
            return TableStatement(
                kind=TableStatementKind.ALTER, target=target, to=read_target(self)
            )
        return TableStatement(kind=TableStatementKind.ALTER, target=target, changes=self._changes())

    def _changes(self) -> tuple[Change, ...]:
        if self.takes("RENAME COLUMN"):
            column = self._column()
            self.expect("TO")
            return (RenameColumn(column=column, to=self.name("the new name")),)
        if self.takes("ADD COLUMNS") or self.takes("ADD COLUMN") or self.takes("ADD"):
            return self._each(self._added)
        if self.takes("DROP COLUMNS") or self.takes("DROP COLUMN"):
            return self._each(lambda: DropColumn(column=self._column()))
        # Flink writes SET ('key' = 'value') and RESET ('key').
        if self.takes("SET TBLPROPERTIES") or self._takes_list("SET"):
            return (SetOptions(options=self.options()),)
        if self.takes("UNSET TBLPROPERTIES"):
            self.takes("IF EXISTS")
            return (UnsetOptions(keys=tuple(self.listed(self.key))),)
        if self._takes_list("RESET"):
            return (UnsetOptions(keys=tuple(self.listed(self.key))),)
        if self.takes("ALTER COLUMN") or self.takes("CHANGE COLUMN") or self.takes("ALTER"):
            return (self._altered(),)
        raise self.unexpected(_CHANGES)

    def _takes_list(self, word: str) -> bool:
        """Take a word behind which a list in parentheses stands."""
        following = self.tokens[self.at + 1 : self.at + 2]
        is_list = bool(following) and following[0].token_type is TokenType.L_PAREN
        return is_list and self.takes(word)

    def _each(self, read: Callable[[], Change]) -> tuple[Change, ...]:
        return tuple(self.listed(read)) if self.kind() is TokenType.L_PAREN else (read(),)

    def _added(self) -> Change:
        place = self.place(self.at)
        # Its id is given when the schema is known.
        added = self._field(lambda: 0)
        column = NamedColumn(name=added.name, place=place)
        after, first = None, self.takes("FIRST")
        if not first and self.takes("AFTER"):
            after = self.name("a column")
        return AddColumn(
            column=column, type=added.type, comment=added.description, after=after, first=first
        )

    def _altered(self) -> Change:
        column = self._column()
        if self.takes("TYPE"):
            return RetypeColumn(column=column, type=self._type(lambda: 0))
        if self.takes("COMMENT"):
            return CommentColumn(column=column, comment=self._string("a comment"))
        if self.takes("DROP NOT NULL"):
            return AllowNull(column=column)
        if self.stands("SET NOT NULL"):
            raise self.error("rows may hold nulls, so that the column stays as it is")
        if self.takes("FIRST"):
            return MoveColumn(column=column, after=None)
        if self.takes("AFTER"):
            return MoveColumn(column=column, after=self.name("a column"))
        raise self.unexpected("TYPE, COMMENT, DROP NOT NULL, FIRST or AFTER")

    def _column(self) -> NamedColumn:
        place = self.place(self.at)
        name = self.name("a column")
        if self.kind() is TokenType.DOT:
            raise self.error("fields inside of rows are not altered", back=1)
        return NamedColumn(name=name, place=place)

    def _names(self) -> tuple[str, ...]:
        return tuple(self.listed(lambda: self.name("a column")))

    def _string(self, what: str) -> str:
        if self.kind() is not TokenType.STRING:
            raise self.unexpected(f"{what} in quotes")
        return self.next().text


def _split(listed: str | None) -> tuple[str, ...]:
    return tuple(each.strip() for each in (listed or "").split(",") if each.strip())
