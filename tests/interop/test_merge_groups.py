"""Merges of tables with sequence groups: a result that Java would not show is told, never wrong."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final, TypeAlias

import pytest

from branch_console.errors import ErrorKind, Refused
from branch_console.format.receipt import Receipt
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from tests.support.examples import Examples
from tests.support.java_paimon import JavaPaimon, JavaTable
from tests.support.local_row_engine import LocalRows
from tests.support.merge_bench import SHARED

# Each of the two versions takes some of them, all at depth long.
pytestmark = pytest.mark.shared_cells

Row: TypeAlias = tuple[Any, ...]
Rows: TypeAlias = Mapping[int, Row]

_NAMES: Final = ("id", "a", "g1", "b", "c", "g2", "d", "g3", "free")
_GROUPED: Final = {
    **SHARED,
    "bucket": "1",
    "merge-engine": "partial-update",
    "fields.g1.sequence-group": "a,b",
    "fields.g2,g3.sequence-group": "c,d",
}
_SUMS: Final = {"fields.a.aggregate-function": "sum", "fields.c.aggregate-function": "max"}
_KINDS: Final[Mapping[str, Mapping[str, str]]] = {
    "plain": {},
    "aggregated": _SUMS,
    "removing": {"partial-update.remove-record-on-sequence-group": "g2"},
}
_BASE: Final = [(key, 1, 1, 1, 1, 1, 1, 1, 1) for key in range(1, 9)]


class GroupBench:
    """A table with two sequence groups that Java writes on two branches and we merge."""

    def __init__(self, java: JavaPaimon, folder: Path, options: Mapping[str, str]) -> None:
        self.folder, self.name = folder, f"db.t{uuid.uuid4().hex[:8]}"
        fields = dict.fromkeys(_NAMES, "INT") | {"id": "INT NOT NULL"}
        self._main = java.create_table(
            self.name, fields, primary_keys=["id"], options={**_GROUPED, **options}
        )

    def table(self, branch: str = "main") -> JavaTable:
        return self._main if branch == "main" else self._main.on(branch)

    def rows(self, branch: str = "main") -> Rows:
        return {row[0]: tuple(row) for row in self.table(branch).rows()}

    def call(self, name: str, **arguments: str) -> Receipt:
        warehouse = Warehouse.open(str(self.folder))
        call = ProcedureCall(
            name=name,
            arguments={"table": self.name, **arguments},
            actor="tester",
            operation_id=str(uuid.uuid4()),
            role="operator",
        )
        return run_call(warehouse, LocalRows(warehouse.file_io), call, InlineStages())

    def merge(self, take: str) -> Receipt:
        policy = f"version: 1\ntables: {{'*': {{take: {take}}}}}"
        return self.call("merge_branch", branch="dev", policy=policy)


Open: TypeAlias = Callable[[Mapping[str, str]], GroupBench]


def merged(base: Rows, ours: Rows, theirs: Rows, take: str, sums: Mapping[str, str]) -> Rows:
    """What a merge by cells is to leave, conflicts settled by one side."""
    nothing = (None,) * len(_NAMES)
    functions = {name: sums.get(f"fields.{name}.aggregate-function") for name in _NAMES}
    found = {}
    for key in {*base, *ours, *theirs}:
        old, mine, other = (side.get(key) for side in (base, ours, theirs))
        if len({old, mine, other}) < 3:
            kept = other if mine == old else mine
        elif mine is None or other is None:
            kept = mine if take == "ours" else other
        else:
            kept = tuple(
                _cell(*cells, take, functions[name])
                for name, cells in zip(
                    _NAMES, zip(old or nothing, mine, other, strict=True), strict=True
                )
            )
        if kept is not None:
            found[key] = kept
    return found


def _cell(old: Any, mine: Any, other: Any, take: str, function: str | None) -> Any:
    if function == "sum" and not mine is other is None:
        return (mine or 0) + (other or 0) - (old or 0)
    if function == "max":
        return max((each for each in (mine, other) if each is not None), default=None)
    if other == old:
        return mine
    return other if mine == old or take == "theirs" else mine


@pytest.fixture
def open_bench(open_java: Callable[[Path], JavaPaimon], tmp_path: Path) -> Open:
    """Makes a table of keys 1 to 8, and a branch."""
    java = open_java(tmp_path)

    def make(options: Mapping[str, str]) -> GroupBench:
        bench = GroupBench(java, tmp_path, options)
        bench.table().write(_BASE)
        bench.call("create_branch", branch="dev")
        return bench

    return make


def _write(rng: Random, table: JavaTable, keys: Sequence[int], *, deletes: bool) -> None:
    for _ in range(rng.randint(1, 3)):
        kind = "-D" if deletes and rng.random() < 0.25 else "+I"
        chosen = rng.sample(keys, rng.randint(1, min(3, len(keys))))
        table.write([(key, *_some(rng)) for key in chosen], kind=kind)
    if rng.random() < 0.3:
        table.compact()


def _some(rng: Random) -> list[int | None]:
    return [rng.choice((None, 0, 1, 2, 3, 5)) for _ in _NAMES[1:]]


@pytest.mark.parametrize("kind", _KINDS)
def test_disjoint_keys_are_replayed_whatever_the_groups_say(
    kind: str, open_bench: Open, rng: Random
) -> None:
    bench = open_bench(_KINDS[kind])
    base = bench.rows()
    _write(rng, bench.table(), (1, 3, 5, 7, 11), deletes=kind != "aggregated")
    _write(rng, bench.table("dev"), (2, 4, 6, 8, 12), deletes=kind != "aggregated")
    wanted = merged(base, bench.rows(), bench.rows("dev"), "ours", {})
    bench.merge("ours")
    assert bench.rows() == wanted
    bench.table().compact()
    assert bench.rows() == wanted


@pytest.mark.parametrize("kind", _KINDS)
def test_what_both_changed_is_merged_by_cells_or_told(
    kind: str, open_bench: Open, rng: Random, examples: Examples
) -> None:
    outcomes = []
    for _ in range(examples(4, quick=2, long=200)):
        bench = open_bench(_KINDS[kind])
        base = bench.rows()
        for branch in ("main", "dev"):
            _write(rng, bench.table(branch), range(1, 10), deletes=kind == "removing")
        take = rng.choice(("ours", "theirs"))
        ours, theirs = bench.rows(), bench.rows("dev")
        try:
            bench.merge(take)
        except Refused as refused:
            found, wanted = str(refused.kind), ours
        else:
            found, wanted = "merged", merged(base, ours, theirs, take, _KINDS[kind])
        outcomes.append(found)
        assert found in ("merged", ErrorKind.CONFLICTS_OPEN)
        for state in ("merged", "compacted"):
            wrong = {
                key: (base.get(key), ours.get(key), theirs.get(key), row, wanted.get(key))
                for key, row in bench.rows().items()
                if row != wanted.get(key)
            }
            assert wrong == {}, (state, take)
            assert bench.rows().keys() == wanted.keys()
            bench.table().compact()
    print(kind, {each: outcomes.count(each) for each in set(outcomes)})
