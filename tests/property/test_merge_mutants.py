"""Faults put into what a merge decides on: walks that keep the laws of merging find each one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest

from core.diff import logical_log, table_changes
from core.diff.file_masks import FileMask
from core.errors import CommitConflict
from core.merge import keyed_files, keyless_files, merge_plan
from core.merge.conflict import Take
from core.merge.keyless_files import _KeylessMerge, _Settled
from core.merge.merge_plan import MergeVerdict
from tests.property.test_merge_laws import KeyedWalk, KeylessWalk, Walk

Steps: TypeAlias = list[tuple[str, str, int, int]]

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
        "_is_live",
        lambda *_: True,
        KeylessWalk,
        _HIDDEN_OF_A_COMPACTED_FILE,
    ),
    "a compaction stays undone though its result changed": (
        logical_log._Fold,
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
        _CHANGED_AND_HIDDEN,
    ),
    "conflicts are no verdict": (
        merge_plan,
        "_verdict",
        lambda *_: MergeVerdict.CLEAN,
        KeylessWalk,
        _CHANGED_AND_HIDDEN,
    ),
    "compactions are changes": (
        table_changes,
        "_as_written",
        lambda log, _: (log.arrived, log.left),
        KeylessWalk,
        _COMPACTED_TWICE,
    ),
    "ranges of keys never overlap": (
        keyed_files,
        "_overlap",
        lambda *_: False,
        KeyedWalk,
        _ONE_KEY,
    ),
}


def test_each_fault_of_a_merge_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    walks = {repr(steps): (kind, steps) for *_, kind, steps in _MUTANTS.values()}
    for number, (kind, steps) in enumerate(walks.values()):
        _play(kind, steps, tmp_path / f"whole-{number}")
    survived = []
    for number, (name, (owner, what, fault, kind, steps)) in enumerate(_MUTANTS.items()):
        with monkeypatch.context() as patch:
            patch.setattr(owner, what, fault)
            try:
                _play(kind, steps, tmp_path / f"faulty-{number}")
            except (AssertionError, CommitConflict):
                continue
        survived.append(name)
    assert not survived


def _play(kind: type[Walk], steps: Steps, root: Path) -> None:
    walk = kind(root)
    walk.start()
    walk.play(steps)
