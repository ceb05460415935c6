"""Faults put into what a merge decides on: walks that keep the laws of merging find each one."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from branch_console.diff.changes import file_history, table_changes
from branch_console.diff.file_masks import FileMask, masks_since
from branch_console.errors import CommitConflict, Refused
from branch_console.merge import keyed_files, keyless_files, plan_merge
from branch_console.merge.conflict import Take
from branch_console.merge.keyless_files import _KeylessMerge, _Settled
from branch_console.procedures.merge import sides
from tests.support.keyed_walks import BUCKETS, KEYS, KeyedWalk, Write
from tests.support.keyless_walks import KeylessWalk, MixedWalk, RewritingWalk
from tests.support.merge_walk import BRANCHES, Steps, Walk

_BOTH_HIDE: Final[Steps] = [
    ("dev", "hide", 11, 20),
    ("main", "hide", 2, 17),
    ("dev", "merge", 12, 5),
]
_HIDDEN_OF_A_COMPACTED_FILE: Final[Steps] = [
    ("main", "compact", 20, 16),
    ("dev", "compact", 17, 19),
    ("main", "hide", 9, 16),
    ("dev", "merge", 12, 5),
]
_CHANGED_AND_HIDDEN: Final[Steps] = [
    ("main", "compact", 12, 1),
    ("main", "hide", 7, 3),
    ("dev", "change", 11, 20),
    ("dev", "merge", 20, 13),
]
_UPDATED_TWICE: Final[Steps] = [
    ("main", "change", 0, 1),
    ("dev", "change", 0, 1),
    ("main", "merge", 0, 0),
]
_HIDDEN_AND_UPDATED: Final[Steps] = [
    ("main", "compact", 12, 1),
    ("main", "hide", 7, 3),
    ("dev", "change", 11, 21),
    ("main", "merge", 0, 0),
]
_HIDDEN_AND_CHANGED: Final[Steps] = [
    ("dev", "hide", 16, 16),
    ("main", "change", 16, 7),
    ("dev", "merge", 0, 12),
]
_COMPACTED_TWICE: Final[Steps] = [
    ("exp", "compact", 1, 9),
    ("dev", "compact", 8, 15),
    ("dev", "merge", 9, 10),
]
_ONE_KEY: Final[Steps] = [
    ("dev", "write", 4, 3),
    ("main", "hide", 6, 10),
    ("main", "merge", 0, 2),
]

_HIDDEN_MERGED_AND_GONE: Final[Steps] = [
    ("dev", "hide", 0, 0),
    ("main", "write", 0, 0),
    ("main", "merge", 0, 0),
    ("dev", "write", 0, 0),
    ("main", "change", 0, 0),
    ("main", "merge", 0, 0),
]
# What dev hid comes to main through exp, and what main hid to dev: both are bases of the last one.
_TWO_BASES: Final[Steps] = [
    ("dev", "hide", 1, 0),
    ("exp", "write", 0, 0),
    ("exp", "merge", 1, 0),
    ("main", "hide", 0, 0),
    ("dev", "merge", 0, 0),
    ("main", "merge", 1, 0),
    ("dev", "write", 0, 0),
    ("main", "change", 0, 0),
    ("main", "change", 0, 0),
    ("main", "merge", 0, 0),
]
_PICKED: Final[Steps] = [
    ("dev", "write", 0, 0),
    ("main", "write", 0, 0),
    ("main", "pick", 0, 0),
    ("dev", "write", 0, 0),
    ("main", "merge", 0, 0),
]
_PICKED_TWICE: Final[Steps] = [
    ("dev", "write", 0, 0),
    ("main", "write", 0, 0),
    *[("main", "pick", 0, 0)] * 2,
]
# What exp wrote came to both, is deleted on main, and exp is dropped.
_TAKEN_IN_BY_BOTH: Final[Steps] = [
    *((branch, "write", 0, 0) for branch in ("main", "dev", "exp")),
    ("dev", "merge", 1, 0),
    ("main", "merge", 1, 0),
    ("exp", "drop", 0, 0),
    ("main", "change", 4, 0),
    ("main", "merge", 0, 0),
]
_REPLACED: Final[Steps] = [
    ("dev", "replace", 0, 0),
    ("main", "write", 1, 0),
    ("main", "merge", 0, 0),
]


@dataclass
class PickingWalk(KeylessWalk):
    """Takes over single snapshots too, of which lineage says nothing."""

    def pick(self, branch: str, first: int, _: int) -> None:
        """Pick what the head of another branch wrote."""
        source = [each for each in BRANCHES if each != branch][first % 2]
        table = self.bench.table(source)
        head = table.head()
        assert head is not None
        wrote = table.read_manifests(table.scan.read_list(table.paths, head.delta_manifest_list))
        self.bench.call(
            "cherry_pick",
            operation=f"pick-{next(self.numbers)}",
            branch=source,
            target=branch,
            snapshot=head.id,
        )
        for name in wrote["file_name"].to_pylist():
            self.seen[branch] |= self.rows[name]
        assert self.content(branch) == self.model(branch)


@dataclass
class ForgettingWalk(KeylessWalk):
    """Loses branches too."""

    def drop(self, branch: str, *_: int) -> None:
        """Drop a branch as other software does; nothing is asked of it afterwards."""
        (folder,) = self.root.rglob(f"branch-{branch}")
        shutil.rmtree(folder)

    def look_again(self) -> None:
        """Of a branch that is gone there is nothing to see."""


@dataclass
class ReplacingWalk(KeyedWalk):
    """Overwrites whole buckets too."""

    def replace(self, branch: str, first: int, _: int) -> None:
        """Write all keys of a bucket in place of its files."""
        bucket = first % BUCKETS
        old = self.in_bucket(branch, bucket)
        number = next(self.numbers)
        self.writes[number] = Write(number, self.known[branch])
        versions = {key: (100 + key, number) for key in range(bucket, KEYS, BUCKETS)}
        self.heads[branch] |= dict.fromkeys(versions, number)
        self.known[branch] |= {number}
        new = self.entry(versions, bucket, 0)
        self.commit(branch, self.message(bucket, deleted_files=old, new_files=new))


# What is put where, and the walk that must not survive it.
_MUTANTS: Final[Mapping[str, tuple[Any, str, Any, type[Walk], Steps]]] = {
    "what the target hid is shown": (
        FileMask,
        "on",
        lambda change, _: change.after,
        KeylessWalk,
        _BOTH_HIDE,
    ),
    "what the source hid is shown": (
        FileMask,
        "on",
        lambda _, other: other,
        KeylessWalk,
        _BOTH_HIDE,
    ),
    "no side hides a row": (
        table_changes,
        "masks_since",
        lambda *_: {},
        KeylessWalk,
        _BOTH_HIDE,
    ),
    "files arrive without what hides their rows": (
        _KeylessMerge,
        "_arriving_masks",
        lambda *_: {},
        KeylessWalk,
        _HIDDEN_OF_A_COMPACTED_FILE,
    ),
    "no compaction is taken back": (
        keyless_files,
        "undo_compactions",
        lambda *_: (set(), set()),
        KeylessWalk,
        _HIDDEN_OF_A_COMPACTED_FILE,
    ),
    "every file counts as live": (
        keyless_files,
        "live_files",
        lambda identities, _: set(identities),
        KeylessWalk,
        _HIDDEN_OF_A_COMPACTED_FILE,
    ),
    "what a side hid of files that are joined is shown": (
        keyless_files,
        "hidden_on_sides",
        lambda _: {},
        MixedWalk,
        [("main", "hide", 0, 0), ("dev", "hide", 1, 1), ("main", "merge", 0, 0)],
    ),
    "files that were written as one are joined one by one": (
        keyless_files,
        "touched_together",
        lambda wanted, *_: [frozenset({each}) for each in wanted],
        RewritingWalk,
        [("main", "hide", 0, 2), ("dev", "hide", 0, 0), ("main", "merge", 0, 0)],
    ),
    "a compaction stays undone though its result changed": (
        file_history._Fold,
        "_count_as_written",
        lambda *_: (frozenset(), frozenset()),
        KeylessWalk,
        _HIDDEN_OF_A_COMPACTED_FILE,
    ),
    "nobody looks at files that both touched": (
        _KeylessMerge,
        "_both_touched",
        lambda _: _Settled(),
        KeylessWalk,
        _CHANGED_AND_HIDDEN,
    ),
    "all touches of one file both hold": (
        _KeylessMerge,
        "_both_hold",
        lambda *_: True,
        KeylessWalk,
        _CHANGED_AND_HIDDEN,
    ),
    "the target always wins": (
        keyless_files,
        "winner",
        lambda *_: Take.OURS,
        KeylessWalk,
        _HIDDEN_AND_CHANGED,
    ),
    "the source always wins": (
        keyless_files,
        "winner",
        lambda *_: Take.THEIRS,
        KeylessWalk,
        _UPDATED_TWICE,
    ),
    "conflicts are no verdict": (
        plan_merge,
        "_with_tried_options",
        lambda *_: (),
        KeylessWalk,
        _HIDDEN_AND_UPDATED,
    ),
    "compactions are changes": (
        table_changes,
        "_as_written",
        lambda log, _: (log.came, log.went),
        KeylessWalk,
        _COMPACTED_TWICE,
    ),
    "what a branch hides is told from the root": (
        table_changes,
        "masks_since",
        lambda _, side: masks_since({}, side),
        KeylessWalk,
        _HIDDEN_MERGED_AND_GONE,
    ),
    "the second of two bases hides nothing": (
        table_changes,
        "joined_masks",
        lambda left, right: dict(left or right),
        KeylessWalk,
        _TWO_BASES,
    ),
    "the first of two bases hides nothing": (
        table_changes,
        "joined_masks",
        lambda _, right: dict(right),
        KeylessWalk,
        _TWO_BASES,
    ),
    "files that were picked come again": (
        table_changes,
        "_with_files",
        lambda base, *_, **__: base,
        PickingWalk,
        _PICKED,
    ),
    "what was picked is picked once more": (
        sides,
        "base_with_shared_files",
        lambda base, *_: base,
        PickingWalk,
        _PICKED_TWICE,
    ),
    "what both took in of a third branch comes again": (
        sides,
        "base_with_received_files",
        lambda base, *_, **__: base,
        ForgettingWalk,
        _TAKEN_IN_BY_BOTH,
    ),
    "ranges of keys never overlap": (
        keyed_files,
        "_overlap",
        lambda *_: False,
        KeyedWalk,
        _ONE_KEY,
    ),
    "a bucket that was overwritten stays": (
        keyed_files,
        "_swap",
        lambda *_: (set(), set(), set()),
        ReplacingWalk,
        _REPLACED,
    ),
}


@pytest.mark.depth("full")
def test_each_fault_of_a_merge_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    walks = {repr((kind, steps)): (kind, steps) for *_, kind, steps in _MUTANTS.values()}
    refused = {
        name: _refused(kind, steps, tmp_path / f"whole-{number}")
        for number, (name, (kind, steps)) in enumerate(walks.items())
    }
    survived = []
    for number, (name, (owner, what, fault, kind, steps)) in enumerate(_MUTANTS.items()):
        with monkeypatch.context() as patch:
            patch.setattr(owner, what, fault)
            try:
                found = _refused(kind, steps, tmp_path / f"faulty-{number}")
            except (AssertionError, CommitConflict, Refused):
                continue
        # The model lets a merge be refused where it need not be.
        if found <= refused[repr((kind, steps))]:
            survived.append(name)
    assert not survived


def _refused(kind: type[Walk], steps: Steps, root: Path) -> int:
    """How many merges of a walk were refused."""
    walk = kind(root)
    walk.start()
    walk.play(steps)
    return walk.refused
