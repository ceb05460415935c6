"""From text to statements; what is wrong is told with its line and column.

The statements about branches are few and flat, so that each is read word by word.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from sqlglot import TokenType

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.near_names import nearest_names
from branch_console.operations.argument import Argument
from branch_console.operations.branch_requests import (
    CreateBranchRequest,
    DropBranchRequest,
    FastForwardRequest,
    ReleaseBranchRequest,
    RenameBranchRequest,
    ReplaceMainRequest,
)
from branch_console.operations.merge_requests import CherryPickRequest, MergeRequest, RevertRequest
from branch_console.operations.request import Request
from branch_console.sql.databases import (
    DATABASE_STATEMENTS,
    DatabaseStatementKind,
    parse_database_statement,
)
from branch_console.sql.not_served import NOT_SERVED
from branch_console.sql.place import Place
from branch_console.sql.show_statements import SHOWS, ShowKind, parse_show
from branch_console.sql.statement import (
    CALLED,
    COMPACT,
    COMPACT_DATABASE,
    CONFIRM,
    DRY_RUN,
    EITHER,
    QUERY,
    Called,
    Statement,
)
from branch_console.sql.tables import TableStatementKind, parse_table_statement
from branch_console.sql.targets import Target
from branch_console.sql.token_reader import TokenReader, quoted_name, statement_error
from branch_console.sql.writes import WriteKind, parse_write

WRITING: Final = frozenset({*WriteKind, *TableStatementKind, COMPACT, COMPACT_DATABASE})
"""The procedures of statements that change rows or tables, and have no preview."""

_LOOKED_AT: Final = MappingProxyType({"doctor": ShowKind.HEALTH, "storage": ShowKind.STORAGE})
_WRITES: Final = frozenset({"INSERT", "TRUNCATE", "UPDATE", "DELETE", "MERGE INTO"})
_TABLES: Final = frozenset({"CREATE TABLE", "DROP TABLE", "ALTER TABLE"})
_QUERIES: Final = frozenset({"SELECT", "WITH", "FROM", "VALUES", "(", *SHOWS})


def parse_statements(text: str, branch: str = MAIN_BRANCH) -> tuple[Statement, ...]:
    """Read statements that semicolons divide.

    Args:
        text: The statements.
        branch: Where the session stands: the target of merges that name none. `USE BRANCH` moves
            it for the statements behind.

    Raises:
        InvalidInput: A word is not what can stand there; nothing was run.
    """
    return tuple(_Parser(text, branch).statements())


class _Parser(TokenReader):
    def __init__(self, text: str, branch: str) -> None:
        super().__init__(text)
        self._branch = branch

    def statements(self) -> list[Statement]:
        found = []
        while self.at < len(self.tokens):
            if self.kind() is TokenType.SEMICOLON:
                self.at += 1
                continue
            start = self.at
            statement = self._statement()
            if self.at < len(self.tokens) and self.kind() is not TokenType.SEMICOLON:
                raise self.unexpected("the end of the statement")
            if statement is not None:
                given = statement.arguments.items()
                arguments = {name: value for name, value in given if value is not None}
                found.append(
                    replace(
                        statement,
                        text=self.between(start),
                        arguments=MappingProxyType(arguments),
                    )
                )
        return found

    def _statement(self) -> Statement | None:
        if any(self.stands(word) for word in _QUERIES):
            return self.query()
        if any(self.stands(word) for word in _WRITES):
            return self.write()
        if any(self.stands(words) for words in _TABLES):
            return self.about_table()
        if any(self.stands(words) for words in DATABASE_STATEMENTS):
            return self.about_database()
        for words, read in _STATEMENTS.items():
            if self.takes(words):
                return read(self)
        if self.stands("SET") or self.stands("RESET"):
            raise self.error(
                f"{self.tokens[self.at].text.upper()} is for the settings of a session, and there "
                "is none here; write Paimon's options behind the table that they are for, as "
                "/*+ OPTIONS('key' = 'value') */"
            )
        raise self.unexpected(f"a statement; there are {', '.join(_ALL)}")

    def query(self) -> Statement:
        place, text = self.place(self.at), self.to_end_of_statement()
        parse_show(text, place)
        return Statement(procedure=QUERY, arguments=self._itself(text, place))

    def write(self) -> Statement:
        place, text = self.place(self.at), self.to_end_of_statement()
        found = parse_write(text, place)
        arguments = self._itself(text, place, found.target)
        return Statement(procedure=str(found.kind), arguments=arguments)

    def about_table(self) -> Statement:
        place, text = self.place(self.at), self.to_end_of_statement()
        found = parse_table_statement(text, place)
        arguments = self._itself(text, place, found.target)
        return Statement(procedure=str(found.kind), arguments=arguments)

    def about_database(self) -> Statement:
        place, text = self.place(self.at), self.to_end_of_statement()
        found = parse_database_statement(text, place)
        # The statement itself names what goes.
        confirms = found.database if found.kind is DatabaseStatementKind.DROP else None
        return Statement(
            procedure=str(found.kind),
            arguments={**found.arguments, "branch": self._session},
            confirms=confirms,
            is_dry=found.is_dry,
        )

    @property
    def _session(self) -> str | None:
        """The branch of the session, None on main."""
        return None if self._branch == MAIN_BRANCH else self._branch

    def _itself(self, text: str, place: Place, target: Target | None = None) -> dict[str, Argument]:
        """The arguments of procedures that are told the statement itself."""
        found: dict[str, Argument] = {
            "sql": text,
            "branch": self._branch,
            "line": place.line,
            "column": place.column,
        }
        if target is not None:
            found["table"] = target.on(self._branch).full_name
        return found

    def use(self) -> None:
        self._branch = self.name("the name of a branch")

    def merge(self) -> Statement:
        source, target = self.name("the branch to merge"), self._target()
        arguments: dict[str, Argument] = {"branch": source, "target": target}
        if self.takes("ON DATABASE"):
            arguments["database"] = self.name("a database")
            return self._said("merge_catalog_branch", arguments)
        if self.takes("ON CATALOG") or not self.stands("ON"):
            return self._said("merge_catalog_branch", arguments)
        return self._asks(MergeRequest(table=self._table(), source=source, target=target))

    def create(self) -> Statement:
        branch = self.name("the name of the branch")
        arguments: dict[str, Argument] = {"branch": branch}
        if self._takes_scope(arguments):
            return self._create_of_catalog(arguments)
        request = CreateBranchRequest(table=self._table(), branch=branch)
        if self.takes("FROM TAG"):
            request = replace(request, tag=self.name("a tag"))
        elif self.takes("FROM SNAPSHOT"):
            request = replace(request, snapshot=self.number())
        elif self.takes("FROM BRANCH"):
            request = replace(request, from_branch=self.name("a branch"))
        elif self.takes("EMPTY"):
            request = replace(request, empty=True)
        return self._asks(request)

    def _takes_scope(self, arguments: dict[str, Argument]) -> bool:
        """Take what a branch of the catalog holds; False if it is a branch of one table."""
        if self.takes("ON CATALOG"):
            return True
        if self.takes("ON DATABASE"):
            arguments["databases"] = self._names("a database")
            return True
        if self.takes("ON TABLES"):
            arguments["tables"] = self._names("a pattern of tables, such as 'air.fl*'")
            return True
        return False

    def _names(self, what: str) -> str:
        found = [self.name(what)]
        while self.takes_kind(TokenType.COMMA):
            found.append(self.name(what))
        return ",".join(found)

    def _create_of_catalog(self, arguments: dict[str, Argument]) -> Statement:
        if self.takes("FROM BRANCH"):
            arguments["from_branch"] = self.name("a branch of the catalog")
        elif self.takes("FROM TAG"):
            arguments["tag"] = self.name("a tag of the catalog")
        elif self.takes("EMPTY"):
            arguments["empty"] = True
        arguments["lazy"] = True if self.takes("LAZY") else None
        arguments["adopt"] = True if self.takes("ADOPT") else None
        return self._said("create_catalog_branch", arguments)

    def drop(self) -> Statement:
        branch = self.name("the name of the branch")
        if self.takes("ON CATALOG"):
            return self._said("drop_catalog_branch", {"branch": branch}, branch)
        return self._asks(DropBranchRequest(table=self._table(), branch=branch), branch)

    def release(self) -> Statement:
        branch = self.name("the name of the branch")
        return self._asks(ReleaseBranchRequest(table=self._table(), branch=branch), branch)

    def rename(self) -> Statement:
        branch = self.name("the name of the branch")
        self.expect("TO")
        to = self.name("the new name")
        return self._asks(RenameBranchRequest(table=self._table(), branch=branch, to=to))

    def forward(self) -> Statement:
        source = self.name("the branch to take over")
        target = self._target()
        return self._asks(FastForwardRequest(table=self._table(), source=source, target=target))

    def replace(self) -> Statement:
        branch = self.name("a branch")
        return self._asks(ReplaceMainRequest(table=self._table(), branch=branch), MAIN_BRANCH)

    def pick(self) -> Statement:
        snapshot = self.number()
        self.expect("OF BRANCH")
        source, target = self.name("a branch"), self._target()
        return self._asks(
            CherryPickRequest(table=self._table(), source=source, target=target, snapshot=snapshot)
        )

    def revert(self) -> Statement:
        snapshot = self.number()
        return self._asks(RevertRequest(table=self._table(of=self._branch), snapshot=snapshot))

    def _asks(self, request: Request, confirms: str | None = None) -> Statement:
        return self._said(request.procedure, request.encode(), confirms)

    def _said(
        self, procedure: str, arguments: Mapping[str, Argument], confirms: str | None = None
    ) -> Statement:
        """A statement up to its end, where it may say that it only tells what it would do."""
        is_dry = self.takes("DRY RUN")
        return Statement(procedure=procedure, arguments=arguments, confirms=confirms, is_dry=is_dry)

    def call(self) -> Statement:
        if not self.takes("SYS ."):
            # As in Paimon, where procedures live in the database `sys`.
            raise self.unexpected("sys. and a procedure, such as CALL sys.create_branch(…)")
        name = self.name("a procedure").lower()
        if name in NOT_SERVED:
            place = self.place(self.at - 1)
            raise statement_error(
                place, f"{name} is not served here: {NOT_SERVED[name]}", ErrorKind.UNSUPPORTED
            )
        if name not in CALLED:
            self.at -= 1
            raise self.unexpected(f"a procedure; there are {', '.join(CALLED)}")
        called = CALLED[name]
        given = self._arguments(called)
        said = (given.get(name) for name in called.confirms)
        confirms = next((str(name) for name in said if name is not None), None)
        given.pop(CONFIRM, None)
        if called.procedure == QUERY:
            shown = self._look_at(_LOOKED_AT[name], given.get("table"))
            return Statement(procedure=QUERY, arguments=shown)
        is_dry = given.pop(DRY_RUN, False)
        if not isinstance(is_dry, bool):
            raise self.error(f"{DRY_RUN} is true or false, not {is_dry!r}")
        return Statement(
            procedure=called.procedure,
            arguments=given,
            confirms=confirms,
            is_dry=is_dry,
            called=name,
        )

    def _look_at(self, kind: ShowKind, table: Argument) -> dict[str, Argument]:
        """The arguments of the query that tells something of a table."""
        found = Identifier.parse(str(table or ""))
        database, name = (quoted_name(each) for each in (found.database, found.table))
        return {"sql": f"SHOW {kind.upper()} FROM {database}.{name}", "branch": found.branch}

    def _arguments(self, called: Called) -> dict[str, Argument]:
        """Take the arguments of a call: in their order, then by name, each once; NULL is none."""
        found: dict[str, Argument] = {}
        said: list[str] = []
        names: dict[str, str] = {}
        is_named = False
        self.expect_kind(TokenType.L_PAREN, "'('")
        while not self.takes_kind(TokenType.R_PAREN):
            if said:
                self.expect_kind(TokenType.COMMA, "','")
            at = self.at
            is_named = is_named or self._is_named()
            name = self._argument_name(called) if is_named else self._argument_at(called, len(said))
            value = self.value()
            ours = called.arguments.get(name)
            if value is not None and ours == EITHER:
                number, text = called.either[name]
                is_number = str(value).isascii() and str(value).isdigit()
                ours, value = (number, int(value)) if is_number else (text, value)
            earlier = name if name in said else names.get(ours or "")
            if earlier is not None and (earlier == name or value is not None):
                self.at = at
                before = "" if earlier == name else f": first as {earlier!r}"
                raise self.error(f"the argument {name!r} is given twice{before}")
            if value is not None and ours is None:
                self.at = at
                why = f": {called.refuses[name]}" if name in called.refuses else ""
                raise self.error(f"the argument {name!r} of this procedure is not served here{why}")
            said.append(name)
            if value is not None and ours is not None:
                found[ours] = value
                names[ours] = name
        return found

    def _is_named(self) -> bool:
        """Whether an argument comes next by its name, or what can be none without one."""
        behind = self.tokens[self.at + 1 : self.at + 2]
        is_named = any(token.token_type is TokenType.FARROW for token in behind)
        return is_named or self.kind() not in _LITERALS

    def _argument_name(self, called: Called) -> str:
        at = self.at
        if self.kind() in _LITERALS and not self._is_named():
            raise self.unexpected("the name of an argument, as the one before has a name")
        name = called.find_name(self.name("the name of an argument"))
        if name is None:
            self.at = at
            raise self._no_argument(called)
        self.expect_kind(TokenType.FARROW, "'=>' (arguments are named)")
        return name

    def _argument_at(self, called: Called, number: int) -> str:
        if number < len(called.order):
            return called.order[number]
        raise self.unexpected(f"')' or a name: the arguments are {', '.join(called.order)}")

    def _no_argument(self, called: Called) -> InvalidInput:
        known = called.arguments
        near = nearest_names(self.tokens[self.at].text, known, most=1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        return self.unexpected(f"an argument{hint}; there are {', '.join(known)}")

    def _target(self) -> str:
        return self.name("the target") if self.takes("TO") else self._branch

    def _table(self, of: str = MAIN_BRANCH) -> str:
        self.expect("ON TABLE")
        at = self.at
        database = self.name("a database")
        self.expect_kind(TokenType.DOT, "'.' and a table")
        try:
            found = Identifier.parse(f"{database}.{self.name('a table')}")
        except InvalidInput as error:
            self.at = at
            raise self.error(error.message) from error
        return found.on_branch(of).full_name


# What an argument without a name is.
_LITERALS: Final = frozenset(
    {TokenType.STRING, TokenType.NUMBER, TokenType.TRUE, TokenType.FALSE, TokenType.NULL}
)
_STATEMENTS: Final[Mapping[str, Callable[[_Parser], Statement | None]]] = MappingProxyType(
    {
        "USE BRANCH": _Parser.use,
        "MERGE BRANCH": _Parser.merge,
        "CREATE BRANCH": _Parser.create,
        "DROP BRANCH": _Parser.drop,
        "RELEASE BRANCH": _Parser.release,
        "RENAME BRANCH": _Parser.rename,
        "FAST FORWARD BRANCH": _Parser.forward,
        "REPLACE MAIN WITH BRANCH": _Parser.replace,
        "CHERRY PICK SNAPSHOT": _Parser.pick,
        "REVERT SNAPSHOT": _Parser.revert,
        "CALL": _Parser.call,
    }
)
_DATABASES: Final = ("CREATE DATABASE", "DROP DATABASE", "ALTER DATABASE")
_ALL: Final = ("SELECT", *SHOWS, *sorted(_WRITES), *sorted(_TABLES), *_DATABASES, *_STATEMENTS)
