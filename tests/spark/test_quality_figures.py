"""Figures of whole tables: columns renamed, widened, added and dropped, keys, runs, partitions."""

import random
from pathlib import Path
from typing import Any, Final

import pytest

from core.commit.commit_store import CommitStore
from core.commit.schema_commit import (
    add_column,
    change_schema,
    drop_column,
    rename_column,
    retype_column,
)
from core.format.data_types import STRING, parse_data_type
from core.format.identifier import Identifier
from core.procedures.compare_states import compare_states
from core.quality.comparison import Scope
from core.quality.profile import ColumnKind
from core.quality.work import plan_quality
from core.spark.profile_pass import NothingKept, ProfilePass
from core.spark.session import WarmSession
from tests.support.compare_bench import SHAPES, Bench, Row
from tests.support.examples import Examples
from tests.support.quality_checks import Checked, check_drift, check_side

TABLE: Final = Identifier.parse("db.t")
# The columns of a bench, in their order, with those that changes bring.
NAMES: Final = ("id", "part", "x", "s", "d", "l")


def rows_of(rng: random.Random, ids: range, parts: str) -> list[Row]:
    """Rows of the bench's columns."""
    extremes = [None, float("nan"), float("inf"), -0.0, 1.7e308, -1.7e308, 5e-324]
    return [
        (
            number,
            parts[number % len(parts)],
            rng.choice([*extremes, *(rng.gauss(0, 1) for _ in range(20))]),
            rng.choice([None, "", "huge" * 5_000, *(f"v{rng.randrange(80)}" for _ in range(20))]),
            rng.choice([None, 10**18 - 1, -1, rng.randrange(10**6)]),
            rng.choice([None, [], [1, None]]),
        )
        for number in ids
    ]


@pytest.mark.depth("full")
def test_figures_of_tables_are_those_of_their_rows(
    session: WarmSession, tmp_path: Path, seed: int, examples: Examples
) -> None:
    rng, checked = random.Random(f"{seed} figures"), Checked()
    for number in range(examples(1, long=30)):
        shape = rng.choice([each for each in SHAPES if each != "keyed, summed up"])
        bench = Bench(session, tmp_path / str(number), **SHAPES[shape])
        bench.write("main", rows_of(rng, range(rng.choice([1, 150, 400])), "ab"))
        bench.run("create_branch", branch="dev")
        for _ in range(rng.randrange(1, 4)):
            # Runs of a key overlap; the branch may have a partition of its own.
            start = rng.randrange(300)
            rows = rows_of(rng, range(start, start + 200), rng.choice(["ab", "bc"]))
            gone = rows[:9] if bench.keys else []
            bench.write(rng.choice(["main", "dev"]), rows[9:], gone)
        names = dict(zip(NAMES, NAMES, strict=True))
        changes = {
            "rename": rename_column("x", "y"),
            "add": add_column("note", STRING),
            "drop": drop_column("l"),
            "widen": retype_column("d", parse_data_type("DECIMAL(30, 2)")),
        }
        chosen = rng.sample(sorted(changes), rng.randrange(4))
        store = CommitStore.of(bench.store)
        for each in chosen:
            change_schema(bench.on("dev"), store, [changes[each]], now_millis=1)
        if "rename" in chosen:
            names["x"] = "y"
        _check(checked, bench, names, set(chosen))
    print(f"{checked.count} figures, {len(checked.outside)} outside")
    assert checked.outside == []


def _check(checked: Checked, bench: Bench, names: dict[str, str], chosen: set[str]) -> None:
    diff = compare_states(bench.warehouse, TABLE, "main", "dev")
    seen = [
        {name: [_plain(row[at]) for row in rows] for at, name in enumerate(there)}
        for branch in ("main", "dev")
        for rows, there in [(bench.rows(branch), bench.on(branch).schema().row_type.names)]
    ]
    for small_rows in (200_000, 0):
        made = ProfilePass(bench.store, lambda: bench.session, NothingKept(), small_rows=small_rows)
        found = made.compare(bench.warehouse.table(TABLE), plan_quality(diff), finished_millis=0)
        whole = found.find_scope(Scope.WHOLE)
        assert whole is not None
        for old, new in names.items():
            column = whole.find(new)
            if column is None:
                assert old == "l", "a column that only one side has is left out"
                assert "drop" in chosen
                continue
            sides = [seen[0][old], seen[1].get(new)]
            for figures, values in zip((column.before, column.after), sides, strict=True):
                if figures is not None and values is not None:
                    is_number = column.kind is ColumnKind.NUMBER
                    kind = "DOUBLE" if column.type.startswith("DOUBLE") else column.type
                    check_side(checked, figures, values, kind, is_number=is_number)
            if sides[1] is not None:
                check_drift(checked, column, sides)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, (list, tuple)) else value
