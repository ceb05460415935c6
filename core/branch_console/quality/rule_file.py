"""The rules of a table as a file that people keep: read part by part, each error with its line.

Such as:

    table: sales.orders
    rules:
      - {id: key, rule: not_null, columns: [order_id], severity: block}
      - {id: amount, rule: in_range, column: amount, min: 0, max: 100000, min_pass_rate: 0.999,
         where: "state <> 'test'"}
      - {id: stock, rule: sql, query: "SELECT * FROM {table} WHERE stock < 0", severity: info}
"""

import hashlib
import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from types import MappingProxyType
from typing import ClassVar, Final

from branch_console.errors import ErrorKind
from branch_console.format.yaml_part import YamlPart
from branch_console.quality.rules import QualityRule, RuleKind, RuleSet, Severity

TABLE_IN_QUERY: Final = "{table}"
"""The name of the table in the query of a rule."""

_COMMON: Final = ("id", "rule", "severity", "strict")
_OF_ROWS: Final = ("where", "min_pass_rate")
_OF_KIND: Final[Mapping[RuleKind, tuple[str, ...]]] = MappingProxyType(
    {
        RuleKind.NOT_NULL: ("columns", *_OF_ROWS),
        RuleKind.UNIQUE: ("columns", *_OF_ROWS),
        RuleKind.IN_RANGE: ("column", "min", "max", "strict_min", "strict_max", *_OF_ROWS),
        RuleKind.IN_SET: ("column", "values", *_OF_ROWS),
        RuleKind.MATCHES: ("column", "pattern", *_OF_ROWS),
        RuleKind.ROW_COUNT_BETWEEN: ("min", "max", "where"),
        RuleKind.FRESHNESS: ("column", "max_age"),
        RuleKind.SQL: ("query",),
    }
)
# What a rule cannot do without.
_NEEDED: Final[Mapping[RuleKind, tuple[str, ...]]] = MappingProxyType(
    {
        RuleKind.NOT_NULL: ("columns",),
        RuleKind.UNIQUE: ("columns",),
        RuleKind.IN_RANGE: ("column",),
        RuleKind.IN_SET: ("column", "values"),
        RuleKind.MATCHES: ("column", "pattern"),
        RuleKind.ROW_COUNT_BETWEEN: (),
        RuleKind.FRESHNESS: ("max_age",),
        RuleKind.SQL: ("query",),
    }
)
_NOT_SERVED: Final = frozenset({"foreign_key"})
_SPAN: Final = re.compile(r"(\d{1,6})\s*([smhd])")
_MILLIS: Final[Mapping[str, int]] = MappingProxyType(
    {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
)


def rule_path(root: str, table: str) -> str:
    """Return where the rules of a table are.

    Args:
        root: The root of the warehouse.
        table: Database and name with a dot between.
    """
    return f"{root}/.branch-console/quality/{table}.yaml"


def parse_rules(text: str, table: str) -> RuleSet:
    """Read a rule file.

    Args:
        text: The text of the file.
        table: The table that it is kept for, without a branch.

    Raises:
        InvalidInput: Something in it is not known or not served; the message names line and field.
    """
    root = _Part.parse(text)
    rules: list[QualityRule] = []
    if root is not None:
        fields = root.fields("table", "rules", "drift")
        named = root.get(fields, "table")
        if named.text() != table:
            raise named.error(f"is {named.text()!r}, and the file is kept for {table!r}")
        if "drift" in fields:
            raise fields["drift"].error(
                "is not judged by rules here yet; leave it out", kind=ErrorKind.UNSUPPORTED
            )
        for part in root.get(fields, "rules").parts():
            rule = _rule(part)
            if any(rule.id == each.id for each in rules):
                raise part.error(f"has the id {rule.id!r} of another rule")
            rules.append(rule)
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return RuleSet(table=table, digest=digest, rules=tuple(rules))


class _Part(YamlPart):
    """A part of a rule file."""

    what: ClassVar[str] = "the rule file"

    def some_text(self) -> str:
        """A text that is not blank."""
        if not self.text().strip():
            raise self.error("is blank")
        return self.text()

    def names(self) -> tuple[str, ...]:
        """Names of columns, each once."""
        found = tuple(each.some_text() for each in self.parts())
        if not found or len(set(found)) < len(found):
            raise self.error("should name columns, each once")
        return found

    def values(self) -> tuple[str, ...]:
        """Values, of which there is one at least."""
        found = tuple(each.text() for each in self.parts())
        if not found:
            raise self.error("should list values")
        return found

    def rate(self) -> Decimal:
        """A share from 0 to 1."""
        try:
            found = Decimal(self.text())
        except InvalidOperation:
            found = Decimal(-1)
        if not (found.is_finite() and 0 <= found <= 1):
            raise self.error("should be a share from 0 to 1, such as 0.999")
        return found

    def find_number(self) -> Decimal | None:
        """A number that is written as one; a text in quotes is compared as its column is."""
        if not self.is_plain:
            return None
        try:
            found = Decimal(self.text())
        except InvalidOperation:  # such as a date
            return None
        return found if found.is_finite() else None

    def row_count(self) -> str:
        """A number of rows."""
        if not (self.text().isascii() and self.text().isdecimal()):
            raise self.error("should be a number of rows")
        return self.text()

    def span_millis(self) -> int:
        """A span of time."""
        found = _SPAN.fullmatch(self.text().strip())
        if found is None:
            raise self.error("should be a span of time, such as 90m, 24h or 7d")
        return int(found[1]) * _MILLIS[found[2]]


def _rule(part: _Part) -> QualityRule:
    kinds = dict(part.items()).get("rule")
    if kinds is None:
        raise part.error("has no 'rule'")
    if kinds.text() in _NOT_SERVED:
        raise kinds.error(
            f"is {kinds.text()!r}, which is not served yet; leave the rule out",
            kind=ErrorKind.UNSUPPORTED,
        )
    kind = kinds.one_of(RuleKind)
    fields = part.fields(*_COMMON, *_OF_KIND[kind])
    for name in _NEEDED[kind]:
        part.get(fields, name)
    low, high = _bounds(part, kind, fields)
    query = fields["query"].some_text() if "query" in fields else None
    if query is not None and TABLE_IN_QUERY not in query:
        raise fields["query"].error(f"should read {TABLE_IN_QUERY}")
    return QualityRule(
        id=part.get(fields, "id").some_text(),
        kind=kind,
        line=part.line,
        severity=fields["severity"].one_of(Severity) if "severity" in fields else Severity.WARN,
        columns=_columns(fields),
        where=fields["where"].some_text() if "where" in fields else None,
        min_pass_rate=fields["min_pass_rate"].rate() if "min_pass_rate" in fields else Decimal(1),
        strict=_is_set(fields, "strict"),
        low=low,
        high=high,
        excludes_low=_is_set(fields, "strict_min"),
        excludes_high=_is_set(fields, "strict_max"),
        values=fields["values"].values() if "values" in fields else (),
        pattern=fields["pattern"].text() if "pattern" in fields else None,
        max_age_millis=fields["max_age"].span_millis() if "max_age" in fields else 0,
        query=query,
    )


def _bounds(
    part: _Part, kind: RuleKind, fields: Mapping[str, _Part]
) -> tuple[str | None, str | None]:
    counts = kind is RuleKind.ROW_COUNT_BETWEEN
    low, high = (
        (fields[name].row_count() if counts else fields[name].text()) if name in fields else None
        for name in ("min", "max")
    )
    if low is None and high is None and kind in (RuleKind.IN_RANGE, RuleKind.ROW_COUNT_BETWEEN):
        raise part.error("has neither 'min' nor 'max'")
    ends = tuple(fields[name].find_number() if name in fields else None for name in ("min", "max"))
    if ends[0] is not None and ends[1] is not None and ends[0] > ends[1]:
        raise fields["min"].error("is above 'max'")
    return low, high


def _columns(fields: Mapping[str, _Part]) -> tuple[str, ...]:
    if "columns" in fields:
        return fields["columns"].names()
    return (fields["column"].some_text(),) if "column" in fields else ()


def _is_set(fields: Mapping[str, _Part], name: str) -> bool:
    return name in fields and fields[name].flag()
