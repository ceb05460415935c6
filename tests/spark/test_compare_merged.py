"""The quality of what a merge would leave: the figures of the table that the merge then makes."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.schema.schema_commit import add_column, change_schema, drop_column
from branch_console.errors import ErrorKind, PaimonError
from branch_console.format.data_types import STRING
from branch_console.format.identifier import Identifier
from branch_console.jobs.kept_profiles import KeptQuality
from branch_console.procedures.compare.quality import quality_name
from branch_console.procedures.compare.states import compare_states
from branch_console.quality.comparison import QualityComparison, Scope, ScopeComparison, SideFigures
from branch_console.spark.session.session import WarmSession
from branch_console.sql.writes import WriteKind
from tests.support.branch_bench import tree
from tests.support.compare_bench import Bench, Row
from tests.support.examples import Examples

pytestmark = pytest.mark.depth("full")

TABLE: Final = Identifier.parse("db.t")
OURS: Final = 'version: 1\ntables: {"*": {take: ours}}\n'


def rows_of(ids: range, x: float) -> list[Row]:
    rng = random.Random(x)
    return [
        (number, "ab"[number % 2], x + rng.random(), rng.choice(["red", None]), None, [1])
        for number in ids
    ]


def compared(bench: Bench, a: str = "main", b: str = "dev") -> QualityComparison:
    diff = compare_states(bench.warehouse, TABLE, a, b)
    bench.run("compare_quality", a=a, b=b, merged=True)
    kept = KeptQuality(folder=bench.kept.folder.parent / "quality")
    found = kept.find(quality_name(TABLE, diff, reads_all=False, merges=True))
    assert found is not None
    return found


def scope_of(found: QualityComparison, scope: Scope) -> ScopeComparison:
    there = found.find_scope(scope)
    assert there is not None
    return there


def figures(found: ScopeComparison) -> dict[str, SideFigures | None]:
    return {each.name: each.after for each in found.columns}


def both_write(bench: Bench) -> None:
    bench.write("main", rows_of(range(150, 350), 2))
    bench.write("dev", rows_of(range(300, 500), 3))


def both_change_a_row(bench: Bench) -> None:
    bench.write("main", [(7, "b", 40.0, "ours", None, [])])
    bench.write("dev", [(7, "b", 50.0, "theirs", None, []), (8, "a", 60.0, "dev", None, [])])


def both_delete_rows_of_a_file(bench: Bench) -> None:
    for branch, condition in (("main", "id < 20"), ("dev", "id >= 100 AND id < 130")):
        delete = f"DELETE FROM db.t WHERE {condition}"
        bench.run(WriteKind.DELETE, sql=delete, branch=branch)


def only_dev_writes(bench: Bench) -> None:
    bench.write("dev", rows_of(range(300, 500), 3))


def only_main_writes(bench: Bench) -> None:
    bench.write("main", rows_of(range(300, 500), 3))


def dev_has_another_column(bench: Bench) -> None:
    store = CommitStore.of(bench.store)
    change_schema(bench.on("dev"), store, [add_column("note", STRING)], now_millis=1)
    bench.write("dev", [(*row, "new") for row in rows_of(range(300, 450), 3)])
    bench.write("main", rows_of(range(500, 550), 2))


KEYED: Final = {"keys": ["id"], "options": {"bucket": "2"}}
APART: Final = {"partitions": ["part"]}
VECTORS: Final = {"options": {"deletion-vectors.enabled": "true"}}
CELLS: Final[dict[str, tuple[dict[str, Any], Callable[[Bench], None], int]]] = {
    "append": (APART, both_write, 0),
    "append, another column": ({}, dev_has_another_column, 0),
    "keyed, nothing open": (KEYED, dev_has_another_column, 0),
    "keyed, open": (KEYED, both_change_a_row, 2),
    "append, rows written again": ({}, both_delete_rows_of_a_file, 0),
    "append, hidden rows": (VECTORS, both_delete_rows_of_a_file, 0),
    "fast-forward": (KEYED, only_dev_writes, 0),
    "up to date": (APART, only_main_writes, 0),
}


# What a full run tries: a merge that copies files, one that settles cells, one that hides rows and
# none at all. The others take the same ways.
IN_FULL: Final = ("append, another column", "keyed, open", "append, hidden rows", "fast-forward")


def test_the_merged_side_is_what_the_merge_leaves(
    session: WarmSession, tmp_path: Path, examples: Examples
) -> None:
    for cell in CELLS if examples.depth == "long" else IN_FULL:
        shape, change, conflicts = CELLS[cell]
        bench = Bench(session, tmp_path / cell, **shape)
        bench.write("main", rows_of(range(200), 1))
        bench.run("create_branch", branch="dev")
        change(bench)
        before = tree(tmp_path / cell / "warehouse")
        found = compared(bench)
        assert tree(tmp_path / cell / "warehouse") == before, cell
        assert found.open_conflicts == conflicts, cell
        merged = scope_of(found, Scope.MERGED)
        whole = scope_of(found, Scope.WHOLE)
        check_base(bench, found, is_known=change not in (only_dev_writes, only_main_writes))
        assert merged.rows[0] == whole.rows[0], cell
        bench.run("merge_branch", branch="dev", target="main", policy=OURS)
        rows = bench.rows("main")
        assert merged.rows[1] == len(rows), cell
        after = scope_of(compared_plainly(bench), Scope.WHOLE)
        for name, wanted in figures(after).items():
            assert figures(merged)[name] == wanted, (cell, name)


def check_base(bench: Bench, found: QualityComparison, *, is_known: bool) -> None:
    """Check the base against the first snapshot of main, where it is neither of both sides."""
    since = found.find_scope(Scope.SINCE_BASE)
    assert (since is not None, found.base is not None) == (is_known, is_known)
    if since is None:
        return
    assert found.base is not None
    assert found.base.startswith("main@1")
    alone = scope_of(compared_plainly(bench), Scope.WHOLE)
    assert since.rows == (alone.rows[0], scope_of(found, Scope.WHOLE).rows[1])
    for column in since.columns:
        there = alone.find(column.name)
        assert column.before == (None if there is None else there.before), column.name
        here = scope_of(found, Scope.WHOLE).find(column.name)
        assert here is not None
        assert column.after == here.after, column.name


def compared_plainly(bench: Bench) -> QualityComparison:
    """The first snapshot of main beside its head."""
    diff = compare_states(bench.warehouse, TABLE, "main@1", "main")
    bench.run("compare_quality", a="main@1", b="main")
    kept = KeptQuality(folder=bench.kept.folder.parent / "quality")
    found = kept.find(quality_name(TABLE, diff, reads_all=False))
    assert found is not None
    return found


def test_files_of_the_merged_side_are_read_once(session: WarmSession, tmp_path: Path) -> None:
    bench = Bench(session, tmp_path, **APART)
    bench.write("main", rows_of(range(200), 1))
    bench.run("create_branch", branch="dev")
    both_write(bench)
    # Two files each of the base, of main and of dev; the merge has all of them.
    assert compared(bench).units_read == 6


def test_what_cannot_be_merged_is_refused_by_name(session: WarmSession, tmp_path: Path) -> None:
    bench = Bench(session, tmp_path)
    bench.write("main", rows_of(range(10), 1))
    bench.run("create_branch", branch="dev")
    both_write(bench)
    for a, b, said in (
        ("main@1", "main", "Both states are of branch 'main'"),
        ("main@1", "dev", "is not the head of 'main'"),
    ):
        with pytest.raises(PaimonError, match=said) as refused:
            compared(bench, a, b)
        assert refused.value.kind is ErrorKind.UNSUPPORTED
    change_schema(bench.on("main"), CommitStore.of(bench.store), [drop_column("x")], now_millis=1)
    bench.run("create_branch", branch="empty", empty=True)
    with pytest.raises(PaimonError):
        compared(bench, "empty", "dev")
