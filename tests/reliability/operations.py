"""What the reliability tests put to the test: each operation with the world it is done in.

A run is given a store, or none for a healthy one, and may be repeated: it carries the same
operation id, or the same commit user and identifier.
"""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from branch_console.commit.base.commit_store import CommitStore
from branch_console.format.receipt import Receipt
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.row_engine import RowEngine
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.run.open_operation import FRESH_MILLIS
from branch_console.table.file_store_table import FileStoreTable
from tests.reliability.worlds import (
    KINDS,
    RowBench,
    World,
    ahead,
    copy_world,
    diverged,
    expired,
    first_rows,
    hidden,
    hidden_and_written_again,
    keyed,
    keyed_rewritten,
    of_kind,
    rewritten,
    settled,
    settled_copies,
    shared,
    unpinned,
    vectors_of_keys,
    written_again,
)
from tests.support.branch_bench import NOW, store_of, tree
from tests.support.faulty_store import FaultyReader
from tests.support.local_row_engine import LocalRows

Row: TypeAlias = tuple[int, str, int]
Run = Callable[[Path, CommitStore | None], object]
# More than any process id is.
_DEAD = (1 << 22) + 1
LATER = NOW + FRESH_MILLIS
_UNDONE = (
    *("fast-forward", "force", "drop", "rename", "move a tag", "delete a tag"),
    *("replace main", "roll back", "cut back"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One thing that is done to a table.

    Attributes:
        world: Builds the table it is done to.
        run: Does it, or finishes it.
        between: Runs that lead to other states at which it may be found cut off for good.
        is_commit: Its new files get random names, so states are compared by what they say.
        rows: What main holds before and after, where files have more than the row of their name.
        is_bare_commit: It is a commit without a journal, whose data files are the writer's to keep.
    """

    name: str
    world: World
    run: Run
    between: tuple[Run, ...] = ()
    is_commit: bool = False
    rows: tuple[Sequence[Row], Sequence[Row]] | None = None
    is_bare_commit: bool = False


def call(name: str, *, by: str = "op", **arguments: Argument) -> Run:
    """A procedure with its arguments, run by the operation of that id."""

    def run(root: Path, store: CommitStore | None) -> Receipt:
        given = ProcedureCall(
            name=name,
            arguments={"table": "db.t", **arguments},
            actor="ann",
            operation_id=by,
            role="operator",
        )
        warehouse = RowBench(root).warehouse(store)
        return run_call(warehouse, rows_through(root, store), given, InlineStages())

    return run


def rows_through(root: Path, store: CommitStore | None) -> RowEngine:
    """A row engine without Spark, that reads and writes through a store."""
    files = (store or store_of(root)).files
    return LocalRows(files.for_rows if isinstance(files, FaultyReader) else files)


def done(operation: Operation) -> World:
    """The world in which an operation has been done already; `before` finds what it was before."""

    def build(root: Path) -> None:
        operation.world(root)
        copy_world(root, before(root))
        operation.run(root, None)

    build.__name__ = f"{operation.name.replace(' ', '_')}_done"
    return build


def before(root: Path) -> Path:
    """Where the world is kept in which an operation was not done yet."""
    return root.with_name(f"{root.name}_before")


def recover(root: Path, store: CommitStore | None = None, operation: str = "recovery") -> Receipt:
    """Recover the table as soon as everything in it counts as cut off."""
    leave_behind(root)
    return RowBench(root).call("recover", operation=operation, store=store, clock=lambda: LATER)


def leave_behind(root: Path) -> None:
    """Let whoever was at work be dead, and its temporary files old: beside fresh ones commits wait.

    Recovery leaves rows alone that a process stages which lives; this one does.
    """
    for folder, _, names in os.walk(root):
        for name in names:
            if name.endswith(".tmp"):
                os.utime(f"{folder}/{name}", (0, 0))
            elif name.startswith("intent-rows-"):
                path = Path(folder) / name
                intent = json.loads(path.read_text())
                intent["plan"]["process"] = _DEAD
                # Worlds share files: this one becomes another.
                path.unlink()
                path.write_text(json.dumps(intent))


def recovered_twice(root: Path, store: CommitStore | None = None) -> None:
    """Recover through a store, and see that doing so again finds nothing and changes nothing."""
    recover(root, store)
    see_that_nothing_is_left(root)


def see_that_nothing_is_left(root: Path) -> None:
    """Recover what was recovered, which finds nothing and changes nothing."""
    once = tree(root)
    again = recover(root, operation="again")
    assert again.notes == ("Nothing was cut off.",)
    assert tree(root) == once


def _append(root: Path, store: CommitStore | None) -> object:
    bench = RowBench(root)
    new = bench.message(new_files=bench.files("n", "m"))
    return bench.commit_through(store).commit([new], user="etl", identifier=7, seen_id=2)


def _compact(root: Path, store: CommitStore | None) -> object:
    bench = RowBench(root)
    messages = [
        bench.message(new_files=bench.files("s")),
        bench.message(
            compact_before=bench.files("q"),
            compact_after=bench.files("q2", level=5),
        ),
    ]
    return bench.commit_through(store).commit(messages, user="etl", identifier=7, seen_id=2)


def _append_key(root: Path, store: CommitStore | None) -> object:
    bench = RowBench(root)
    message = bench.message(new_files=bench.files("s"))
    return bench.commit_through(store).commit([message], user="etl", identifier=7, seen_id=2)


def _overwrite(root: Path, store: CommitStore | None) -> object:
    bench = RowBench(root)
    new = bench.message(new_files=bench.files("n"))
    return bench.commit_through(store).overwrite([new], user="etl", identifier=7, seen_id=2)


def _restore(root: Path, store: CommitStore | None) -> object:
    bench = RowBench(root)
    commit = bench.commit_through(store)
    earlier = FileStoreTable.open(bench.file_io, bench.path, bench.identifier).snapshots.get(1)
    return commit.restore(earlier, user="etl", identifier=7, seen_id=2)


COMMITS = (
    Operation(name="append", world=ahead, run=_append, is_commit=True, is_bare_commit=True),
    Operation(
        name="append and compact",
        world=keyed,
        run=_compact,
        between=(_append_key,),
        is_commit=True,
        is_bare_commit=True,
    ),
    Operation(name="overwrite", world=ahead, run=_overwrite, is_commit=True, is_bare_commit=True),
    Operation(name="restore", world=ahead, run=_restore, is_commit=True, is_bare_commit=True),
)
BRANCHES = (
    Operation(
        name="create from head", world=ahead, run=call("create_branch", branch="new", owner="bo")
    ),
    Operation(
        name="create from tag", world=ahead, run=call("create_branch", branch="new", tag="v1")
    ),
    Operation(
        name="create from an expired tag",
        world=expired,
        run=call("create_branch", branch="new", tag="v1"),
    ),
    Operation(
        name="create from a branch",
        world=ahead,
        run=call("create_branch", branch="new", from_branch="dev"),
    ),
    Operation(
        name="create empty", world=ahead, run=call("create_branch", branch="new", empty=True)
    ),
    Operation(name="tag", world=ahead, run=call("create_tag", tag="v9")),
    Operation(name="fast-forward", world=ahead, run=call("fast_forward", branch="dev")),
    Operation(name="force", world=diverged, run=call("fast_forward", branch="dev", force=True)),
)
LIFECYCLE = (
    Operation(name="drop", world=ahead, run=call("drop_branch", branch="dev", reason="old")),
    Operation(name="rename", world=ahead, run=call("rename_branch", branch="dev", to="next")),
    Operation(name="protect", world=ahead, run=call("protect_branch", branch="dev")),
    Operation(
        name="move a tag", world=ahead, run=call("create_tag", tag="v1", snapshot=1, replace=True)
    ),
    Operation(
        name="tag for a week",
        world=ahead,
        run=call("create_tag", tag="v9", time_retained="P7D"),
        is_commit=True,
    ),
    Operation(name="delete a tag", world=ahead, run=call("delete_tag", tag="v1")),
    Operation(name="replace main", world=diverged, run=call("replace_main", branch="dev")),
    Operation(name="roll back", world=ahead, run=call("rollback", snapshot=1), is_commit=True),
    Operation(name="cut back", world=diverged, run=call("rollback", snapshot=3, cut=True)),
    Operation(name="pin", world=unpinned, run=call("pin_branch", branch="dev")),
)
_MERGE = call("merge_branch", branch="dev")
_THEIRS = "version: 1\ntables: {db.t: {take: theirs}}"
_MERGE_THEIRS = call("merge_branch", branch="dev", policy=_THEIRS)
MERGES = (
    Operation(name="merge", world=shared, run=_MERGE, is_commit=True),
    Operation(name="merge schemas and copy files", world=diverged, run=_MERGE, is_commit=True),
    Operation(name="merge changed rows", world=rewritten, run=_MERGE, is_commit=True),
    Operation(name="merge keys", world=keyed_rewritten, run=_MERGE, is_commit=True),
)


def _named(**names: Sequence[int]) -> tuple[Row, ...]:
    return tuple(sorted((each, name, 0) for name, ids in names.items() for each in ids))


def _back(operation: Operation) -> tuple[Sequence[Row], Sequence[Row]] | None:
    """The rows of an operation that takes another one back."""
    return None if operation.rows is None else (operation.rows[1], operation.rows[0])


ROW_MERGES = (
    Operation(
        name="settle rows",
        world=settled,
        run=_MERGE_THEIRS,
        is_commit=True,
        rows=(_named(ours=[1, 3, 4], a=[2]), _named(theirs=[1, 2], ours=[3])),
    ),
    Operation(
        name="settle rows, copy files and merge schemas",
        world=settled_copies,
        run=_MERGE_THEIRS,
        is_commit=True,
        rows=(_named(ours=[1, 6], a=[2]), _named(theirs=[1, 5], a=[2], ours=[6])),
    ),
    Operation(
        name="write a bucket with vectors again",
        world=vectors_of_keys,
        run=_MERGE_THEIRS,
        is_commit=True,
        rows=(_named(ours=[1, 3], a=[2, 4]), _named(theirs=[1, 2], ours=[3], a=[4])),
    ),
    Operation(
        name="write a bucket of first rows again",
        world=first_rows,
        run=_MERGE,
        is_commit=True,
        rows=(_named(a=[1], ours=[2, 3]), _named(a=[1], ours=[2, 3], theirs=[4])),
    ),
    Operation(
        name="join hidden rows",
        world=hidden,
        run=_MERGE,
        is_commit=True,
        rows=(_named(a=[1, 4, 5]), _named(a=[4, 5], theirs=[8])),
    ),
    Operation(
        name="join files written again",
        world=written_again,
        run=_MERGE,
        is_commit=True,
        rows=(_named(a=[1, 3, 4]), _named(a=[3, 4])),
    ),
    Operation(
        name="join hidden rows with a file written again",
        world=hidden_and_written_again,
        run=_MERGE,
        is_commit=True,
        rows=(_named(a=[1, 3, 4, 5, 6]), _named(a=[3, 4, 6])),
    ),
)
_SETTLED, _HIDDEN = ROW_MERGES[0], ROW_MERGES[4]
TRIALS = (
    (_SETTLED, call("dry_run_merge", by="trial", branch="dev", policy=_THEIRS)),
    (_HIDDEN, call("dry_run_merge", by="trial", branch="dev")),
)
"""Merges, and the dry runs that stage what they publish."""
PICKS = (
    Operation(
        name="pick",
        world=shared,
        run=call("cherry_pick", branch="dev", snapshot=2),
        is_commit=True,
    ),
    Operation(
        name="revert a merge",
        world=done(MERGES[0]),
        run=call("revert", by="revert", operation="op"),
        is_commit=True,
    ),
    Operation(
        name="revert a merge of hidden rows",
        world=done(_HIDDEN),
        run=call("revert", by="revert", operation="op"),
        is_commit=True,
        rows=_back(_HIDDEN),
    ),
)
UNDOS = tuple(
    Operation(
        name=f"undo {each.name}",
        world=done(each),
        run=call("undo", by="undo", operation="op"),
        is_commit=each.is_commit,
    )
    for each in (*BRANCHES[-2:], *LIFECYCLE)
    if each.name in _UNDONE
)
# What a merge appended is taken off again, to the byte.
MERGE_UNDOS = tuple(
    Operation(
        name=f"undo {each.name}",
        world=done(each),
        run=call("undo", by="undo", operation="op"),
        rows=_back(each),
    )
    for each in (*MERGES, _SETTLED, _HIDDEN, PICKS[0])
)
OPERATIONS = (
    *(*COMMITS, *BRANCHES, *LIFECYCLE),
    *(*MERGES, *ROW_MERGES, *PICKS),
    *(*UNDOS, *MERGE_UNDOS),
)


def of_every_kind(*kinds: str) -> tuple[Operation, ...]:
    """What is done to any table, done to tables of these kinds."""
    return tuple(
        replace(each, name=f"{each.name}, {kind}", world=of_kind(kind, each.world))
        for kind in kinds
        for each in (*COMMITS, *BRANCHES, *LIFECYCLE)
        if each.world is not keyed
    )


EVERYTHING = (*OPERATIONS, *of_every_kind(*KINDS))
_DONE_MOST = {"append", "fast-forward", "merge", "settle rows"}
_WITH_KEYS = {each.name for each in of_every_kind("keys")}


def by_depth(operations: Iterable[Operation], *, every_kind: str = "full") -> list[Any]:
    """Operations as parameters of a test.

    A quick run does what people do most. What is done to any table is done to one without a key; a
    full run takes one with a key too, unless that waits for `every_kind`, and a long run every kind
    of table.
    """
    return [
        pytest.param(each, id=each.name, marks=() if least is None else pytest.mark.depth(least))
        for each in operations
        for least in [_least_depth(each, every_kind)]
    ]


def _least_depth(operation: Operation, every_kind: str) -> str | None:
    if operation.name in _DONE_MOST:
        return None
    if operation in OPERATIONS:
        return "full"
    return every_kind if operation.name in _WITH_KEYS else "long"
