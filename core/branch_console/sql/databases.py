"""Statements that change databases: CREATE, DROP and ALTER DATABASE, in Spark's words.

Each becomes a procedure with arguments of its own, so that a statement, a command and a call of the
library have one preview and one receipt.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final, assert_never

from sqlglot import TokenType

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.identifier import check_object_name
from branch_console.operations.argument import Argument
from branch_console.sql.place import Place
from branch_console.sql.token_reader import TokenReader, statement_error

COMMENT: Final = "comment"
"""The property that holds the comment of a database."""

DATABASE_WORDS: Final = ("DATABASE", "SCHEMA", "NAMESPACE")
"""Spark's words for a database."""

DATABASE_STATEMENTS: Final = tuple(
    f"{verb} {noun}" for verb in ("CREATE", "DROP", "ALTER") for noun in DATABASE_WORDS
)
"""The words that such statements begin with."""

_KEPT_BY_ENGINES: Final = MappingProxyType(
    {
        "location": "a database lies in its folder of the warehouse",
        "owner": "Paimon's file system catalog keeps no owners",
    }
)


class DatabaseStatementKind(StrEnum):
    """The statements on a database; the name of its procedure."""

    CREATE = "create_database"
    DROP = "drop_database"
    RENAME = "rename_database"
    SET = "set_database_properties"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseStatement:
    """A statement about a database.

    Attributes:
        kind: The kind of the statement.
        database: The database.
        is_lenient: Whether a database that is there, or is not, is no error.
        is_cascading: Whether the tables of a dropped database go with it.
        to: The new name.
        properties: Properties that get a value; None for those that go.
        is_dry: Whether it only tells what it would do.
    """

    kind: DatabaseStatementKind
    database: str
    is_lenient: bool = False
    is_cascading: bool = False
    to: str | None = None
    properties: Mapping[str, str | None] = field(default_factory=lambda: MappingProxyType({}))
    is_dry: bool = False

    @property
    def arguments(self) -> dict[str, Argument]:
        """The arguments of its procedure."""
        name: dict[str, Argument] = {"database": self.database}
        properties = json.dumps(dict(self.properties), sort_keys=True, ensure_ascii=False)
        match self.kind:
            case DatabaseStatementKind.CREATE:
                given = properties if self.properties else None
                return {**name, "if_not_exists": self.is_lenient or None, "properties": given}
            case DatabaseStatementKind.DROP:
                return {
                    **name,
                    "if_exists": self.is_lenient or None,
                    "cascade": self.is_cascading or None,
                }
            case DatabaseStatementKind.RENAME:
                return {**name, "to": self.to}
            case DatabaseStatementKind.SET:
                return {**name, "properties": properties}
            case _:
                assert_never(self.kind)


def parse_database_statement(text: str, start: Place | None = None) -> DatabaseStatement:
    """Read a statement that changes a database.

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


def read_database(words: TokenReader, what: str = "a database") -> str:
    """Take the name of a database.

    Raises:
        InvalidInput: No name stands there, or one that no folder can have.
    """
    place = words.place(words.at)
    name = words.name(what)
    if words.kind() is TokenType.DOT:
        raise words.error("a database has one name; name a table in statements about tables")
    try:
        check_object_name(name)
    except InvalidInput as error:
        raise statement_error(place, error.message.rstrip("."), error.kind) from error
    return name


class _Reader(TokenReader):
    def statement(self) -> DatabaseStatement:
        if self._takes_verb("CREATE"):
            return self._create()
        if self._takes_verb("DROP"):
            return self._drop()
        if self._takes_verb("ALTER"):
            return self._alter()
        raise self.unexpected(", ".join(DATABASE_STATEMENTS))

    def _takes_verb(self, verb: str) -> bool:
        return any(self.takes(f"{verb} {noun}") for noun in DATABASE_WORDS)

    def _create(self) -> DatabaseStatement:
        is_lenient = self.takes("IF NOT EXISTS")
        database = read_database(self, "the name of the database")
        properties: dict[str, str] = {}
        comment = None
        while self.at < len(self.tokens) and not self.stands("DRY RUN"):
            if self.takes("COMMENT"):
                if comment is not None:
                    raise self.error("a database has one comment", back=1)
                comment = self._comment()
            elif self._takes_properties("WITH "):
                properties |= self._properties(already=properties)
            elif self.stands("LOCATION"):
                raise self.error(_KEPT_BY_ENGINES["location"])
            else:
                raise self.unexpected("COMMENT, WITH DBPROPERTIES, DRY RUN or the end")
        if comment is not None:
            if COMMENT in properties:
                raise self.error("the comment is given twice, once as a property")
            properties[COMMENT] = comment
        return DatabaseStatement(
            kind=DatabaseStatementKind.CREATE,
            database=database,
            is_lenient=is_lenient,
            properties=MappingProxyType(properties),
            is_dry=self.takes("DRY RUN"),
        )

    def _drop(self) -> DatabaseStatement:
        is_lenient = self.takes("IF EXISTS")
        database = read_database(self)
        is_cascading = self.takes("CASCADE")
        if not is_cascading:
            self.takes("RESTRICT")  # as without it
        return DatabaseStatement(
            kind=DatabaseStatementKind.DROP,
            database=database,
            is_lenient=is_lenient,
            is_cascading=is_cascading,
            is_dry=self.takes("DRY RUN"),
        )

    def _alter(self) -> DatabaseStatement:
        database = read_database(self)
        if self.takes("RENAME TO"):
            to = read_database(self, "the new name")
            return DatabaseStatement(
                kind=DatabaseStatementKind.RENAME,
                database=database,
                to=to,
                is_dry=self.takes("DRY RUN"),
            )
        changed: dict[str, str | None] = {}
        if self._takes_properties("SET "):
            changed |= self._properties()
        elif self._takes_properties("UNSET "):
            self.takes("IF EXISTS")
            changed |= dict.fromkeys(self.listed(self.key))
        elif self.stands("SET LOCATION"):
            raise self.error(_KEPT_BY_ENGINES["location"])
        elif self.stands("SET OWNER"):
            raise self.error(_KEPT_BY_ENGINES["owner"])
        else:
            raise self.unexpected("RENAME TO, SET DBPROPERTIES or UNSET DBPROPERTIES")
        return DatabaseStatement(
            kind=DatabaseStatementKind.SET,
            database=database,
            properties=MappingProxyType(changed),
            is_dry=self.takes("DRY RUN"),
        )

    def _takes_properties(self, before: str) -> bool:
        return self.takes(f"{before}DBPROPERTIES") or self.takes(f"{before}PROPERTIES")

    def _properties(self, already: Mapping[str, str] = MappingProxyType({})) -> Mapping[str, str]:
        place = self.place(self.at)
        found = self.options()
        for key in found:
            if key in _KEPT_BY_ENGINES:
                what = f"{key!r} is no property here: {_KEPT_BY_ENGINES[key]}"
                raise statement_error(place, what, ErrorKind.INVALID_OPTION)
            if key in already:
                raise statement_error(place, f"the property {key!r} is given twice")
        return found

    def _comment(self) -> str:
        if self.kind() is not TokenType.STRING:
            raise self.unexpected("a comment in quotes")
        return self.next().text
