"""Rows that one side wrote without a value of a column that the other made NOT NULL with a default.

Paimon fills in defaults as it writes rows: so does a merge, for preview and run alike.
"""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Final

import pytest

from branch_console.merge.plan import MergeVerdict, Plan, blocks_of, verdict_of
from branch_console.operations.isolation import Isolation
from tests.support.java_paimon import JavaPaimon, JavaTable
from tests.support.merge_bench import COPIED, SHARED, MergeBench, Row, row_of

pytestmark = pytest.mark.depth("full")

_ALLOWS: Final = {"alter-column-null-to-not-null.disabled": "false"}
_VECTORS: Final = {"deletion-vectors.enabled": "true"}
_DEFAULT: Final = 8


def _forbid_nulls(table: JavaTable) -> None:
    table.set_default("amount", str(_DEFAULT))
    table.set_nullable("amount", False)


def _filled(row: Row) -> Row:
    return (*row[:2], _DEFAULT if row[2] is None else row[2])


@pytest.fixture
def make(open_java: Callable[[Path], JavaPaimon], tmp_path: Path) -> Callable[..., MergeBench]:
    def diverging(**options: str) -> MergeBench:
        bench = MergeBench(open_java(tmp_path), tmp_path, options={**_ALLOWS, **options})
        bench.insert("main", 1, 2, 3, 4)
        bench.branch("dev")
        return bench

    return diverging


def _insert_without(bench: MergeBench, branch: str, *ids: int) -> None:
    new = {each: (*row_of(each, 1)[:2], None) for each in ids}
    bench.table(branch).write(list(new.values()))
    bench.rows[branch] = bench.rows[branch] | new


def _merge(bench: MergeBench, side: str) -> Plan:
    """Merge, with a preview that says what is filled in; nothing is left without a value."""
    plan = bench.plan()
    assert (verdict_of(plan), blocks_of(plan)) == (MergeVerdict.CLEAN, ())
    assert [note for note in plan.notes if f"that the {side} wrote without a value" in note]
    rows = {**bench.rows["main"], **bench.rows["dev"]}
    bench.merge(rows={each: _filled(row) for each, row in rows.items()})
    bench.check()
    assert verdict_of(bench.plan()) is MergeVerdict.UP_TO_DATE
    return plan


@pytest.mark.parametrize("options", [SHARED, COPIED, {**SHARED, "row-tracking.enabled": "true"}])
@pytest.mark.parametrize("writer", ["dev", "main"])
def test_rows_that_were_written_without_a_value_get_the_default(
    writer: str, options: dict[str, str], make: Callable[..., MergeBench]
) -> None:
    bench = make(**options)
    other = "main" if writer == "dev" else "dev"
    _insert_without(bench, writer, 21, 22)
    bench.insert(writer, 23)
    bench.alter(other, _forbid_nulls, bench.views[other])
    bench.insert(other, 41)
    _merge(bench, "source" if writer == "dev" else "target")
    bench.check_with_all()
    if writer == "dev":
        # What is deleted of them later is found again by its values.
        bench.delete("dev", 21)
        left = {each: row for each, row in bench.rows["main"].items() if each != 21}
        bench.merge(rows=left, isolation=Isolation.SNAPSHOT)
        bench.check()


@pytest.mark.parametrize("writer", ["dev", "main"])
def test_rows_that_vectors_hide_are_not_filled_in(
    writer: str, make: Callable[..., MergeBench]
) -> None:
    bench = make(**SHARED, **_VECTORS)
    other = "main" if writer == "dev" else "dev"
    _insert_without(bench, writer, 21, 22, 23)
    bench.hide(writer, 22)
    bench.alter(other, _forbid_nulls, bench.views[other])
    _merge(bench, "source" if writer == "dev" else "target")


def test_rows_that_the_target_compacted_are_filled_in(make: Callable[..., MergeBench]) -> None:
    bench = make(**SHARED)
    _insert_without(bench, "main", 41, 42)
    bench.compact("main")
    bench.alter("dev", _forbid_nulls, bench.views["dev"])
    _merge(bench, "target")


def test_a_default_of_each_kind_of_column_is_filled_in(
    open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    kinds = {
        "d": ("DECIMAL(10, 2)", "12.30", Decimal("12.30")),
        "t": ("TIMESTAMP(6)", "2026-01-02 03:04:05.000006", dt.datetime(2026, 1, 2, 3, 4, 5, 6)),
        "s": ("STRING", "none", "none"),
        "day": ("DATE", "2026-01-02", dt.date(2026, 1, 2)),
        "b": ("BOOLEAN", "true", True),
        "n": ("BIGINT", "-5", -5),
        "x": ("DOUBLE", "1.5", 1.5),
    }
    bench = MergeBench(open_java(tmp_path), tmp_path, options={**SHARED, **_ALLOWS})
    for name, (kind, _, _) in kinds.items():
        bench.table().add_column(f"c_{name}", kind)
    bench.table().write([(1, "d1", 1, *(value for _, _, value in kinds.values()))])
    bench.call("create_branch", branch="dev")
    bench.table("dev").write([(2, "d1", 1, *(None for _ in kinds))])
    for name, (_, text, _) in kinds.items():
        bench.table().set_default(f"c_{name}", text)
        bench.table().set_nullable(f"c_{name}", False)
    bench.call("merge_branch", branch="dev")
    first, second = sorted(bench.table().rows())
    assert second[3:] == first[3:]
