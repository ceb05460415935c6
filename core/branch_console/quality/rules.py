"""Rules for the rows of a table, and whether the counted rows satisfy them."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Final

from branch_console.diff.history_move import count

MOST_EXAMPLES: Final = 20
MOST_PARTITIONS: Final = 20
"""Failing rows that are kept of a rule."""

_MILLIS_AN_HOUR: Final = 3_600_000


class RuleKind(StrEnum):
    """The scopes of a rule."""

    NOT_NULL = "not_null"
    UNIQUE = "unique"
    IN_RANGE = "in_range"
    IN_SET = "in_set"
    MATCHES = "matches"
    ROW_COUNT_BETWEEN = "row_count_between"
    FRESHNESS = "freshness"
    SQL = "sql"


class Severity(StrEnum):
    """The effects of a failed rule on a merge: it blocks, warns, or is only listed."""

    BLOCK = "block"
    WARN = "warn"
    INFO = "info"


class Outcome(StrEnum):
    """How a rule ended on one state."""

    PASSES = "passes"
    FAILS = "fails"
    NOT_EVALUATED = "not evaluated"


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityRule:
    """One rule; fields that its kind does not use are empty.

    NULL passes every rule but `not_null`. A row fails a `unique` rule if another row has the same
    values.

    Attributes:
        line: The line of the rule in its file.
        columns: The columns that it checks; for `freshness` perhaps none, for the last commit.
        where: Only rows for which this holds count; Spark SQL.
        min_pass_rate: The share of these rows that must pass.
        strict: Whether it blocks even if it failed before.
        low: `min` as written: a value of the column, or a number of rows.
        high: `max`, likewise.
        excludes_low: Whether `min` itself fails.
        excludes_high: Whether `max` itself fails.
        values: The allowed values, as written.
        pattern: A regular expression of Java that is found in a value.
        max_age_millis: How old the newest value, or the last commit, may be.
        query: One SELECT over `{table}`, which passes without a row.
    """

    id: str
    kind: RuleKind
    line: int = 1
    severity: Severity = Severity.WARN
    columns: tuple[str, ...] = ()
    where: str | None = None
    min_pass_rate: Decimal = Decimal(1)
    strict: bool = False
    low: str | None = None
    high: str | None = None
    excludes_low: bool = False
    excludes_high: bool = False
    values: tuple[str, ...] = ()
    pattern: str | None = None
    max_age_millis: int = 0
    query: str | None = None

    @property
    def text(self) -> str:
        """The requirement, in a few words."""
        names = ", ".join(self.columns)
        match self.kind:
            case RuleKind.NOT_NULL:
                asked = f"{names} not null"
            case RuleKind.UNIQUE:
                asked = f"{names} unique"
            case RuleKind.IN_RANGE:
                asked = f"{names} {self._bounds}"
            case RuleKind.IN_SET:
                asked = f"{names} one of {', '.join(self.values)}"
            case RuleKind.MATCHES:
                asked = f"{names} matches {self.pattern}"
            case RuleKind.ROW_COUNT_BETWEEN:
                asked = f"number of rows {self._bounds}"
            case RuleKind.FRESHNESS:
                hours = hours_text(self.max_age_millis)
                asked = f"{names or 'last commit'} at most {hours} old"
            case RuleKind.SQL:
                asked = f"no row in {self.query}"
        where = f" where {self.where}" if self.where else ""
        rate = "" if self.min_pass_rate == 1 else f" in at least {self.min_pass_rate:%} of the rows"
        return f"{asked}{where}{rate}"

    @property
    def _bounds(self) -> str:
        over = None if self.low is None else f"{'>' if self.excludes_low else '>='} {self.low}"
        under = None if self.high is None else f"{'<' if self.excludes_high else '<='} {self.high}"
        return " and ".join(each for each in (over, under) if each)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet:
    """The rules of one table; `digest` tells one file from another."""

    table: str
    digest: str
    rules: tuple[QualityRule, ...]

    @property
    def depends_on_time(self) -> bool:
        """Whether a rule may find something else later, although nothing was committed since."""
        kinds = (RuleKind.FRESHNESS, RuleKind.SQL)
        # Conditions that people write may ask for the time, too.
        return any(each.kind in kinds or each.where is not None for each in self.rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFailures:
    """How many rows of one partition fail a rule, and how many did before."""

    partition: str
    failures: int
    failures_before: int

    @property
    def words(self) -> str:
        """Both numbers as people read them: `27,004 in month=2013-01, 155 before`."""
        return f"{self.failures:,} in {self.partition}, {self.failures_before:,} before"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleResult:
    """The counts of a rule in one state.

    Attributes:
        rule_id: The rule.
        rows: Rows that it looks at; of `sql` all that its query gives.
        failures: The number of these rows that fail.
        age_millis: How old the newest value that is not in the future, or the last commit, is; None
            if there is none.
        future: Rows whose value lies in the future, so that it tells nothing of how old they are.
        problem: Why nothing was found, in a sentence; None if it was evaluated.
        examples: Some of the rows that fail, each a JSON object of texts by column.
        shows_new: Whether the examples are of the rows that fail and did not before, and of no
            others.
        partitions: Those in which more rows fail than before, the largest growth first; none where
            no more rows fail in all.
    """

    rule_id: str
    rows: int = 0
    failures: int = 0
    age_millis: int | None = None
    future: int = 0
    problem: str | None = None
    examples: tuple[str, ...] = ()
    shows_new: bool = False
    partitions: tuple[PartitionFailures, ...] = ()


def outcome(rule: QualityRule, found: RuleResult) -> Outcome:
    """Decide whether what was found of a rule is good enough."""
    if found.problem is not None:
        return Outcome.NOT_EVALUATED
    match rule.kind:
        case RuleKind.ROW_COUNT_BETWEEN:
            low, high = (None if each is None else int(each) for each in (rule.low, rule.high))
            is_good = (low is None or found.rows >= low) and (high is None or found.rows <= high)
        case RuleKind.FRESHNESS:
            is_good = found.age_millis is not None and found.age_millis <= rule.max_age_millis
        case _:
            is_good = found.failures <= (1 - rule.min_pass_rate) * found.rows
    return Outcome.PASSES if is_good else Outcome.FAILS


def result_text(rule: QualityRule, found: RuleResult) -> str:
    """Tell what was found of a rule, in a few words."""
    if found.problem is not None:
        return f"not evaluated: {found.problem}"
    match rule.kind:
        case RuleKind.ROW_COUNT_BETWEEN:
            return count(found.rows, "row")
        case RuleKind.FRESHNESS:
            age = "no value" if found.age_millis is None else f"{hours_text(found.age_millis)} old"
            future = f", without {count(found.future, 'row')} in the future" if found.future else ""
            return f"{age}{future}"
        case RuleKind.SQL:
            return f"{count(found.failures, 'row')} found"
        case _:
            breaks = "breaks" if found.failures == 1 else "break"
            share = "" if allowed_share(rule) is None else share_text(found.failures, found.rows)
            return f"{found.failures:,} of {count(found.rows, 'row')} {breaks} it{share}"


def allowed_share(rule: QualityRule) -> str | None:
    """Return the share of rows that may fail, such as `1%` or `0.05%`; None if no row may."""
    allowed = 1 - rule.min_pass_rate
    return f"{(100 * allowed).normalize():f}%" if allowed else None


def share_text(failures: int, rows: int) -> str:
    """Return the share of rows that fail, as ` (8.72%)`; blank if none does."""
    if not failures or not rows:
        return ""
    percent = 100 * failures / rows
    # Three digits tell 1.02% from 1%; few failures in many rows are not none.
    return f" ({percent:.3g}%)" if percent >= 0.001 else " (under 0.001%)"


def worse_by(rule: QualityRule, after: RuleResult, before: RuleResult) -> int | None:
    """By how much a rule is broken more than before: rows, or milliseconds of age; less below 0.

    None if that cannot be told: one was not evaluated, or has no age.
    """
    if after.problem is not None or before.problem is not None:
        return None
    match rule.kind:
        case RuleKind.FRESHNESS:
            if after.age_millis is None or before.age_millis is None:
                return None
            return after.age_millis - before.age_millis
        case RuleKind.ROW_COUNT_BETWEEN:
            return _rows_beyond(rule, after.rows) - _rows_beyond(rule, before.rows)
        case _:
            return after.failures - before.failures


def worse_text(rule: QualityRule, number: int) -> str:
    """Tell what `worse_by` returned, in a few words."""
    match rule.kind:
        case RuleKind.FRESHNESS:
            size, less, more = hours_text(abs(number)), "newer", "older"
        case RuleKind.ROW_COUNT_BETWEEN:
            size, less, more = count(abs(number), "row"), "nearer", "farther off"
        case _:
            size, less, more = f"{abs(number):,}", "fewer", "more"
    if not number:
        return "no more than before"
    return f"{size} {more if number > 0 else less} than before"


def _rows_beyond(rule: QualityRule, rows: int) -> int:
    low, high = (None if each is None else int(each) for each in (rule.low, rule.high))
    if low is not None and rows < low:
        return low - rows
    return rows - high if high is not None and rows > high else 0


def hours_text(millis: int) -> str:
    """Write a span of time in hours."""
    return f"{millis / _MILLIS_AN_HOUR:,.1f} h"
