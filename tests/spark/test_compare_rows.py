"""Rows of two states, compared in tasks and beside an independent comparison of all their rows."""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Final

import pytest

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.schema.schema_commit import add_column, change_schema
from branch_console.diff.rows.row_diff import (
    AFTER,
    BEFORE,
    CHANGED,
    COPIES_AFTER,
    COPIES_BEFORE,
    KIND,
    plan_row_diff,
)
from branch_console.diff.rows.row_diff_index import RowFilter
from branch_console.diff.rows.row_kind import RowKind
from branch_console.errors import ErrorKind, FormatError, InvalidInput, PaimonError
from branch_console.format.data_types import STRING
from branch_console.format.identifier import Identifier
from branch_console.jobs.kept_diffs import KeptDiff
from branch_console.procedures.compare.states import compare_states
from branch_console.spark.read.readers import read_table
from branch_console.spark.session.session import WarmSession
from branch_console.table.table_state import ReadState
from tests.support.compare_bench import NAMES, NAN, SHAPES, Bench, Row

_VALUES: Final = (
    (0.0, "a", Decimal("1.00"), [1]),
    (-0.0, "a", Decimal("1.00"), [1]),
    (NAN, "a ", None, None),
    (NAN, "", Decimal("-3.25"), []),
    (None, None, None, [None, 2]),
    (1.5, "<b>", Decimal("123456789012345678.90"), [3, 4]),
)


@pytest.mark.parametrize(
    "shape",
    [
        "append",
        *(
            pytest.param(each, marks=pytest.mark.depth("full"))
            for each in ("keyed by partition", "keyed, summed up")
        ),
        *(
            pytest.param(each, marks=pytest.mark.depth("long"))
            for each in (
                "append by partition",
                "append in buckets",
                "keyed",
                "keyed in two buckets",
            )
        ),
    ],
)
def test_the_rows_that_differ_are_those_of_an_independent_comparison(
    shape: str, session: WarmSession, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(f"{seed} {shape}")
    bench = Bench(session, tmp_path, **SHAPES[shape])
    bench.write("main", _some(rng, range(1, 40)))
    bench.run("create_branch", branch="dev")
    empty = bench.compare()
    assert empty.index.count(RowFilter()) == 0
    for branch in ("dev", "main", "dev"):
        gone = _some(rng, rng.sample(range(1, 40), 4)) if shape.startswith("keyed") else []
        deletes = [] if "summed" in shape else gone
        bench.write(branch, _some(rng, rng.sample(range(1, 60), 12)), deletes)
    for a, b in (("main", "dev"), ("dev", "main"), ("main@1", "dev")):
        kept = bench.compare(a, b)
        told = _told(kept, bench.keys)
        numbers = Counter(dict.fromkeys(RowKind, 0))
        for (kind, _), count in told.items():
            numbers[RowKind(kind)] += count
        found = kept.index.difference
        assert [found.added.high, found.removed.high, found.changed.high] == list(numbers.values())
        sides = bench.rows("main") if a != "main@1" else _at_first(bench)
        before, after = (sides, bench.rows("dev")) if a != "dev" else (bench.rows("dev"), sides)
        assert told == _expected(before, after, _key_positions(bench)), f"{shape}: {a} {b}"


def test_a_new_column_is_null_where_the_other_side_lacks_it(
    session: WarmSession, tmp_path: Path
) -> None:
    bench = Bench(session, tmp_path, keys=["id"], options={"bucket": "1"})
    bench.write("main", _some(random.Random(1), range(1, 6)))
    bench.run("create_branch", branch="dev")
    added = add_column("note", STRING)
    change_schema(bench.on("dev"), CommitStore.of(bench.store), [added], now_millis=1)
    same = {row[0]: row for row in bench.rows("dev")}
    bench.write("dev", [(*same[2][:-1], "hello"), (*same[3][:-1], None)])
    found = bench.compare()
    rows = next(found.all_rows(RowFilter())).to_pylist()
    assert [(row[KIND], row[f"{AFTER}id"]) for row in rows] == [("changed", 2)]
    assert (rows[0][f"{BEFORE}note"], rows[0][f"{AFTER}note"]) == (None, "hello")
    assert [found.index.columns[at] for at in rows[0][CHANGED]] == ["note"]
    back = bench.compare("dev", "main")
    assert back.index.count(RowFilter(kind=RowKind.CHANGED, column="note")) == 1


@pytest.mark.depth("full")
def test_pages_go_through_many_rows_by_kind_and_column(
    session: WarmSession, tmp_path: Path
) -> None:
    bench = Bench(session, tmp_path, keys=["id"], options={"bucket": "2"})
    plain = (1.0, "s", None, None)
    bench.write("main", [(number, "p", *plain) for number in range(30_000)])
    bench.run("create_branch", branch="dev")
    changed = [(number, "p", 2.0, *plain[1:]) for number in range(25_000)]
    new = [(number, "p", *plain) for number in range(30_000, 31_000)]
    bench.write("dev", [*changed, *new])
    found = bench.compare()
    assert len(found.index.groups) == 3
    assert found.index.changed_cells()["x"] == 25_000
    page = found.page(RowFilter(kind=RowKind.ADDED), 500, 50)
    assert page[f"{AFTER}id"].to_pylist() == list(range(30_500, 30_550))
    page = found.page(RowFilter(column="x"), 9_990, 20)
    assert page[f"{BEFORE}id"].to_pylist() == list(range(9_990, 10_010))
    assert found.page(RowFilter(column="s"), 0, 10).num_rows == 0
    # A row counts where the condition holds for what it was, or for what it is.
    for where, kind, number in (
        ("id >= 24990 and id < 30010", None, 20),
        ("x = 2", None, 25_000),
        ("x > 1 or id = 30500", None, 25_001),
        ("x = 1", RowKind.ADDED, 1_000),
        ("not s = 's'", None, 0),
        ("d is null and id in (1, 30001)", None, 2),
    ):
        wanted = RowFilter(kind=kind, where=where)
        assert found.count(wanted) == number, where
        assert sum(part.num_rows for part in found.all_rows(wanted)) == number, where
    page = found.page(RowFilter(where="id >= 24990"), 5, 10)
    shown = zip(page[f"{BEFORE}id"].to_pylist(), page[f"{AFTER}id"].to_pylist(), strict=True)
    assert [before or after for before, after in shown] == [
        *range(24_995, 25_000), *range(30_000, 30_005),
    ]  # fmt: skip
    for where, said in (
        ("ours.x = 1", "ours.x"), ("nope = 1", "'nope'"), ("x <", "condition"),
        ("x = 'red'", "compares what cannot be compared"), ("l = 1", "cannot be compared"),
    ):  # fmt: skip
        with pytest.raises(InvalidInput, match=said):
            found.check(RowFilter(where=where))


def test_tables_that_cannot_be_read_here_are_refused_by_name(
    session: WarmSession, tmp_path: Path
) -> None:
    bench = Bench(session, tmp_path, options={"scan.fallback-branch": "older"})
    bench.write("main", _some(random.Random(1), range(1, 6)))
    bench.run("create_branch", branch="dev")
    bench.write("dev", _some(random.Random(2), range(6, 9)))
    with pytest.raises(InvalidInput) as refused:
        bench.run("compare_states", a="main", b="dev")
    assert refused.value.kind is ErrorKind.UNSUPPORTED
    assert list(bench.kept.folder.glob("*")) == []


def test_a_file_that_is_missing_is_told_and_nothing_is_kept(
    session: WarmSession, tmp_path: Path
) -> None:
    bench = Bench(session, tmp_path, keys=["id"], options={"bucket": "1"})
    bench.write("main", _some(random.Random(1), range(1, 6)))
    bench.run("create_branch", branch="dev")
    bench.write("dev", _some(random.Random(2), range(3, 9)))
    diff = compare_states(bench.warehouse, Identifier.parse("db.t"), "main", "dev")
    (name,) = diff.files["file_name"].to_pylist()
    (lost,) = (tmp_path / "warehouse").rglob(name)
    lost.unlink()
    with pytest.raises(FormatError, match=name):
        bench.run("compare_states", a="main", b="dev")
    assert list(bench.kept.folder.glob("*")) == []


def test_a_comparison_that_is_stopped_keeps_nothing(session: WarmSession, tmp_path: Path) -> None:
    bench = Bench(session, tmp_path)
    bench.write("main", _some(random.Random(1), range(1, 6)))
    bench.run("create_branch", branch="dev")
    bench.write("dev", _some(random.Random(2), range(3, 9)))
    table = bench.on("main")
    diff = compare_states(bench.warehouse, Identifier.parse("db.t"), "main", "dev")

    def stop(done: int, total: int | None) -> None:
        raise PaimonError("stopped", kind=ErrorKind.CANCELLED)

    with pytest.raises(PaimonError, match="stopped"):
        bench.engine.compare_states(table, plan_row_diff(diff), "name", {}, stop)
    assert bench.kept.find("name") is None
    assert not list(bench.kept.folder.glob("*"))


def _some(rng: random.Random, numbers: Iterable[int]) -> list[Row]:
    return [(number, f"p{number % 3}", *rng.choice(_VALUES)) for number in numbers]


def _at_first(bench: Bench) -> list[Row]:
    table = bench.on("main")
    frame = read_table(
        bench.session.spark, bench.store, ReadState.as_it_was(table, table.snapshots.get(1))
    )
    return [tuple(row) for row in frame.collect()]


def _key_positions(bench: Bench) -> list[int]:
    names = list(NAMES)
    return [names.index(name) for name in bench.keys]


def _plain(value: object) -> str:
    return repr(value + 0.0) if isinstance(value, float) else repr(value)


def _told(found: KeptDiff, keys: Sequence[str]) -> Counter[tuple[str, tuple[str, ...]]]:
    """What was kept, each difference as often as it stands there."""
    told: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for table in found.all_rows(RowFilter()):
        for row in table.to_pylist():
            before, after = (
                tuple(_plain(row[f"{side}{name}"]) for name in NAMES) for side in (BEFORE, AFTER)
            )
            match row[KIND]:
                case RowKind.CHANGED:
                    differs = [
                        name for name in NAMES if row[f"{BEFORE}{name}"] != row[f"{AFTER}{name}"]
                    ]
                    assert {found.index.columns[at] for at in row[CHANGED]} <= set(differs)
                    told["changed", (*before, *after)] += 1
                case RowKind.ADDED:
                    told["added", after] += row[COPIES_AFTER] - row[COPIES_BEFORE]
                case RowKind.REMOVED:
                    told["removed", before] += row[COPIES_BEFORE] - row[COPIES_AFTER]
    return told


def _expected(
    before: Sequence[Row], after: Sequence[Row], keys: Sequence[int]
) -> Counter[tuple[str, tuple[str, ...]]]:
    old, new = ([tuple(map(_plain, row)) for row in rows] for rows in (before, after))
    found: Counter[tuple[str, tuple[str, ...]]] = Counter()
    if not keys:
        gone, came = Counter(old) - Counter(new), Counter(new) - Counter(old)
        found.update({("removed", row): count for row, count in gone.items()})
        found.update({("added", row): count for row, count in came.items()})
        return found
    left, right = ({tuple(row[at] for at in keys): row for row in rows} for rows in (old, new))
    for key in left.keys() | right.keys():
        one, other = left.get(key), right.get(key)
        if one is None and other is not None:
            found["added", other] += 1
        elif other is None and one is not None:
            found["removed", one] += 1
        elif one is not None and other is not None and one != other:
            found["changed", (*one, *other)] += 1
    return found
