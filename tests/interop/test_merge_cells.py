"""The cells of the rules for tables without a key, as cases on tables that real Paimon writes.

What both sides do, and what must be left, stands in `merge_cells`; rows come from a plain model.
"""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from branch_console.errors import Refused
from branch_console.format.receipt import Receipt
from branch_console.merge.conflict import Take
from branch_console.merge.plan import MergeVerdict, blocks_of, conflicts_of, verdict_of
from tests.support.java_paimon import JavaPaimon
from tests.support.merge_bench import MergeBench, Rows
from tests.support.merge_cells import CELLS, CellCase, Left, Pair, replayed, set_nullable

pytestmark = [pytest.mark.shared_cells, pytest.mark.depth("full")]

_CASES: Final = [(pair, case) for pair, cases in CELLS.items() for case in cases]
_BY_SIDE: Final = frozenset({Take.OURS, Take.THEIRS})
_ALLOWS: Final = {"alter-column-null-to-not-null.disabled": "false"}


def _id(pair: Pair, case: CellCase) -> str:
    return f"{' x '.join(pair)}: {case.name}"


@pytest.mark.parametrize(("pair", "case"), _CASES, ids=itertools.starmap(_id, _CASES))
def test_a_cell(
    pair: Pair, case: CellCase, open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    bench = _diverging(case, open_java, tmp_path)
    base = bench.rows["main"]
    case.theirs(bench, "dev")
    case.ours(bench, "main")
    bench.check()
    replaces = pair[0] == "overwrite"
    if case.strict:
        assert {each.rule for each in conflicts_of(bench.plan(strict=True))} == case.strict
    if case.conflicts or case.blocked:
        _is_refused(bench, case)
        for take, left in case.settled.items():
            settled = tmp_path / take
            copy = bench.copied(open_java(settled), settled)
            kinds = {f"{each.kind}: {take}" for each in conflicts_of(copy.plan())}
            policy = f"version: 1\nkinds: {{{', '.join(sorted(kinds))}}}"
            _merges(copy, base, left, replaces=replaces, policy=policy)
        if not case.rules:
            return
    rules = {name: str(rule) for name, rule in case.rules.items()}
    _merges(bench, base, case.left, replaces=replaces, **rules)


@pytest.mark.parametrize("side", ["dev", "main"])
def test_a_column_without_nulls_is_merged_once_it_allows_them(
    side: str, open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    pair = ("column", "insert") if side == "dev" else ("insert", "column")
    (case,) = (each for each in CELLS[pair] if each.name == "of a new column")
    bench = _diverging(case, open_java, tmp_path)
    base = bench.rows["main"]
    case.theirs(bench, "dev")
    case.ours(bench, "main")
    _is_refused(bench, case)
    assert all(
        each.advice.endswith("Allow nulls in it, then merge.")
        for each in conflicts_of(bench.plan())
    )
    set_nullable("extra", True)(bench, side)
    columns = ("id INT", "day STRING", "amount INT", "extra INT")
    _merges(bench, base, Left(columns=columns), replaces=side == "dev")


def _diverging(
    case: CellCase, open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> MergeBench:
    """A table with eight rows and a branch."""
    folder = tmp_path / "table"
    bench = MergeBench(
        open_java(folder),
        folder,
        partitioned=case.is_partitioned,
        keyed=case.is_keyed,
        options={**_ALLOWS, **case.options},
    )
    bench.insert("main", 1, 2, 3, 4)
    bench.insert("main", 5, 6, 7, 8)
    bench.branch("dev")
    return bench


def _is_refused(bench: MergeBench, case: CellCase) -> None:
    """Refused for what the case says, with what settles it, and every file is as it was."""
    plan = bench.plan()
    assert {(each.rule, each.kind) for each in conflicts_of(plan)} == case.conflicts
    if case.subjects is not None:
        assert {str(each.subject) for each in conflicts_of(plan)} == case.subjects
    for each in conflicts_of(plan):
        assert _BY_SIDE & set(each.settle_with) == case.settled.keys()
    if case.blocked:
        assert verdict_of(plan) is MergeVerdict.REFUSED
        assert case.blocked in " ".join(each.text for each in blocks_of(plan))
    before = bench.files()
    with pytest.raises(Refused):
        bench.call("merge_branch", branch="dev")
    assert bench.files() == before


def _merges(bench: MergeBench, base: Rows, left: Left, *, replaces: bool, **rules: str) -> None:
    """Merge; Java of both versions reads what must be left, and goes on with it."""
    make = left.rows or (lambda bench, base: replayed(bench, base, overwritten=replaces))
    rows = make(bench, base)
    before = bench.earlier
    receipt: Receipt = bench.call("merge_branch", branch="dev", **rules)
    assert left.told in " ".join(receipt.notes)
    bench.rows["main"] = dict(rows)
    if left.view is not None:
        bench.views["main"] = left.view
    elif bench.views["dev"] is not tuple:
        bench.views["main"] = bench.views["dev"]
    bench.check_with_all()
    table = bench.table()
    if left.columns is not None:
        assert tuple(table.columns()) == left.columns
    schema = table.schemas()[-1]
    assert {name: schema["options"].get(name) for name in left.options} == left.options
    if left.wording is not None:
        defaults = {each.get("defaultValue") for each in schema["fields"]}
        assert {schema.get("comment"), *defaults} - {None, ""} == {left.wording}
    assert verdict_of(bench.plan()) is MergeVerdict.UP_TO_DATE
    assert bench.earlier == before
    bench.check_history()
    bench.insert("main", 61, 63, amount=6)
    bench.compact("main")
    bench.check()
