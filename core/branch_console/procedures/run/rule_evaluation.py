"""The findings of a table's quality rules in one state, counted by the row engine."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any, Final, cast

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.file_figures import files_figure
from branch_console.errors import ErrorKind, InvalidInput, PaimonError
from branch_console.format.identifier import Identifier
from branch_console.format.partition_path import text_words
from branch_console.format.read_branches import rows_elsewhere
from branch_console.format.snapshot import SnapshotIdentity
from branch_console.format.table_schema import TableSchema
from branch_console.merge.row_text import row_texts
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import Progress, RowEngine
from branch_console.procedures.call.row_figures import figure_of_files, head_figure
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.quality.findings import GateReport
from branch_console.quality.gate import findings_table
from branch_console.quality.rule_file import TABLE_IN_QUERY, parse_rules, rule_path
from branch_console.quality.rule_sql import (
    COUNTED,
    LISTS_ROWS,
    OF_ROWS,
    count_query,
    duplicate_query,
    equal_times_query,
    example_query,
    new_rows_query,
    partition_query,
    sql_query,
    table_sql,
)
from branch_console.quality.rules import (
    MOST_EXAMPLES,
    MOST_PARTITIONS,
    Outcome,
    PartitionFailures,
    QualityRule,
    RuleKind,
    RuleResult,
    RuleSet,
    hours_text,
    outcome,
)
from branch_console.sql.answer import Answer
from branch_console.sql.one_table import check_condition, parse_query_of
from branch_console.sql.place import Origins
from branch_console.table.table_state import ReadState, StagedState

_CELL_LENGTH: Final = 200
_MOST_PARTITIONS_READ: Final = 10_000
# So far the clocks of two machines may be apart that are set right.
_CLOCKS_APART: Final = 300_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgedState:
    """A state that rules are asked about.

    Attributes:
        commit_millis: When it was last committed to; None for a branch without a snapshot.
        head: The snapshot that it is, or whose changes it takes over; None without one.
    """

    content: ReadState | StagedState
    schema: TableSchema
    commit_millis: int | None
    head: SnapshotIdentity | None

    @classmethod
    def of(cls, state: ReadState) -> "JudgedState":
        """Return a state that was committed."""
        at = state.snapshot
        return cls(
            content=state,
            schema=state.schema,
            commit_millis=None if at is None else at.time_millis,
            head=None if at is None else at.identity,
        )


def find_rules(warehouse: Warehouse, table: Identifier) -> RuleSet | None:
    """Read the rules of a table; None if it has none.

    Raises:
        InvalidInput: The file, or SQL in it, cannot be read; the message names file and line.
    """
    path = rule_path(warehouse.file_io.root, table.table_name)
    found = warehouse.file_io.find(path)
    if found is None:
        return None
    try:
        return read_rules(found.decode(), table)
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is no text: {error}.", path=path) from error
    except InvalidInput as error:
        raise InvalidInput(
            f"{path}: {error.message}", kind=error.kind, path=path, **_line(error)
        ) from error


def read_rules(text: str, table: Identifier) -> RuleSet:
    """Read rules, and the SQL in them.

    Raises:
        InvalidInput: Something in it cannot be read; the message names the line.
    """
    found = parse_rules(text, table.table_name)
    for rule in found.rules:
        try:
            if rule.where is not None:
                check_condition(rule.where, table)
            if rule.query is not None:
                origins = Origins.replacing(rule.query, TABLE_IN_QUERY, table_sql(table))
                parse_query_of(sql_query(rule, table), table, origins)
        except InvalidInput as error:
            raise InvalidInput(
                f"Line {rule.line}: the SQL of rule {rule.id!r} cannot be used: {error.message}",
                kind=error.kind,
                line=rule.line,
            ) from error
    return found


def evaluate(
    rows: RowEngine,
    table: Identifier,
    state: JudgedState,
    rules: Sequence[QualityRule],
    *,
    now_millis: int,
    operation_id: str,
    progress: Progress,
    shows_rows: bool = True,
) -> dict[str, RuleResult]:
    """Count what rules find in a state: one pass for all rules of COUNTED, one for each other.

    Args:
        rows: The engine.
        table: The table that the rules are of.
        state: What is looked at.
        rules: The rules.
        now_millis: The time that freshness is told by.
        operation_id: Whose question it is; no two ask at the same time.
        progress: Told tasks done and tasks known.
        shows_rows: Whether some of the rows that fail are looked up.

    Returns:
        What was found by the rule's id; a rule that cannot be evaluated says why.
    """
    asked = _Question(
        rows=rows,
        table=table,
        state=state,
        view=_view_of(operation_id),
        now_millis=now_millis,
        progress=progress,
    )
    together = [each for each in rules if each.kind in COUNTED]
    found = asked.counted(together) if together else {}
    for rule in rules:
        if rule.id not in found:
            found[rule.id] = asked.alone(rule)
        found[rule.id] = asked.with_checked_times(rule, found[rule.id])
        has_rows = outcome(rule, found[rule.id]) is Outcome.FAILS and found[rule.id].failures
        if shows_rows and has_rows:
            found[rule.id] = replace(found[rule.id], examples=asked.examples(rule))
    return found


def with_new_failures(
    rows: RowEngine,
    table: Identifier,
    sides: tuple[JudgedState, JudgedState],
    rule: QualityRule,
    found: tuple[RuleResult, RuleResult],
    *,
    operation_id: str,
    progress: Progress,
) -> RuleResult:
    """Return the findings on a result with some rows that fail, and where more do than before.

    Where more rows fail than before, those that did not fail before are the cause; others are
    shown only where none are found.

    Args:
        rows: The engine.
        table: The table that the rule is of.
        sides: The state before, and the result.
        rule: The rule, which the result fails.
        found: What was found of it in both.
        operation_id: Whose question it is.
        progress: Told tasks done and tasks known.
    """
    earlier, now = found
    if outcome(rule, now) is not Outcome.FAILS or not now.failures:
        return now
    before, after = (
        _Question(
            rows=rows, table=table, state=state, view=f"{_view_of(operation_id)}{mark}",
            now_millis=0, progress=progress,
        )
        for state, mark in zip(sides, ("b", ""), strict=True)
    )  # fmt: skip
    was_counted = earlier.problem is None
    if was_counted and now.failures <= earlier.failures:
        # Each comparison reads the rows of both states once more.
        return replace(now, examples=after.examples(rule))
    had_failures = was_counted and bool(earlier.failures)
    new = after.new_examples(rule, before) if had_failures else ()
    shown = replace(now, examples=new or after.examples(rule), shows_new=bool(new))
    if not was_counted:
        return shown
    grown = after.grown_partitions(rule, before if had_failures else None)
    return replace(shown, partitions=grown)


def count_rows_of(
    rows: RowEngine,
    table: Identifier,
    state: JudgedState,
    *,
    operation_id: str,
    progress: Progress,
) -> int:
    """Return how many rows a state has: as its files tell, else as a query counts them.

    Args:
        rows: The engine.
        table: The table.
        state: The state.
        operation_id: Whose question it is.
        progress: Told tasks done and tasks known.
    """
    known_count = _known_rows(state)
    if known_count is not None:
        return known_count
    asked = _Question(
        rows=rows,
        table=table,
        state=state,
        view=_view_of(operation_id),
        now_millis=0,
        progress=progress,
    )
    return asked.total()


def _known_rows(state: JudgedState) -> int | None:
    content = state.content
    if isinstance(content, ReadState):
        if content.snapshot is None:
            return head_figure(content.table, None, state.schema).rows
        files = content.table.live_files(content.snapshot)
        return figure_of_files(content.table, content.snapshot, files, state.schema).rows
    if rows_elsewhere(content.table.schema(), content.table.branch) is not None:
        return None
    figure = files_figure(content.files, content.index_files, state.schema, content.table.branch)
    return figure.rows


def _view_of(operation_id: str) -> str:
    return f"r{hashlib.sha256(operation_id.encode()).hexdigest()[:16]}"


def keep_report(
    warehouse: Warehouse,
    rows: RowEngine,
    call: ProcedureCall,
    report: GateReport,
    started: int,
    judged: Iterable[JudgedState | None],
) -> None:
    """Keep what was found of rules as the answer of a job, with the columns of FINDINGS."""
    heads = (state.head for state in judged if state is not None)
    answer = Answer(
        rows=findings_table(report),
        has_more=False,
        plan="",
        notes=(f"Rules {report.digest}: {report.verdict}.",),
        judged=tuple(head.text for head in heads if head is not None),
        started_millis=started,
        finished_millis=warehouse.clock(),
    )
    rows.keep(call.operation_id, answer)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Question:
    """One state, and how the engine is asked about it."""

    rows: RowEngine
    table: Identifier
    state: JudgedState
    view: str
    now_millis: int
    progress: Progress

    def total(self) -> int:
        """Count all rows."""
        return int(
            self._row(count_query((), self.state.schema, self.table, self.now_millis))["total"]
        )

    def counted(self, rules: Sequence[QualityRule]) -> dict[str, RuleResult]:
        """Count for rules of COUNTED in one pass; if that fails, find out which of them cannot."""
        try:
            row = self._row(count_query(rules, self.state.schema, self.table, self.now_millis))
        except PaimonError as error:
            problem = self._problem(rules[0], error)
            if len(rules) > 1:
                return {rule.id: self.counted([rule])[rule.id] for rule in rules}
            return {rules[0].id: RuleResult(rule_id=rules[0].id, problem=problem)}
        return {rule.id: self._result(rule, number, row) for number, rule in enumerate(rules)}

    def alone(self, rule: QualityRule) -> RuleResult:
        """Count for a rule that compares rows, or is a query."""
        try:
            if rule.kind is RuleKind.SQL:
                number = self._row(_counting(sql_query(rule, self.table)))["n"]
                return RuleResult(rule_id=rule.id, rows=number, failures=number)
            row = self._row(duplicate_query(rule, self.state.schema, self.table))
            return self._result(rule, 0, row)
        except PaimonError as error:
            return RuleResult(rule_id=rule.id, problem=self._problem(rule, error))

    def with_checked_times(self, rule: QualityRule, found: RuleResult) -> RuleResult:
        """Return what was found, unless times that it took for equal may differ."""
        sql = None
        if found.problem is None:
            sql = equal_times_query(rule, self.state.schema, self.table)
        if sql is None or not self._row(sql)["failures_0"]:
            return found
        try:
            self._row(sql, keeps_times=True)
        except InvalidInput:
            problem = (
                f"Times in {' or '.join(map(repr, rule.columns))} are finer than a microsecond, "
                "and may differ by less than that from each other or from a bound."
            )
            return RuleResult(rule_id=rule.id, problem=problem)
        return found

    def examples(self, rule: QualityRule) -> tuple[str, ...]:
        """Return some rows that fail; none if they cannot be shown."""
        try:
            found = self._ask(
                example_query(rule, self.state.schema, self.table), limit=MOST_EXAMPLES
            )
        except PaimonError as error:
            self._problem(rule, error)
            return ()
        return _texts(found)

    def new_examples(self, rule: QualityRule, before: "_Question") -> tuple[str, ...]:
        """Return some rows that fail and did not before; none if the states cannot be compared."""
        if rule.kind not in LISTS_ROWS:
            return ()
        try:
            sql = new_rows_query(rule, self.state.schema, before.state.schema, self.table)
            if sql is None:
                return ()
            query = parse_query_of(sql, self.table)
            half = len(query.references) // 2
            rewritten = query.over([self.view] * half + [before.view] * half)
            states = {
                each.view: (
                    replace(
                        each.state.content,
                        columns=query.columns_of(each.state.schema.row_type.names),
                    ),
                    None,
                )
                for each in (self, before)
            }
            found, _ = self.rows.query(rewritten.text, states, MOST_EXAMPLES, self.progress)
        except PaimonError as error:
            self._problem(rule, error)
            return ()
        return _texts(found)

    def grown_partitions(
        self, rule: QualityRule, before: "_Question | None"
    ) -> tuple[PartitionFailures, ...]:
        """Return the partitions in which more rows fail than before, the largest growth first.

        Args:
            rule: The rule.
            before: The state before; None if no row failed there.
        """
        keys = self.state.schema.partition_keys
        if not keys or rule.kind not in OF_ROWS:
            return ()
        if before is not None and before.state.schema.partition_keys != keys:
            return ()
        try:
            now = self._failures_by_partition(rule)
            then = {} if before is None else before._failures_by_partition(rule)
        except PaimonError as error:
            self._problem(rule, error)
            return ()
        if now is None or then is None:
            return ()
        grown = [
            PartitionFailures(
                partition="/".join(
                    f"{key}={text_words(None if value is None else str(value))}"
                    for key, value in zip(keys, values, strict=True)
                ),
                failures=number,
                failures_before=then.get(values, 0),
            )
            for values, number in now.items()
            if number > then.get(values, 0)
        ]
        grown.sort(key=lambda each: (each.failures_before - each.failures, each.partition))
        return tuple(grown[:MOST_PARTITIONS])

    def _failures_by_partition(self, rule: QualityRule) -> dict[tuple[str | None, ...], int] | None:
        """Count failing rows by values of the keys; None if the partitions are too many to list."""
        sql = partition_query(rule, self.state.schema, self.table)
        found = self._ask(sql, limit=_MOST_PARTITIONS_READ)
        if found.num_rows == _MOST_PARTITIONS_READ:
            return None
        *values, numbers = (each.to_pylist() for each in found.columns)
        return dict(zip(zip(*values, strict=True), numbers, strict=True))

    def _result(self, rule: QualityRule, number: int, row: Mapping[str, Any]) -> RuleResult:
        if rule.kind is RuleKind.FRESHNESS:
            newest = row[f"newest_{number}"] if rule.columns else self.state.commit_millis
            millis = _millis(newest) if isinstance(newest, date) else newest
            ahead_millis = 0 if millis is None else millis - self.now_millis
            if not rule.columns and ahead_millis > _CLOCKS_APART:
                ahead = hours_text(ahead_millis)
                problem = f"The last commit lies {ahead} in the future, so its age is not known."
                return RuleResult(rule_id=rule.id, problem=problem)
            age = None if millis is None else max(0, self.now_millis - millis)
            future = row.get(f"future_{number}", 0)
            return RuleResult(rule_id=rule.id, age_millis=age, future=future)
        failures = row.get(f"failures_{number}", 0)
        return RuleResult(rule_id=rule.id, rows=row[f"rows_{number}"], failures=failures)

    def _row(self, sql: str, *, keeps_times: bool = False) -> Mapping[str, Any]:
        found = self._ask(sql, limit=1, keeps_times=keeps_times).to_pylist()
        return cast("Mapping[str, Any]", found[0])

    def _ask(self, sql: str, limit: int, *, keeps_times: bool = False) -> pa.Table:
        query = parse_query_of(sql, self.table)
        rewritten = query.over([self.view] * len(query.references))
        columns = query.columns_of(self.state.schema.row_type.names)
        content = replace(self.state.content, columns=columns)
        found, _ = self.rows.query(
            rewritten.text, {self.view: (content, None)}, limit, self.progress,
            keeps_times=keeps_times,
        )  # fmt: skip
        return found

    def _problem(self, rule: QualityRule, error: PaimonError) -> str:
        """Tell why a rule cannot be evaluated; raise what is not the rule's doing."""
        if isinstance(error, InvalidInput):
            said = error.message.replace(self.view, self.table.table_name)
            return f"{said}{_renamed(rule, self.state)}"
        if error.kind is not ErrorKind.UNEXPECTED:
            raise error
        if rule.kind is RuleKind.MATCHES:
            return f"{error.message} {rule.pattern!r} may be no regular expression of Java."
        return error.message


def _renamed(rule: QualityRule, state: JudgedState) -> str:
    """Name what columns of a rule are called now, where they were renamed."""
    said = ""
    content = state.content
    known = (
        content.schemas.values()
        if isinstance(content, StagedState)
        else content.table.schemas.all()
    )
    for name in rule.columns:
        if state.schema.find_field(name) is not None:
            continue
        ids = {each.id for schema in known for each in schema.fields if each.name == name}
        now = [each.name for each in state.schema.fields if each.id in ids]
        if now:
            said += f" It was renamed: {name!r} is {now[0]!r} now. Name that in the rule."
    return said


def _counting(sql: str) -> str:
    return f"SELECT count(*) AS n FROM ({sql})"


def _millis(newest: date) -> int:
    """A value of a column of times as milliseconds since 1970; times without a zone are of UTC."""
    if not isinstance(newest, datetime):
        newest = datetime(newest.year, newest.month, newest.day)
    zoned = newest if newest.tzinfo else newest.replace(tzinfo=UTC)
    return round(zoned.timestamp() * 1000)


def _texts(found: pa.Table) -> tuple[str, ...]:
    shown = pa.table([_short(each) for each in found.columns], found.column_names)
    texts = row_texts(shown, pa.repeat(pa.scalar(True), shown.num_rows))
    return tuple(sorted(texts.to_pylist()))


def _short(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return pc.utf8_slice_codeunits(column, 0, _CELL_LENGTH)
    return column


def _line(error: InvalidInput) -> dict[str, Any]:
    return {name: value for name, value in error.facts.items() if name == "line"}
