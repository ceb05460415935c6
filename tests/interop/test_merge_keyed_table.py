"""The table of what becomes of rows with a key, row by row and for every merge engine.

One merge holds all rows of the table as keys of its own. Expected rows are typed here; what each
side wrote is folded by a plain model, which Java must confirm before the merge.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest

from branch_console.errors import ErrorKind, Refused
from branch_console.format.identifier import Identifier
from branch_console.merge.conflict import ConflictKind, Take
from branch_console.merge.plan import MergeVerdict, verdict_of
from branch_console.procedures.browse.conflicts import read_row_conflicts
from tests.support.java_paimon import JavaPaimon
from tests.support.merge_bench import COPIED, KEPT, NAME, SHARED, MergeBench, Row

pytestmark = [pytest.mark.shared_cells, pytest.mark.depth("full")]

Values: TypeAlias = tuple[str | None, int | None]
Found: TypeAlias = tuple[int, str | None, ConflictKind]

GONE: Final[Values] = ("deleted", None)

# The rows of the table: what the source did, then the target.
ROWS: Final = (
    "changed, unchanged",
    "unchanged, changed",
    "same change",
    "disjoint columns",
    "one column",
    "changed, deleted",
    "deleted, deleted",
    "added, equal",
    "added, different",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What was written of one key, day and amount, and what a merge makes of it.

    Attributes:
        base, theirs, ours: What is written, GONE for a deletion, None for nothing.
        with_ours, with_theirs: The row if conflicts are settled so, None for no row. Without a
            conflict it is the first one.
        columns: Those that conflict; None for the whole row.
        kind: Of the conflict, None where there is none.
        hidden_with: The side that readers would not see if it were taken.
    """

    base: Values | None
    theirs: Values | None
    ours: Values | None
    with_ours: Values | None
    with_theirs: Values | None
    columns: tuple[str | None, ...] = ()
    kind: ConflictKind | None = None
    hidden_with: Take | None = None

    def mirrored(self) -> "Case":
        other = {Take.OURS: Take.THEIRS, Take.THEIRS: Take.OURS}
        return Case(
            base=self.base,
            theirs=self.ours,
            ours=self.theirs,
            with_ours=self.with_theirs,
            with_theirs=self.with_ours,
            columns=self.columns,
            kind=self.kind,
            hidden_with=self.hidden_with and other[self.hidden_with],
        )


Cases: TypeAlias = Mapping[str, tuple[Case, ...]]


def clean(
    base: Values | None, theirs: Values | None, ours: Values | None, merged: Values | None
) -> Case:
    return Case(base=base, theirs=theirs, ours=ours, with_ours=merged, with_theirs=merged)


def changed(
    theirs: Values | None,
    ours: Values | None,
    *columns: str,
    taken: tuple[Values | None, Values | None],
    hidden_with: Take | None = None,
) -> Case:
    """A row of which both sides changed columns, or one deleted it; `taken` as ours, theirs."""
    return Case(
        base=B,
        theirs=theirs,
        ours=ours,
        with_ours=taken[0],
        with_theirs=taken[1],
        columns=columns or (None,),
        kind=ConflictKind.MODIFY_MODIFY if columns else ConflictKind.DELETE_MODIFY,
        hidden_with=hidden_with,
    )


def added(
    theirs: Values,
    ours: Values,
    *columns: str,
    taken: tuple[Values, Values] | None = None,
    hidden_with: Take | None = None,
) -> Case:
    """A row that both sides added, one image unlike the other."""
    with_ours, with_theirs = taken or (ours, theirs)
    return Case(
        base=None,
        theirs=theirs,
        ours=ours,
        with_ours=with_ours,
        with_theirs=with_theirs,
        columns=columns,
        kind=ConflictKind.ADD_ADD,
        hidden_with=hidden_with,
    )


B: Final[Values] = ("b", 1)
_DEDUPLICATE: Final[Cases] = {
    "changed, unchanged": (
        clean(B, ("t", 2), None, ("t", 2)),
        clean(B, (None, 1), None, (None, 1)),
        clean(B, GONE, None, None),
    ),
    "unchanged, changed": (
        clean(B, None, ("o", 2), ("o", 2)),
        clean(B, None, (None, 1), (None, 1)),
        clean(B, None, GONE, None),
    ),
    "same change": (
        clean(B, ("s", 3), ("s", 3), ("s", 3)),
        clean(B, (None, 1), (None, 1), (None, 1)),
    ),
    "disjoint columns": (
        clean(B, ("t", 1), ("b", 2), ("t", 2)),
        clean(B, ("b", 2), ("o", 1), ("o", 2)),
        clean(B, (None, 1), ("b", 2), (None, 2)),
    ),
    "one column": (
        changed(("t", 1), ("o", 1), "day", taken=(("o", 1), ("t", 1))),
        changed((None, 1), ("o", 1), "day", taken=(("o", 1), (None, 1))),
        changed(("t", 2), ("o", 1), "day", taken=(("o", 2), ("t", 2))),
        changed(("b", 3), ("b", 2), "amount", taken=(("b", 2), ("b", 3))),
        changed(("t", 3), ("o", 2), "day", "amount", taken=(("o", 2), ("t", 3))),
    ),
    "changed, deleted": (
        changed(("t", 2), GONE, taken=(None, ("t", 2))),
        changed(GONE, ("o", 2), taken=(("o", 2), None)),
    ),
    "deleted, deleted": (clean(B, GONE, GONE, None),),
    "added, equal": (
        clean(None, ("n", 1), ("n", 1), ("n", 1)),
        clean(None, (None, 1), (None, 1), (None, 1)),
    ),
    "added, different": (
        added(("t", 1), ("o", 1), "day"),
        added((None, 1), ("o", 1), "day"),
        added(("t", 2), ("o", 1), "day", "amount"),
    ),
}
# The amount is the sequence: what is written under a smaller one than there is stays unseen.
_BY_SEQUENCE: Final[Cases] = {
    **_DEDUPLICATE,
    "one column": (
        changed(("t", 1), ("o", 1), "day", taken=(("o", 1), ("t", 1))),
        changed(("t", 2), ("o", 1), "day", taken=(("o", 2), ("t", 2))),
        changed(
            ("b", 3),
            ("b", 2),
            "amount",
            taken=(("b", 2), ("b", 3)),
            hidden_with=Take.OURS,
        ),
        changed(
            ("t", 2),
            ("o", 3),
            *("day", "amount"),
            taken=(("o", 3), ("t", 2)),
            hidden_with=Take.THEIRS,
        ),
    ),
    "added, different": (
        added(("t", 1), ("o", 1), "day"),
        added(("t", 2), ("o", 1), "day", "amount", hidden_with=Take.OURS),
    ),
}
# What a commit leaves null is left as it was.
_PARTIAL_UPDATE: Final[Cases] = {
    "changed, unchanged": (
        clean(B, ("t", None), None, ("t", 1)),
        clean(B, (None, 2), None, ("b", 2)),
        clean(("b", None), (None, 2), None, ("b", 2)),
        clean(B, GONE, None, None),
    ),
    "unchanged, changed": (
        clean(B, None, ("o", None), ("o", 1)),
        clean(B, None, (None, 2), ("b", 2)),
        clean(B, None, GONE, None),
    ),
    "same change": (
        clean(B, ("s", None), ("s", None), ("s", 1)),
        clean(("b", None), (None, 2), (None, 2), ("b", 2)),
    ),
    "disjoint columns": (
        clean(B, ("t", None), (None, 2), ("t", 2)),
        clean(B, (None, 2), ("o", None), ("o", 2)),
        clean(("b", None), ("t", None), (None, 2), ("t", 2)),
    ),
    "one column": (
        changed(("t", None), ("o", None), "day", taken=(("o", 1), ("t", 1))),
        changed(("t", 2), ("o", None), "day", taken=(("o", 2), ("t", 2))),
        changed((None, 3), (None, 2), "amount", taken=(("b", 2), ("b", 3))),
        changed(("t", 3), ("o", 2), "day", "amount", taken=(("o", 2), ("t", 3))),
    ),
    "changed, deleted": (
        changed(("t", None), GONE, taken=(None, ("t", 1))),
        changed(GONE, (None, 2), taken=(("b", 2), None)),
    ),
    "deleted, deleted": (clean(B, GONE, GONE, None),),
    "added, equal": (
        clean(None, ("n", 1), ("n", 1), ("n", 1)),
        clean(None, ("n", None), ("n", None), ("n", None)),
    ),
    # Each may have filled columns that the other left null.
    "added, different": (
        added(("t", 1), ("o", 1), "day"),
        added(("t", 1), ("o", None), "day", taken=(("o", 1), ("t", 1))),
        clean(None, ("t", None), (None, 2), ("t", 2)),
    ),
}
# The amount is a sum, to which each commit adds; the day is the last one.
_AGGREGATION: Final[Cases] = {
    "changed, unchanged": (
        clean(B, ("t", 2), None, ("t", 3)),
        clean(B, ("b", 2), None, ("b", 3)),
        clean(B, GONE, None, None),
    ),
    "unchanged, changed": (
        clean(B, None, ("o", 2), ("o", 3)),
        clean(B, None, ("b", 2), ("b", 3)),
        clean(B, None, GONE, None),
    ),
    # Both deltas of a sum hold, and the last value is set once.
    "same change": (
        clean(B, ("s", 2), ("s", 2), ("s", 5)),
        clean(B, ("s", 0), ("s", 0), ("s", 1)),
        clean(B, ("b", 2), ("b", 2), ("b", 5)),
    ),
    "disjoint columns": (
        clean(B, ("t", 0), ("b", 2), ("t", 3)),
        clean(B, ("b", 2), ("o", 0), ("o", 3)),
    ),
    "one column": (
        clean(B, ("b", 2), ("b", 3), ("b", 6)),
        changed(("t", 0), ("o", 0), "day", taken=(("o", 1), ("t", 1))),
        changed(("t", 2), ("o", 3), "day", taken=(("o", 6), ("t", 6))),
    ),
    "changed, deleted": (
        changed(("b", 2), GONE, taken=(None, ("b", 3))),
        changed(GONE, ("o", 2), taken=(("o", 3), None)),
    ),
    "deleted, deleted": (clean(B, GONE, GONE, None),),
    "added, equal": (
        clean(None, ("n", 2), ("n", 2), ("n", 4)),
        clean(None, ("n", None), ("n", None), ("n", None)),
    ),
    "added, different": (
        clean(None, ("n", 2), ("n", 3), ("n", 5)),
        added(("t", 2), ("o", 3), "day", taken=(("o", 5), ("t", 5))),
    ),
}
# Nothing changes or deletes a row of this engine: what comes after the first of a key is ignored.
_FIRST_ROW: Final[Cases] = {
    "changed, unchanged": (clean(B, ("t", 2), None, B), clean(B, GONE, None, B)),
    "unchanged, changed": (clean(B, None, ("o", 2), B), clean(B, None, GONE, B)),
    "same change": (clean(B, ("s", 3), ("s", 3), B),),
    "disjoint columns": (clean(B, ("t", 1), ("b", 2), B),),
    "one column": (clean(B, ("t", 1), ("o", 1), B),),
    "changed, deleted": (clean(B, ("t", 2), GONE, B), clean(B, GONE, ("o", 2), B)),
    "deleted, deleted": (clean(B, GONE, GONE, B),),
    "added, equal": (clean(None, ("n", 1), ("n", 1), ("n", 1)),),
    "added, different": (
        Case(base=None, theirs=("t", 1), ours=("o", 2), with_ours=("o", 2), with_theirs=("t", 1)),
        clean(None, ("t", 1), None, ("t", 1)),
        clean(None, None, ("o", 1), ("o", 1)),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A kind of table: its options, what it makes of two rows of a key, and its cases."""

    options: Mapping[str, str]
    fold: Callable[[Values, Values], Values]
    cases: Cases
    skips_level_0: bool = False


def _last(old: Values, new: Values) -> Values:
    return new


def _filled(old: Values, new: Values) -> Values:
    return (old[0] if new[0] is None else new[0], old[1] if new[1] is None else new[1])


def _added_up(old: Values, new: Values) -> Values:
    return (new[0], old[1] if new[1] is None else (old[1] or 0) + new[1])


def _first(old: Values, new: Values) -> Values:
    return old


ENGINES: Final[Mapping[str, Engine]] = {
    "deduplicate": Engine(options={}, fold=_last, cases=_DEDUPLICATE),
    "sequence field": Engine(options={"sequence.field": "amount"}, fold=_last, cases=_BY_SEQUENCE),
    "deletion vectors": Engine(
        options={"deletion-vectors.enabled": "true"},
        fold=_last,
        cases=_DEDUPLICATE,
        skips_level_0=True,
    ),
    "partial-update": Engine(
        options={
            "merge-engine": "partial-update",
            "partial-update.remove-record-on-delete": "true",
        },
        fold=_filled,
        cases=_PARTIAL_UPDATE,
    ),
    "aggregation": Engine(
        options={
            "merge-engine": "aggregation",
            "aggregation.remove-record-on-delete": "true",
            "fields.amount.aggregate-function": "sum",
            "fields.day.aggregate-function": "last_value",
        },
        fold=_added_up,
        cases=_AGGREGATION,
    ),
    "first-row": Engine(
        options={"merge-engine": "first-row", "ignore-delete": "true"},
        fold=_first,
        cases=_FIRST_ROW,
        skips_level_0=True,
    ),
}
# Where readers skip new files, writers must compact at once.
_LAYOUTS: Final = {"shared": (SHARED, KEPT), "copied": (COPIED, COPIED)}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_has_cases_of_every_row_of_the_table(engine: str) -> None:
    assert tuple(ENGINES[engine].cases) == ROWS
    assert all(ENGINES[engine].cases.values())


@pytest.fixture
def open_bench(open_java: Callable[[Path], JavaPaimon], tmp_path: Path) -> Callable[..., Any]:
    """Makes a table of an engine in a folder of its own, with cases written on two branches."""

    def make(engine: Engine, layout: str, cases: Sequence[Case]) -> MergeBench:
        folder = tmp_path / "table"
        options = _LAYOUTS[layout][engine.skips_level_0]
        bench = MergeBench(
            open_java(folder), folder, keyed=True, options={**options, **engine.options}
        )
        _write(bench, "main", engine, [case.base for case in cases])
        bench.branch("dev")
        _write(bench, "dev", engine, [case.theirs for case in cases])
        _write(bench, "main", engine, [case.ours for case in cases])
        bench.check()
        return bench

    return make


@pytest.mark.parametrize("is_mirrored", [False, True], ids=["as written", "mirrored"])
@pytest.mark.parametrize("layout", _LAYOUTS)
@pytest.mark.parametrize("name", ENGINES)
def test_conflicts_are_the_cells_of_the_table_and_are_settled_either_way(
    name: str,
    layout: str,
    is_mirrored: bool,
    open_bench: Callable[..., MergeBench],
    open_java: Callable[[Path], JavaPaimon],
    tmp_path: Path,
) -> None:
    engine = ENGINES[name]
    cases = _cases(engine, is_mirrored=is_mirrored)
    bench = open_bench(engine, layout, cases)
    assert verdict_of(bench.plan()) is MergeVerdict.UNDECIDED
    wanted = _conflicts(cases)
    if wanted:
        assert _refused(bench, None) == wanted
    for take in (Take.OURS, Take.THEIRS):
        folder = tmp_path / take
        copy = bench.copied(open_java(folder), folder)
        hidden = [key for key, case in enumerate(cases) if case.hidden_with is take]
        if hidden:
            found = _refused(copy, f"{{take: {take}}}")
            assert found == {(key, None, ConflictKind.HIDDEN) for key in hidden}
        _merges(copy, cases, take, hidden)


@pytest.mark.parametrize("is_mirrored", [False, True], ids=["as written", "mirrored"])
@pytest.mark.parametrize("name", ENGINES)
def test_rows_of_which_none_conflicts_are_merged_without_a_word(
    name: str, is_mirrored: bool, open_bench: Callable[..., MergeBench]
) -> None:
    engine = ENGINES[name]
    cases = [case for case in _cases(engine, is_mirrored=is_mirrored) if case.kind is None]
    _merges(open_bench(engine, "shared", cases), cases, None, ())


@pytest.mark.parametrize("take", [Take.OURS, Take.THEIRS])
@pytest.mark.parametrize("is_mirrored", [False, True], ids=["as written", "mirrored"])
def test_a_sum_is_raised_or_deleted_also_where_both_have_one_sequence_number(
    is_mirrored: bool, take: Take, open_bench: Callable[..., MergeBench]
) -> None:
    engine = ENGINES["aggregation"]
    case = changed(("b", 2), GONE, taken=(None, ("b", 3)))
    cases = [case.mirrored() if is_mirrored else case]
    _merges(open_bench(engine, "shared", cases), cases, take, ())


@pytest.mark.parametrize(("theirs", "ours"), [((2, 1), (2, 3)), ((2, 3), (2, 1)), ((2,), (2,))])
def test_a_first_value_is_not_settled_where_nothing_tells_whose_readers_find(
    theirs: tuple[int, ...],
    ours: tuple[int, ...],
    open_java: Callable[..., JavaPaimon],
    tmp_path: Path,
) -> None:
    options = {"merge-engine": "aggregation", "fields.day.aggregate-function": "first_value"}
    bench = MergeBench(open_java(tmp_path), tmp_path, keyed=True, options={**SHARED, **options})
    bench.table().write([(9, "b", 1)])
    bench.branch("dev")
    # Key 2 gets one sequence number on both sides, in files of which readers open either first.
    bench.table("dev").write([(key, "theirs", 1) for key in theirs])
    bench.table().write([(key, "ours", 1) for key in ours])
    for take in (Take.OURS, Take.THEIRS):
        assert _refused(bench, f"{{take: {take}}}") == {(2, None, ConflictKind.HIDDEN)}


def _cases(engine: Engine, *, is_mirrored: bool) -> list[Case]:
    cases = [case for row in engine.cases.values() for case in row]
    return [case.mirrored() for case in cases] if is_mirrored else cases


def _conflicts(cases: Sequence[Case]) -> set[Found]:
    return {
        (key, column, case.kind)
        for key, case in enumerate(cases)
        if case.kind is not None
        for column in case.columns
    }


def _write(
    bench: MergeBench, branch: str, engine: Engine, written: Sequence[Values | None]
) -> None:
    """Have Java write what is not None, keys by position, and fold it into the model."""
    rows = bench.rows[branch]
    new = {
        key: (key, *each) for key, each in enumerate(written) if each is not None and each != GONE
    }
    gone = [rows[key] for key, each in enumerate(written) if each == GONE]
    bench.table(branch).write(list(new.values()))
    if gone:
        bench.table(branch).delete(gone)
    left = dict(rows)
    for key, row in new.items():
        left[key] = (key, *engine.fold(rows[key][1:], row[1:])) if key in rows else row
    if engine.fold is not _first:
        for row in gone:
            del left[row[0]]
    bench.rows[branch] = left


def _refused(bench: MergeBench, rule: str | None) -> set[Found]:
    """The conflicts for which a merge is refused, which leaves every file as it was."""
    before = bench.files()
    with pytest.raises(Refused) as refused:
        bench.call("merge_branch", branch="dev", **_policy(rule))
    assert refused.value.kind is ErrorKind.CONFLICTS_OPEN
    after = bench.files()
    assert {name: after[name] for name in before} == before
    # What was found is kept beside the branches, for whoever settles it.
    assert all("branch-lineage" in name for name in after.keys() - before.keys())
    plan = str(refused.value.facts["plan_id"])
    found = read_row_conflicts(bench.warehouse(), Identifier.parse(NAME), plan)
    assert found is not None
    return {
        (each["key"]["id"], each["column"], ConflictKind(each["kind"]))
        for each in found.to_pylist()
        if each["take"] is None
    }


def _merges(
    bench: MergeBench, cases: Sequence[Case], take: Take | None, otherwise: Sequence[int]
) -> None:
    """Merge, where `otherwise` are keys of which the other side is taken; both Javas read it."""
    rule = None
    if take is not None:
        other = Take.THEIRS if take is Take.OURS else Take.OURS
        keys = ", ".join(map(str, otherwise))
        where = f", where: [{{when: 'id in ({keys})', take: {other}}}]" if otherwise else ""
        rule = f"{{take: {take}{where}}}"
    bench.call("merge_branch", branch="dev", **_policy(rule))
    merged: dict[int, Row] = {}
    for key, case in enumerate(cases):
        is_theirs = case.kind is not None and (take is Take.THEIRS) != (key in otherwise)
        values = case.with_theirs if is_theirs else case.with_ours
        if values is not None:
            merged[key] = (key, *values)
    bench.rows["main"] = merged
    bench.check_with_all()
    assert verdict_of(bench.plan()) is MergeVerdict.UP_TO_DATE
    bench.compact("main")
    bench.check_with_all()


def _policy(rule: str | None) -> dict[str, str]:
    return {} if rule is None else {"policy": f"version: 1\ntables: {{'*': {rule}}}"}
