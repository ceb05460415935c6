"""What a merge says where it is refused: each conflict and each reason, whichever parts are empty.

A part of a sentence may be empty, such as the partition of a table without any. The expected file
is read as a text, by somebody who knows Paimon and not this code.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from types import MappingProxyType
from typing import Any, Final

import pyarrow as pa
import pytest

from branch_console.diff.changes.file_history import fold_history
from branch_console.diff.changes.table_changes import TableChanges, changes_since
from branch_console.diff.table_operation import TableOperation
from branch_console.format.data_types import INT
from branch_console.format.options import Options
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.binary_row import encode_row
from branch_console.merge.conflict import OBJECT_KINDS, ConflictKind, Take
from branch_console.merge.conflict_matrix import CellRule, cells
from branch_console.merge.file_moves import DisplayNames, MergeRules
from branch_console.merge.plan import Plan, blocks_of, conflicts_of
from branch_console.merge.plan_merge import BaseState, MergeSide, MergeSides, plan_merge
from branch_console.operations.isolation import InsertScope, Isolation
from tests.support.golden import Golden
from tests.unit.diff.test_file_history import delta
from tests.unit.merge.test_schema_merge import AMOUNT, BASE, ID, NAME, column, of

_NO_CHOICE: Final = MergeRules()
_ADVISED: Final = {
    Take.ISOLATION_SNAPSHOT: "Isolation 'snapshot'",
    Take.OURS: "by ours",
    Take.THEIRS: "by theirs",
}
_ROOT: Final = delta(1, "+base").snapshot
_OPERATIONS: Final = (
    TableOperation.INSERT,
    TableOperation.DELETE,
    TableOperation.UPDATE,
    TableOperation.OVERWRITE,
)
# What a commit does to a base of one file, `f`, of four rows, and what it writes.
_CHANGES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "insert": ("+{n}*1",),
        "delete": ("-f*4", "+{n}*3"),
        "delete the file": ("-f*4",),
        "update": ("-f*4", "+{n}*4"),
        "replace": ("-f*4", "+{n}*5"),
        "overwrite": ("-f*4", "+{n}*5"),
    }
)
_RECORDED: Final[Mapping[str, str | None]] = MappingProxyType(
    {
        "insert": "WRITE",
        "delete": "DELETE",
        "delete the file": "DELETE",
        "update": "UPDATE",
        "replace": None,
        "overwrite": "OVERWRITE",
    }
)
_BAD: Final = re.compile(r"  | ,| \.|,,|''|\"\"|\(\)|\bNone\b|\.\.| :|[a-z]\.[A-Z]")


def did(side: str, what: str) -> TableChanges:
    changes = [each.format(n=side) for each in _CHANGES[what]]
    made = delta(2, *changes, operation=_RECORDED[what], emptied=what == "replace")
    key = pa.array([encode_row([1], [INT])] * made.entries.num_rows, pa.binary())
    for name in ("min_key", "max_key"):
        at = made.entries.schema.get_field_index(name)
        made = replace(
            made, entries=made.entries.set_column(at, made.entries.schema.field(at), key)
        )
    return changes_since(fold_history(()), fold_history([made]))


def nothing() -> TableChanges:
    return changes_since(fold_history(()), fold_history(()))


def planned(
    rules: MergeRules,
    *,
    ours: TableChanges | None = None,
    theirs: TableChanges | None = None,
    base: TableSchema = BASE,
    schemas: tuple[TableSchema, TableSchema] | None = None,
    has_row_base: bool = True,
) -> Plan:
    mine, other = schemas or (base, base)

    def side(branch: str, schema: TableSchema, changes: TableChanges | None) -> MergeSide:
        return MergeSide(
            branch=branch,
            head=_head(2 if branch == "main" else 3),
            schema=schema,
            schemas={0: BASE, **{each.id: each for each in (base, schema)}},
            changes=changes or nothing(),
        )

    return plan_merge(
        MergeSides(
            table="db.t",
            base=_ROOT,
            base_of_rows=BaseState(snapshot=_ROOT, in_target=True) if has_row_base else None,
            base_schema=base,
            ours=side("main", mine, ours),
            theirs=side("dev", other, theirs),
        ),
        rules,
    )


def _head(number: int) -> Snapshot:
    return delta(number, "+head").snapshot


_ONE: Final = replace(BASE, options=Options({"bucket": "-1"}))
_KEYED: Final = replace(BASE, primary_keys=("id",), options=Options({"bucket": "-1"}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is merged by which rules; `plan` decides by others, too."""

    name: str
    rules: MergeRules
    plan: Callable[[MergeRules], Plan]


def case(name: str, rules: MergeRules = _NO_CHOICE, **sides: Any) -> Case:
    return Case(name=name, rules=rules, plan=lambda chosen: planned(chosen, **sides))


def of_files() -> Iterator[Case]:
    """Each pair of changes that one snapshot of each side can make, by each set of rules."""
    choices = {
        "": MergeRules(),
        ", scope partition": MergeRules(scope=InsertScope.PARTITION),
        ", isolation snapshot": MergeRules(isolation=Isolation.SNAPSHOT),
        ", strict": MergeRules(strict=True),
    }
    for theirs, ours in product(_CHANGES, _CHANGES):
        for name, rules in choices.items():
            sides = {"ours": did("mine", ours), "theirs": did("theirs", theirs)}
            yield case(f"{theirs} x {ours}{name}", rules, base=_ONE, **sides)


def of_schemas() -> Iterator[Case]:
    """What both sides made of the columns, the keys and the options of a table."""
    strict = column(2, "amount", "INT NOT NULL")
    filled = column(2, "amount", "INT NOT NULL", default_value="8")
    base = _ONE
    changed: Mapping[str, tuple[TableSchema, TableSchema]] = {
        "a column altered and dropped": (
            of(ID, NAME, base=base),
            of(ID, NAME, column(2, "amount", "BIGINT"), base=base),
        ),
        "types that no type holds": (
            of(ID, NAME, column(2, "amount", "STRING"), base=base),
            of(ID, NAME, column(2, "amount", "DOUBLE"), base=base),
        ),
        "a narrower type": (
            of(ID, NAME, column(2, "amount", "BIGINT"), base=base),
            of(ID, NAME, column(2, "amount", "SMALLINT"), base=base),
        ),
        "a new column of two types": (
            of(ID, NAME, AMOUNT, column(3, "extra", "INT"), base=base),
            of(ID, NAME, AMOUNT, column(3, "extra", "STRING"), base=base),
        ),
        "a rename to a name that is taken": (
            of(ID, NAME, column(2, "total"), base=base),
            of(ID, column(1, "total", "STRING"), AMOUNT, base=base),
        ),
        "two defaults": (
            of(ID, NAME, column(2, "amount", default_value="1"), base=base),
            of(ID, NAME, column(2, "amount", default_value=""), base=base),
        ),
        "no column left": (of(ID, base=base), of(NAME, base=base)),
        "a comment": (of(base=base, comment="one"), of(base=base, comment=None)),
        "a column renamed twice": (
            of(ID, NAME, column(2, "total"), base=base),
            of(ID, NAME, column(2, "sum"), base=base),
        ),
        "columns moved": (of(NAME, ID, AMOUNT, base=base), of(ID, AMOUNT, NAME, base=base)),
        "an option": (_with(base, owner="1"), _with(base, owner="2")),
        "an option set and empty": (_with(base, owner="1"), _with(base, owner="")),
        "buckets": (_with(base, bucket="2"), base),
        "keys": (replace(base, id=1, partition_keys=("name",)), base),
        "NOT NULL": (of(ID, NAME, strict, base=base), base),
        "NOT NULL with a default": (of(ID, NAME, filled, base=base), base),
    }
    for (name, (one, other)), is_strict in product(changed.items(), (False, True)):
        for schemas in ((one, other), (other, one)):
            mirrored = "" if schemas == (one, other) else ", mirrored"
            yield case(
                f"{name}{', strict' if is_strict else ''}{mirrored}",
                MergeRules(strict=is_strict),
                ours=None if name == "keys" else did("mine", "insert"),
                theirs=None if name == "keys" else did("theirs", "insert"),
                base=base,
                schemas=schemas,
            )


def of_tables() -> Iterator[Case]:
    """Tables of a kind that is not merged, or not in this case."""
    inserts = {"ours": did("mine", "insert"), "theirs": did("theirs", "insert")}
    filled = of(ID, NAME, column(2, "amount", "INT NOT NULL", default_value="8"), base=_KEYED)
    kinds: Mapping[str, TableSchema] = {
        "dynamic buckets that skip level 0": _with(_KEYED, **{"deletion-vectors.enabled": "true"}),
        "dynamic buckets with their index elsewhere": _with(
            _KEYED, **{"index-file-in-data-file-dir": "true"}
        ),
        "a function that is not merged": _with(
            _KEYED,
            **{
                "bucket": "1",
                "merge-engine": "aggregation",
                "fields.name.aggregate-function": "listagg",
            },
        ),
        "data evolution": _with(_ONE, **{"data-evolution.enabled": "true"}),
        "a fallback branch": _with(_ONE, **{"scan.fallback-branch": "dev"}),
        "a chain table": _with(_KEYED, **{"chain-table.enabled": "true"}),
    }
    for name, schema in kinds.items():
        yield case(name, base=schema, **inserts)
    fixed = _with(_KEYED, bucket="1")
    yield case("rows of a base that is gone", base=fixed, has_row_base=False, **inserts)
    fixed_filled = replace(filled, options=fixed.options)
    for schemas in ((fixed, fixed_filled), (fixed_filled, fixed)):
        yield case("a default in a table with a key", base=fixed, schemas=schemas, **inserts)


def _with(schema: TableSchema, **options: str) -> TableSchema:
    """The table altered, or made, with options."""
    return replace(schema, id=schema.id + 1, options=Options({**schema.options, **options}))


def sentences(plan: Plan) -> Iterator[str]:
    for conflict in conflicts_of(plan):
        yield from (conflict.advice,) if conflict.advice else ()
    yield from (block.text for block in blocks_of(plan))
    yield from plan.notes


def lines(plan: Plan) -> Iterator[str]:
    for each in conflicts_of(plan):
        yield f"  {each.kind} of {each.subject} ({each.rule})"
        yield f"    source: {each.sides.theirs}"
        yield f"    target: {each.sides.ours}"
        if each.sides.base:
            yield f"    before: {each.sides.base}"
        yield f"    settle by: {', '.join(map(str, each.settle_with)) or 'nothing'}"
        yield f"    {each.advice or '(no advice)'}"
    yield from (f"  {block.kind}: {block.text}" for block in blocks_of(plan))


@cache
def cases_of(section: str) -> tuple[tuple[Case, Plan], ...]:
    """The cases of a section and what is planned for them, once for all tests."""
    return tuple((each, each.plan(each.rules)) for each in SECTIONS[section]())


SECTIONS: Final[Mapping[str, Callable[[], Iterator[Case]]]] = {
    "files": of_files,
    "schemas": of_schemas,
    "tables": of_tables,
}


@pytest.mark.parametrize("section", SECTIONS)
def test_what_a_merge_says_where_it_is_refused(section: str, golden: Golden) -> None:
    # Many pairs are refused in the same words: the first of them stands for all.
    told: dict[str, str] = {}
    for each, plan in cases_of(section):
        for sentence in sentences(plan):
            assert sentence.endswith("."), (each.name, sentence)
            assert not _BAD.search(sentence), (each.name, sentence)
        for conflict in conflicts_of(plan):
            assert conflict.sides.ours, (each.name, conflict)
            assert conflict.sides.theirs, (each.name, conflict)
            assert conflict.advice, (each.name, conflict)
        if conflicts_of(plan) or blocks_of(plan):
            told.setdefault("\n".join(lines(plan)), each.name)
    golden.check(
        f"merge_refusals_{section}.txt",
        "".join(f"{name}\n{text}\n\n" for text, name in told.items()),
    )


def test_every_kind_and_cell_of_a_conflict_is_told() -> None:
    told = [
        conflict
        for section in ("files", "schemas")
        for _, plan in cases_of(section)
        for conflict in conflicts_of(plan)
    ]
    for theirs, ours in product(_OPERATIONS, _OPERATIONS):
        (cell,) = cells(frozenset({theirs}), frozenset({ours}))
        if cell.settle_with or cell.rule in (CellRule.M1, CellRule.M3):
            assert cell.id in {each.rule for each in told}
    # Conflicts of rows are told by their values; partitions are not dropped by name; and a file
    # is lost only where what it was compacted from has expired.
    assert set(ConflictKind) - {*OBJECT_KINDS, *(each.kind for each in told)} == {
        ConflictKind.ADD_ADD,
        ConflictKind.MODIFY_MODIFY,
        ConflictKind.DELETE_MODIFY,
        ConflictKind.HIDDEN,
        ConflictKind.PARTITION,
        ConflictKind.FILE_REWRITTEN,
    }


@pytest.mark.parametrize("section", ["files", "schemas"])
def test_what_is_offered_for_a_conflict_settles_it(section: str) -> None:
    offered = 0
    for each, plan in cases_of(section):
        for conflict in conflicts_of(plan):
            for take in conflict.settle_with:
                offered += 1
                left = conflicts_of(each.plan(each.rules.choosing(conflict.kind, take)))
                same = (conflict.kind, conflict.rule, conflict.subject.name)
                assert same not in {
                    (other.kind, other.rule, other.subject.name) for other in left
                }, (each.name, conflict, take)
            if "without strict" in conflict.advice:
                offered += 1
                left = conflicts_of(each.plan(replace(each.rules, strict=False)))
                assert conflict.id not in {other.id for other in left}, (each.name, conflict)
            advised = [take for take, words in _ADVISED.items() if words in conflict.advice]
            if not set(advised) <= set(conflict.settle_with):
                assert conflict.advice.endswith("it stays a conflict."), (each.name, conflict)
    assert offered > 20
    print(f"{offered} options offered, each settles its conflict")


@pytest.mark.parametrize("partitions", [(), ("day",), ("day", "hour")], ids=len)
def test_partitions_are_named_where_there_are_any(partitions: tuple[str, ...]) -> None:
    naming = DisplayNames(
        table="db.t", partition=lambda _: "/".join(f"{each}=1" for each in partitions)
    )
    place = naming.place(b"")
    assert place == (f"partition '{naming.partition(b'')}'" if partitions else "table db.t")
