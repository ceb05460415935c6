"""The words of a statement, taken one after the other.

They are cut by the tokenizer of sqlglot's Spark dialect, so that quoting, comments and numbers are
Spark's. A hint is a word too: a reader that expects none refuses it, where a comment is dropped.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Final, TypeVar

from sqlglot import Token, TokenError, TokenType
from sqlglot.dialects.spark import Spark

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.bounds import MOST_STATEMENTS_CHARACTERS
from branch_console.operations.argument import Argument
from branch_console.sql.place import Place

T = TypeVar("T")


class HintTokenizer(Spark.Tokenizer):
    """Spark's, but a hint is a token behind every other one, not only behind SELECT."""

    TOKENS_PRECEDING_HINT: ClassVar[set[TokenType]] = set(TokenType)


class _Tokenizer(HintTokenizer):
    """Without the words behind which Spark's would swallow the rest of the statement."""

    COMMANDS: ClassVar[set[TokenType]] = set()


def cut(text: str, tokenizer: Spark.Tokenizer, place_of: Callable[[int], Place]) -> list[Token]:
    """Return the words of a text.

    Args:
        text: The text.
        tokenizer: Cuts it.
        place_of: Tells where an offset of the text stands in what was given.

    Raises:
        InvalidInput: A quote or comment is not closed, a name with `$` stands without backticks,
            or a hint stands before the first word.
    """
    try:
        tokens = tokenizer.tokenize(text)
        before = text[: tokens[0].start] if tokens else text
        # Before the first token the tokenizer takes a hint for a comment.
        leading = tokenizer.tokenize(f"x {before}") if "/*+" in before else []
    except TokenError as error:
        match = _UNCUT.fullmatch(str(error.__cause__))
        if match is None:
            raise InvalidInput(
                "The text cannot be cut into words: a comment in it is not closed."
            ) from error
        what = (
            f"{match['mark']} is not closed" if match["mark"] else "a literal has wrong characters"
        )
        raise statement_error(
            place_of(int(match["start"])), f"the text cannot be cut into words: {what}"
        ) from error
    if any(token.token_type is TokenType.HINT for token in leading):
        raise InvalidInput("A hint stands before the statement. Write it behind SELECT or a table.")
    for number, token in enumerate(tokens):
        if token.token_type is TokenType.PARAMETER:
            _check_name_around(text, tokens, number, place_of)
    return tokens


def _check_name_around(
    text: str, tokens: Sequence[Token], number: int, place_of: Callable[[int], Place]
) -> None:
    """Refuse a `$` inside of a name without backticks, as of a branch, a tag or a system table."""
    first = number
    while first and tokens[first - 1].end + 1 == tokens[first].start:
        before = tokens[first - 1]
        is_dot = before.token_type is TokenType.DOT
        if not is_dot and _HALF.fullmatch(text, before.start, before.end + 1) is None:
            break
        first -= 1
    found = _NAME_WITH_MARK.match(text, tokens[first].start)
    if found is None or first == number:
        return  # no name, such as `$1`
    halves = [_quoted_where_marked(each) for each in _HALF.findall(found[0])]
    behind = [at for at, each in enumerate(tokens[:first]) if each.token_type is _END]
    if tokens[behind[-1] + 1 if behind else 0].text.upper() == "CALL":
        plain = ".".join(each.strip("`") for each in halves)
        way = f"an argument of CALL stands between quotes; write '{plain}'"
    else:
        way = f"a name with '$' stands between backticks; write {'.'.join(halves)}"
    raise statement_error(place_of(tokens[first].start), way)


def _quoted_where_marked(half: str) -> str:
    return quoted_name(half.replace("`", "")) if "$" in half else half


_HALF: Final = re.compile(r"(?:`(?:[^`]|``)*`|[\w$-])+")
_NAME_WITH_MARK: Final = re.compile(rf"{_HALF.pattern}(?:\.{_HALF.pattern})*")
_END: Final = TokenType.SEMICOLON
_UNCUT: Final = re.compile(r"(?:Missing (?P<mark>.+)|.*) from \d+:(?P<start>\d+)")
_OR: Final = re.compile(r", | or ")
_NAMES: Final = frozenset({TokenType.IDENTIFIER, TokenType.STRING})


class TokenReader:
    """A text as words, and how far they are taken.

    Attributes:
        text: The text.
        start: Its start in the given text.
        tokens: Its words.
        at: The number of the next word.
    """

    def __init__(self, text: str, start: Place | None = None) -> None:
        """Cut a text into words.

        Raises:
            InvalidInput: A quote is not closed, or the text is longer than what is read.
        """
        if len(text) > MOST_STATEMENTS_CHARACTERS:
            raise InvalidInput(
                f"The statements have {len(text):,} characters; {MOST_STATEMENTS_CHARACTERS:,} are "
                "the most at once."
            )
        self.text = text
        self.start = start or Place()
        self.at = 0
        self.tokens: list[Token] = cut(
            text, _Tokenizer(dialect=Spark), lambda offset: self.start.behind(text[:offset])
        )

    def value(self) -> Argument:
        """Take a literal: a text, a whole number, true, false or null."""
        kind = self.kind()
        if kind is TokenType.STRING:
            return self.next().text
        if kind in (TokenType.TRUE, TokenType.FALSE):
            return self.next().token_type is TokenType.TRUE
        if kind is TokenType.NULL:
            self.at += 1
            return None
        return self.number()

    def number(self) -> int:
        """Take a whole number."""
        if self.kind() is TokenType.NUMBER and self.tokens[self.at].text.isdigit():
            return int(self.next().text)
        raise self.unexpected("a whole number")

    def name(self, what: str) -> str:
        """Take a name, quoted or not; `what` says which is wanted."""
        if self.at < len(self.tokens):
            token = self.tokens[self.at]
            is_word = token.text.replace("_", "").replace("-", "").isalnum()
            if token.token_type in _NAMES or is_word:
                return self.next().text + self._rest_of_name()
        raise self.unexpected(what)

    def _rest_of_name(self) -> str:
        """Return the parts that hyphens tie to a name, as in `fix-delays`."""
        rest = ""
        while self.kind() is TokenType.DASH and self._is_tied():
            rest += self.next().text
            rest += self.next().text
        return rest

    def _is_tied(self) -> bool:
        if self.at + 1 >= len(self.tokens):
            return False
        before, dash, behind = self.tokens[self.at - 1 : self.at + 2]
        return before.end + 1 == dash.start and dash.end + 1 == behind.start

    def stands(self, words: str) -> bool:
        """Whether such words come next, unquoted."""
        return self._length_of(words) > 0

    def takes(self, words: str) -> bool:
        """Take such words where they come next."""
        length = self._length_of(words)
        self.at += length
        return length > 0

    def _length_of(self, words: str) -> int:
        """How many tokens such words are, 0 if others come: some tokens are two words."""
        wanted, at = words.split(), self.at
        while wanted and at < len(self.tokens):
            token = self.tokens[at]
            found = [] if token.token_type in _NAMES else token.text.upper().split()
            if not found or wanted[: len(found)] != found:
                return 0
            wanted, at = wanted[len(found) :], at + 1
        return 0 if wanted else at - self.at

    def expect(self, words: str) -> None:
        """Take such words."""
        if not self.takes(words):
            raise self.unexpected(words)

    def takes_kind(self, kind: TokenType) -> bool:
        """Take a word of a kind where it comes next."""
        if self.kind() is not kind:
            return False
        self.at += 1
        return True

    def expect_kind(self, kind: TokenType, shown: str) -> None:
        """Take a word of a kind."""
        if not self.takes_kind(kind):
            raise self.unexpected(shown)

    def kind(self) -> TokenType | None:
        """The kind of the next word, None at the end."""
        return self.tokens[self.at].token_type if self.at < len(self.tokens) else None

    def next(self) -> Token:
        """Take the next word."""
        self.at += 1
        return self.tokens[self.at - 1]

    def between(self, start: int) -> str:
        """The text from a word up to the last one taken."""
        return self.text[self.tokens[start].start : self.tokens[self.at - 1].end + 1]

    def unexpected(self, wanted: str) -> InvalidInput:
        """The error that another word stands here than is wanted."""
        is_there = self.at < len(self.tokens)
        following = self.tokens[self.at : self.at + 3]
        hint = next((each for each in following if each.token_type is TokenType.HINT), None)
        if hint is not None:
            what = f"the hint {hint.text} is not honoured there"
            return statement_error(
                self.start.behind(self.text[: hint.start]), what, ErrorKind.UNSUPPORTED
            )
        if is_there:
            word = self.tokens[self.at].text.upper()
            behind = [
                each.removeprefix(f"{word} ")
                for each in _OR.split(wanted)
                if each.startswith(f"{word} ")
            ]
            # The word itself can stand there; what is wrong is the one behind it.
            if behind and self.tokens[self.at].token_type not in _NAMES:
                self.at += 1
                return self.error(f"found {self._found()} after {word}; expected {_or(behind)}")
        return self.error(f"found {self._found()}; expected {wanted}")

    def _found(self) -> str:
        return repr(self.tokens[self.at].text) if self.at < len(self.tokens) else "the end"

    def expect_end(self) -> None:
        """Raise InvalidInput if words are left."""
        if self.at < len(self.tokens):
            raise self.unexpected("the end of the statement")

    def error(self, what: str, *, back: int = 0) -> InvalidInput:
        """An error at the next word, or so many before it."""
        return statement_error(self.place(self.at - back), what)

    def place(self, number: int) -> Place:
        """Return the place of a word."""
        is_there = number < len(self.tokens)
        return self.start.behind(self.text[: self.tokens[number].start] if is_there else self.text)

    def listed(self, read: Callable[[], T]) -> list[T]:
        """Take what stands between parentheses, with commas between."""
        found: list[T] = []
        self.expect_kind(TokenType.L_PAREN, "'('")
        while not found or not self.takes_kind(TokenType.R_PAREN):
            if found:
                self.expect_kind(TokenType.COMMA, "','")
            found.append(read())
        return found

    def options(self) -> Mapping[str, str]:
        """Take options between parentheses: `('key' = 'value', …)`, each key once."""
        found: dict[str, str] = {}

        def take() -> None:
            key = self.key()
            if key in found:
                raise self.error(f"the option {key!r} is given twice", back=1)
            self.takes_kind(TokenType.EQ)
            if self.kind() in (TokenType.COMMA, TokenType.R_PAREN, None):
                raise self.unexpected(f"a value of the option {key!r}")
            value = self.value()
            if value is None:
                raise self.error("an option has a value, which is not null", back=1)
            # Numbers and booleans are options too; Paimon keeps the text.
            found[key] = str(value).lower() if isinstance(value, bool) else str(value)

        self.listed(take)
        return MappingProxyType(found)

    def key(self) -> str:
        """Take the key of an option, quoted or not."""
        if self.kind() is TokenType.STRING:
            return self.next().text
        key = self.name("an option")
        while self.takes_kind(TokenType.DOT):
            key += f".{self.name('an option')}"
        return key

    def to_end_of_statement(self) -> str:
        """Take all words up to the next semicolon, and return their text."""
        start = self.at
        while self.at < len(self.tokens) and self.kind() is not TokenType.SEMICOLON:
            self.at += 1
        return self.between(start)


def _or(words: list[str]) -> str:
    *first, last = dict.fromkeys(words)
    return f"{', '.join(first)} or {last}" if first else last


def statement_error(
    place: Place, what: str, kind: ErrorKind = ErrorKind.INVALID_ARGUMENT
) -> InvalidInput:
    """Return an error of a statement, with its place."""
    return InvalidInput(f"{place}: {what}.", kind=kind)


def quoted_name(name: str) -> str:
    """Return a name as an identifier, whatever is in it."""
    return f"`{name.replace('`', '``')}`"


def written_name(name: str) -> str:
    """Return a name as a statement has it: in backquotes unless it is a plain word.

    A word of Spark's is no plain one, also where a statement could be read with it bare.
    """
    is_plain = name.isidentifier() and _is_no_keyword(name)
    return name if is_plain else quoted_name(name)


def _is_no_keyword(word: str) -> bool:
    return [each.token_type for each in Spark.Tokenizer().tokenize(word)] == [TokenType.VAR]
