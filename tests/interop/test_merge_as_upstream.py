"""R14: what Paimon's own tests of its branch merge ask, played on Paimon 2.0 and on ours.

Each cell restates one of the 27 tests of append tables, or that of tables with a primary key. The
same steps run twice, once with the merge of Paimon and once with ours; all other steps are Java's.
Where the outcomes differ the cell says why.
"""

import copy
import json
import operator
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, TypeAlias

import jpype
import pytest

from branch_console.errors import ErrorKind, PaimonError
from tests.support.java_paimon import JavaPaimon
from tests.support.java_vm import java_class
from tests.support.merge_bench import MergeBench, put

_COLUMNS: Final = ("id", "day", "amount")
_MOVED: Final = "the target has a new snapshot"
_STAYED: Final = "nothing changed"
_INCOMPLETE: Final = "complete append-only snapshot history"

_OpenJava: TypeAlias = Callable[[Path], JavaPaimon]
Step: TypeAlias = tuple[Any, ...]
"""A verb of `_Bench` and its arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One upstream test.

    Attributes:
        java: What each merge comes to: _MOVED, _STAYED, or a part of what it is refused with.
        rows: The ids that each branch then holds by ours, and by Java where all its merges pass.
        ours: The same of our merges, refused with a kind; None is as Java.
        why: Why ours ends otherwise.
    """

    steps: Sequence[Step]
    java: Sequence[str]
    rows: Mapping[str, Iterable[int]]
    ours: Sequence[str] | None = None
    why: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    keyed: bool = False


class _Bench(MergeBench):
    """A table on which Java merges, or its twin on which we do; its verbs are steps of cells."""

    def __init__(self, java: JavaPaimon, folder: Path, cell: Cell) -> None:
        super().__init__(
            java, folder, partitioned=not cell.keyed, keyed=cell.keyed, options=cell.options
        )
        self.cell = cell
        self._engine_of_merges = _JAVA
        self.ends: list[str] = []

    def twin(self, open_java: _OpenJava, folder: Path) -> "_Bench":
        """A copy of the warehouse on which we merge."""
        shutil.copytree(self.folder, folder)
        twin = copy.copy(self)
        twin.folder, twin.rows, twin.ends = folder, copy.deepcopy(self.rows), []
        twin._java = open_java(folder)
        twin._engine_of_merges = _OURS
        return twin

    def play(self, steps: Iterable[Step]) -> None:
        for verb, *arguments in steps:
            getattr(self, verb)(*arguments)

    def merge_now(self, source: str, target: str) -> None:
        """Merge, and note what came of it."""
        self._note(lambda: self._engine_of_merges.merge(self, source, target))

    def merge_twice_from_one_look(self, source: str, target: str) -> None:
        """Carry out twice what was decided once."""
        act = self._engine_of_merges.look(self, source, target)
        self._note(act)
        self._note(act)

    def empty_branch(self, name: str) -> None:
        """Make a branch without a snapshot, as Java does without a tag."""
        self.table().create_branch(name)
        self.rows[name] = {}

    def append(self, branch: str, *ids: int) -> None:
        """Append rows to a table that has other columns beside those of the model."""
        self.table(branch).write(list(put(ids).values()), columns=_COLUMNS)

    def add_column(self, branch: str, name: str) -> None:
        self.table(branch).add_column(name, "INT")

    def drop_column(self, branch: str, name: str) -> None:
        self.table(branch).drop_column(name)

    def forget_option(self, branch: str, name: str) -> None:
        """Publish a schema without an option that no engine lets go of."""
        raw = self.table(branch).schemas()[-1]
        raw["id"] += 1
        del raw["options"][name]
        schemas = self.folder / "db.db" / "t" / "branch" / f"branch-{branch}" / "schema"
        (schemas / f"schema-{raw['id']}").write_text(json.dumps(raw), encoding="utf-8")

    def ids(self, branch: str) -> list[int]:
        """The ids that Java reads."""
        return sorted(row[0] for row in self.table(branch).rows())

    def next_row_id(self, branch: str) -> int | None:
        """The id of the next row, where rows have ids; no two of the branch have one."""
        if "row-tracking.enabled" not in self.cell.options:
            return None
        files = self.table(branch).live_files()
        starts = [int(file["first_row_id"]) for file in files]
        ends = [start + file["row_count"] for start, file in zip(starts, files, strict=True)]
        assert all(map(operator.le, sorted(ends), sorted(starts)[1:])), files
        return int(self.table(branch).load().snapshotManager().latestSnapshot().nextRowId())

    def _note(self, act: Callable[[], object]) -> None:
        before = self._heads()
        try:
            act()
        except PaimonError as error:
            self.ends.append(str(error.kind))
        except jpype.JException as error:
            self.ends.append(str(error))
        else:
            self.ends.append(_STAYED if self._heads() == before else _MOVED)

    def _heads(self) -> list[int]:
        return [
            int(self.table(branch).load().snapshotManager().latestSnapshotId() or 0)
            for branch in self.rows
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Engine:
    """Who merges: at once, or after a look by the act that carries out what was seen."""

    merge: Callable[[_Bench, str, str], object]
    look: Callable[[_Bench, str, str], Callable[[], object]]


def _look_by_java(bench: _Bench, source: str, target: str) -> Callable[[], object]:
    table = bench.table().load()
    switch = jpype.JProxy("java.util.function.Function", dict={"apply": table.switchToBranch})
    handler = java_class("utils.BranchMergeHandler")(switch)
    known = handler.readBranchFiles(target)
    found = java_class("java.util.ArrayList")()
    for entry in handler.readBranchFiles(source).entrySet():
        if not known.containsKey(entry.getKey()):
            found.add(entry.getValue())
    return lambda: handler.commit(target, found)


def _look_by_us(bench: _Bench, source: str, target: str) -> Callable[[], object]:
    plan = bench.plan(source, target)
    return lambda: bench.call("merge_branch", branch=source, target=target, plan_id=plan.id)


_JAVA: Final = _Engine(
    merge=lambda bench, source, target: bench.table().merge_branch(source, target),
    look=_look_by_java,
)
_OURS: Final = _Engine(
    merge=lambda bench, source, target: bench.call("merge_branch", branch=source, target=target),
    look=_look_by_us,
)

_TRACKED: Final = {"row-tracking.enabled": "true"}
_ONE_KEPT: Final = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"}
_BASE: Final[Sequence[Step]] = (("insert", "main", 1), ("java_branch", "dev"))
_TWO_BRANCHES: Final[Sequence[Step]] = (
    *(("insert", "main", 1), ("java_branch", "a"), ("java_branch", "b")),
    *(("insert", "a", 11), ("insert", "b", 23), ("merge_now", "a", "b")),
)
_MERGE: Final = ("merge_now", "dev", "main")
_LOGS: Final = "a side is told from its snapshots, or from its manifests where these expired"

_CELLS: Final[Mapping[str, Cell]] = {
    "both sides wrote": Cell(
        steps=(*_BASE, ("insert", "dev", 11), ("insert", "main", 23), _MERGE),
        java=(_MOVED,),
        rows={"main": (1, 11, 23), "dev": (1, 11)},
    ),
    "merged twice": Cell(
        steps=(*_BASE, ("insert", "dev", 11), _MERGE, ("insert", "dev", 23), _MERGE),
        java=(_MOVED, _MOVED),
        rows={"main": (1, 11, 23), "dev": (1, 11, 23)},
    ),
    "the same files committed twice": Cell(
        steps=(*_BASE, ("insert", "dev", 11), ("merge_twice_from_one_look", "dev", "main")),
        java=(_MOVED, "Give up committing"),
        ours=(_MOVED, _STAYED),
        why="a target that holds the source is left alone",
        rows={"main": (1, 11), "dev": (1, 11)},
    ),
    "there and back": Cell(
        steps=(
            *(*_BASE, ("insert", "dev", 11), ("insert", "main", 23)),
            *(_MERGE, ("merge_now", "main", "dev")),
        ),
        java=(_MOVED, _MOVED),
        rows={"main": (1, 11, 23), "dev": (1, 11, 23)},
    ),
    "nothing to merge": Cell(
        steps=(*_BASE, _MERGE),
        java=(_STAYED,),
        rows={"main": (1,), "dev": (1,)},
    ),
    "the target has another column": Cell(
        steps=(*_BASE, ("insert", "dev", 11), ("add_column", "main", "new"), _MERGE),
        java=("schema mismatch",),
        ours=(_MOVED,),
        why="schemas are merged, column by column",
        rows={"main": (1, 11), "dev": (1, 11)},
    ),
    "each side had a column of its own for a while": Cell(
        steps=(
            *(*_BASE, ("add_column", "dev", "theirs"), ("append", "dev", 11)),
            *(("drop_column", "dev", "theirs"), ("add_column", "main", "ours")),
            *(("drop_column", "main", "ours"), _MERGE),
        ),
        java=("schema history mismatch for schema id 1",),
        ours=(_MOVED,),
        why="a schema of the source gets an id that the target has not used",
        rows={"main": (1, 11), "dev": (1, 11)},
    ),
    "rows with ids": Cell(
        steps=(*_BASE, ("insert", "dev", 11), ("insert", "main", 23), _MERGE),
        options=_TRACKED,
        java=(_MOVED,),
        rows={"main": (1, 11, 23), "dev": (1, 11)},
    ),
    "rows with ids, merged twice": Cell(
        steps=(*_BASE, ("insert", "dev", 11), _MERGE, ("insert", "dev", 23), _MERGE),
        options=_TRACKED,
        java=(_MOVED, _MOVED),
        rows={"main": (1, 11, 23), "dev": (1, 11, 23)},
    ),
    "rows with ids, of which the target wrote more": Cell(
        steps=(*_BASE, ("insert", "dev", 11, 12), ("insert", "main", 23, 24, 27), _MERGE),
        options=_TRACKED,
        java=(_MOVED,),
        rows={"main": (1, 11, 12, 23, 24, 27), "dev": (1, 11, 12)},
    ),
    "rows with ids, between two branches": Cell(
        steps=_TWO_BRANCHES,
        options=_TRACKED,
        java=(_MOVED,),
        rows={"main": (1,), "a": (1, 11), "b": (1, 11, 23)},
    ),
    "rows with ids on one side only": Cell(
        steps=(
            # A target that stands still takes over the source with its options: that is no merge.
            *(*_BASE, ("insert", "dev", 11), ("insert", "main", 23)),
            *(("forget_option", "dev", "row-tracking.enabled"), _MERGE),
        ),
        options=_TRACKED,
        java=("row-tracking settings must match",),
        ours=(ErrorKind.CONFLICTS_OPEN,),
        why="an option that must be the same is a conflict",
        rows={"main": (1, 23), "dev": (1, 11)},
    ),
    "rows with ids, merged again after the target wrote": Cell(
        steps=(
            *(*_BASE, ("insert", "dev", 11), ("insert", "main", 23)),
            *(("insert", "main", 27, 28), _MERGE, ("insert", "main", 31), _MERGE),
        ),
        options=_TRACKED,
        java=(_MOVED, _STAYED),
        rows={"main": (1, 11, 23, 27, 28, 31), "dev": (1, 11)},
    ),
    "a branch into itself": Cell(
        steps=(*_BASE, ("merge_now", "dev", "dev")),
        java=("Cannot merge branch 'dev' into itself",),
        ours=(ErrorKind.INVALID_ARGUMENT,),
        rows={"main": (1,), "dev": (1,)},
    ),
    "one partition": Cell(
        steps=(*_BASE, ("insert", "dev", 2), _MERGE),
        java=(_MOVED,),
        rows={"main": (1, 2), "dev": (1, 2)},
    ),
    "there is no such branch": Cell(
        steps=(("insert", "main", 1), ("merge_now", "none", "main")),
        java=("Branch 'none' doesn't exist",),
        ours=(ErrorKind.BRANCH_NOT_FOUND,),
        rows={"main": (1,)},
    ),
    "two buckets": Cell(
        steps=(
            *(("insert", "main", 1, 2, 5), ("java_branch", "dev")),
            *(("insert", "dev", 3, 4, 7, 8), _MERGE),
        ),
        options={"bucket": "2", "bucket-key": "id"},
        java=(_MOVED,),
        rows={"main": (1, 2, 3, 4, 5, 7, 8), "dev": (1, 2, 3, 4, 5, 7, 8)},
    ),
    "there is no such target": Cell(
        steps=(("insert", "main", 1), ("empty_branch", "dev"), ("merge_now", "dev", "none")),
        java=("Branch 'none' doesn't exist",),
        ours=(ErrorKind.BRANCH_NOT_FOUND,),
        rows={"main": (1,), "dev": ()},
    ),
    "between two branches": Cell(
        steps=_TWO_BRANCHES,
        java=(_MOVED,),
        rows={"main": (1,), "a": (1, 11), "b": (1, 11, 23)},
    ),
    "the source expired after a merge could have been": Cell(
        steps=(
            *(*_BASE, ("insert", "dev", 11), ("insert", "dev", 23)),
            *(("insert", "dev", 27), ("insert", "dev", 31), ("expire", "dev"), _MERGE),
        ),
        options=_ONE_KEPT,
        java=(_INCOMPLETE,),
        ours=(_MOVED,),
        why=_LOGS,
        rows={"main": (1, 11, 23, 27, 31), "dev": (1, 11, 23, 27, 31)},
    ),
    "the source overwrote what it had added": Cell(
        steps=(*_BASE, ("insert", "dev", 2), ("overwrite", "dev", 5), _MERGE),
        java=(_INCOMPLETE,),
        ours=(_MOVED,),
        why=_LOGS,
        rows={"main": (5,), "dev": (5,)},
    ),
    "the target overwrote": Cell(
        steps=(*_BASE, ("insert", "dev", 2), ("overwrite", "main", 5), _MERGE),
        java=(_INCOMPLETE,),
        ours=(_MOVED,),
        why=_LOGS,
        rows={"main": (2, 5), "dev": (1, 2)},
    ),
    "the source overwrote": Cell(
        steps=(*_BASE, ("insert", "dev", 3), ("overwrite", "dev", 5), _MERGE),
        java=(_INCOMPLETE,),
        ours=(_MOVED,),
        why=_LOGS,
        rows={"main": (3, 5), "dev": (3, 5)},
    ),
    "the source expired": Cell(
        steps=(
            *(*_BASE, ("insert", "dev", 11), ("insert", "dev", 23), ("insert", "main", 27)),
            *(("expire", "dev"), _MERGE),
        ),
        options=_ONE_KEPT,
        java=(_INCOMPLETE,),
        ours=(_MOVED,),
        why=_LOGS,
        rows={"main": (1, 11, 23, 27), "dev": (1, 11, 23)},
    ),
    "the target expired": Cell(
        steps=(
            *(*_BASE, ("insert", "dev", 11), ("insert", "main", 23), ("insert", "main", 27)),
            *(("insert", "main", 31), ("expire", "main"), _MERGE),
        ),
        options=_ONE_KEPT,
        java=(_INCOMPLETE,),
        ours=(_MOVED,),
        why=_LOGS,
        rows={"main": (1, 11, 23, 27, 31), "dev": (1, 11)},
    ),
    "from a tag, several partitions": Cell(
        steps=(*_BASE, ("insert", "dev", 11, 13), ("insert", "main", 23, 25), _MERGE),
        java=(_MOVED,),
        rows={"main": (1, 11, 13, 23, 25), "dev": (1, 11, 13)},
    ),
    "a branch that began empty": Cell(
        steps=(
            *(("insert", "main", 1), ("empty_branch", "dev"), ("insert", "dev", 11)),
            *(("insert", "main", 23), _MERGE),
        ),
        java=(_MOVED,),
        ours=(ErrorKind.NO_COMMON_HISTORY,),
        why="a merge starts from a snapshot that both sides hold",
        rows={"main": (1, 23), "dev": (11,)},
    ),
    "a table with a primary key": Cell(
        steps=(*_BASE, ("insert", "dev", 11), ("insert", "main", 23), _MERGE),
        keyed=True,
        java=("append-only tables",),
        ours=(_MOVED,),
        why="files at level 0 hold changes",
        rows={"main": (1, 11, 23), "dev": (1, 11)},
    ),
}


@pytest.mark.depth("full")
def test_upstream_tests_of_the_branch_merge(
    open_java: _OpenJava, paimon_version: str, tmp_path: Path
) -> None:
    if paimon_version == "1.4.2":
        pytest.skip("Paimon 1.4.2 has no merge; the run with the newest one has")
    wrong = []
    for number, (name, cell) in enumerate(_CELLS.items()):
        folders = (tmp_path / f"{number}-java", tmp_path / f"{number}-ours")
        java = _Bench(open_java(folders[0]), folders[0], cell)
        shared = list(takewhile(lambda step: not step[0].startswith("merge"), cell.steps))
        java.play(shared)
        ours = java.twin(open_java, folders[1])
        for bench in (java, ours):
            bench.play(cell.steps[len(shared) :])
        wrong += [f"{name}: {text}" for text in _differences(cell, java, ours)]
    assert not wrong, "\n".join(wrong)


def _differences(cell: Cell, java: _Bench, ours: _Bench) -> Iterator[str]:
    if len(java.ends) != len(cell.java) or not all(map(operator.contains, java.ends, cell.java)):
        yield f"Java ended with {java.ends}"
    if ours.ends != list(cell.java if cell.ours is None else cell.ours):
        yield f"we ended with {ours.ends}"
    for branch, ids in cell.rows.items():
        found = ours.ids(branch)
        if found != sorted(ids):
            yield f"{branch} is {found} by us"
        if cell.ours is None and java.ids(branch) != found:
            yield f"{branch} is {found} by us, {java.ids(branch)} by Java"
        if cell.ours is None and java.next_row_id(branch) != ours.next_row_id(branch):
            yield f"row ids of {branch}"
