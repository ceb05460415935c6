"""What two branches of a table without a key do, cell by cell of the merge rules, and what is left.

`CELLS` has the cases of each pair of operations, the source's first. Those of rows that neither
side shares are `THEIRS` x `OURS`; what is here besides is what a rule makes conditions of.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final, TypeAlias

from branch_console.merge.conflict import ConflictKind, Take
from branch_console.operations.isolation import InsertScope, Isolation
from tests.support.merge_bench import COPIED, SHARED, MergeBench, Row, Rows, View, three_way

Act: TypeAlias = Callable[[MergeBench, str], None]
Pair: TypeAlias = tuple[str, str]

# Ids 1, 2, 5, 6 lie in one partition and 3, 4, 7, 8 in the other, where there are partitions; of
# the base the first four came with one commit and the last four with another.
THEIRS: Final[Mapping[str, Act]] = {
    "insert": lambda bench, on: bench.insert(on, 21, 23),
    "delete": lambda bench, on: bench.delete(on, 1),
    "update": lambda bench, on: bench.update(on, 1, amount=2),
    "overwrite": lambda bench, on: bench.overwrite(on, *range(21, 41)),
    "compaction": lambda bench, on: bench.compact(on),
}
OURS: Final[Mapping[str, Act]] = {
    "insert": lambda bench, on: bench.insert(on, 41, 43),
    "delete": lambda bench, on: bench.delete(on, 5),
    "update": lambda bench, on: bench.update(on, 5, amount=3),
    "overwrite": lambda bench, on: bench.overwrite(on, *range(41, 61)),
    "compaction": lambda bench, on: bench.compact(on),
}
BY_PREDICATE: Final = ("delete", "update")


def replayed(bench: MergeBench, base: Rows, *, overwritten: bool) -> Rows:
    """What main holds once it has what dev did; `overwritten` if that was an overwrite.

    Args:
        bench: With both branches as they are before the merge.
        base: What both held.
        overwritten: Whether dev replaced partitions.
    """
    ours, other = bench.rows["main"], bench.rows["dev"]
    if overwritten:
        return bench.outside(ours, other) | {key: other[key] for key in other.keys() - base.keys()}
    # What the target overwrote stays overwritten, also where the source had changed it.
    gone = {each for each in base if each not in ours}
    return three_way(
        {key: row for key, row in base.items() if key not in gone},
        ours,
        {key: row for key, row in other.items() if key not in gone},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What a merge leaves.

    Attributes:
        rows: The rows of main, from the bench before the merge and the rows of the base; the
            replayed ones if left out.
        view: How they are read; as on the side that was altered if left out.
        columns: Names and types, where they matter.
        options: What options are then, None for one that is not set.
        wording: The comment of the table, or the default of the amount, where they matter.
        told: What the receipt must say of it.
    """

    rows: Callable[[MergeBench, Rows], Rows] | None = None
    view: View | None = None
    columns: tuple[str, ...] | None = None
    options: Mapping[str, str | None] = field(default_factory=dict)
    wording: str | None = None
    told: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellCase:
    """What both sides do, and what becomes of it.

    Attributes:
        conflicts: Rules and kinds of what the merge is refused for.
        subjects: What the conflicts are about, where that matters.
        blocked: What makes the merge impossible, in its own words.
        left: What there is after the merge; with conflicts after that with `rules`.
        settled: What there is once the conflicts are settled by a side: those that may.
        strict: The rules by which a strict merge is refused.
        rules: What is chosen so that there are no conflicts.
        options: Of the table.
    """

    name: str
    theirs: Act
    ours: Act
    conflicts: frozenset[tuple[str, ConflictKind]] = frozenset()
    subjects: frozenset[str] | None = None
    blocked: str = ""
    left: Left = field(default_factory=Left)
    settled: Mapping[Take, Left] = field(default_factory=dict)
    strict: frozenset[str] = frozenset()
    rules: Mapping[str, StrEnum] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=lambda: SHARED)
    is_partitioned: bool = False
    is_keyed: bool = False


def _also(*acts: Act) -> Act:
    """One after the other."""

    def act(bench: MergeBench, on: str) -> None:
        for each in acts:
            each(bench, on)

    return act


def _nothing(bench: MergeBench, on: str) -> None:
    pass


def _insert(*ids: int, amount: int = 1) -> Act:
    return lambda bench, on: bench.insert(on, *ids, amount=amount)


def _delete(*ids: int) -> Act:
    return lambda bench, on: bench.delete(on, *ids)


def _hide(*ids: int) -> Act:
    return lambda bench, on: bench.hide(on, *ids)


def _update(*ids: int, amount: int) -> Act:
    return lambda bench, on: bench.update(on, *ids, amount=amount)


def _overwrite(*ids: int) -> Act:
    return lambda bench, on: bench.overwrite(on, *ids)


def _rewrite_all(*ids: int) -> Act:
    """An overwrite of which the commit does not tell that it is one."""
    return lambda bench, on: bench.overwrite(on, *ids, is_recorded=False)


def _recorded(name: str, act: Act) -> Act:
    """A change of which the commit tells what it is."""
    return _also(act, lambda bench, on: bench.record(on, name.upper()))


def _compact(bench: MergeBench, on: str) -> None:
    bench.compact(on)


def _expire(bench: MergeBench, on: str) -> None:
    bench.expire(on)


def _is(rule: str, kind: ConflictKind) -> frozenset[tuple[str, ConflictKind]]:
    return frozenset({(rule, kind)})


# ---- properties --------------------------------------------------------------------------------

_BATCH: Final = "read.batch-size"
_SIZE: Final = "target-file-size"
_PARALLEL: Final = "scan.manifest.parallelism"
_THREADS: Final = "file-operation.thread-num"
_KEPT: Final = "snapshot.num-retained.max"


def _set(options: Mapping[str, str | None]) -> Act:
    """Set options, and remove those that are None."""

    def act(bench: MergeBench, on: str) -> None:
        table = bench.table(on)
        if new := {key: each for key, each in options.items() if each is not None}:
            table.set_options(new)
        if gone := [key for key, each in options.items() if each is None]:
            table.remove_options(*gone)

    return act


_OPTION: Final = _set({_BATCH: "512"})
_HAS_OPTION: Final = {_BATCH: "512"}


def _options_of_both() -> Iterator[CellCase]:
    yield CellCase(
        name="equal, set by one, removed by one or both",
        options={**SHARED, _SIZE: "64 mb", _PARALLEL: "2", _THREADS: "3", "source.split.size": "1"},
        theirs=_set({_BATCH: "512", "sink.parallelism": "2", _SIZE: None, _PARALLEL: None}),
        ours=_set({_BATCH: "512", "scan.parallelism": "3", _SIZE: None, _THREADS: None}),
        left=Left(
            options={
                _BATCH: "512",
                "sink.parallelism": "2",
                "scan.parallelism": "3",
                _SIZE: None,
                _PARALLEL: None,
                _THREADS: None,
                "source.split.size": "1",
            }
        ),
    )
    yield CellCase(
        name="different, set and removed, removed and set",
        options={**SHARED, _PARALLEL: "2", _THREADS: "3"},
        theirs=_set({_BATCH: "512", _SIZE: "32 mb", _PARALLEL: "4", _THREADS: None}),
        ours=_set({_BATCH: "256", _SIZE: "64 mb", _PARALLEL: None, _THREADS: "5"}),
        conflicts=_is("M7", ConflictKind.OPTION),
        subjects=frozenset({_BATCH, _SIZE, _PARALLEL, _THREADS}),
        settled={
            Take.OURS: Left(
                options={_BATCH: "256", _SIZE: "64 mb", _PARALLEL: None, _THREADS: "5"}
            ),
            Take.THEIRS: Left(
                options={_BATCH: "512", _SIZE: "32 mb", _PARALLEL: "4", _THREADS: None}
            ),
        },
    )
    yield CellCase(
        name="of one branch",
        theirs=_set({_KEPT: "100"}),
        ours=_set({_KEPT: "200", _BATCH: "512"}),
        left=Left(options={_KEPT: "200", _BATCH: "512"}, told="about the source branch itself"),
        strict=frozenset({"M7"}),
    )
    fixed = {**SHARED, "bucket": "2", "bucket-key": "id"}
    for name, theirs, ours in (
        ("theirs", _set({"bucket": "4"}), _OPTION),
        ("ours", _OPTION, _set({"bucket": "4"})),
    ):
        yield CellCase(
            name=f"buckets by {name}",
            options=fixed,
            theirs=theirs,
            ours=ours,
            conflicts=_is("M7", ConflictKind.OPTION),
            subjects=frozenset({"bucket"}),
        )
    # Paimon itself lets nobody change the engine, the keys of buckets, or whether rows are hidden.
    merging = {"sequence.field": "amount", "fields.default-aggregate-function": "max"}
    for name, theirs, ours in (
        ("theirs", _set(merging), _OPTION),
        ("ours", _OPTION, _set(merging)),
    ):
        yield CellCase(
            name=f"how rows merge by {name}",
            is_keyed=True,
            theirs=theirs,
            ours=ours,
            conflicts=_is("M7", ConflictKind.OPTION),
            subjects=frozenset(merging),
        )


def _options_and_rows() -> Iterator[tuple[Pair, CellCase]]:
    left = Left(options=_HAS_OPTION)
    for name, ours in OURS.items():
        case = CellCase(name="an option", theirs=_OPTION, ours=ours, left=left)
        yield ("properties", name), case
    for name, theirs in THEIRS.items():
        case = CellCase(name="an option", theirs=theirs, ours=_OPTION, left=left)
        yield (name, "properties"), case


# ---- columns -----------------------------------------------------------------------------------


def _with_extra(row: Row) -> Row:
    """With a new column, filled where the side that has it wrote the row."""
    return (*row, 7 if row[2] == 6 else None)


def _without_amount(row: Row) -> Row:
    return row[:2]


def _add(name: str, kind: str, view: View = _with_extra) -> Act:
    return lambda bench, on: bench.alter(on, lambda table: table.add_column(name, kind), view)


def _retype(kind: str) -> Act:
    return lambda bench, on: bench.alter(
        on, lambda table: table.retype_column("amount", kind), bench.views[on]
    )


def _rename(old: str, new: str) -> Act:
    return lambda bench, on: bench.alter(
        on, lambda table: table.rename_column(old, new), bench.views[on]
    )


def _drop(bench: MergeBench, on: str) -> None:
    bench.alter(on, lambda table: table.drop_column("amount"), _without_amount)


def _default(value: str) -> Act:
    return lambda bench, on: bench.alter(on, lambda table: table.set_default("amount", value))


def _comment(text: str) -> Act:
    return lambda bench, on: bench.alter(on, lambda table: table.set_comment(text))


def set_nullable(name: str, is_nullable: bool) -> Act:
    """Allow nulls in a column, or forbid them."""
    return lambda bench, on: bench.alter(
        on, lambda table: table.set_nullable(name, is_nullable), bench.views[on]
    )


_MANY: Final = _also(_add("extra", "INT"), _retype("BIGINT"), _rename("day", "date"))
_MANY_COLUMNS: Final = ("id INT", "date STRING", "amount BIGINT", "extra INT")
_NOT_NULL: Final = set_nullable("amount", False)
_NOT_NULL_COLUMNS: Final = ("id INT", "day STRING", "amount INT NOT NULL")
_ALL_IDS: Final = tuple(range(101, 121))


def _all_with_extra(bench: MergeBench, on: str) -> None:
    """A new column without nulls, which Paimon reads only where every row has a value."""
    bench.alter(on, lambda table: table.add_column("extra", "INT"), _with_extra)
    bench.overwrite(on, *_ALL_IDS, amount=6)
    set_nullable("extra", False)(bench, on)


def _all_with_default(bench: MergeBench, on: str) -> None:
    _all_with_extra(bench, on)
    bench.alter(on, lambda table: table.set_default("extra", "8"), _with_extra)


def _columns_and_rows() -> Iterator[tuple[Pair, CellCase]]:
    many = Left(columns=_MANY_COLUMNS)
    for name, ours in {**OURS, "properties": _OPTION}.items():
        case = CellCase(name="added, widened, renamed", theirs=_MANY, ours=ours, left=many)
        yield ("column", name), case
    for name, theirs in {**THEIRS, "properties": _OPTION}.items():
        case = CellCase(name="added, widened, renamed", theirs=theirs, ours=_MANY, left=many)
        yield (name, "column"), case
    written = _also(_MANY, _insert(25, 27, amount=6))
    yield (
        ("column", "insert"),
        CellCase(name="with rows", theirs=written, ours=OURS["insert"], left=many),
    )
    yield (
        ("insert", "column"),
        CellCase(name="with rows", theirs=THEIRS["insert"], ours=written, left=many),
    )
    yield from _without_nulls()
    yield from _dropped_and_written()


def _without_nulls() -> Iterator[tuple[Pair, CellCase]]:
    refused = _is("M6.2", ConflictKind.NOT_NULL)
    left = Left(columns=_NOT_NULL_COLUMNS)
    for name in ("insert", "update", "overwrite"):
        told = "of a column that allowed them"
        yield (
            ("column", name),
            CellCase(name=told, theirs=_NOT_NULL, ours=OURS[name], conflicts=refused),
        )
        yield (
            (name, "column"),
            CellCase(name=told, theirs=THEIRS[name], ours=_NOT_NULL, conflicts=refused),
        )
        told = "of a new column"
        yield (
            ("column", name),
            CellCase(name=told, theirs=_all_with_extra, ours=OURS[name], conflicts=refused),
        )
    for name in ("insert", "overwrite"):
        yield (
            (name, "column"),
            CellCase(
                name="of a new column",
                theirs=THEIRS[name],
                ours=_all_with_extra,
                conflicts=refused,
            ),
        )
    # Paimon fills in defaults as it writes rows, never as it reads them.
    yield (
        ("column", "insert"),
        CellCase(
            name="with a default",
            theirs=_all_with_default,
            ours=OURS["insert"],
            # What the target put into what the source overwrote is gone.
            left=Left(rows=lambda bench, _: dict(bench.rows["dev"])),
        ),
    )
    yield (
        ("insert", "column"),
        CellCase(
            name="with a default",
            theirs=THEIRS["insert"],
            ours=_all_with_default,
            left=Left(view=lambda row: (*row, 7 if row[2] == 6 else 8)),
        ),
    )
    vectors = {**SHARED, "deletion-vectors.enabled": "true"}
    for name, act, options in (
        ("delete", _hide(1, 5), vectors),
        ("compaction", _compact, SHARED),
        ("properties", _OPTION, SHARED),
    ):
        told = "where no row is written"
        yield (
            ("column", name),
            CellCase(name=told, theirs=_NOT_NULL, ours=act, left=left, options=options),
        )
        yield (
            (name, "column"),
            CellCase(name=told, theirs=act, ours=_NOT_NULL, left=left, options=options),
        )
    # From files alone a delete may as well have changed the rows it leaves, but not to null.
    told = "where files are written again"
    yield (
        ("column", "delete"),
        CellCase(name=told, theirs=_NOT_NULL, ours=_delete(1), left=left),
    )
    yield (
        ("delete", "column"),
        CellCase(name=told, theirs=_delete(1), ours=_NOT_NULL, left=left),
    )


def _dropped_and_written() -> Iterator[tuple[Pair, CellCase]]:
    strict = frozenset({"M6"})
    for name in ("insert", "update", "overwrite"):
        yield (
            ("column", name),
            CellCase(
                name="dropped and written",
                theirs=_drop,
                ours=OURS[name],
                left=Left(
                    columns=("id INT", "day STRING"),
                    told="'amount' was dropped on the source and written on the target",
                ),
                strict=strict,
            ),
        )
        yield (
            (name, "column"),
            CellCase(
                name="dropped and written",
                theirs=THEIRS[name],
                ours=_drop,
                left=Left(
                    columns=("id INT", "day STRING"),
                    told="'amount' was dropped on the target and written on the source",
                ),
                strict=strict,
            ),
        )


def _amount(kind: str) -> tuple[str, ...]:
    return ("id INT", "day STRING", f"amount {kind}")


def _columns_of_both() -> Iterator[CellCase]:
    types = _is("M6.1", ConflictKind.COLUMN_TYPE)
    names = _is("M6", ConflictKind.COLUMN_NAME)
    yield CellCase(
        name="each added its own",
        theirs=_also(_add("theirs", "INT"), _insert(25, amount=6)),
        ours=_also(_add("ours", "STRING", lambda row: (*row, None)), _insert(45)),
        left=Left(
            columns=("id INT", "day STRING", "amount INT", "ours STRING", "theirs INT"),
            view=lambda row: (*row, None, *_with_extra(row)[3:]),
        ),
    )
    yield CellCase(
        name="both added one",
        theirs=_also(_add("extra", "INT"), _insert(25, amount=6)),
        ours=_also(_add("extra", "INT"), _insert(45, amount=6)),
        left=Left(columns=("id INT", "day STRING", "amount INT", "extra INT")),
    )
    yield CellCase(
        name="one name, two types",
        theirs=_add("extra", "INT"),
        ours=_add("extra", "STRING"),
        conflicts=types,
    )
    yield CellCase(
        name="widened to one type",
        theirs=_also(_retype("BIGINT"), _insert(25)),
        ours=_also(_retype("BIGINT"), _insert(45)),
        left=Left(columns=_amount("BIGINT")),
    )
    yield CellCase(
        name="the target is wider",
        theirs=_also(_retype("BIGINT"), _insert(25)),
        ours=_also(_retype("DECIMAL(30, 0)"), _insert(45)),
        conflicts=types,
        settled={Take.OURS: Left(columns=_amount("DECIMAL(30, 0)"))},
    )
    yield CellCase(
        name="the source is wider",
        theirs=_also(_retype("DECIMAL(30, 0)"), _insert(25)),
        ours=_also(_retype("BIGINT"), _insert(45)),
        left=Left(columns=_amount("DECIMAL(30, 0)")),
    )
    for theirs, ours in (("DOUBLE", "BIGINT"), ("BIGINT", "DOUBLE")):
        yield CellCase(
            name=f"{theirs} and {ours}", theirs=_retype(theirs), ours=_retype(ours), conflicts=types
        )
    yield CellCase(
        name="the source narrowed",
        theirs=_retype("SMALLINT"),
        ours=_add("extra", "INT"),
        conflicts=types,
        settled={Take.OURS: Left(columns=(*_amount("INT"), "extra INT"), view=_with_extra)},
    )
    yield CellCase(
        name="the target narrowed and the source wrote",
        theirs=_also(_add("extra", "INT"), _insert(25, amount=6)),
        ours=_retype("SMALLINT"),
        conflicts=types,
        settled={Take.THEIRS: Left(columns=(*_amount("INT"), "extra INT"), view=_with_extra)},
    )
    yield CellCase(
        name="the target narrowed and the source wrote nothing",
        theirs=_add("extra", "INT"),
        ours=_retype("SMALLINT"),
        left=Left(columns=(*_amount("SMALLINT"), "extra INT"), view=_with_extra),
    )
    yield CellCase(
        name="renamed twice",
        theirs=_also(_rename("amount", "theirs"), _insert(25)),
        ours=_also(_rename("amount", "ours"), _insert(45)),
        left=Left(
            columns=("id INT", "day STRING", "theirs INT"),
            told="it becomes 'theirs', as on the source; 'ours' is gone",
        ),
        strict=frozenset({"M6"}),
    )
    yield CellCase(
        name="renamed alike",
        theirs=_also(_rename("amount", "price"), _insert(25)),
        ours=_also(_rename("amount", "price"), _insert(45)),
        left=Left(columns=("id INT", "day STRING", "price INT")),
    )
    yield CellCase(
        name="renamed and widened",
        theirs=_also(_rename("amount", "price"), _insert(25)),
        ours=_also(_retype("BIGINT"), _insert(45)),
        left=Left(columns=("id INT", "day STRING", "price BIGINT")),
    )
    for name, theirs, ours in (
        ("renamed to a new one", _rename("amount", "price"), _add("price", "INT")),
        ("new one of a name given", _add("price", "INT"), _rename("amount", "price")),
        ("two renamed alike", _rename("amount", "price"), _rename("day", "price")),
    ):
        yield CellCase(
            name=name,
            theirs=theirs,
            ours=ours,
            conflicts=names,
            subjects=frozenset({"price"}),
        )
    yield CellCase(
        name="dropped twice",
        theirs=_also(_drop, _insert(25)),
        ours=_also(_drop, _insert(45)),
        left=Left(columns=("id INT", "day STRING")),
    )
    yield CellCase(
        name="dropped and altered",
        theirs=_drop,
        ours=_retype("BIGINT"),
        left=Left(
            columns=("id INT", "day STRING"),
            told="'amount' was dropped on the source and altered on the target",
        ),
        strict=frozenset({"M6"}),
    )
    yield CellCase(
        name="two defaults",
        theirs=_default("5"),
        ours=_default("6"),
        conflicts=_is("M6", ConflictKind.COLUMN),
        settled={Take.OURS: Left(wording="6"), Take.THEIRS: Left(wording="5")},
    )
    yield CellCase(
        name="two comments on the table",
        theirs=_comment("theirs"),
        ours=_comment("ours"),
        left=Left(wording="theirs", told="comment was changed on both sides: the source's stands"),
        strict=frozenset({"M6"}),
    )
    yield CellCase(
        name="altered and dropped",
        theirs=_retype("BIGINT"),
        ours=_drop,
        conflicts=_is("M6", ConflictKind.COLUMN),
        settled={
            Take.OURS: Left(columns=("id INT", "day STRING"), view=_without_amount),
            Take.THEIRS: Left(columns=_amount("BIGINT"), view=tuple),
        },
    )


# ---- rows --------------------------------------------------------------------------------------

# Five rows of the first partition, which takes the place of four: fewer would look like a delete.
_FIRST_DAY: Final = (21, 22, 25, 26, 29)


def _as_ours(bench: MergeBench, base: Rows) -> Rows:
    return bench.rows["main"]


def _as_theirs(bench: MergeBench, base: Rows) -> Rows:
    return bench.rows["dev"]


def _first_day_as_ours(bench: MergeBench, base: Rows) -> Rows:
    first = {each: row for each, row in bench.rows["main"].items() if row[1] == "d1"}
    return bench.outside(bench.rows["dev"], first) | first


def _first_day_as_theirs(bench: MergeBench, base: Rows) -> Rows:
    first = {each: row for each, row in bench.rows["dev"].items() if row[1] == "d1"}
    return bench.outside(bench.rows["main"], first) | first


def _of_one_file() -> Iterator[tuple[Pair, CellCase]]:
    for name, mine, other in (
        ("other rows of a file", 1, 2),
        ("one row", 1, 1),
    ):
        yield ("delete", "delete"), CellCase(name=name, theirs=_delete(mine), ours=_delete(other))
        yield (
            ("update", "delete"),
            CellCase(
                name=name,
                theirs=_update(mine, amount=2),
                ours=_delete(other),
                conflicts=_is("M1", ConflictKind.FILE_RULE),
                settled={Take.OURS: Left(rows=_as_ours), Take.THEIRS: Left(rows=_as_theirs)},
            ),
        )
        yield (
            ("update", "update"),
            CellCase(
                name=name,
                theirs=_update(mine, amount=2),
                ours=_update(other, amount=3),
                conflicts=_is("M3", ConflictKind.FILE_RULE),
                settled={Take.OURS: Left(rows=_as_ours), Take.THEIRS: Left(rows=_as_theirs)},
            ),
        )
    yield (
        ("delete", "delete"),
        CellCase(name="a whole file", theirs=_delete(1, 2, 3, 4, 5), ours=_delete(2, 6)),
    )
    yield (
        ("update", "update"),
        CellCase(
            name="the same change",
            theirs=_update(1, amount=2),
            ours=_update(1, amount=2),
            conflicts=_is("M3", ConflictKind.FILE_RULE),
            settled={Take.OURS: Left(rows=_as_ours), Take.THEIRS: Left(rows=_as_theirs)},
        ),
    )


def _overwritten_by_ours() -> Iterator[tuple[Pair, CellCase]]:
    told = Left(told="overwrote 2 data files of day=d1 in which the source had changed rows")
    changes = {"update": _update(1, 3, 5, 7, amount=3), "delete": _delete(1, 3, 5, 7)}
    for name, act in changes.items():
        yield (
            (name, "overwrite"),
            CellCase(
                name="one of two partitions",
                theirs=_recorded(name, act),
                ours=_overwrite(*_FIRST_DAY),
                left=told,
                is_partitioned=True,
            ),
        )
        # Without that, rows that it wrote may be new ones.
        yield (
            (name, "overwrite"),
            CellCase(
                name="one of two partitions, by a commit that records nothing",
                theirs=act,
                ours=_overwrite(*_FIRST_DAY),
                conflicts=_is("M4" if name == "update" else "M5", ConflictKind.FILE_RULE),
                settled={
                    Take.OURS: Left(rows=_first_day_as_ours),
                    Take.THEIRS: Left(rows=_as_theirs),
                },
                is_partitioned=True,
            ),
        )
        yield (
            (name, "overwrite"),
            CellCase(
                name="rows that the source inserted",
                theirs=_also(_insert(33, 34, 35), _own(name)),
                ours=_overwrite(*_FIRST_DAY),
                is_partitioned=True,
            ),
        )
        # In one file, nothing tells which rows are of the base.
        yield (
            (name, "overwrite"),
            CellCase(
                name="rows of the base written with own ones",
                theirs=_also(_insert(33, 34, 35), _with_own(name)),
                ours=_overwrite(*_FIRST_DAY),
                conflicts=_is("M4" if name == "update" else "M5", ConflictKind.FILE_RULE),
                is_partitioned=True,
            ),
        )
        yield (
            (name, "overwrite"),
            CellCase(
                name="all there was",
                theirs=_also(_insert(33, 34, 35), _own(name), _recorded(name, act)),
                ours=OURS["overwrite"],
                left=Left(told="overwrote 2 data files in which the source had changed rows"),
            ),
        )


def _own(name: str) -> Act:
    return _update(33, amount=9) if name == "update" else _delete(33)


def _with_own(name: str) -> Act:
    return _update(1, 33, amount=9) if name == "update" else _delete(1, 33)


def _overwritten_by_theirs() -> Iterator[tuple[Pair, CellCase]]:
    gone = "The source overwrote partitions into which the target put 2 rows."
    for name, act, told in (
        ("insert", _insert(41, 42, 43), gone),
        ("delete", _delete(2, 5, 7), gone),
        ("update", _also(_update(1, amount=2), _update(7, amount=3)), gone),
        ("overwrite", _overwrite(41, 42, 45, 46, 49), gone.replace("2 rows", "5 rows")),
        ("compaction", _compact, ""),
    ):
        yield (
            ("overwrite", name),
            CellCase(
                name="one of two partitions",
                theirs=_overwrite(*_FIRST_DAY),
                ours=act,
                left=Left(rows=_first_day_as_theirs, told=told),
                is_partitioned=True,
                strict=frozenset({f"overwrite.{name}"} if told else ()),
            ),
        )


def _replaced_without_a_record() -> Iterator[tuple[Pair, CellCase]]:
    """A partition that was written again as more rows may be an update as well as an overwrite."""
    by_side = {Take.OURS: Left(rows=_as_ours), Take.THEIRS: Left(rows=_first_day_as_theirs)}
    for name, act, rule in (
        ("insert", _insert(41, 42, 43), "update.insert"),
        ("delete", _delete(2, 5, 7), "M1"),
        ("update", _also(_update(1, amount=2), _update(7, amount=3)), "M3"),
    ):
        yield (
            ("overwrite", name),
            CellCase(
                name="of a partition, by a commit that records nothing",
                theirs=_rewrite_all(*_FIRST_DAY),
                ours=act,
                conflicts=_is(rule, ConflictKind.FILE_RULE),
                settled=by_side,
                rules={"isolation": Isolation.SNAPSHOT} if name == "insert" else {},
                left=Left(rows=_inserts_of_both),
                is_partitioned=True,
            ),
        )
    yield (
        ("overwrite", "insert"),
        CellCase(
            name="of a partition, by a commit that records nothing, beside another one",
            theirs=_rewrite_all(*_FIRST_DAY),
            ours=_insert(43, 44),
            left=Left(rows=_inserts_of_both),
            is_partitioned=True,
        ),
    )
    yield (
        ("update", "overwrite"),
        CellCase(
            name="of a partition, by a commit that records nothing",
            theirs=_update(1, 5, amount=3),
            ours=_rewrite_all(*_FIRST_DAY),
            conflicts=_is("M3", ConflictKind.FILE_RULE),
            settled={Take.OURS: Left(rows=_as_ours), Take.THEIRS: Left(rows=_as_theirs)},
            is_partitioned=True,
        ),
    )


def _inserts_of_both(bench: MergeBench, base: Rows) -> Rows:
    ours, other = bench.rows["main"], bench.rows["dev"]
    return {each: row for each, row in (ours | other).items() if each not in base or each in other}


def _predicates_and_inserts() -> Iterator[tuple[Pair, CellCase]]:
    for name in BY_PREDICATE:
        refused = _is(f"{name}.insert", ConflictKind.FILE_RULE)
        yield (
            (name, "insert"),
            CellCase(
                name="into a partition that was touched",
                theirs=THEIRS[name],
                ours=_insert(41, 43),
                conflicts=refused,
                rules={"isolation": Isolation.SNAPSHOT},
                is_partitioned=True,
            ),
        )
        yield (
            (name, "insert"),
            CellCase(
                name="into another partition",
                theirs=THEIRS[name],
                ours=_insert(43, 44),
                conflicts=refused,
                rules={"scope": InsertScope.PARTITION},
                is_partitioned=True,
            ),
        )


def _compacted_by_ours() -> Iterator[tuple[Pair, CellCase]]:
    again = _also(_insert(41, 43), _compact, _insert(45, 47), _compact)
    for name in BY_PREDICATE:
        yield (
            (name, "compaction"),
            CellCase(
                name="twice, with new rows",
                theirs=_also(THEIRS[name], _insert(33)),
                ours=again,
                conflicts=_is(f"{name}.insert", ConflictKind.FILE_RULE),
                rules={"isolation": Isolation.SNAPSHOT},
            ),
        )
        yield (
            (name, "compaction"),
            CellCase(
                name="what was compacted is expired",
                theirs=THEIRS[name],
                ours=_also(_compact, _expire),
                options=COPIED,
            ),
        )
    # Of a compaction that is expired with an insert before it nothing is known but the rows.
    yield (
        ("update", "compaction"),
        CellCase(
            name="that cannot be told from a change",
            theirs=THEIRS["update"],
            ours=_also(_insert(41), _compact, _expire),
            options=COPIED,
            conflicts=_is("M3", ConflictKind.FILE_RULE),
            settled={Take.OURS: Left(rows=_as_ours)},
        ),
    )
    vectors = {**SHARED, "deletion-vectors.enabled": "true"}
    yield (
        ("delete", "compaction"),
        CellCase(name="hidden rows", theirs=_hide(1, 6), ours=_compact, options=vectors),
    )


def _cases() -> Iterator[tuple[Pair, CellCase]]:
    yield from ((("properties", "properties"), case) for case in _options_of_both())
    yield from _options_and_rows()
    yield from ((("column", "column"), case) for case in _columns_of_both())
    yield from _columns_and_rows()
    yield from _of_one_file()
    yield from _overwritten_by_ours()
    yield from _overwritten_by_theirs()
    yield from _replaced_without_a_record()
    yield from _predicates_and_inserts()
    yield from _compacted_by_ours()


def _by_pair(cases: Iterable[tuple[Pair, CellCase]]) -> Mapping[Pair, tuple[CellCase, ...]]:
    found: dict[Pair, tuple[CellCase, ...]] = {}
    for pair, case in cases:
        found[pair] = (*found.get(pair, ()), case)
    return MappingProxyType(found)


CELLS: Final = _by_pair(_cases())
