"""Conditions of policies, such as `dt < '2026-11-01' and ours.delay is null`, over Arrow columns.

Names are columns of the primary key, or columns of a side: `base.x`, `ours.x`, `theirs.x`. The
grammar is small on purpose: comparisons, `in`, `is null`, `and`, `or`, `not` and brackets are what
settles conflicts, and a reader of a receipt can check it by eye.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Final, TypeAlias, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.errors import InvalidInput
from branch_console.format.bounds import MOST_BRACKETS, MOST_CONDITION_CHARACTERS
from branch_console.format.values.fine_times import scalar_of

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<number>-?\d+(?:\.\d+)?)|(?P<quoted>`[^`]+`)"
    r"|(?P<word>[^\W\d]\w*)|(?P<sign><=|>=|<>|!=|[=<>(),.]))"
)
_COMPARE: Final[Mapping[str, Callable[..., pa.Array]]] = MappingProxyType(
    {
        "=": pc.equal,
        "!=": pc.not_equal,
        "<>": pc.not_equal,
        "<": pc.less,
        "<=": pc.less_equal,
        ">": pc.greater,
        ">=": pc.greater_equal,
    }
)
# Of a decimal of 38 digits, with sign and point, and some zeros; Python's own bound is 4,300.
_MOST_DIGITS: Final = 100
_MOST_WHOLE: Final = 1 << 63
_SHOWN: Final = 200
_SIDES: Final = frozenset({"base", "ours", "theirs"})
_WORDS: Final = frozenset({"and", "or", "not", "in", "is", "null", "true", "false"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A column of a side, or where `side` is None of the primary key."""

    side: str | None
    column: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal:
    """A text, a number or a truth value."""

    value: str | int | Decimal | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare:
    """Two operands with a sign between them."""

    sign: str
    left: "Operand"
    right: "Operand"


@dataclass(frozen=True, slots=True, kw_only=True)
class IsNull:
    """Whether an operand has no value."""

    operand: "Operand"


@dataclass(frozen=True, slots=True, kw_only=True)
class IsIn:
    """Whether an operand is one of several values."""

    operand: "Operand"
    values: tuple[Literal, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Not:
    """The opposite of a condition."""

    condition: "Condition"


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """Conditions of which all hold (`and`), or one (`or`)."""

    word: str
    conditions: tuple["Condition", ...]


Operand: TypeAlias = Name | Literal
Condition: TypeAlias = Compare | IsNull | IsIn | Not | Join


def parse_condition(text: str) -> Condition:
    """Read a condition.

    Raises:
        InvalidInput: It is none; the message says from where on.
    """
    return _Parser(text).parse()


def names_in(condition: Condition) -> frozenset[Name]:
    """The columns that a condition speaks of."""
    match condition:
        case Compare(left=left, right=right):
            return frozenset(each for each in (left, right) if isinstance(each, Name))
        case IsNull(operand=operand) | IsIn(operand=operand):
            return frozenset({operand} if isinstance(operand, Name) else ())
        case Not(condition=inner):
            return names_in(inner)
        case Join(conditions=conditions):
            return frozenset().union(*(names_in(each) for each in conditions))
        case _:
            assert_never(condition)


def holds(condition: Condition, column_of: Callable[[Name], pa.Array]) -> pa.Array:
    """Return the truth of a condition by row; null if a value that decides is missing.

    Raises:
        InvalidInput: A value is compared with a column of another kind.
    """
    try:
        return _evaluate(condition, column_of)
    except (pa.ArrowException, TypeError) as error:
        said = str(error).splitlines()[0]
        raise InvalidInput(f"A condition compares what cannot be compared: {said}.") from error


def _evaluate(condition: Condition, column_of: Callable[[Name], pa.Array]) -> pa.Array:
    match condition:
        case Compare(sign=sign, left=left, right=right):
            return _COMPARE[sign](*_operands(left, right, column_of))
        case IsNull(operand=operand):
            found = pc.is_null(_column(operand, column_of))
        case IsIn(operand=operand, values=values):
            column = _column(operand, column_of)
            wanted = [_scalar(value, column.type).cast(column.type) for value in values]
            value_set = pa.array(wanted, column.type)
            inside = pc.is_in(_one_zero(column), value_set=_one_zero(value_set))
            found = pc.if_else(pc.is_valid(column), inside, pa.scalar(None, pa.bool_()))
        case Not(condition=inner):
            found = pc.invert(_evaluate(inner, column_of))
        case Join(word=word, conditions=conditions):
            join = pc.and_kleene if word == "and" else pc.or_kleene
            found = _evaluate(conditions[0], column_of)
            for each in conditions[1:]:
                found = join(found, _evaluate(each, column_of))
        case _:
            assert_never(condition)
    return found


def _operands(
    left: Operand, right: Operand, column_of: Callable[[Name], pa.Array]
) -> tuple[pa.Array, pa.Array]:
    if isinstance(left, Name):
        first = column_of(left)
        second = column_of(right) if isinstance(right, Name) else _scalar(right, first.type)
        return first, second
    second = _column(right, column_of)
    return _scalar(left, second.type), second


def _column(operand: Operand, column_of: Callable[[Name], pa.Array]) -> pa.Array:
    if isinstance(operand, Name):
        return column_of(operand)
    raise InvalidInput(f"{operand.value!r} is compared with no column. Name one.")


def _scalar(literal: Literal, kind: pa.DataType) -> pa.Scalar:
    value = literal.value
    if isinstance(value, str):
        return scalar_of(value, kind)
    if isinstance(value, Decimal) and not pa.types.is_decimal(kind):
        return pa.scalar(float(value))
    if not -_MOST_WHOLE <= value < _MOST_WHOLE:
        if not pa.types.is_decimal(kind):
            raise InvalidInput(
                f"A condition compares a column of {kind} with {value}, which is beyond 64 bits. "
                "Write a number that the column can hold."
            )
        return pa.scalar(Decimal(value))
    return pa.scalar(value)


def _one_zero(column: pa.Array) -> pa.Array:
    # Arrow looks values up by their bits, in which minus zero and zero differ; they add up to zero.
    return pc.add(column, 0.0) if pa.types.is_floating(column.type) else column


class _Parser:
    """Reads a condition from left to right; `or` binds least, then `and`, then `not`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, str, int]] = []
        self._level = 0
        if len(text) > MOST_CONDITION_CHARACTERS:
            raise InvalidInput(
                f"A condition has {len(text):,} characters; {MOST_CONDITION_CHARACTERS:,} are the "
                "most. Name ranges rather than single values."
            )
        at, end = 0, len(text.rstrip())
        while at < end:
            found = _TOKEN.match(text, at)
            if found is None:
                raise self._error(at)
            group = found.lastgroup or ""
            kind, token = group, found[group]
            if kind == "word" and token.lower() in _WORDS:
                kind, token = "keyword", token.lower()
            self._tokens.append((kind, token, found.start(group)))
            at = found.end()
        self._next = 0

    def parse(self) -> Condition:
        condition = self._any_of()
        if self._next < len(self._tokens):
            raise self._error(self._tokens[self._next][2])
        return condition

    def _any_of(self) -> Condition:
        return self._joined("or", self._all_of)

    def _all_of(self) -> Condition:
        return self._joined("and", self._negated)

    def _joined(self, word: str, part: Callable[[], Condition]) -> Condition:
        conditions = [part()]
        while self._takes("keyword", word):
            conditions.append(part())
        return (
            conditions[0] if len(conditions) == 1 else Join(word=word, conditions=tuple(conditions))
        )

    def _negated(self) -> Condition:
        if self._takes("keyword", "not"):
            with self._deeper():
                return Not(condition=self._negated())
        if self._takes("sign", "("):
            with self._deeper():
                inner = self._any_of()
            self._expect("sign", ")")
            return inner
        return self._compared()

    @contextmanager
    def _deeper(self) -> Iterator[None]:
        """Read what lies within brackets, or behind `not`; each level costs levels of the stack."""
        self._level += 1
        if self._level > MOST_BRACKETS:
            raise InvalidInput(
                f"A condition of {len(self._text):,} characters has more than {MOST_BRACKETS} "
                "levels of brackets and 'not'. Write it flatter."
            )
        yield
        self._level -= 1

    def _compared(self) -> Condition:
        left = self._operand()
        if self._takes("keyword", "is"):
            is_negated = self._takes("keyword", "not")
            self._expect("keyword", "null")
            return Not(condition=IsNull(operand=left)) if is_negated else IsNull(operand=left)
        is_negated = self._takes("keyword", "not")
        if is_negated or self._peek() == ("keyword", "in"):
            self._expect("keyword", "in")
            found = IsIn(operand=left, values=self._values())
            return Not(condition=found) if is_negated else found
        kind, sign, at = self._take()
        if kind != "sign" or sign not in _COMPARE:
            raise self._error(at)
        return Compare(sign=sign, left=left, right=self._operand())

    def _values(self) -> tuple[Literal, ...]:
        self._expect("sign", "(")
        values = [self._literal()]
        while self._takes("sign", ","):
            values.append(self._literal())
        self._expect("sign", ")")
        return tuple(values)

    def _operand(self) -> Operand:
        kind, token, _ = self._token()
        if kind not in {"word", "quoted"}:
            return self._literal()
        self._next += 1
        first = token.strip("`")
        if not self._takes("sign", "."):
            return Name(side=None, column=first)
        kind, token, at = self._take()
        if kind not in {"word", "quoted"} or first not in _SIDES:
            raise self._error(at)
        return Name(side=first, column=token.strip("`"))

    def _literal(self) -> Literal:
        kind, token, at = self._take()
        match kind, token:
            case "text", _:
                return Literal(value=token[1:-1].replace("''", "'"))
            case "number", _ if len(token) > _MOST_DIGITS:
                raise self._error(at)
            case "number", _:
                return Literal(value=Decimal(token) if "." in token else int(token))
            case "keyword", "true" | "false":
                return Literal(value=token == "true")
            case _:
                raise self._error(at)

    def _token(self) -> tuple[str, str, int]:
        if self._next >= len(self._tokens):
            raise self._error(len(self._text))
        return self._tokens[self._next]

    def _take(self) -> tuple[str, str, int]:
        token = self._token()
        self._next += 1
        return token

    def _peek(self) -> tuple[str, str] | None:
        return self._tokens[self._next][:2] if self._next < len(self._tokens) else None

    def _takes(self, kind: str, token: str) -> bool:
        found = self._peek() == (kind, token)
        self._next += found
        return found

    def _expect(self, kind: str, token: str) -> None:
        _, _, at = self._token()
        if not self._takes(kind, token):
            raise self._error(at)

    def _error(self, at: int) -> InvalidInput:
        rest = _short(self._text[at:].strip())
        what = f"cannot be read from {rest!r} on" if rest else "ends too early"
        return InvalidInput(
            f"The condition {_short(self._text)!r} {what}. Write it as "
            "dt < '2026-11-01' and ours.x is not null.",
            condition=self._text,
        )


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
