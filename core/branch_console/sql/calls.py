"""The functions that a statement calls, looked up among those that are judged.

Every word before a bracket counts as a call unless it is a word of the grammar or a name with
columns: what is read wrongly here is refused, and never run unseen.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from sqlglot import Token, TokenType, exp

from branch_console.format.near_names import nearest_names
from branch_console.sql.functions import (
    ACCOUNT_NAMES,
    FUNCTIONS,
    OPTIONS,
    REFUSED_FUNCTIONS,
    REFUSED_OPTIONS,
    TABLE_FUNCTIONS,
)

_WORD: Final = re.compile(r"(?:.*\s)?([^\W\d]\w*)", re.DOTALL)
# Words of the grammar, and types, that may stand before a bracket.
_GRAMMAR: Final = frozenset(
    {
        "aggregate", "all", "any", "anti", "array", "as", "both", "by", "case", "character",
        "cross", "cube", "dec", "distinct", "else", "escape", "except", "exists", "extend",
        "following", "for", "from", "full", "group", "having", "ignore", "inner", "intersect",
        "interval", "into", "is", "join", "lateral", "leading", "limit", "minus", "natural", "not",
        "nulls", "numeric", "offset", "on", "or", "outer", "over", "partition", "percent", "pivot",
        "placing", "preceding", "qualify", "recursive", "rename", "repeatable", "respect", "rollup",
        "row", "rows", "sample", "select", "semi", "set", "sets", "some", "table", "tablesample",
        "then", "timestamp_ltz", "timestamp_ntz", "to", "trailing", "union", "unpivot", "using",
        "values", "varchar", "varying", "view", "where", "window", "with", "within",
    }
)  # fmt: skip
_KNOWN: Final = FUNCTIONS | TABLE_FUNCTIONS
_BARE_ACCOUNT_NAMES: Final = ACCOUNT_NAMES - {"user"}
_NAMESPACES: Final = (("builtin",), ("system", "builtin"))


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedCall:
    """A call that is not run.

    Attributes:
        offset: Its offset in the text.
        reason: Why, to follow the place.
    """

    offset: int
    reason: str


def refusal_of(name: str) -> str | None:
    """Return why a function is not run, None if it may be."""
    lower = name.lower()
    if lower in REFUSED_FUNCTIONS:
        return f"{lower} {REFUSED_FUNCTIONS[lower]}, so it is not run here"
    if lower in _KNOWN:
        return None
    near = nearest_names(lower, _KNOWN, most=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    return f"{lower} is not among the functions that are run here{hint}"


def find_refused_call(tokens: Sequence[Token], tree: exp.Expr) -> RefusedCall | None:
    """Return the first call of a statement that is not run, None if all are.

    Args:
        tokens: The words of the statement.
        tree: The parsed query.
    """
    found = [*_refused_words(tokens, _names_with_columns(tree)), *_refused_in(tree)]
    return min(found, key=lambda call: call.offset, default=None)


def _refused_words(tokens: Sequence[Token], named: frozenset[int]) -> Iterator[RefusedCall]:
    for number, (token, following) in enumerate(pairwise(tokens)):
        if following.token_type is not TokenType.L_PAREN or token.start in named:
            continue
        is_quoted = token.token_type is TokenType.IDENTIFIER
        word = _WORD.fullmatch(token.text)
        if is_quoted:
            name = token.text.lower()
        elif word is not None and token.token_type is not TokenType.STRING:
            name = word[1].lower()
        else:
            continue  # a sign, a number or a text, which call nothing
        qualifier = _qualifier(tokens[:number])
        if qualifier and qualifier not in _NAMESPACES:
            reason = f"{'.'.join((*qualifier, name))} is no function of Spark itself"
            yield RefusedCall(offset=token.start, reason=f"{reason}, so it is not run here")
        elif is_quoted or qualifier or name not in _GRAMMAR:
            refusal = refusal_of(name)
            if refusal is not None:
                yield RefusedCall(offset=token.start, reason=refusal)
    for number, token in enumerate(tokens):
        # A column of the name is written with its table; Spark judges `user`, a common one.
        is_bare = not number or tokens[number - 1].token_type is not TokenType.DOT
        refusal = refusal_of(token.text) if token.text.lower() in _BARE_ACCOUNT_NAMES else None
        if is_bare and refusal is not None:
            yield RefusedCall(offset=token.start, reason=refusal)


def _qualifier(before: Sequence[Token]) -> tuple[str, ...]:
    """The names with dots that stand before a word."""
    found: list[str] = []
    while len(before) >= 2 and before[-1].token_type is TokenType.DOT:
        found.insert(0, before[-2].text.lower())
        before = before[:-2]
    return tuple(found)


def _names_with_columns(tree: exp.Expr) -> frozenset[int]:
    """Return positions of names before a list of columns: `AS t(a, b)`, `WITH t (a, b) AS`."""
    named = (alias.this for alias in tree.find_all(exp.TableAlias) if alias.args.get("columns"))
    return frozenset(name.meta["start"] for name in named if name is not None and name.meta)


def _refused_in(tree: exp.Expr) -> Iterator[RefusedCall]:
    for call in tree.find_all(exp.Anonymous):
        at = int(call.meta.get("start", 0))
        known = OPTIONS.get(call.name.lower())
        if known is not None:
            position, keys = known
            for number, given in enumerate(call.expressions):
                if number >= position or isinstance(given, exp.Kwarg | exp.PropertyEQ):
                    yield from _refused_options(call.name.lower(), given, keys, at)


def _refused_options(
    function: str, given: exp.Expr, known: frozenset[str], at: int
) -> Iterator[RefusedCall]:
    options = given.expression if isinstance(given, exp.Kwarg | exp.PropertyEQ) else given
    is_map = isinstance(options, exp.Anonymous) and options.name.lower() == "map"
    written = options.expressions if is_map else [options]
    if not is_map or not all(isinstance(each, exp.Literal) for each in written):
        reason = f"the options of {function} are written as map('name', 'value', …), plain texts"
        yield RefusedCall(offset=at, reason=reason)
        return
    for key in written[::2]:
        name = str(key.this)
        if name.lower() in REFUSED_OPTIONS:
            reason = f"{REFUSED_OPTIONS[name.lower()]}, so it is not set here"
            yield RefusedCall(offset=at, reason=f"the option {name!r} of {function} {reason}")
        elif name.lower() not in known:
            reason = f"{function} has no option {name!r} that may be set here"
            yield RefusedCall(offset=at, reason=reason)
