"""R13: every cell of the rule tables, flipped in place, is noticed.

The tables of cells are typed a second time in the rule tests, which notice each flip of each cell.
Of what both sides did to files the tables decide themselves: there whole merges must come out
otherwise as well, told as the rows that a target holds then and the conflicts that are left.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from operator import attrgetter
from typing import Any, Final

import pytest
from pyroaring import BitMap64

from branch_console.diff.changes.file_history import SnapshotDelta, fold_history
from branch_console.diff.changes.table_changes import changes_since
from branch_console.diff.database_operation import DatabaseOperation
from branch_console.diff.file_masks import FileMask
from branch_console.diff.table_operation import TableOperation
from branch_console.merge import conflict_matrix, engine_rules
from branch_console.merge.conflict_matrix import CellRule
from branch_console.merge.file_moves import DisplayNames, FileMoves, MergeRules
from branch_console.merge.keyless_files import merge_keyless_files
from tests.support.commit_tables import UNPARTITIONED
from tests.unit.diff.test_file_history import delta
from tests.unit.merge import test_catalog_merge, test_conflict_matrix, test_row_merge

_TABLES: Final = (
    ("_TABLE", test_conflict_matrix.TABLES, test_conflict_matrix.test_a_cell_of_the_table_matrix),
    (
        "_DATABASE",
        test_conflict_matrix.DATABASES,
        test_conflict_matrix.test_a_cell_of_the_database_matrix,
    ),
)
_NAMING: Final = DisplayNames(table="db.t", partition=lambda _: "")
_FILES: Final = ("f", "h")


@contextmanager
def flipped(
    patch: pytest.MonkeyPatch, table: str, theirs: Any, ours: Any, rule: CellRule
) -> Iterator[None]:
    """The table that merges go by, with another rule in one cell."""
    cells = getattr(conflict_matrix, table)
    at = list(type(ours)).index(ours)
    row = (*cells[theirs][:at], rule, *cells[theirs][at + 1 :])
    with patch.context() as here:
        here.setattr(conflict_matrix, table, {**cells, theirs: row})
        yield


def is_noticed(test: Callable[..., None], *arguments: Any) -> bool:
    try:
        test(*arguments)
    except Exception:  # a rule for other values fails on these
        return True
    return False


@pytest.mark.parametrize(("table", "typed", "test"), _TABLES, ids=["tables", "databases"])
def test_the_rule_tests_notice_every_flip(
    table: str, typed: str, test: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    missed, flips = [], 0
    for (theirs, ours), rule in test_conflict_matrix.typed(typed).items():
        kind = DatabaseOperation if table == "_DATABASE" else TableOperation
        assert not is_noticed(test, theirs, ours, rule)
        for other in set(CellRule) - {CellRule(rule)}:
            flips += 1
            with flipped(monkeypatch, table, kind(theirs), kind(ours), other):
                if not is_noticed(test, theirs, ours, rule):
                    missed.append((theirs, ours, other))
    assert missed == []
    print(f"{flips} flips of {table}")


@pytest.mark.parametrize(
    ("table", "typed", "test"),
    [
        ("_TABLE", test_conflict_matrix.TABLES, test_catalog_merge.cell_of_tables),
        ("_DATABASE", test_conflict_matrix.DATABASES, test_catalog_merge.cell_of_databases),
    ],
    ids=["tables", "databases"],
)
def test_a_merge_of_the_catalog_notices_every_flip(
    table: str, typed: str, test: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of tables it decides where one was dropped or renamed; a source that compacted is no source.
    objects = {"drop", "rename"}
    missed, flips = [], 0
    for (theirs, ours), rule in test_conflict_matrix.typed(typed).items():
        kind = DatabaseOperation if table == "_DATABASE" else TableOperation
        has_keys = not {theirs, ours} & objects
        if kind is TableOperation and (has_keys or theirs == "compaction"):
            continue
        # Where no property meets another, the rule for one and the same property lets both stand.
        same = {CellRule(rule)} if has_keys else {CellRule(rule), CellRule.UNLESS_SAME_KEY}
        for other in set(CellRule) - same:
            flips += 1
            with flipped(monkeypatch, table, kind(theirs), kind(ours), other):
                if not is_noticed(test, theirs, ours, rule):
                    missed.append((theirs, ours, other))
    assert missed == []
    print(f"{flips} flips of {table} in the catalog")


# --- whole merges -------------------------------------------------------------------------------

# What may be done to a base of two files, `f` and `h`, of four rows each: `-f` lets go of a file,
# `+g*3` adds one of three rows, `f!0` hides the first row of one.
_DONE: Final[Mapping[str, tuple[TableOperation, tuple[str, ...]]]] = {
    "insert": (TableOperation.INSERT, ("+{n}i*1",)),
    "delete the first row": (TableOperation.DELETE, ("f!0",)),
    "delete the last row": (TableOperation.DELETE, ("f!3",)),
    "delete the file": (TableOperation.DELETE, ("-f*4",)),
    "delete elsewhere": (TableOperation.DELETE, ("h!0",)),
    "update the first row": (TableOperation.UPDATE, ("f!0", "+{n}u*1")),
    "update the last row": (TableOperation.UPDATE, ("f!3", "+{n}u*1")),
    "update elsewhere": (TableOperation.UPDATE, ("h!0", "+{n}u*1")),
    "overwrite": (TableOperation.OVERWRITE, ("-f*4", "-h*4", "+{n}o*1")),
}
_RECORDED: Final = {TableOperation.INSERT: "WRITE"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A merge: what the source did, what the target did, and what must come of it."""

    theirs: str
    ours: str
    rows: str = ""
    conflict: str = ""

    @property
    def name(self) -> str:
        return f"{self.theirs}, {self.ours}"


_CASES: Final = (
    Case(theirs="insert", ours="insert", rows="f0 f1 f2 f3 h0 h1 h2 h3 ours-i0 theirs-i0"),
    Case(theirs="insert", ours="delete the first row", rows="f1 f2 f3 h0 h1 h2 h3 theirs-i0"),
    Case(
        theirs="insert",
        ours="update the first row",
        rows="f1 f2 f3 h0 h1 h2 h3 ours-u0 theirs-i0",
    ),
    Case(theirs="insert", ours="overwrite", rows="ours-o0 theirs-i0"),
    Case(theirs="delete the first row", ours="insert", conflict="delete.insert"),
    Case(theirs="delete the first row", ours="delete the first row", rows="f1 f2 f3 h0 h1 h2 h3"),
    Case(theirs="delete the file", ours="delete the last row", rows="h0 h1 h2 h3"),
    Case(
        theirs="delete the first row",
        ours="update the last row",
        rows="f1 f2 h0 h1 h2 h3 ours-u0",
    ),
    Case(theirs="delete the first row", ours="update the first row", rows="f1 f2 f3 h0 h1 h2 h3"),
    Case(theirs="delete the first row", ours="overwrite", rows="ours-o0"),
    Case(theirs="update the first row", ours="insert", conflict="update.insert"),
    Case(theirs="update the first row", ours="delete the last row", conflict="M1"),
    Case(
        theirs="update the first row",
        ours="delete elsewhere",
        rows="f1 f2 f3 h1 h2 h3 theirs-u0",
    ),
    Case(theirs="update the first row", ours="update the last row", conflict="M3"),
    Case(
        theirs="update the first row",
        ours="update elsewhere",
        rows="f1 f2 f3 h1 h2 h3 ours-u0 theirs-u0",
    ),
    Case(theirs="update the first row", ours="overwrite", rows="ours-o0"),
    Case(theirs="overwrite", ours="insert", rows="theirs-o0"),
    Case(theirs="overwrite", ours="delete the first row", rows="theirs-o0"),
    Case(theirs="overwrite", ours="update the first row", rows="theirs-o0"),
    Case(theirs="overwrite", ours="overwrite", rows="theirs-o0"),
)
_OF_FILES: Final = (
    TableOperation.INSERT,
    TableOperation.DELETE,
    TableOperation.UPDATE,
    TableOperation.OVERWRITE,
)


def step(side: str, done: str) -> SnapshotDelta:
    """A commit that does it."""
    operation, changes = _DONE[done]
    named = [each.format(n=f"{side}-") for each in changes]
    files = [each for each in named if "!" not in each]
    hidden = [each.split("!") for each in named if "!" in each]
    recorded = _RECORDED.get(operation, operation.upper())
    # No entries are entries as well.
    made = delta(2, *(files or ["+x"]), operation=recorded)
    entries = made.entries if files else made.entries.slice(0, 0)
    masks = {
        (UNPARTITIONED, 0, f"data-{file}.parquet"): FileMask(after=BitMap64([int(row)]))
        for file, row in hidden
    }
    return replace(made, entries=entries, masks=masks)


def merged(case: Case) -> FileMoves:
    ours, theirs = (
        changes_since(fold_history(()), fold_history([step(side, done)]))
        for side, done in (("ours", case.ours), ("theirs", case.theirs))
    )
    return merge_keyless_files(ours, theirs, MergeRules(), _NAMING)


def outcome(case: Case) -> tuple[str, str]:
    """The rows that the target holds once a merge was run, or the conflict that is left.

    Of these cases none waits for rows to be read.
    """
    moves = merged(case)
    if moves.conflicts:
        return "", " ".join(each.rule for each in moves.conflicts)
    if moves.joins:
        return "", "told by rows"
    target = step("ours", case.ours)
    rows = dict.fromkeys(_FILES, 4)
    hidden = {key[2]: mask.after for key, mask in target.masks.items()}
    hidden |= {key[2]: mask for key, mask in moves.masks.items()}
    for entries in (target.entries, moves.add, moves.restore):
        for entry in entries.to_pylist():
            _put(rows, entry["file_name"], entry["row_count"] if entry["kind"] == 0 else None)
    for name in moves.remove["file_name"].to_pylist():
        _put(rows, name, None)
    found = [
        f"{name}{row}"
        for name, count in sorted(rows.items())
        for row in range(count)
        if row not in hidden.get(f"data-{name}.parquet", ())
    ]
    return " ".join(found), ""


def _put(rows: dict[str, int], file_name: str, count: int | None) -> None:
    name = file_name.removeprefix("data-").removesuffix(".parquet")
    if count is None:
        rows.pop(name, None)
    else:
        rows[name] = count


@pytest.mark.parametrize("case", _CASES, ids=attrgetter("name"))
def test_a_merge_by_the_rules(case: Case) -> None:
    assert outcome(case) == (case.rows, case.conflict)


def test_merges_notice_every_flip_of_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    missed, flips = [], 0
    for theirs, ours in product(_OF_FILES, _OF_FILES):
        (cell,) = conflict_matrix.cells(frozenset({theirs}), frozenset({ours}))
        for rule in {CellRule.OK, CellRule.CONFLICT} - {cell.rule}:
            flips += 1
            with flipped(monkeypatch, "_TABLE", theirs, ours, rule):
                if all(outcome(case) == (case.rows, case.conflict) for case in _CASES):
                    missed.append(f"{theirs} x {ours}: {cell.rule} to {rule}")
    assert missed == []
    assert flips == 21


def test_the_rule_tests_notice_every_other_way_to_join_a_column(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    joins, missed = engine_rules._COMBINE, []
    cases = [*test_row_merge.FUNCTIONS]

    def notices() -> bool:
        columns = (
            is_noticed(
                test_row_merge.test_functions_that_commute_hold_what_both_sides_did, *case, swap
            )
            for case, swap in product(cases, (False, True))
        )
        return any(columns) or is_noticed(test_row_merge.test_collected_sets_are_joined)

    assert not notices()
    for name, other in product(joins, joins):
        if joins[name] is not joins[other]:
            with monkeypatch.context() as patch:
                patch.setattr(engine_rules, "_COMBINE", {**joins, name: joins[other]})
                if not notices():
                    missed.append(f"{name} as {other}")
    assert missed == []
