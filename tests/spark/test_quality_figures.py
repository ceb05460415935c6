"""Figures of whole tables: columns renamed, widened, added and dropped, keys, runs, partitions."""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from branch_console.format.identifier import Identifier
from branch_console.procedures.compare.states import compare_states
from branch_console.quality.comparison import QualityComparison, Scope, ScopeComparison
from branch_console.quality.profile import ColumnKind
from branch_console.quality.work import plan_quality
from branch_console.spark.compare.profile_pass import NothingKept, ProfilePass
from branch_console.spark.session.session import WarmSession
from branch_console.storage.file_io import LocalFileIO
from tests.support.examples import Examples
from tests.support.quality_checks import Checked, check_drift, check_side
from tests.support.quality_tables import SHAPES, DrawnTable

TABLE: Final = Identifier.parse("db.t")
SIDES: Final = ("main", "dev")
TRIED: Final = ("append, marked", "keyed in two buckets")


@pytest.mark.depth("full")
def test_figures_of_tables_are_those_of_their_rows(
    session: WarmSession, tmp_path: Path, seed: int, examples: Examples
) -> None:
    rng, checked = random.Random(f"{seed} figures"), Checked()
    shapes = rng.sample(sorted(SHAPES), len(SHAPES))
    for number in range(examples(1, long=len(SHAPES))):
        shape = shapes[number % len(shapes)]
        table = DrawnTable.draw(session, tmp_path / str(number), rng, shape)
        table.insert("main", rng.choice([1, 150, 400]), "ab")
        table.branch()
        altered, has_deleted = set[str](), False
        for at in range(rng.randrange(1, 4)):
            branch = rng.choice(SIDES)
            # Runs of a key overlap; a branch may have a partition of its own.
            table.insert(branch, 150, rng.choice(["ab", "bc"]))
            if rng.random() < 0.5 or "marked" in shape:
                table.delete(branch)
                has_deleted = True
            if at == 0:
                altered = table.alter("dev")
        before = checked.count
        # Without a key whole files are a branch's own, and a delete may write one again.
        _check(checked, table, shape, tells_own=bool(table.keys) or not has_deleted)
        print(f"{shape}, {sorted(altered)}: {checked.count - before} figures")
    print(f"{checked.count} figures, {len(checked.outside)} outside")
    assert checked.outside == []


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(shape, marks=pytest.mark.depth("full" if shape in TRIED else "long"))
        for shape in SHAPES
    ],
)
def test_each_file_is_read_once_for_both_sides(
    shape: str, session: WarmSession, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = DrawnTable.draw(session, tmp_path, random.Random(f"{seed} once {shape}"), shape)
    table.insert("main", 150, "ab")
    table.branch()
    # Both write to what they share, and the columns are read as others on one of both.
    table.insert("dev", 60, "ab")
    table.delete("dev")
    table.insert("main", 60, "ab")
    table.alter("dev")
    warehouse = table.bench.warehouse
    work = plan_quality(compare_states(warehouse, TABLE, "main", "dev"))
    asked: Counter[str] = Counter()
    for name in ("native_file", "read", "read_range"):
        monkeypatch.setattr(LocalFileIO, name, _counted(getattr(LocalFileIO, name), asked))
    made = ProfilePass(warehouse.file_io, lambda: session, NothingKept())
    found = made.compare(warehouse.table(TABLE), work, finished_millis=0)
    assert set(asked.values()) == {1}, asked
    assert found.bytes_read == sum(Path(path).stat().st_size for path in asked)


def _counted(ask: Callable[..., Any], asked: Counter[str]) -> Callable[..., Any]:
    """The same question to a store, which is counted where it is for the rows of a file."""

    def count(store: LocalFileIO, path: str, *more: int) -> Any:
        if path.endswith(".parquet"):
            asked[path] += 1
        return ask(store, path, *more)

    return count


def _check(checked: Checked, table: DrawnTable, shape: str, *, tells_own: bool) -> None:
    warehouse = table.bench.warehouse
    diff = compare_states(warehouse, TABLE, "main", "dev")
    for small_rows in (200_000, 0):
        made = ProfilePass(
            warehouse.file_io, lambda: table.bench.session, NothingKept(), small_rows=small_rows
        )
        found = made.compare(warehouse.table(TABLE), plan_quality(diff), finished_millis=0)
        whole = _scope(found, Scope.WHOLE)
        rows = tuple(len(table.rows[branch]) for branch in SIDES)
        checked.equal(whole.rows, rows, shape, small_rows, "rows")
        _check_columns(checked, table, whole, (None, None))
        if tells_own:
            own = _scope(found, Scope.OWN)
            only = (None if own.is_base_whole else table.own("main"), table.own("dev"))
            _check_columns(checked, table, own, only)


def _check_columns(
    checked: Checked,
    table: DrawnTable,
    scope: ScopeComparison,
    only: tuple[set[int] | None, set[int] | None],
) -> None:
    for name in table.columns:
        now = table.names["dev"].get(name)
        if now is None:
            checked.holds(scope.find(name) is None, "dropped and compared", name)
            continue
        column = scope.find(now)
        assert column is not None, now
        sides = [
            table.values(branch, name, only=chosen)
            for branch, chosen in zip(SIDES, only, strict=True)
        ]
        is_number = column.kind is ColumnKind.NUMBER
        for branch, figures, values in zip(
            SIDES, (column.before, column.after), sides, strict=True
        ):
            checked.equal(figures is None, name not in table.names[branch], name, branch)
            if figures is not None:
                check_side(checked, figures, values, column.type, is_number=is_number)
        if column.before and column.after:
            check_drift(checked, column, sides)


def _scope(found: QualityComparison, scope: Scope) -> ScopeComparison:
    there = found.find_scope(scope)
    assert there is not None
    return there
