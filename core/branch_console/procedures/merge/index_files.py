"""The index files of a merge: hash indexes of buckets, and deletion vectors.

A deletion vector names the data file that it masks. The target may have a copy of that file under
another name, from this merge or an earlier one. So an adopted vector must name the target's file.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.diff.changes.file_history import copy_name, original_name
from branch_console.format.index_manifest import INDEX_MANIFEST_ENTRY, NO_INDEX_FILES
from branch_console.format.snapshot import Snapshot
from branch_console.merge.file_moves import FileMoves
from branch_console.table.data_file_paths import index_file_paths
from branch_console.table.file_store_table import FileStoreTable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IndexMoves:
    """Index files that come to the target and go from it, with INDEX_MANIFEST_ENTRY.

    Attributes:
        adopted: As the target knows them.
        copies: The paths to copy from and to; none if files are shared.
    """

    adopted: pa.Table
    given_up: pa.Table
    copies: tuple[tuple[str, str], ...]


def index_moves(
    moves: FileMoves,
    incoming: pa.Table,
    sides: tuple[FileStoreTable, FileStoreTable],
    heads: tuple[Snapshot, Snapshot],
    operation_id: str | None,
) -> IndexMoves:
    """Decide which index files of the source become the target's.

    Args:
        moves: The decided moves of data files.
        incoming: The added files, as the target's own.
        sides: Target and source.
        heads: Of target and source.
        operation_id: The operation of the merge that copies; None if files are shared.
    """
    if not moves.adopts_index:
        return IndexMoves(adopted=NO_INDEX_FILES, given_up=NO_INDEX_FILES, copies=())
    target, source = sides
    theirs = _concerned(moves, source.index_entries(heads[1]))
    ours = _concerned(moves, target.index_entries(heads[0]))
    come, given_up = _only_in(theirs, ours), _only_in(ours, theirs)
    held = {}
    if any(come["dv_ranges"].to_pylist()):
        live = target.live_files(heads[0])["file_name"].to_pylist()
        held = {original_name(each): each for each in live}
    held |= {original_name(each): each for each in incoming["file_name"].to_pylist()}
    adopted = _as_target_index(come, held, operation_id)
    copies: Iterable[tuple[str, str]] = ()
    if operation_id is not None:
        paths = index_file_paths(source, come), index_file_paths(target, adopted)
        copies = zip(*paths, strict=True)
    return IndexMoves(
        adopted=adopted,
        given_up=given_up,
        copies=tuple(copies),
    )


def with_held_names(
    written: Sequence[CommitMessage],
    arriving: Sequence[CommitMessage],
    target: FileStoreTable,
    head: Snapshot,
) -> list[CommitMessage]:
    """Name the data files of new deletion vectors as the target holds them.

    Args:
        written: The files that a merge wrote, by bucket.
        arriving: The files that move there.
        target: The table on the branch that is merged into.
        head: The head of the target.
    """
    with_vectors = [each for each in written if any(each.new_index_files["dv_ranges"].to_pylist())]
    if not with_vectors:
        return list(written)
    live = target.live_files(
        head,
        partitions={each.partition for each in with_vectors},
        buckets={each.bucket for each in with_vectors},
    )
    files = [live, *(each.new_files for each in arriving)]
    held = {original_name(name): name for table in files for name in table["file_name"].to_pylist()}
    return [
        replace(each, new_index_files=_as_target_index(each.new_index_files, held, None))
        for each in written
    ]


def _as_target_index(
    files: pa.Table, held: Mapping[str, str], operation_id: str | None
) -> pa.Table:
    entries = files.to_pylist()
    for entry in entries:
        for each in entry["dv_ranges"] or ():
            each["data_file"] = held.get(original_name(each["data_file"]), each["data_file"])
        if operation_id is not None:
            entry["file_name"] = copy_name(entry["file_name"], operation_id)
            entry["external_path"] = None
    return pa.Table.from_pylist(entries, schema=INDEX_MANIFEST_ENTRY)


def _concerned(moves: FileMoves, files: pa.Table) -> pa.Table:
    columns = (files[name].to_pylist() for name in ("partition", "bucket"))
    concerned = [place in moves.adopts_index for place in zip(*columns, strict=True)]
    return files.filter(pa.array(concerned, pa.bool_()))


def _only_in(left: pa.Table, right: pa.Table) -> pa.Table:
    known = {original_name(each) for each in right["file_name"].to_pylist()}
    new = [original_name(each) not in known for each in left["file_name"].to_pylist()]
    return left.filter(pa.array(new, pa.bool_()))
