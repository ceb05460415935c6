from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import pyarrow as pa
import pytest

from branch_console.diff.three_way import ThreeWay
from branch_console.errors import InvalidInput
from branch_console.merge.conflict import ConflictKind
from branch_console.merge.policy import Policy, RowRule
from branch_console.merge.row_merge import merge_rows
from branch_console.merge.row_work import RowVerdict, row_conflict_schema
from tests.unit.merge.merged_rows import TABLE, cells, keyed, merge, rows_of, tuples

SCHEMA = keyed({"id": "INT NOT NULL", "a": "INT", "b": "STRING"})
Row = tuple[Any, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    name: str
    base: Row
    ours: Row
    theirs: Row
    verdict: RowVerdict
    result: Row = None
    row: RowVerdict | None = None


CASES = [
    Case(
        name="theirs changed", base=(1, 1, "x"), ours=(1, 1, "x"), theirs=(1, 2, "y"),
        verdict=RowVerdict.THEIRS, result=(1, 2, "y"),
    ),
    Case(
        name="same change", base=(1, 1, "x"), ours=(1, 2, "y"), theirs=(1, 2, "y"),
        verdict=RowVerdict.ONCE, result=(1, 2, "y"),
    ),
    Case(
        name="disjoint columns", base=(1, 1, "x"), ours=(1, 2, "x"), theirs=(1, 1, "y"),
        verdict=RowVerdict.BOTH, result=(1, 2, "y"), row=RowVerdict.CONFLICT,
    ),
    Case(
        name="one column in two ways", base=(1, 1, "x"), ours=(1, 2, "x"), theirs=(1, 3, "x"),
        verdict=RowVerdict.CONFLICT, row=RowVerdict.CONFLICT,
    ),
    Case(
        name="one column in two ways, another disjoint",
        base=(1, 1, "x"), ours=(1, 2, "x"), theirs=(1, 3, "y"),
        verdict=RowVerdict.CONFLICT, row=RowVerdict.CONFLICT,
    ),
    Case(
        name="changed and deleted", base=(1, 1, "x"), ours=None, theirs=(1, 2, "x"),
        verdict=RowVerdict.CONFLICT, row=RowVerdict.CONFLICT,
    ),
    Case(
        name="unchanged and deleted", base=(1, 1, "x"), ours=(1, 1, "x"), theirs=None,
        verdict=RowVerdict.THEIRS,
    ),
    Case(
        name="deleted twice", base=(1, 1, "x"), ours=None, theirs=None,
        verdict=RowVerdict.DELETED,
    ),
    Case(
        name="added equally", base=None, ours=(1, 1, None), theirs=(1, 1, None),
        verdict=RowVerdict.ONCE, result=(1, 1, None),
    ),
    Case(
        name="added differently", base=None, ours=(1, 1, "x"), theirs=(1, 1, "y"),
        verdict=RowVerdict.CONFLICT, row=RowVerdict.CONFLICT,
    ),
    Case(
        name="added with and without a value", base=None, ours=(1, 1, None), theirs=(1, 1, "y"),
        verdict=RowVerdict.CONFLICT, row=RowVerdict.CONFLICT,
    ),
    Case(
        name="null is a value", base=(1, None, "x"), ours=(1, None, "y"), theirs=(1, 5, "x"),
        verdict=RowVerdict.BOTH, result=(1, 5, "y"), row=RowVerdict.CONFLICT,
    ),
    Case(
        name="null equals null", base=(1, 1, "x"), ours=(1, None, "x"), theirs=(1, None, "x"),
        verdict=RowVerdict.ONCE, result=(1, None, "x"),
    ),
    Case(
        name="one side only added", base=None, ours=None, theirs=(1, None, None),
        verdict=RowVerdict.THEIRS, result=(1, None, None),
    ),
    Case(
        name="nobody changed", base=(1, 1, "x"), ours=(1, 1, "x"), theirs=(1, 1, "x"),
        verdict=RowVerdict.UNCHANGED, result=(1, 1, "x"),
    ),
]  # fmt: skip
MIRRORED = {RowVerdict.THEIRS: RowVerdict.OURS}


@pytest.mark.parametrize("swap", [False, True], ids=["as written", "mirrored"])
@pytest.mark.parametrize("rule", RowRule)
@pytest.mark.parametrize("case", CASES, ids=attrgetter("name"))
def test_a_row_gets_the_verdict_of_the_table(case: Case, rule: RowRule, swap: bool) -> None:
    sides = ThreeWay(base=case.base, ours=case.ours, theirs=case.theirs)
    verdict = case.verdict
    if swap:
        sides, verdict = sides.mirrored, MIRRORED.get(verdict, verdict)
    if rule is RowRule.ROW and case.row is not None:
        verdict = case.row
    base, ours, theirs = (
        [] if row is None else [row] for row in (sides.base, sides.ours, sides.theirs)
    )
    merged = merge(SCHEMA, base, ours, theirs, f"rows: {rule}")
    assert merged.verdicts == {verdict: 1}
    if verdict is RowVerdict.CONFLICT:
        assert merged.conflicts["take"].null_count == merged.conflicts.num_rows > 0
        assert merged.upserts.num_rows == merged.deletes.num_rows == 0
        return
    assert merged.conflicts.num_rows == 0
    wanted = [] if case.result is None else [case.result]
    assert tuples(merged.upserts) == ([] if wanted == theirs else wanted)
    assert tuples(merged.deletes) == ([(1,)] if theirs and not wanted else [])


def test_conflicts_say_the_key_the_column_and_the_three_values() -> None:
    merged = merge(
        SCHEMA,
        [(2, 1, "x"), (1, 1, "x")],
        [(2, 2, "o"), (3, None, "p")],
        [(2, 3, None), (1, 1, 'a "b"'), (3, 4, "q")],
    )
    assert merged.conflicts.schema == row_conflict_schema(SCHEMA)
    found = [
        tuple(row[name] for name in ("key", "column", "kind", "base", "ours", "theirs"))
        for row in merged.conflicts.to_pylist()
    ]
    assert found == [
        ({"id": 1}, None, ConflictKind.DELETE_MODIFY,
         '{"id": 1, "a": 1, "b": "x"}', None, '{"id": 1, "a": 1, "b": "a \\"b\\""}'),
        ({"id": 2}, "a", ConflictKind.MODIFY_MODIFY, "1", "2", "3"),
        ({"id": 2}, "b", ConflictKind.MODIFY_MODIFY, "x", "o", None),
        ({"id": 3}, "a", ConflictKind.ADD_ADD, None, None, "4"),
        ({"id": 3}, "b", ConflictKind.ADD_ADD, None, "p", "q"),
    ]  # fmt: skip


def test_a_conflict_keeps_its_id_while_its_values_change() -> None:
    first = merge(SCHEMA, [(1, 1, "x")], [(1, 2, "x")], [(1, 3, "x")])
    again = merge(SCHEMA, [(0, 0, "x"), (1, 7, "x")], [(1, 8, "x")], [(1, 9, "x")])
    assert first.conflicts["conflict_id"].to_pylist() == again.conflicts["conflict_id"].to_pylist()


def test_only_what_a_replay_gives_otherwise_is_written() -> None:
    sides = ThreeWay(
        base=rows_of(SCHEMA, [(1, 1, "x"), (2, 1, "x"), (3, 1, "x")]),
        ours=rows_of(SCHEMA, [(1, 2, "x"), (2, 5, "x")]),
        theirs=rows_of(SCHEMA, [(1, 1, "y"), (2, 5, "x")]),
    )
    settled = rows_of(SCHEMA, [(1, 2, "y"), (2, 5, "x")])
    unsure = rows_of(SCHEMA, [(1, 1, "y"), (2, 5, "x"), (3, 1, "x")])
    once = merge_rows(sides, SCHEMA, Policy(), table=TABLE, replays=[settled])
    assert (once.upserts.num_rows, once.deletes.num_rows) == (0, 0)
    either = merge_rows(sides, SCHEMA, Policy(), table=TABLE, replays=[settled, unsure])
    assert tuples(either.upserts) == [(1, 2, "y")]
    assert tuples(either.deletes) == [(3,)]


def test_values_of_every_kind_are_compared() -> None:
    kinds = {
        "DOUBLE": (float("nan"), 1.5),
        "DECIMAL(9, 2)": (None, 1),
        "VARBINARY(9)": (b"a", b"b"),
        "TIMESTAMP(3)": (0, 1),
        "DATE": (0, 1),
        "TIME(0)": (0, 1000),
        "BOOLEAN": (True, False),
    }
    for kind, (old, new) in kinds.items():
        schema = keyed({"id": "INT NOT NULL", "v": kind, "w": kind})
        merged = merge(schema, [(1, old, old)], [(1, new, old)], [(1, old, new)])
        assert merged.verdicts == {RowVerdict.BOTH: 1}, kind
        merged = merge(schema, [(1, old, old)], [(1, new, old)], [(1, None, old)])
        assert merged.conflicts.num_rows == (old is not None), kind


def test_nested_values_are_compared_as_a_whole() -> None:
    array = {"type": "ARRAY", "element": "INT"}
    mapping = {"type": "MAP", "key": "STRING", "value": "INT"}
    schema = keyed({"id": "INT NOT NULL", "v": array, "w": mapping})  # type: ignore[dict-item]
    merged = merge(
        schema,
        [(1, [1], [("a", 1), ("b", 2)])],
        [(1, [1, 2], [("b", 2), ("a", 1)])],
        [(1, [1], [("a", 2), ("b", 2)])],
    )
    assert merged.verdicts == {RowVerdict.BOTH: 1}
    assert tuples(merged.upserts) == [(1, [1, 2], [("a", 2), ("b", 2)])]
    merged = merge(schema, [(1, [1], None)], [(1, [2], None)], [(1, [3], None)])
    assert merged.conflicts.select(["ours", "theirs"]).to_pylist() == [
        {"ours": "[2]", "theirs": "[3]"}
    ]


# --- merge engines ------------------------------------------------------------------------------


def test_columns_of_a_partial_update_are_filled_by_both_sides() -> None:
    schema = keyed(
        {"id": "INT NOT NULL", "a": "INT", "b": "STRING"}, {"merge-engine": "partial-update"}
    )
    merged = merge(schema, [], [(1, 1, None), (2, 1, "x")], [(1, None, "y"), (2, 1, "y")])
    assert merged.verdicts == {RowVerdict.BOTH: 1, RowVerdict.CONFLICT: 1}
    assert tuples(merged.upserts) == [(1, 1, "y")]
    assert cells(merged) == {(2, "b"): ...}


FUNCTIONS = [
    ("INT", "sum", 10, 15, 13, 18),
    ("INT", "sum", None, 15, 13, 28),
    ("INT", "sum", 10, 15, 15, 20),
    ("DECIMAL(9, 2)", "sum", 10, 15, 13, 18),
    ("DECIMAL(38, 2)", "sum", None, 15, None, 15),
    ("BIGINT", "count", 10, 15, 13, 18),
    ("INT", "product", 2, 6, 10, 30),
    ("INT", "product", None, 6, 10, 60),
    ("INT", "max", 1, 5, 7, 7),
    ("STRING", "min", "m", "k", "l", "k"),
    ("BOOLEAN", "bool_and", True, True, False, False),
    ("BOOLEAN", "bool_or", None, None, True, True),
    ("BOOLEAN", "bool_or", False, False, True, True),
]


@pytest.mark.parametrize(("kind", "function", "base", "ours", "theirs", "result"), FUNCTIONS)
@pytest.mark.parametrize("swap", [False, True], ids=["as written", "mirrored"])
def test_functions_that_commute_hold_what_both_sides_did(
    kind: str, function: str, base: Any, ours: Any, theirs: Any, result: Any, swap: bool
) -> None:
    options = {"merge-engine": "aggregation", "fields.v.aggregate-function": function}
    schema = keyed({"id": "INT NOT NULL", "v": kind}, options)
    if swap:
        ours, theirs = theirs, ours
    merged = merge(schema, [(1, base)], [(1, ours)], [(1, theirs)])
    assert merged.conflicts.num_rows == 0
    assert tuples(merged.results) == ([] if result == theirs else [(1, result)])


def test_what_is_written_is_added_to_what_readers_see() -> None:
    options = {
        "merge-engine": "aggregation",
        "fields.n.aggregate-function": "sum",
        "fields.s.aggregate-function": "last_value",
    }
    schema = keyed({"id": "INT NOT NULL", "n": "BIGINT", "s": "STRING"}, options)
    policy = "tables: {db.t: {columns: {s: ours}}}"
    merged = merge(schema, [(1, 10, "a")], [(1, 15, "b")], [(1, 13, "c")], policy)
    assert tuples(merged.results) == [(1, 18, "b")]
    assert tuples(merged.upserts) == [(1, 5, "b")]


@pytest.mark.parametrize(
    "function", ["last_value", "first_value", "listagg", "last_non_null_value"]
)
def test_functions_that_know_an_order_conflict(function: str) -> None:
    options = {"merge-engine": "aggregation", "fields.v.aggregate-function": function}
    schema = keyed({"id": "INT NOT NULL", "v": "STRING"}, options)
    merged = merge(schema, [(1, "a")], [(1, "b")], [(1, "c")])
    assert merged.verdicts == {RowVerdict.CONFLICT: 1}


def test_collected_sets_are_joined() -> None:
    options = {
        "merge-engine": "aggregation",
        "fields.v.aggregate-function": "collect",
        "fields.v.distinct": "true",
    }
    array = {"type": "ARRAY", "element": "INT"}
    schema = keyed({"id": "INT NOT NULL", "v": array}, options)  # type: ignore[dict-item]
    merged = merge(schema, [(1, [1])], [(1, [1, 2])], [(1, [1, 3])])
    assert tuples(merged.results) == [(1, [1, 2, 3])]


def test_the_first_row_of_the_target_stays() -> None:
    schema = keyed({"id": "INT NOT NULL", "v": "STRING"}, {"merge-engine": "first-row"})
    merged = merge(schema, [], [(1, "ours")], [(1, "theirs"), (2, "new")])
    assert merged.verdicts == {RowVerdict.OURS: 1, RowVerdict.THEIRS: 1}
    assert tuples(merged.upserts) == [(1, "ours")]


def test_a_sum_that_does_not_fit_is_refused() -> None:
    options = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
    schema = keyed({"id": "INT NOT NULL", "v": "TINYINT"}, options)
    with pytest.raises(InvalidInput, match="column 'v'"):
        merge(schema, [(1, 0)], [(1, 100)], [(1, 100)])


def test_no_rows_are_merged_to_none() -> None:
    empty = rows_of(SCHEMA, [])
    merged = merge_rows(
        ThreeWay(base=empty, ours=empty, theirs=empty), SCHEMA, Policy(), table=TABLE
    )
    assert merged.verdicts == {}
    assert isinstance(merged.conflicts, pa.Table)
    assert merged.conflicts.num_rows == merged.upserts.num_rows == merged.deletes.num_rows == 0


def test_a_table_of_keys_only_has_no_columns_to_conflict() -> None:
    schema = keyed({"id": "INT NOT NULL"})
    merged = merge(schema, [(1,), (2,)], [(1,), (3,)], [(2,), (3,)])
    assert merged.verdicts == {RowVerdict.OURS: 1, RowVerdict.THEIRS: 1, RowVerdict.ONCE: 1}
    assert tuples(merged.deletes) == [(2,)]
