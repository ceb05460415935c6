"""From text to statements; what is wrong is told with its line and column.

Words are cut by the tokenizer of sqlglot's Spark dialect, so that quoting, comments and numbers
are Spark's. The statements are few and flat, so that each is read word by word.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import ClassVar, Final

from sqlglot import Token, TokenError, TokenType
from sqlglot.dialects.spark import Spark

from core.errors import ErrorKind, InvalidInput
from core.format.identifier import MAIN_BRANCH, Identifier
from core.sql.query import Place, parse_query
from core.sql.statement import CALLED, QUERY, Statement, Value


class _Tokenizer(Spark.Tokenizer):
    """Spark's, but for words behind which it would swallow the rest of the statement."""

    COMMANDS: ClassVar[set[TokenType]] = set()


_NAMES: Final = frozenset({TokenType.IDENTIFIER, TokenType.STRING})
_ROWS: Final = frozenset({"INSERT", "UPDATE", "DELETE", "CREATE TABLE", "DROP TABLE", "ALTER"})
_QUERIES: Final = frozenset({"SELECT", "WITH", "FROM", "VALUES", "("})


def parse_statements(text: str, branch: str = MAIN_BRANCH) -> tuple[Statement, ...]:
    """Read statements that semicolons divide.

    Args:
        text: The statements.
        branch: Where the session stands: the target of merges that name none. `USE BRANCH` moves
            it for the statements behind.

    Raises:
        InvalidInput: A word is not what can stand there; nothing was run.
    """
    try:
        tokens = _Tokenizer().tokenize(text)
    except TokenError as error:
        raise _invalid(f"The text cannot be cut into words: {error}.") from error
    parser = _Parser(text, tokens, branch)
    return tuple(parser.statements())


class _Parser:
    def __init__(self, text: str, tokens: list[Token], branch: str) -> None:
        self._text = text
        self._tokens = tokens
        self._at = 0
        self._branch = branch

    def statements(self) -> list[Statement]:
        found = []
        while self._at < len(self._tokens):
            if self._kind() is TokenType.SEMICOLON:
                self._at += 1
                continue
            start = self._at
            statement = self._statement()
            if self._at < len(self._tokens) and self._kind() is not TokenType.SEMICOLON:
                raise self._unexpected("the end of the statement")
            if statement is not None:
                procedure, arguments, confirms, is_dry = statement
                found.append(
                    Statement(
                        text=self._between(start),
                        procedure=procedure,
                        arguments=MappingProxyType(
                            {name: value for name, value in arguments.items() if value is not None}
                        ),
                        is_dry=is_dry,
                        confirms=confirms,
                    )
                )
        return found

    def _statement(self) -> "_Read | None":
        if any(self._stands(word) for word in _QUERIES):
            return self.query()
        for words, read in _STATEMENTS.items():
            if self._takes(words):
                return read(self)
        shown = next((words for words in sorted(_ROWS) if self._stands(words)), None)
        if shown is not None:
            raise self._error(f"{shown} reads or writes rows, which is not served here yet")
        raise self._unexpected(f"a statement; there are SELECT, {', '.join(_STATEMENTS)}")

    def query(self) -> "_Read":
        start = self._at
        while self._at < len(self._tokens) and self._kind() is not TokenType.SEMICOLON:
            self._at += 1
        place = Place().behind(self._text[: self._tokens[start].start])
        text = self._between(start)
        parse_query(text, place)
        arguments: dict[str, Value] = {
            "sql": text,
            "branch": self._branch,
            "line": place.line,
            "column": place.column,
        }
        return QUERY, arguments, None, False

    def use(self) -> None:
        self._branch = self._name("the name of a branch")

    def merge(self) -> "_Read":
        source = self._name("the branch to merge")
        arguments: dict[str, Value] = {"branch": source, "target": self._target()}
        if self._takes("ON DATABASE") or not self._stands("ON"):
            raise self._error("one table is merged at a time; say ON TABLE")
        arguments["table"] = self._table()
        return "merge_branch", arguments, None, self._takes("DRY RUN")

    def create(self) -> "_Read":
        arguments: dict[str, Value] = {"branch": self._name("the name of the branch")}
        arguments["table"] = self._table()
        if self._takes("FROM TAG"):
            arguments["tag"] = self._name("a tag")
        elif self._takes("FROM SNAPSHOT"):
            arguments["snapshot"] = self._number()
        elif self._takes("FROM BRANCH"):
            arguments["from_branch"] = self._name("a branch")
        elif self._takes("EMPTY"):
            arguments["empty"] = True
        return "create_branch", arguments, None, self._takes("DRY RUN")

    def drop(self) -> "_Read":
        branch = self._name("the name of the branch")
        arguments: dict[str, Value] = {"branch": branch, "table": self._table()}
        return "drop_branch", arguments, branch, self._takes("DRY RUN")

    def rename(self) -> "_Read":
        branch = self._name("the name of the branch")
        self._expect("TO")
        arguments: dict[str, Value] = {"branch": branch, "to": self._name("the new name")}
        arguments["table"] = self._table()
        return "rename_branch", arguments, None, self._takes("DRY RUN")

    def forward(self) -> "_Read":
        source = self._name("the branch to take over")
        arguments: dict[str, Value] = {"branch": source, "target": self._target()}
        arguments["table"] = self._table()
        return "fast_forward", arguments, None, self._takes("DRY RUN")

    def replace(self) -> "_Read":
        arguments: dict[str, Value] = {"branch": self._name("a branch")}
        arguments["table"] = self._table()
        return "replace_main", arguments, MAIN_BRANCH, self._takes("DRY RUN")

    def pick(self) -> "_Read":
        arguments: dict[str, Value] = {"snapshot": self._number()}
        self._expect("OF BRANCH")
        arguments["branch"] = self._name("a branch")
        arguments["target"] = self._target()
        arguments["table"] = self._table()
        return "cherry_pick", arguments, None, self._takes("DRY RUN")

    def revert(self) -> "_Read":
        arguments: dict[str, Value] = {"snapshot": self._number()}
        arguments["table"] = self._table(of=self._branch)
        return "revert", arguments, None, self._takes("DRY RUN")

    def call(self) -> "_Read":
        self._expect("SYS .")
        name = self._name("a procedure").lower()
        if name not in CALLED:
            self._at -= 1
            raise self._unexpected(f"a procedure; there are {', '.join(CALLED)}")
        called = CALLED[name]
        given = dict(self._arguments(called.arguments))
        confirms = given.get(called.confirms) if called.confirms is not None else None
        return called.procedure, given, None if confirms is None else str(confirms), False

    def _arguments(self, known: Mapping[str, str]) -> list[tuple[str, Value]]:
        found: list[tuple[str, Value]] = []
        self._expect_kind(TokenType.L_PAREN, "'('")
        while not self._takes_kind(TokenType.R_PAREN):
            if found:
                self._expect_kind(TokenType.COMMA, "','")
            if self._kind() is TokenType.STRING:
                raise self._unexpected("the name of an argument (arguments are named)")
            name = self._name("the name of an argument").lower()
            if name not in known or known[name] in dict(found):
                self._at -= 1
                raise self._unexpected(f"an argument; there are {', '.join(known)}, each once")
            self._expect_kind(TokenType.FARROW, "'=>' (arguments are named)")
            found.append((known[name], self._value()))
        return found

    def _value(self) -> Value:
        kind = self._kind()
        if kind is TokenType.STRING:
            return self._next().text
        if kind in (TokenType.TRUE, TokenType.FALSE):
            return self._next().token_type is TokenType.TRUE
        if kind is TokenType.NULL:
            self._at += 1
            return None
        return self._number()

    def _number(self) -> int:
        if self._kind() is TokenType.NUMBER and self._tokens[self._at].text.isdigit():
            return int(self._next().text)
        raise self._unexpected("a whole number")

    def _target(self) -> str:
        return self._name("the target") if self._takes("TO") else self._branch

    def _table(self, of: str = MAIN_BRANCH) -> str:
        self._expect("ON TABLE")
        at = self._at
        database = self._name("a database")
        self._expect_kind(TokenType.DOT, "'.' and a table")
        try:
            found = Identifier.parse(f"{database}.{self._name('a table')}")
        except InvalidInput as error:
            self._at = at
            raise self._error(error.message) from error
        return found.on_branch(of).full_name

    def _name(self, what: str) -> str:
        if self._at < len(self._tokens):
            token = self._tokens[self._at]
            is_word = token.text.replace("_", "").replace("-", "").isalnum()
            if token.token_type in _NAMES or is_word:
                return self._next().text + self._rest_of_name()
        raise self._unexpected(what)

    def _rest_of_name(self) -> str:
        """What a hyphen ties to a name: branches have names such as `fix-delays`."""
        rest = ""
        while self._kind() is TokenType.DASH and self._is_tied():
            rest += self._next().text
            rest += self._next().text
        return rest

    def _is_tied(self) -> bool:
        if self._at + 1 >= len(self._tokens):
            return False
        before, dash, behind = self._tokens[self._at - 1 : self._at + 2]
        return before.end + 1 == dash.start and dash.end + 1 == behind.start

    def _stands(self, words: str) -> bool:
        wanted = words.split()
        tokens = self._tokens[self._at : self._at + len(wanted)]
        return [token.text.upper() for token in tokens] == wanted and not any(
            token.token_type in _NAMES for token in tokens
        )

    def _takes(self, words: str) -> bool:
        if not self._stands(words):
            return False
        self._at += len(words.split())
        return True

    def _expect(self, words: str) -> None:
        if not self._takes(words):
            raise self._unexpected(words)

    def _takes_kind(self, kind: TokenType) -> bool:
        if self._kind() is not kind:
            return False
        self._at += 1
        return True

    def _expect_kind(self, kind: TokenType, shown: str) -> None:
        if not self._takes_kind(kind):
            raise self._unexpected(shown)

    def _kind(self) -> TokenType | None:
        return self._tokens[self._at].token_type if self._at < len(self._tokens) else None

    def _next(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _between(self, start: int) -> str:
        return self._text[self._tokens[start].start : self._tokens[self._at - 1].end + 1]

    def _unexpected(self, wanted: str) -> InvalidInput:
        is_there = self._at < len(self._tokens)
        found = repr(self._tokens[self._at].text) if is_there else "the end"
        return self._error(f"found {found} in place of {wanted}")

    def _error(self, what: str) -> InvalidInput:
        before = self._text
        if self._at < len(self._tokens):
            before = self._text[: self._tokens[self._at].start]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        return _invalid(f"Line {line}, column {column}: {what}.")


_Read = tuple[str, Mapping[str, Value], str | None, bool]
_STATEMENTS: Final[Mapping[str, Callable[[_Parser], "_Read | None"]]] = MappingProxyType(
    {
        "USE BRANCH": _Parser.use,
        "MERGE BRANCH": _Parser.merge,
        "CREATE BRANCH": _Parser.create,
        "DROP BRANCH": _Parser.drop,
        "RENAME BRANCH": _Parser.rename,
        "FAST FORWARD BRANCH": _Parser.forward,
        "REPLACE MAIN WITH BRANCH": _Parser.replace,
        "CHERRY PICK SNAPSHOT": _Parser.pick,
        "REVERT SNAPSHOT": _Parser.revert,
        "CALL": _Parser.call,
    }
)


def _invalid(message: str) -> InvalidInput:
    return InvalidInput(message, kind=ErrorKind.INVALID_ARGUMENT)
