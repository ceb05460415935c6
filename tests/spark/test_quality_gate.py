"""Rules on real rows, and the gate that holds back what newly breaks them."""

import datetime as dt
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pytest

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.schema.schema_commit import (
    add_column,
    change_schema,
    create_table,
    drop_column,
    new_schema,
    rename_column,
)
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.errors import (
    CommitConflict,
    ErrorKind,
    InvalidInput,
    NotAllowed,
    PaimonError,
    Refused,
)
from branch_console.format.data_types import parse_data_type
from branch_console.format.identifier import Identifier
from branch_console.format.receipt import Receipt
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.compare.failing_rows import find_failing_rows
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.preview import preview_call
from branch_console.procedures.run.quality_gate import STAGE
from branch_console.procedures.run.rule_evaluation import JudgedState, evaluate, read_rules
from branch_console.quality.rule_file import rule_path
from branch_console.quality.rules import Outcome, outcome
from branch_console.spark.engine import SparkRowEngine
from branch_console.spark.session.session import WarmSession
from branch_console.sql.answer import Answer
from branch_console.storage.table_paths import TablePaths
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.table_state import ReadState
from tests.support.branch_bench import tree

NAME = Identifier.parse("db.t")
COLUMNS = {
    "id": "INT NOT NULL",
    "amount": "DOUBLE",
    "price": "DECIMAL(10, 2)",
    "code": "STRING",
    "day": "DATE",
    "at": "TIMESTAMP(6)",
    "is`odd": "BOOLEAN",
    "wide": "DECIMAL(38, 10)",
    "clock": "TIME(3)",
}
Row = dict[str, Any]
_NO_COLUMNS: Mapping[str, object] = MappingProxyType({})


class Table:
    """A table with or without a key, changed and judged through procedures."""

    def __init__(
        self,
        session: WarmSession,
        folder: Path,
        *keys: str,
        partition_keys: tuple[str, ...] = (),
        more: Mapping[str, object] = _NO_COLUMNS,
    ) -> None:
        folder.mkdir(exist_ok=True)
        self.warehouse = Warehouse.open(str(folder))
        self.folder = folder
        self.kept: dict[str, Answer] = {}
        self.engine = _Keeping(session, self.warehouse, self.kept)
        paths = TablePaths(table=f"{self.warehouse.file_io.root}/db.db/t")
        fields = [(name, parse_data_type(kind)) for name, kind in {**COLUMNS, **more}.items()]
        options = {"bucket": "1"} if keys else {}
        schema = new_schema(
            fields, primary_keys=list(keys), partition_keys=partition_keys, options=options
        )
        create_table(CommitStore.of(self.warehouse.file_io), paths, schema)

    def on(self, branch: str = "main") -> FileStoreTable:
        return self.warehouse.table(NAME.on_branch(branch))

    def write(self, rows: list[Row], branch: str = "main", more: Sequence[pa.Field] = ()) -> None:
        table = self.on(branch)
        whole = pa.Table.from_pylist(rows, schema=pa.schema([*_LAYOUT, *more]))
        messages = self.engine.write_rows(table, whole, lambda *_: None)
        FileStoreCommit(table, self.warehouse.store).commit(messages, user="test")

    def keep_rules(self, *rules: str) -> None:
        path = Path(rule_path(str(self.folder), "db.t"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_file(*rules))

    def told(self, name: str, **more: Argument) -> list[str]:
        """Return the consequences that the preview of a command tells."""
        call = ProcedureCall(
            name=name, arguments={"table": "db.t", **more}, actor="ann", role="operator",
            operation_id="asked",
        )  # fmt: skip
        return [each.text for each in preview_call(self.warehouse, call).consequences]

    def run(
        self,
        name: str,
        operation_id: str,
        role: str = "operator",
        meddles: Callable[[str], None] = lambda _: None,
        **more: Argument,
    ) -> Receipt:
        call = ProcedureCall(
            name=name, arguments={"table": "db.t", **more}, actor="ann", role=role,
            operation_id=operation_id,
        )  # fmt: skip
        stages = InlineStages(on_stage=lambda stage, _: meddles(stage))
        return run_call(self.warehouse, self.engine, call, stages)


class _Keeping(SparkRowEngine):
    """The engine of a worker, which keeps answers."""

    def __init__(self, session: WarmSession, warehouse: Warehouse, kept: dict[str, Answer]) -> None:
        super().__init__(lambda: session, warehouse.file_io)
        self._kept = kept
        self.asked = 0

    def query(self, *args: Any, **named: Any) -> tuple[pa.Table, str]:
        self.asked += 1
        return super().query(*args, **named)

    def keep(self, operation_id: str, answer: Answer) -> None:
        self._kept[operation_id] = answer


_LAYOUT = pa.schema(
    [
        ("id", pa.int32()),
        ("amount", pa.float64()),
        ("price", pa.decimal128(10, 2)),
        ("code", pa.string()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us")),
        ("is`odd", pa.bool_()),
        ("wide", pa.decimal128(38, 10)),
        ("clock", pa.time32("ms")),
    ]
)


def _file(*rules: str) -> str:
    return "\n".join(
        ["table: db.t", "rules:" if rules else "rules: []", *(f"  - {{{each}}}" for each in rules)]
    )


_WIDEST = Decimal("9999999999999999999999999999.9999999999")
ROWS: list[Row] = [
    {"id": 1, "amount": 1.0, "price": 1, "code": "a1", "day": dt.date(2026, 1, 1), "is`odd": True},
    {"id": 2, "amount": -0.0, "price": 2, "code": "b2", "at": dt.datetime(2026, 1, 1, 6),
     "wide": 1, "clock": dt.time(6)},
    {"id": 3, "amount": float("nan"), "price": None, "code": None, "is`odd": False,
     "wide": _WIDEST, "clock": dt.time(0, 0, 2, 5000)},
    {"id": 4, "amount": 100.0, "price": 4, "code": "it's", "day": dt.date(2026, 2, 1)},
    {"id": 5, "amount": 100.5, "price": 5, "code": "a1", "day": dt.date(2025, 1, 1)},
    {"id": 6, "amount": None, "price": 6, "code": "", "at": dt.datetime(2026, 1, 2, 12)},
    {"id": 7, "amount": float("inf"), "price": 7, "code": "a\\d", "is`odd": True},
    {"id": 8, "amount": 0.1, "price": 8, "code": "B2", "day": dt.date(2026, 1, 1)},
]  # fmt: skip


def _is_out(low: float, high: float) -> Callable[[Row], bool]:
    def fails(row: Row) -> bool:
        value = row.get("amount")
        return value is not None and (math.isnan(value) or value < low or value > high)

    return fails


def _shares(*names: str) -> Callable[[Row], bool]:
    counts = Counter(tuple(row.get(name) for name in names) for row in ROWS)

    def fails(row: Row) -> bool:
        values = tuple(row.get(name) for name in names)
        return None not in values and counts[values] > 1

    return fails


def _wide(fails: Callable[[Decimal], bool]) -> tuple[Callable[[Row], bool], Callable[[Row], bool]]:
    return lambda row: True, lambda row: "wide" in row and fails(Decimal(row["wide"]))


CELLS: dict[str, tuple[Callable[[Row], bool], Callable[[Row], bool]]] = {
    # The rule, then which rows it looks at, then which of them fail: as Python has it.
    "rule: not_null, columns: [code, amount]": (
        lambda row: True,
        lambda row: row["code"] is None or row["amount"] is None,
    ),
    "rule: in_range, column: amount, min: 0, max: 100": (lambda row: True, _is_out(0, 100)),
    "rule: in_range, column: amount, max: 0.1, strict_max: true": (
        lambda row: True,
        lambda row: row["amount"] is not None and not row["amount"] < 0.1,
    ),
    "rule: in_range, column: price, min: 2.00, max: 1e1": (
        lambda row: True,
        lambda row: row["price"] is not None and row["price"] < 2,
    ),
    # Bounds and values that the column itself cannot hold.
    "rule: in_range, column: wide, min: 1.00000000004": _wide(lambda value: value == 1),
    f"rule: in_range, column: wide, max: {_WIDEST}, strict_max: true": _wide(
        lambda value: value == _WIDEST
    ),
    "rule: in_set, column: wide, values: [1.00000000004]": _wide(lambda value: True),
    "rule: in_range, column: clock, max: '00:00:02.005', strict_max: true": (
        lambda row: True,
        lambda row: "clock" in row,
    ),
    "rule: in_set, column: clock, values: ['06:00']": (
        lambda row: True,
        lambda row: row["id"] == 3,
    ),
    "rule: in_range, column: day, min: 2026-01-01, max: 2026-01-31": (
        lambda row: True,
        lambda row: row.get("day") is not None and row["day"].strftime("%Y-%m") != "2026-01",
    ),
    "rule: in_range, column: at, max: '2026-01-02 11:00:00'": (
        lambda row: True,
        lambda row: row.get("at") is not None and row["at"].day > 1,
    ),
    """rule: in_set, column: code, values: [a1, "it's", 'a\\d']""": (
        lambda row: True,
        lambda row: row["code"] is not None and row["code"] not in ("a1", "it's", "a\\d"),
    ),
    "rule: in_set, column: 'is`odd', values: [true]": (
        lambda row: True,
        lambda row: row.get("is`odd") is False,
    ),
    "rule: matches, column: code, pattern: '^[a-z]\\d$'": (
        lambda row: True,
        lambda row: row["code"] in ("it's", "", "a\\d", "B2"),
    ),
    "rule: unique, columns: [code]": (lambda row: True, _shares("code")),
    "rule: unique, columns: [code, day]": (lambda row: True, _shares("code", "day")),
    """rule: in_range, column: amount, min: 0, max: 100, where: "code like 'a%' or id > 6" """: (
        lambda row: (row["code"] or "").startswith("a") or row["id"] > 6,
        _is_out(0, 100),
    ),
    "rule: row_count_between, min: 3, where: amount > 50": (
        lambda row: row["amount"] is not None and not row["amount"] <= 50,
        lambda row: False,
    ),
}


@pytest.mark.depth("full")
def test_rules_count_what_python_counts_over_the_rows(session: WarmSession, tmp_path: Path) -> None:
    for keys in ((), ("id",)):
        table = Table(session, tmp_path / f"keys-{len(keys)}", *keys)
        table.write([{**row, "code": "old"} for row in ROWS[:3]] if keys else ROWS[:3])
        table.write(ROWS if keys else ROWS[3:])
        rules = read_rules(
            _file(*(f"id: r{number}, {rule}" for number, rule in enumerate(CELLS))), NAME
        ).rules
        found = evaluate(
            table.engine, NAME, JudgedState.of(ReadState.as_it_is(table.on())), rules,
            now_millis=0, operation_id="op", progress=lambda *_: None,
        )  # fmt: skip
        for rule, (text, (concerns, fails)) in zip(rules, CELLS.items(), strict=True):
            looked_at = [row for row in ROWS if concerns(row)]
            result = found[rule.id]
            assert result.problem is None, text
            assert result.rows == len(looked_at), text
            failing = [row["id"] for row in looked_at if fails(row)]
            assert result.failures == len(failing), text
            shown = [json.loads(each) for each in result.examples]
            if not text.startswith("rule: unique"):
                assert sorted(int(each["id"]) for each in shown) == failing, text


@pytest.mark.depth("full")
def test_the_query_that_lists_all_failing_rows_runs_as_it_is_printed(
    session: WarmSession, tmp_path: Path
) -> None:
    table = Table(session, tmp_path)
    table.write(ROWS)
    table.run("create_branch", "made", branch="fix-2026")
    table.write([{**row, "id": 10 + row["id"]} for row in ROWS], "fix-2026")
    own = "rule: sql, query: 'SELECT id, `is``odd` FROM {table} WHERE amount > 50'"
    rules = {f"r{number}": rule for number, rule in enumerate([*CELLS, own])}
    text = _file(*(f"id: {name}, {rule}" for name, rule in rules.items()))
    asked = {"head": {"table": "db.t$branch_fix-2026"}, "then": {"table": "db.t", "version": "1"}}
    for state, arguments in asked.items():
        table.run("check_rules", state, rules=text, **arguments)
        found = {each["rule"]: each for each in table.kept[state].rows.to_pylist()}
        call = ProcedureCall(
            name="check_rules", arguments={**arguments, "rules": text}, actor="ann",
            operation_id=state,
        )  # fmt: skip
        listing = find_failing_rows(table.warehouse, call)
        assert rules.keys() - listing.queries.keys() == {f"r{len(CELLS) - 1}"}  # a number of rows
        for name, query in listing.queries.items():
            table.run("query", f"{state}-{name}", sql=query, branch="main")
            listed = table.kept[f"{state}-{name}"].rows.to_pylist()
            if rules[name].startswith("rule: unique"):
                assert sum(each["rows"] for each in listed) == found[name]["failures"], query
            else:
                assert len(listed) == found[name]["failures"], query


@pytest.mark.depth("full")
def test_a_value_in_the_future_hides_no_stale_rows_and_a_renamed_column_is_named(
    session: WarmSession, tmp_path: Path
) -> None:
    table = Table(session, tmp_path)
    far = {"day": dt.date(9999, 12, 31), "at": dt.datetime(2026, 3, 1)}
    table.write([*ROWS, {"id": 9, **far}])
    renamed = [rename_column("code", "label")]
    change_schema(table.on(), table.warehouse.store, renamed, now_millis=1)
    cells = {
        "rule: freshness, column: at, max_age: 1h": (3_600_000 * 12, 1),
        "rule: freshness, column: day, max_age: 1h": (3_600_000 * 48, 2),
        "rule: not_null, columns: [code]": None,
    }
    rules = read_rules(
        _file(*(f"id: r{number}, {rule}" for number, rule in enumerate(cells))), NAME
    ).rules
    now = dt.datetime(2026, 1, 3, tzinfo=dt.UTC)
    found = evaluate(
        table.engine, NAME, JudgedState.of(ReadState.as_it_is(table.on())), rules,
        now_millis=round(now.timestamp() * 1000), operation_id="op", progress=lambda *_: None,
    )  # fmt: skip
    for rule, wanted in zip(rules, cells.values(), strict=True):
        if wanted is not None:
            assert found[rule.id].age_millis == wanted[0], rule
            assert found[rule.id].future == wanted[1], rule
            assert outcome(rule, found[rule.id]) is Outcome.FAILS
    assert "'code' is 'label' now" in (found["r2"].problem or "")


@pytest.mark.depth("full")
def test_what_cannot_be_evaluated_says_why_and_holds_no_other_rule_back(
    session: WarmSession, tmp_path: Path
) -> None:
    table = Table(session, tmp_path)
    table.write(ROWS)
    cells: Mapping[str, str | None] = {
        "rule: not_null, columns: [id]": None,
        "rule: not_null, columns: [gone]": "no column 'gone'",
        "rule: in_range, column: amount, min: cheap": "'cheap' is no DOUBLE",
        "rule: in_range, column: 'is`odd', min: 0": "BOOLEAN",
        "rule: matches, column: id, pattern: a": "only texts are matched",
        "rule: matches, column: code, pattern: '('": "regular expression",
        "rule: not_null, columns: [id], where: nowhere > 1": "nowhere",
        "rule: not_null, columns: [id], where: 1 / (id - 1) > 0": "zero",
        "rule: freshness, column: code, max_age: 1h": "tells no day",
        "rule: sql, query: 'SELECT missing FROM {table}'": "missing",
    }
    rules = read_rules(
        _file(*(f"id: r{number}, {rule}" for number, rule in enumerate(cells))), NAME
    ).rules
    found = evaluate(
        table.engine, NAME, JudgedState.of(ReadState.as_it_is(table.on())), rules,
        now_millis=0, operation_id="op", progress=lambda *_: None,
    )  # fmt: skip
    for rule, (text, wanted) in zip(rules, cells.items(), strict=True):
        problem = found[rule.id].problem
        assert (
            (problem is None)
            if wanted is None
            else wanted in (problem or "").lower() + (problem or "")
        ), (text, problem)


def _diverged(session: WarmSession, folder: Path, keys: tuple[str, ...], *, moves: bool) -> Table:
    """Good rows on main; the branch brings a NULL code; main moves on where that is asked for."""
    table = Table(session, folder, *keys)
    table.write([{"id": number, "amount": 1.0, "code": "a"} for number in range(5)])
    table.run("create_branch", "make", branch="dev")
    table.write([{"id": 7, "amount": -5.0, "code": None}], "dev")
    if moves:
        table.write([{"id": 9, "amount": 2.0, "code": "b"}])
    return table


_CODE = "id: code, rule: not_null, columns: [code], severity: block"
_MOSTLY = f"{_CODE}, min_pass_rate: 0.5"


def test_the_rows_that_newly_fail_are_shown_and_their_partitions_are_counted(
    session: WarmSession, tmp_path: Path
) -> None:
    """Rows that fail on the target as well are not the cause, though there are more of them."""
    first, second = dt.date(2026, 1, 1), dt.date(2026, 1, 2)
    for keys, parts in (((), ()), ((), ("day",)), (("day", "id"), ("day",))):
        cell = keys, parts
        folder = tmp_path / f"{len(keys)}-{len(parts)}"
        table = Table(session, folder, *keys, partition_keys=parts)
        old = [{"id": each, "day": first, "code": None} for each in range(22)]
        good = [{"id": each, "day": second, "code": "a"} for each in range(100, 123)]
        table.write([*old, *good])
        table.run("create_branch", "make", branch="dev")
        table.write([{"id": each, "day": second, "code": None} for each in range(200, 203)], "dev")
        table.write([{"id": 99, "day": first, "code": "b"}])
        table.keep_rules(_MOSTLY)
        with pytest.raises(Refused) as refused:
            table.run("dry_run_merge", "dry", branch="dev")
        (found,) = table.kept["dry"].rows.to_pylist()
        shown = sorted(json.loads(each)["id"] for each in found["examples"])
        assert (found["failures"], found["failures_before"]) == (25, 22), cell
        assert shown == [200, 201, 202], cell
        grown = {"partition": "day=2026-01-02", "failures": 3, "failures_before": 0}
        assert found["partitions"] == ([grown] if parts else []), cell
        said = "More rows fail than before: 3 in day=2026-01-02, 0 before."
        assert (said in refused.value.message) is bool(parts), cell


_TAGS = {"type": "MAP", "key": "STRING", "value": "INT"}
_BAGS = {"type": "ARRAY", "element": _TAGS}
_TAGS_HERE = pa.map_(pa.string(), pa.int32())
_WITH_MAPS = (pa.field("tags", _TAGS_HERE), pa.field("bags", pa.list_(_TAGS_HERE)))
_OLD: list[Row] = [{"id": each, "amount": 1.0, "code": None} for each in range(22)]
_GOOD: list[Row] = [{"id": each, "amount": 1.0, "code": "a"} for each in range(100, 130)]
_NEW: list[Row] = [{"id": each, "amount": 1.0, "code": None} for each in range(200, 203)]
_ASKS = "id: asks, rule: sql, query: 'SELECT * FROM {table} WHERE code IS NULL'"
_ASKS_COLUMNS = "id: some, rule: sql, query: 'select amount, `id` from {table} where code is null'"
_ASKS_TWICE = (
    "id: twice, rule: sql, query: 'SELECT id, amount * 2 AS twice FROM {table} WHERE code IS NULL'"
)


def _judged(table: Table, *rules: str) -> list[tuple[list[int], bool, str]]:
    """What each rule shows of a merge: ids, whether it is unsure of them, and its words."""
    table.keep_rules(*rules)
    with suppress(Refused):
        table.run("dry_run_merge", "dry", branch="dev")
    return [
        (
            sorted(json.loads(each)["id"] for each in found["examples"]),
            "may have failed before" in found["said"],
            found["said"],
        )
        for found in table.kept["dry"].rows.to_pylist()
    ]


def test_the_rows_that_newly_fail_are_shown_of_a_table_with_maps(
    session: WarmSession, tmp_path: Path
) -> None:
    """Spark compares no maps; a column of them tells two rows apart where it has an order."""
    table = Table(session, tmp_path, more={"tags": _TAGS, "bags": _BAGS})

    def tagged(rows: list[Row], number: int = 1) -> list[Row]:
        tags = [("k", number), ("a", 2)]
        return [{**each, "tags": tags, "bags": [tags]} for each in rows]

    table.write(tagged([*_OLD, *_GOOD]), more=_WITH_MAPS)
    table.run("create_branch", "make", branch="dev")
    # One differs by its map only from a row that failed before.
    table.write([*tagged(_NEW), *tagged(_OLD[:1], 7)], "dev", _WITH_MAPS)
    table.write(tagged([{"id": 99, "code": "b"}]), more=_WITH_MAPS)
    for ids, is_unsure, said in _judged(table, _CODE, _ASKS):
        assert (ids, is_unsure) == ([0, 200, 201, 202], False), said
    # Nobody knows which columns such a query returns.
    for ids, is_unsure, said in _judged(table, _ASKS.replace("SELECT *", "SELECT id, tags")):
        assert (len(ids), is_unsure) == (20, True), said


def test_the_rows_that_newly_fail_are_shown_if_the_source_added_a_column(
    session: WarmSession, tmp_path: Path
) -> None:
    table = Table(session, tmp_path)
    table.write([*_OLD, *_GOOD])
    table.run("create_branch", "make", branch="dev")
    added = [add_column("extra", parse_data_type("INT"))]
    change_schema(table.on("dev"), table.warehouse.store, added, now_millis=1)
    table.write(_NEW, "dev", [pa.field("extra", pa.int32())])
    table.write([{"id": 99, "code": "b"}])
    for ids, is_unsure, said in _judged(table, _CODE, _ASKS):
        assert (ids, is_unsure) == ([200, 201, 202], False), said


def test_a_row_that_failed_before_is_not_new_because_another_of_its_columns_changed(
    session: WarmSession, tmp_path: Path
) -> None:
    table = Table(session, tmp_path, "id")
    table.write([*_OLD, *_GOOD])
    table.run("create_branch", "make", branch="dev")
    table.write([*({**each, "amount": 2.0} for each in _OLD), *_NEW[:1]], "dev")
    table.write([{"id": 99, "code": "b"}])
    for ids, is_unsure, said in _judged(table, _CODE, _ASKS, _ASKS_COLUMNS):
        assert (ids, is_unsure) == ([200], False), said
    # Nothing tells here whether a row is new or has another amount.
    ((ids, is_unsure, said),) = _judged(table, _ASKS_TWICE)
    assert (len(ids), is_unsure) == (20, True), said


@pytest.mark.depth("full")
def test_rows_are_compared_with_those_before_only_if_more_fail(
    session: WarmSession, tmp_path: Path
) -> None:
    for number, (rows, asked) in enumerate(((_GOOD[:1], 3), (_NEW[:1], 5))):
        table = Table(session, tmp_path / str(number), partition_keys=("amount",))
        table.write([*_OLD, *_GOOD])
        table.run("create_branch", "make", branch="dev")
        table.write(rows, "dev")
        table.write([{"id": 99, "amount": 1.0, "code": "b"}])
        before = table.engine.asked
        ((ids, _, said),) = _judged(table, f"{_CODE}, where: id < 300")
        assert len(ids) == (20 if asked == 3 else 1), said
        # It is counted in both states, and some rows are shown; then each is read once more.
        assert table.engine.asked - before == asked, said


def test_partitions_are_counted_by_their_values_whatever_their_keys_are_called(
    session: WarmSession, tmp_path: Path
) -> None:
    """A partition without a value is another one than that of the text NULL."""
    keys = ("failures", "p0")
    table = Table(session, tmp_path, partition_keys=keys, more=dict.fromkeys(keys, "STRING"))
    fields = [pa.field(each, pa.string()) for each in keys]
    table.write([{**each, "p0": "x"} for each in (*_OLD, *_GOOD)], more=fields)
    table.run("create_branch", "make", branch="dev")
    table.write([{**each, "failures": "NULL", "p0": "x"} for each in _NEW], "dev", fields)
    table.write([{"id": 99, "code": "b", "p0": "x"}], more=fields)
    table.keep_rules(_CODE)
    table.run("dry_run_merge", "dry", branch="dev")
    (found,) = table.kept["dry"].rows.to_pylist()
    grown = {"partition": "failures='NULL'/p0=x", "failures": 3, "failures_before": 0}
    assert found["partitions"] == [grown]


def test_values_that_occur_twice_are_counted_beside_a_column_called_rows(
    session: WarmSession, tmp_path: Path
) -> None:
    table = Table(session, tmp_path, more={"rows": "STRING"})
    fields = [pa.field("rows", pa.string())]
    for branch, values in (("main", "aab"), ("dev", "bbc")):
        rows = [{"id": at, "rows": value} for at, value in enumerate(values)]
        table.write(rows, branch, fields)
        if branch == "main":
            table.run("create_branch", "make", branch="dev")
    table.write([{"id": 9, "rows": "d"}], more=fields)
    table.keep_rules("id: once, rule: unique, columns: [rows]")
    table.run("dry_run_merge", "dry", branch="dev")
    (found,) = table.kept["dry"].rows.to_pylist()
    assert [json.loads(each) for each in found["examples"]] == [{"rows": "b", "rows_": 3}]


def test_what_newly_breaks_a_rule_is_not_published_unless_somebody_says_why(
    session: WarmSession, tmp_path: Path
) -> None:
    keyed = ("id",)
    for cell in (
        ((), "merge_branch", True),
        (keyed, "merge_branch", True),
        (keyed, "merge_branch", False),
        ((), "fast_forward", False),
    ):
        keys, name, moves = cell
        table = _diverged(session, tmp_path / f"{len(keys)}-{name}-{moves}", keys, moves=moves)
        table.keep_rules(_CODE, "id: amount, rule: in_range, column: amount, min: 0")
        before = tree(table.folder / "db.db")
        heads = [head.identity.text for side in ("main", "dev") if (head := table.on(side).head())]
        if cell == (keyed, "merge_branch", True):
            with pytest.raises(Refused, match="Rule 'code' fails now"):
                table.run("dry_run_merge", "dry", branch="dev")
        with pytest.raises(Refused) as refused:
            table.run(name, "first", branch="dev")
        assert refused.value.kind is ErrorKind.GATE_FAILED, cell
        rows = 7 if moves else 6
        said = (
            f"Rule 'code' fails now, and passed before: 1 of {rows} rows breaks it; before: "
            f"0 of {rows - 1} rows break it."
        )
        assert said in refused.value.message, cell
        assert tree(table.folder / "db.db") == before, cell
        assert table.kept["first"].judged == tuple(heads), cell
        worst, milder = table.kept["first"].rows.to_pylist()
        assert (worst["rule"], worst["verdict"], worst["failures"]) == ("code", "block", 1), cell
        assert json.loads(worst["examples"][0])["id"] == 7, cell
        assert (milder["rule"], milder["verdict"]) == ("amount", "warn"), cell
        with pytest.raises(NotAllowed):
            table.run(name, "meek", branch="dev", role="approver", override_gate="I may not")
        with pytest.raises(InvalidInput, match="with a reason"):
            table.run(name, "mute", branch="dev", override_gate=" ")
        assert tree(table.folder / "db.db") == before, cell
        receipt = table.run(name, "second", branch="dev", override_gate="Known, see 41")
        assert receipt.gate is not None, cell
        override = receipt.gate["override"]
        assert (override["actor"], override["reason"]) == ("ann", "Known, see 41"), cell
        assert "Quality rules overridden by ann: Known, see 41" in receipt.notes, cell
        found = next(each for each in receipt.gate["findings"] if each["rule"] == "code")
        assert (found["failures"], found["failures_before"]) == (1, 0), cell
        head = table.on().head()
        assert head is not None
        if moves:
            # A history that is taken over is taken as it is; a merge has a snapshot of its own.
            properties = head.properties or {}
            assert properties["branch.gate-override-reason"] == "Known, see 41", cell
            assert "Rule 'code'" in properties["branch.gate-findings"], cell


@pytest.mark.depth("full")
@pytest.mark.parametrize(
    "name", ["merge_branch", pytest.param("fast_forward", marks=pytest.mark.depth("long"))]
)
def test_a_refusal_tells_first_what_newly_fails(
    name: str, session: WarmSession, tmp_path: Path
) -> None:
    table = _diverged(session, tmp_path, (), moves=name == "merge_branch")
    strict = "rule: in_range, column: amount, max: 0, severity: block, strict: true"
    # More than a message has room for fail since long, and stand before it in the file.
    table.keep_rules(*(f"id: old{number}, {strict}" for number in range(4)), _CODE)
    with pytest.raises(Refused) as refused:
        table.run(name, "first", branch="dev")
    said = refused.value.message
    assert said.startswith("Rule 'code' fails now, and passed before: 1 of "), said
    assert said.index("Rule 'old0' fails") > 0
    assert "And 2 more. Nothing was changed." in said
    gate = refused.value.facts["gate"]
    assert [each["rule"] for each in gate["findings"]] == ["code", "old0", "old1", "old2", "old3"]
    notes = table.run(name, "second", branch="dev", override_gate="Known").notes
    told = [note for note in notes if note.startswith("Rule ")]
    assert [note.split("'")[1] for note in told] == ["code", "old0", "old1", "old2", "old3"]


@pytest.mark.depth("full")
def test_a_verdict_is_of_one_plan_and_of_one_rule_file(
    session: WarmSession, tmp_path: Path
) -> None:
    table = _diverged(session, tmp_path, (), moves=True)
    table.keep_rules("id: few, rule: row_count_between, max: 100, severity: block")

    def moves(stage: str) -> None:
        if stage == STAGE:
            table.write([{"id": 10, "code": "c"}])

    def rewrites(stage: str) -> None:
        if stage == "merge branch":
            table.keep_rules("id: few, rule: row_count_between, max: 1, severity: block")

    for meddles, strict, kind, said in (
        (moves, True, ErrorKind.HEAD_MOVED, "wrote rows, which the rules were not judged on"),
        (rewrites, False, ErrorKind.GATE_FAILED, "The rules of the table were changed"),
    ):
        with pytest.raises((Refused, CommitConflict), match=said) as refused:
            table.run(
                "merge_branch", meddles.__name__, branch="dev", meddles=meddles, strict=strict
            )
        assert refused.value.kind is kind
    assert "few" in table.kept["rewrites"].rows["rule"].to_pylist()
    # Rows that touch nothing of the merge leave its verdict as it is.
    table.keep_rules("id: few, rule: row_count_between, max: 8, severity: block")
    carried = table.run("merge_branch", "carried", branch="dev", meddles=moves)
    assert "Quality rules: pass." in carried.notes
    assert any("carried over snapshot 4 by test" in each for each in carried.notes)
    assert carried.counts.rows_after is None
    # Without a rule that fails, a column that goes is the schema's own matter.
    table.keep_rules()
    change_schema(table.on("dev"), table.warehouse.store, [drop_column("price")], now_millis=1)
    with pytest.raises(Refused, match="dropped 'price'") as refused:
        table.run("merge_branch", "drops", branch="dev")
    assert refused.value.kind is ErrorKind.GATE_FAILED


@pytest.mark.depth("full")
def test_what_was_broken_before_only_warns_unless_the_rule_is_strict(
    session: WarmSession, tmp_path: Path
) -> None:
    table = _diverged(session, tmp_path, ("id",), moves=True)
    table.write([{"id": 3, "amount": 1.0, "code": None}])
    table.keep_rules(f"{_CODE}, strict: true")
    with pytest.raises(Refused, match="fails: 2 of 7 rows break it, 1 more than before; it failed"):
        table.run("merge_branch", "strict", branch="dev")
    # A branch that main's rules never heard of is no way around them: the file is the table's.
    table.keep_rules("id: gone, rule: not_null, columns: [gone], severity: block")
    with pytest.raises(PaimonError, match="Rule 'gone' was not evaluated: There is no column"):
        table.run("merge_branch", "unknown", branch="dev")
    table.keep_rules("id: gone, rule: not_nul, columns: [gone]")
    with pytest.raises(PaimonError, match=r"db\.t\.yaml: Line 3: rules\[1\]\.rule is 'not_nul'"):
        table.run("merge_branch", "broken", branch="dev")
    table.keep_rules(_CODE)
    judged = {"known": {"a": "main", "b": "dev"}, "new": {"a": "main@1", "b": "main@3"}}
    for name, sides in judged.items():
        table.run("check_rules", f"judged-{name}", **sides)
    found = [table.kept[f"judged-{name}"].rows.to_pylist()[0] for name in judged]
    assert [each["verdict"] for each in found] == ["warn", "block"]
    assert [(each["failures"], each["failures_before"]) for each in found] == [(1, 1), (1, 0)]
    tried = table.run("dry_run_merge", "tried", branch="dev")
    assert "Quality rules: warn." in tried.notes
    ran = "The dry run has run 1 quality rule on this result, and none blocks it."
    assert ran in table.told("merge_branch", branch="dev")
    walked: list[str] = []
    receipt = table.run("merge_branch", "known", branch="dev", meddles=walked.append)
    # The verdict on what the dry run staged holds for these very files.
    assert not {STAGE, "compare rows"} & set(walked)
    assert receipt.gate is not None
    assert receipt.gate["verdict"] == "warn"
    assert "override" not in receipt.gate
    head = table.on().head()
    assert head is not None
    assert (head.properties or {})["branch.gate"] == "warn"


@pytest.mark.depth("full")
def test_a_merge_that_breaks_what_neither_branch_breaks_writes_nothing(
    session: WarmSession, tmp_path: Path
) -> None:
    table = Table(session, tmp_path, "id")
    table.write([{"id": number, "amount": 0.0, "code": "a"} for number in range(5)])
    table.run("create_branch", "make", branch="dev")
    table.write([{"id": 1, "amount": 0.0, "code": "x"}], "dev")
    table.write([{"id": 1, "amount": 5.0, "code": "a"}])
    query = "SELECT id FROM {table} WHERE amount > 0 AND code = 'x'"
    table.keep_rules(f'id: paid, rule: sql, query: "{query}", severity: block')
    for branch in ("main", "dev"):
        table.run("check_rules", f"check-{branch}", table=f"db.t$branch_{branch}")
        (row,) = table.kept[f"check-{branch}"].rows.to_pylist()
        assert (row["verdict"], row["failures"]) == ("pass", 0)
    before = tree(table.folder / "db.db")
    with pytest.raises(Refused) as refused:
        table.run("merge_branch", "merge", branch="dev")
    said = "Rule 'paid' fails now, and passed before: 1 row found; before: 0 rows found."
    assert said in refused.value.message
    assert table.kept["merge"].rows["examples"].to_pylist() == [['{"id": 1}']]
    assert tree(table.folder / "db.db") == before
    # The same files as a merge would have left; a rule that they keep lets them be.
    table.keep_rules(f'id: paid, rule: sql, query: "{query}"')
    receipt = table.run("merge_branch", "again", branch="dev")
    assert "Quality rules: warn." in receipt.notes
