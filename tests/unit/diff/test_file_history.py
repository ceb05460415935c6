from dataclasses import replace

import pyarrow as pa
import pytest

from branch_console.diff.changes.file_history import (
    FileHistory,
    SnapshotDelta,
    copy_name,
    fold_history,
)
from branch_console.diff.changes.table_changes import changes_since
from branch_console.diff.table_operation import TableOperation
from branch_console.format.manifest_entry import file_identity
from branch_console.format.snapshot import CommitKind, Snapshot
from tests.support.commit_tables import UNPARTITIONED, data_files

COMPACT = CommitKind.COMPACT
OVERWRITE = CommitKind.OVERWRITE


def entries(*changes: str, rows: int = 10) -> pa.Table:
    """`+a` adds a file, `-a` deletes it; `+a*5` has five rows."""
    tables = []
    for each in changes:
        name, _, count = each[1:].partition("*")
        table = data_files([name], rows=int(count or rows))
        kind = pa.array([0 if each[0] == "+" else 1], pa.int32())
        table = table.set_column(0, table.schema.field(0), kind)
        at = table.schema.get_field_index("identity")
        tables.append(table.set_column(at, table.schema.field(at), file_identity(table)))
    return pa.concat_tables(tables)


def delta(
    number: int,
    *changes: str,
    kind: CommitKind = CommitKind.APPEND,
    operation: str | None = None,
    emptied: bool = False,
) -> SnapshotDelta:
    snapshot = Snapshot(
        id=number,
        schema_id=0,
        base_manifest_list=f"base-{number}-{changes}",
        delta_manifest_list=f"delta-{number}-{changes}",
        commit_user="u",
        commit_identifier=number,
        commit_kind=kind,
        time_millis=0,
        operation=operation,
    )
    emptied_partitions = frozenset({UNPARTITIONED}) if emptied else frozenset()
    return SnapshotDelta(snapshot=snapshot, entries=entries(*changes), emptied=emptied_partitions)


def names(log: FileHistory, identities: frozenset[str]) -> set[str]:
    files = log.files(identities)["file_name"].to_pylist()
    return {each.removeprefix("data-").removesuffix(".parquet") for each in files}


def test_a_compaction_changes_which_files_are_live_and_nothing_else() -> None:
    log = fold_history([delta(2, "+a"), delta(3, "+b"), delta(4, "-old", "-a", "+c", kind=COMPACT)])
    assert names(log, log.added) == {"a", "b"}
    assert log.removed == frozenset()
    assert names(log, log.came) == {"b", "c"}
    assert names(log, log.went) == {"old"}


def test_a_compaction_whose_result_is_rewritten_counts_as_written() -> None:
    log = fold_history(
        [
            delta(2, "+a"),
            delta(3, "-old", "-a", "+c", "+d", kind=COMPACT),
            delta(4, "-c", "+e", kind=OVERWRITE),
        ]
    )
    assert names(log, log.added) == {"d", "e"}
    assert names(log, log.removed) == {"old"}
    assert log.compactions == ()


def test_a_chain_of_compactions_is_undone_as_far_as_it_was_rewritten() -> None:
    log = fold_history(
        [
            delta(2, "+a"),
            delta(3, "-a", "-x", "+c", kind=COMPACT),
            delta(4, "-c", "-y", "+d", kind=COMPACT),
            delta(5, "-d", "+e", kind=OVERWRITE),
        ]
    )
    assert names(log, log.added) == {"e"}
    assert names(log, log.removed) == {"x", "y"}


def test_what_is_added_and_removed_again_nets_to_nothing() -> None:
    log = fold_history([delta(2, "+a"), delta(3, "-a", kind=OVERWRITE)])
    changes = changes_since(fold_history([]), log)
    assert changes.is_empty
    assert changes.operations == frozenset()


def test_a_file_that_comes_back_was_never_gone() -> None:
    log = fold_history([delta(2, "-old", kind=OVERWRITE), delta(3, "+old", kind=OVERWRITE)])
    assert log.removed == log.added == log.came == log.went == frozenset()


def test_a_copy_counts_as_the_file_it_was_copied_from() -> None:
    copy = copy_name("data-a.parquet", "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed")
    assert copy == "data-a-of-1b9d6bcd.parquet"
    ours = fold_history([delta(2, f"+{copy.removeprefix('data-').removesuffix('.parquet')}")])
    theirs = fold_history([delta(2, "+a")])
    assert ours.added == theirs.added


def test_after_a_merge_only_what_came_later_is_a_change() -> None:
    theirs = [delta(2, "+a"), delta(3, "-a", "-old", "+c", kind=COMPACT), delta(4, "+d")]
    base = fold_history(theirs[:2])
    replayed = fold_history([delta(2, "+mine"), delta(3, "+a")])
    adopted = fold_history([delta(2, "+mine"), delta(3, "-old", "+c", kind=OVERWRITE)])
    for ours in (replayed, adopted):
        assert names(ours, changes_since(base, ours).added) == {"mine"}
        assert changes_since(base, ours).removed == frozenset()
    changes = changes_since(base, fold_history(theirs))
    assert names(changes.log, changes.added) == {"d"}


@pytest.mark.parametrize(
    ("changes", "operation", "emptied", "expected", "is_inferred"),
    [
        (("+a",), None, False, TableOperation.INSERT, False),
        (("-a*10", "+b*10"), None, True, TableOperation.UPDATE, True),
        (("-a*10", "+b*7"), None, True, TableOperation.DELETE, True),
        (("-a*10",), None, True, TableOperation.DELETE, True),
        (("-a*10", "+b*11"), None, True, TableOperation.UPDATE, True),
        (("-a*10", "+b*11"), None, False, TableOperation.UPDATE, True),
        (("-a*10", "+b*7"), "OVERWRITE", True, TableOperation.OVERWRITE, False),
        (("-a*10", "+b*10"), "DELETE", False, TableOperation.DELETE, False),
        (("-a*10", "+b*12"), "MERGE", False, TableOperation.UPDATE, False),
    ],
)
def test_what_a_commit_did_is_told_by_the_release_or_inferred(
    changes: tuple[str, ...],
    operation: str | None,
    emptied: bool,
    expected: TableOperation,
    is_inferred: bool,
) -> None:
    log = fold_history([delta(2, *changes, kind=OVERWRITE, operation=operation, emptied=emptied)])
    (step,) = log.steps
    assert (step.operation, step.is_inferred) == (expected, is_inferred)
    replaces = changes == ("-a*10", "+b*11") and emptied
    assert step.may_be_overwrite == replaces


def test_a_row_that_may_have_moved_between_buckets_is_no_delete() -> None:
    away = data_files(["c"], rows=3, bucket=1)
    moved = pa.concat_tables([entries("-a*10", "+b*5"), away])
    (step,) = fold_history([replace(delta(2, "-a"), entries=moved)]).steps
    assert (step.operation, step.is_inferred) == (TableOperation.UPDATE, True)
