"""The quality of two states: its figures are those of the rows that readers see, however found."""

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.schema.schema_commit import add_column, change_schema
from branch_console.errors import ErrorKind, FormatError, InvalidInput, PaimonError, Refused
from branch_console.format.data_types import STRING
from branch_console.format.identifier import Identifier
from branch_console.jobs.kept_profiles import KeptProfiles, KeptQuality
from branch_console.procedures.compare.quality import quality_name
from branch_console.procedures.compare.states import compare_states
from branch_console.quality.comparison import (
    ColumnComparison,
    QualityComparison,
    Scope,
    ScopeComparison,
    SideFigures,
)
from branch_console.quality.drift import Rating
from branch_console.quality.drift_map import Base
from branch_console.quality.work import plan_quality
from branch_console.spark.compare.profile_pass import KeptUnits, NothingKept, ProfilePass
from branch_console.spark.session.session import WarmSession
from tests.support.compare_bench import SHAPES, Bench, Row

TABLE: Final = Identifier.parse("db.t")
NAN: Final = float("nan")
NOTHING_KEPT: Final = NothingKept()


def rows_of(rng: random.Random, ids: Sequence[int], shift: float = 0.0) -> list[Row]:
    """Rows of the bench's columns: id, part, x (DOUBLE), s (STRING), d (DECIMAL), l (ARRAY)."""
    xs = [None, NAN, 0.0, -0.0]
    return [
        (
            number,
            "ab"[number % 2],
            rng.choice([*xs, *(rng.gauss(shift, 1) for _ in range(12))]),
            rng.choice([None, "", "red", "green", "blue "]),
            None,
            rng.choice([None, [], [1]]),
        )
        for number in ids
    ]


def profiled(
    bench: Bench, a: str, b: str, units: KeptUnits = NOTHING_KEPT, **limits: int
) -> QualityComparison:
    diff = compare_states(bench.warehouse, TABLE, a, b)
    made = ProfilePass(bench.store, lambda: bench.session, units, **limits)
    table = bench.warehouse.table(TABLE)
    return made.compare(table, plan_quality(diff), finished_millis=0)


def scope_of(found: QualityComparison, scope: Scope) -> ScopeComparison:
    there = found.find_scope(scope)
    assert there is not None
    return there


def column(scope: ScopeComparison, name: str) -> ColumnComparison:
    return next(each for each in scope.columns if each.name == name)


def side(found: SideFigures | None) -> SideFigures:
    assert found is not None
    return found


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param("append by partition", marks=pytest.mark.depth("full")),
        "keyed in two buckets",
    ],
)
def test_whole_sides_are_what_readers_see(
    shape: str, session: WarmSession, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(f"{seed} {shape}")
    bench = Bench(session, tmp_path, **SHAPES[shape])
    bench.write("main", rows_of(rng, range(1, 400)))
    bench.run("create_branch", branch="dev")
    bench.write("dev", rows_of(rng, range(200, 600), shift=1))
    gone = rows_of(rng, range(1, 9)) if shape.startswith("keyed") else []
    bench.write("main", rows_of(rng, range(380, 450)), gone)
    few, many = profiled(bench, "main", "dev"), profiled(bench, "main", "dev", small_rows=0)
    for found in (few, many):
        whole = scope_of(found, Scope.WHOLE)
        for branch, at in (("main", 0), ("dev", 1)):
            rows = bench.rows(branch)
            assert whole.rows[at] == len(rows), branch
            _check(whole, rows, at)
        if bench.keys:
            assert whole.keys is not None
            assert [each.duplicates for each in whole.keys] == [0, 0]
        else:
            assert whole.keys is None
    # So few values are kept whole, so that tasks find what this process finds.
    for scope in few.scopes:
        assert scope_of(many, scope.scope).columns == scope.columns


def _check(whole: ScopeComparison, rows: list[Row], at: int) -> None:
    for name, position in (("x", 2), ("s", 3), ("l", 5)):
        found = column(whole, name)
        figures = side((found.before, found.after)[at])
        values: list[Any] = [row[position] for row in rows]
        there = [each for each in values if each is not None]
        assert figures.nulls == len(values) - len(there), name
        assert sum((each.base, each.other)[at] for each in found.bins) == len(values) or name == "l"
        if name == "x":
            valid = [each for each in there if not math.isnan(each)]
            assert figures.nans == len(there) - len(valid)
            assert figures.mean == pytest.approx(np.mean(valid), rel=1e-9)
            assert figures.deviation == pytest.approx(np.std(valid, ddof=1), rel=1e-9)
            assert figures.quantiles[3] == np.quantile(valid, 0.5, method="inverted_cdf")
            assert (float(figures.low or ""), float(figures.high or "")) == (min(valid), max(valid))
            assert figures.distinct == len(set(valid)) + bool(figures.nans)
        elif name == "s":
            counts = {each.value: (each.base, each.other)[at] for each in found.bins}
            assert counts["red"] == there.count("red")
            assert figures.distinct == len(set(there))
        else:
            assert figures.distinct is None


@pytest.mark.depth("full")
def test_own_rows_are_those_that_the_other_side_does_not_share(
    session: WarmSession, tmp_path: Path
) -> None:
    rng = random.Random(4)
    bench = Bench(session, tmp_path)
    bench.write("main", rows_of(rng, range(2_000)))
    bench.run("create_branch", branch="dev")
    bench.write("dev", rows_of(rng, range(2_000, 2_200), shift=3))
    found = profiled(bench, "main", "dev")
    assert found.units_read == 2
    own, whole = (scope_of(found, each) for each in (Scope.OWN, Scope.WHOLE))
    assert (own.rows, own.is_base_whole) == ((2_000, 200), True)
    assert whole.rows == (2_000, 2_200)
    # In a tenth of the rows hardly to be seen, and plain in the new ones.
    assert column(own, "x").rating is Rating.ALARM
    assert [each.name for each in own.columns if each.rating.is_reported] == ["x"]
    # Each append has larger ids than all before it.
    assert "serial number" in (column(own, "id").why_not_rated or "")
    assert column(own, "x").severity > 5 * column(whole, "x").severity
    without = profiled(bench, "main", "dev", shared_bytes=0)
    assert [each.scope for each in without.scopes] == [Scope.OWN]
    assert without.scopes[0].rows == (0, 200)
    assert {each.rating for each in without.scopes[0].columns} == {Rating.FEW_ROWS}
    assert any("not read" in note for note in without.notes)


@pytest.mark.depth("full")
def test_own_rows_of_a_table_with_a_key_are_those_that_changed(
    session: WarmSession, tmp_path: Path
) -> None:
    rng = random.Random(6)
    bench = Bench(session, tmp_path, **SHAPES["keyed in two buckets"])
    old = rows_of(rng, range(4_000))
    bench.write("main", old)
    bench.run("create_branch", branch="dev")
    # Every other row is written again as it is: it is in the bucket, and did not change.
    changed = [(*row[:2], None if row[2] is None else 100 * row[2], *row[3:]) for row in old[:300]]
    new = rows_of(rng, range(4_000, 4_150))
    bench.write("dev", [*changed, *old[300::2], *new], old[3_990:])
    moved = sum(row[2] not in (None, 0.0) and not math.isnan(row[2]) for row in old[:300])
    for limits in ({}, {"small_rows": 0}):
        found = profiled(bench, "main", "dev", **limits)
        own = scope_of(found, Scope.OWN)
        assert own.rows == (moved + 10, moved + 150), limits
        assert column(own, "x").rating is Rating.ALARM, limits
        assert column(own, "s").rating is Rating.CALM, limits
        assert scope_of(found, Scope.WHOLE).rows == (4_000, 4_140)
        assert column(scope_of(found, Scope.WHOLE), "x").rating is not Rating.ALARM


@pytest.mark.depth("full")
def test_drift_is_told_by_partition(session: WarmSession, tmp_path: Path) -> None:
    rng = random.Random(5)
    bench = Bench(session, tmp_path, **SHAPES["append by partition"])
    bench.write("main", rows_of(rng, range(1_000)))
    bench.run("create_branch", branch="dev")
    fine = rows_of(rng, range(1_000, 1_400, 2))
    moved = rows_of(rng, range(1_001, 1_401, 2), shift=4)
    few = [(row[0], "few", *row[2:]) for row in rows_of(rng, range(2_000, 2_030))]
    new = [(row[0], "new", *row[2:]) for row in rows_of(rng, range(3_000, 3_200), shift=4)]
    bench.write("dev", [*fine, *moved, *few, *new])
    for limits in ({}, {"small_rows": 0}, {"shared_bytes": 0}):
        found = profiled(bench, "main", "dev", **limits).drift_map
        assert found is not None
        there = {each.partition: each for each in found.partitions}
        assert found.left_out == 0
        severities = [each.severity for each in found.partitions]
        assert severities == sorted(severities, reverse=True)
        assert there["part=few"].cells == ()
        if "shared_bytes" in limits:
            assert {each.cells for each in found.partitions} == {()}
            continue
        bases = {name: (each.base, each.rows) for name, each in there.items()}
        assert bases["part=b"] == (Base.PARTITION, (500, 200))
        assert bases["part=new"] == (Base.WHOLE, (1_000, 200))
        for name, rating in (("a", Rating.CALM), ("b", Rating.ALARM), ("new", Rating.ALARM)):
            cells = {each.column: each.rating for each in there[f"part={name}"].cells}
            assert cells["x"] is rating, (limits, name)
            assert "part" not in cells, (limits, name)


@pytest.mark.depth("full")
def test_tasks_read_no_unit_twice(session: WarmSession, tmp_path: Path) -> None:
    rng = random.Random(4)
    bench = Bench(session, tmp_path)
    for start in (0, 300):
        bench.write("main", rows_of(rng, range(start, start + 300)))
    bench.run("create_branch", branch="dev")
    bench.write("dev", rows_of(rng, range(600, 900), shift=2))
    units = KeptProfiles(folder=tmp_path / "units")
    first = profiled(bench, "main", "dev", units, small_rows=0)
    assert (first.units_read, first.units_known) == (3, 0)
    bench.write("dev", rows_of(rng, range(900, 1_200), shift=2))
    again = profiled(bench, "main", "dev", units, small_rows=0)
    assert (again.units_read, again.units_known) == (1, 3)
    here = profiled(bench, "main", "dev")
    assert again.scopes == here.scopes
    assert len(list(units.folder.glob("*"))) == 4
    (one, *_) = units.folder.glob("*")
    one.write_bytes(b"broken")
    healed = profiled(bench, "main", "dev", units, small_rows=0)
    assert (healed.units_read, healed.scopes) == (1, here.scopes)
    units.forget_oldest(most_bytes=0)
    assert not list(units.folder.glob("*"))


def test_a_job_keeps_what_it_found(session: WarmSession, tmp_path: Path) -> None:
    bench = Bench(session, tmp_path)
    bench.write("main", rows_of(random.Random(1), range(300)))
    bench.run("create_branch", branch="dev")
    bench.write("dev", rows_of(random.Random(2), range(300, 600), shift=2))
    told = bench.run("compare_quality", a="main", b="dev")
    assert "Columns that drifted: 1 beyond the alarm threshold" in told
    results = KeptQuality(folder=tmp_path / "state" / "quality")
    diff = compare_states(bench.warehouse, TABLE, "main", "dev")
    name = quality_name(TABLE, diff, reads_all=False)
    assert results.find(name) == replace(profiled(bench, "main", "dev"), **_made(results, name))
    (kept,) = results.folder.glob("*.json")
    kept.write_text("{}")
    assert results.find(name) is None
    assert told == bench.run("compare_quality", a="main", b="dev")
    assert results.find(name) is not None


def _made(results: KeptQuality, name: str) -> dict[str, Any]:
    found = results.find(name)
    assert found is not None
    return {"finished_millis": found.finished_millis}


@pytest.mark.depth("full")
def test_columns_that_one_side_has_are_told_and_not_rated(
    session: WarmSession, tmp_path: Path
) -> None:
    bench = Bench(session, tmp_path, keys=["id"], options={"bucket": "1"})
    bench.write("main", rows_of(random.Random(1), range(300)))
    bench.run("create_branch", branch="dev")
    added = add_column("note", STRING)
    change_schema(bench.on("dev"), CommitStore.of(bench.store), [added], now_millis=1)
    bench.write("dev", [(*row, "new") for row in rows_of(random.Random(2), range(200))])
    found = scope_of(profiled(bench, "main", "dev"), Scope.OWN)
    note = column(found, "note")
    assert (note.before, note.why_not_rated) == (None, "Only B has this column.")
    assert (side(note.after).nulls, side(note.after).distinct) == (0, 1)
    assert column(found, "id").why_not_rated == "It belongs to the key."


def test_an_empty_table_has_a_comparison_too(session: WarmSession, tmp_path: Path) -> None:
    bench = Bench(session, tmp_path)
    bench.run("create_branch", branch="dev", empty=True)
    nothing = profiled(bench, "main", "dev")
    assert [each.rows for each in nothing.scopes] == [(0, 0), (0, 0)]
    with pytest.raises(InvalidInput, match="'dev' has no snapshot: there is nothing to merge"):
        bench.run("compare_quality", a="main", b="dev", merged=True)
    bench.write("dev", rows_of(random.Random(1), range(300)))
    with pytest.raises(Refused, match="'main' has no snapshot yet"):
        bench.run("compare_quality", a="main", b="dev", merged=True)
    found = scope_of(profiled(bench, "main", "dev", small_rows=0), Scope.WHOLE)
    assert found.rows == (0, 300)
    assert found.rating is Rating.FEW_ROWS
    assert side(column(found, "x").before).quantiles == ()


@pytest.mark.depth("full")
def test_what_cannot_be_profiled_is_refused_and_nothing_is_kept(
    session: WarmSession, tmp_path: Path
) -> None:
    bench = Bench(session, tmp_path, options={"scan.fallback-branch": "older"})
    bench.write("main", rows_of(random.Random(1), range(3)))
    bench.run("create_branch", branch="dev")
    bench.write("dev", rows_of(random.Random(2), range(3)))
    with pytest.raises(InvalidInput) as refused:
        bench.run("compare_quality", a="main", b="dev")
    assert refused.value.kind is ErrorKind.UNSUPPORTED
    assert list((tmp_path / "state" / "quality").glob("*.json")) == []


@pytest.mark.depth("full")
@pytest.mark.parametrize("small_rows", [0, 1_000], ids=["in tasks", "here"])
def test_a_missing_file_is_told_and_a_stop_is_heard(
    small_rows: int, session: WarmSession, tmp_path: Path
) -> None:
    bench = Bench(session, tmp_path)
    bench.write("main", rows_of(random.Random(1), range(30)))
    bench.run("create_branch", branch="dev")
    bench.write("dev", rows_of(random.Random(2), range(30)))

    def stop(_done: int, _total: int | None) -> None:
        raise PaimonError("stopped", kind=ErrorKind.CANCELLED)

    work = plan_quality(compare_states(bench.warehouse, TABLE, "main", "dev"))
    table = bench.warehouse.table(TABLE)
    made = ProfilePass(
        bench.store, lambda: bench.session, NothingKept(), stop, small_rows=small_rows
    )
    with pytest.raises(PaimonError, match="stopped"):
        made.compare(table, work, finished_millis=0)
    data = list((tmp_path / "warehouse").rglob("data-*.parquet"))
    for each in data:
        each.unlink()
    with pytest.raises(FormatError, match="missing"):
        profiled(bench, "main", "dev", small_rows=small_rows)
