"""Rows that fail a rule, counted in Python over what Paimon's Java library reads."""

import datetime as dt
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from branch_console.quality.rule_file import rule_path
from branch_console.spark.session.session import WarmSession
from branch_console_app.services import Services
from branch_console_app.settings import Settings
from tests.support.command_line import CommandLine
from tests.support.java_paimon import JavaPaimon
from tests.support.jobs_at_once import operate
from tests.support.recounted_tables import BRANCHES, RecountedTable
from tests.support.requirements import need_java_paimon

Row = Mapping[str, Any]
Rows = Sequence[Row]
TRIED: Final = (
    "append_marked", "append_evolved", "deduplicate", "partitioned", "evolved", "partial_update",
)  # fmt: skip
_AT: Final = dt.datetime(2024, 2, 29, 12, 34, 56, 789131)


class Found(NamedTuple):
    """How many rows a rule looks at, and how many of them fail."""

    rows: int
    failures: int


def _each(
    fails: Callable[[Row], bool], where: Callable[[Row], bool] = lambda _: True
) -> Callable[[Rows], Found]:
    def count(rows: Rows) -> Found:
        looked_at = [row for row in rows if where(row)]
        return Found(len(looked_at), sum(map(fails, looked_at)))

    return count


def _value(name: str, fails: Callable[[Any], bool]) -> Callable[[Rows], Found]:
    return _each(lambda row: row[name] is not None and fails(row[name]))


def _shared(*names: str, where: Callable[[Row], bool] = lambda _: True) -> Callable[[Rows], Found]:
    def count(rows: Rows) -> Found:
        values = [tuple(_equal(row[name]) for name in names) for row in rows if where(row)]
        counts = Counter(values)
        failing = sum(None not in each and counts[each] > 1 for each in values)
        return Found(len(values), failing)

    return count


def _equal(value: Any) -> Any:
    """A value that equals what Spark groups with it."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return tuple(map(_equal, value)) if isinstance(value, list | tuple) else value


def _listed(fails: Callable[[Row], bool]) -> Callable[[Rows], Found]:
    def count(rows: Rows) -> Found:
        number = sum(map(fails, rows))
        return Found(number, number)

    return count


RULES: Final[Mapping[str, Callable[[Rows], Found]]] = {
    "rule: not_null, columns: [n, x]": _each(lambda row: row["n"] is None or row["x"] is None),
    "rule: not_null, columns: [readings]": _each(lambda row: row["readings"] is None),
    "rule: not_null, columns: [info]": _each(lambda row: row["info"] is None),
    "rule: not_null, columns: [price], where: x > 1": _each(
        lambda row: row["price"] is None, lambda row: row["x"] is not None and not row["x"] <= 1
    ),
    "rule: unique, columns: [id]": _shared("id"),
    "rule: unique, columns: [x]": _shared("x"),
    "rule: unique, columns: [readings]": _shared("readings"),
    "rule: unique, columns: [day, price]": _shared("day", "price"),
    "rule: unique, columns: [at], where: id <> 3": _shared("at", where=lambda row: row["id"] != 3),
    "rule: in_range, column: x, min: 0, max: 1.5": _value("x", lambda x: not 0 <= x <= 1.5),
    "rule: in_range, column: x, min: 0, strict_min: true": _value("x", lambda x: not x > 0),
    "rule: in_range, column: price, min: 0.505, max: 4": _value(
        "price", lambda price: not Decimal("0.505") <= price <= 4
    ),
    "rule: in_range, column: price, max: 3.75, strict_max: true, min_pass_rate: 0.5": _value(
        "price", lambda price: price >= Decimal("3.75")
    ),
    f"rule: in_range, column: at, min: '{_AT}'": _value("at", lambda at: at < _AT),
    f"rule: in_range, column: at, max: '{_AT}', strict_max: true": _value(
        "at", lambda at: at >= _AT
    ),
    "rule: in_range, column: day, max: a": _value("day", lambda day: day > "a"),
    "rule: in_set, column: x, values: [0, 1.5]": _value("x", lambda x: x not in (0, 1.5)),
    "rule: in_set, column: price, values: [0.25, 0.5, 0.755, 15]": _value(
        "price", lambda price: price not in (Decimal("0.25"), Decimal("0.5"), 15)
    ),
    f"rule: in_set, column: at, values: ['{_AT}']": _value("at", lambda at: at != _AT),
    "rule: matches, column: day, pattern: '^a$'": _value("day", lambda day: day != "a"),
    "rule: row_count_between, min: 12": lambda rows: Found(len(rows), 0),
    "rule: row_count_between, min: 3, where: n > 1": lambda rows: Found(
        sum(row["n"] is not None and row["n"] > 1 for row in rows), 0
    ),
    "rule: sql, query: 'SELECT id FROM {table} WHERE price * 4 <> id OR n >= 7'": _listed(
        lambda row: (
            (row["price"] is not None and row["price"] * 4 != row["id"])
            or (row["n"] is not None and row["n"] >= 7)
        )
    ),
    "rule: sql, query: \"SELECT * FROM {table} WHERE info.flags['k'] < 1\"": _listed(
        lambda row: row["info"] is not None and dict(row["info"][1])["k"] < 1
    ),
    "rule: in_range, column: w, min: 5": _value("w", lambda w: w < 5),
    "rule: not_null, columns: [extra]": _each(lambda row: row["extra"] is None),
}
"""Rules of each sort, with what they find in rows; those that ask for a column need it."""


class RuleRecount:
    """Asks the command line and the console what rules find, and counts it again."""

    def __init__(self, table: RecountedTable, console: CommandLine, services: Services) -> None:
        self.table, self.name = table, table.name
        self._console, self._services = console, services
        self.figures = 0

    def rows(self, branch: str) -> Rows:
        on = self.table.on(branch)
        names = [str(name) for name in on.load().rowType().getFieldNames()]
        return [dict(zip(names, row, strict=True)) for row in on.rows()]

    def true(self, branch: str) -> dict[str, Found | None]:
        """What each rule finds on a branch; None where a column is not there."""
        on = self.table.on(branch)
        names = {str(name) for name in on.load().rowType().getFieldNames()}
        rows = self.rows(branch)
        return {
            f"r{number}": count(rows) if _columns_of(rule) <= names else None
            for number, (rule, count) in enumerate(RULES.items())
        }

    def check(self, branch: str) -> None:
        """Recount what `check` finds on a branch, and on main for the rules that fail there."""
        true, before = self.true(branch), self.true("main")
        asked = ("check", self.name, "--branch", branch, "--since", "main", "--json")
        self._hold(self._console(*asked).document["findings"], true, before)

    def check_main(self) -> None:
        """What `check` prints of main, and its queries for all rows that fail."""
        true = self.true("main")
        asked = ("check", self.name, "--json")
        findings = self._console(*asked).document["findings"]
        self._hold(findings, true, None)
        for each in findings:
            if each["failing_rows_query"] and each["failures"]:
                self._listed(each["failing_rows_query"], each)

    def _listed(self, query: str, finding: Mapping[str, Any]) -> None:
        found = self._console.json("sql", query, "--limit", "1000")
        rows = found["rows"]
        number = sum(each["rows"] for each in rows) if "unique" in finding["asked"] else len(rows)
        self._is(number, finding["failures"])

    def merge(self, branch: str, *options: str) -> None:
        """What a dry run, the page and the receipt say of the result of a merge."""
        before, rows_before = self.true("main"), self.rows("main")
        asked = ("merge", branch, "--table", self.name, *options)
        tried = self._console(*asked, "--dry-run", "--json").document
        found = self._services.answer(tried["operation_id"]).rows.to_pylist()
        done = self._console(*asked, "--json")
        assert done.code == 0, done
        after = self.true("main")
        gate = done.document["receipt"]["gate"]
        self._hold(gate["findings"], after, before)
        self._hold(found, after, before)
        self._hold_partitions(gate["findings"], rows_before, self.rows("main"))
        undone = self._console("undo", done.document["operation_id"], "--json")
        assert undone.code == 0, undone
        self._is(self.true("main"), before)

    def _hold(
        self,
        findings: Sequence[Mapping[str, Any]],
        true: Mapping[str, Found | None],
        before: Mapping[str, Found | None] | None,
    ) -> None:
        told = {each["rule"]: each for each in findings}
        for rule, found in true.items():
            each = told[rule]
            self._is((rule, each["rows"], each["failures"]), (rule, *(found or (None, None))))
            if before is not None and each["outcome"] != "passes":
                then = (each["rows_before"], each["failures_before"])
                self._is((rule, *then), (rule, *(before[rule] or (None, None))))

    def _hold_partitions(
        self, findings: Sequence[Mapping[str, Any]], before: Rows, after: Rows
    ) -> None:
        """The partitions in which more rows fail than before."""
        keys = [str(key) for key in self.table.on("main").load().partitionKeys()]
        for finding in findings:
            rule = list(RULES)[int(finding["rule"][1:])]
            if not keys or finding["outcome"] != "fails" or not _is_of_rows(rule):
                continue
            then, now = (_by_partition(rows, keys, RULES[rule]) for rows in (before, after))
            told = {
                each["partition"]: (each["failures_before"], each["failures"])
                for each in finding["partitions"]
            }
            grown = {p: (then.get(p, 0), n) for p, n in now.items() if n > then.get(p, 0)}
            # Where no more rows fail in all, partitions are not compared.
            has_more = sum(now.values()) > sum(then.values())
            self._is(told, grown if has_more else {})

    def _is(self, told: object, true: object) -> None:
        self.figures += 1
        assert told == true, (self.name, told, true)


def _is_of_rows(rule: str) -> bool:
    return not re.search(r"rule: (unique|row_count|sql)", rule)


def _by_partition(
    rows: Rows, keys: Sequence[str], count: Callable[[Rows], Found]
) -> Mapping[str, int]:
    held: dict[str, list[Row]] = {}
    for row in rows:
        name = "/".join(f"{key}={'NULL' if row[key] is None else row[key]}" for key in keys)
        held.setdefault(name, []).append(row)
    return {name: count(part).failures for name, part in held.items()}


def _columns_of(rule: str) -> set[str]:
    """The columns that some branch of the tables lacks, and that a rule reads."""
    return set(re.findall(r"\b(?:n|price|w|extra)\b", rule))


@pytest.fixture
def recount(
    session: WarmSession,
    paimon_version: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[[str], RuleRecount]:
    need_java_paimon(paimon_version)
    folder = tmp_path / "java"

    def build(name: str) -> RuleRecount:
        table = RecountedTable(JavaPaimon(folder, paimon_version), name)
        path = Path(rule_path(str(folder), table.name))
        path.parent.mkdir(parents=True)
        lines = (f"  - {{id: r{number}, {rule}}}" for number, rule in enumerate(RULES))
        path.write_text("\n".join([f"table: {table.name}", "rules:", *lines]))
        console = operate(folder, monkeypatch, capsys, lambda: session)
        services = Services(Settings.from_environment({"warehouse": str(folder), "actor": "ada"}))
        return RuleRecount(table, console, services)

    return build


@pytest.mark.depth("long")
@pytest.mark.parametrize("name", TRIED)
def test_rows_that_fail_a_rule_are_those_that_java_reads(
    recount: Callable[[str], RuleRecount], name: str
) -> None:
    found = recount(name)
    table = found.table
    nothing = (None,) * 6
    table.put("main", (70, "a", *nothing), (71, "b", *nothing))
    table.put("more", (80, "a", *nothing), (81, "b", 8, math.inf, Decimal("-0.5"), None, [], None))
    if table.kind.is_compacted:
        for branch in BRANCHES:
            table.on(branch).compact()
    found.check_main()
    found.check("dev")
    found.merge("more")
    print(f"{found.figures} figures of {name} recounted")
    assert found.figures > 100
