"""From the files that a merge moves to what the commit takes."""

from collections.abc import Mapping

import pyarrow as pa

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.diff.changes.file_history import Place, copy_name
from branch_console.diff.changes.table_changes import by_place
from branch_console.format.snapshot import Snapshot
from branch_console.merge.file_moves import FileMoves
from branch_console.procedures.merge.index_files import IndexMoves, index_moves
from branch_console.table.data_file_paths import data_file_paths
from branch_console.table.file_store_table import FileStoreTable


def as_target_files(
    files: pa.Table, id_map: Mapping[int, int], operation_id: str | None
) -> pa.Table:
    """Tell files of the source as the target's own.

    Args:
        files: Columns of MANIFEST_ENTRY.
        id_map: From schema ids of the source to those of the target.
        operation_id: The operation of the merge that made the copies; None if the files are shared.
    """
    ids = [id_map.get(each, each) for each in files["schema_id"].to_pylist()]
    # Row ids were given on the source; those of the target go on from its own.
    changed = {
        "schema_id": pa.array(ids, pa.int64()),
        "first_row_id": pa.nulls(files.num_rows, pa.int64()),
    }
    return as_copies(_with(files, changed), operation_id)


def as_copies(files: pa.Table, operation_id: str | None) -> pa.Table:
    """Tell files by the names of the copies that a merge makes of them; None makes none."""
    if operation_id is None:
        return files
    names = [copy_name(each, operation_id) for each in files["file_name"].to_pylist()]
    extra = [
        [copy_name(each, operation_id) for each in several]
        for several in files["extra_files"].to_pylist()
    ]
    return _with(
        files,
        {
            "file_name": pa.array(names, pa.string()),
            "extra_files": pa.array(extra, files.schema.field("extra_files").type),
            "external_path": pa.nulls(files.num_rows, pa.string()),
        },
    )


def copies_of(
    source: FileStoreTable, target: FileStoreTable, files: pa.Table, operation_id: str
) -> tuple[tuple[str, str], ...]:
    """Return the paths to copy from and to, of data files and of the files beside them.

    Args:
        source: The table on the branch that has the files.
        target: The table on the branch that gets copies.
        files: The source's files, with the columns of MANIFEST_ENTRY.
        operation_id: The operation of the merge.
    """
    own = as_copies(files, operation_id)
    pairs = []
    for entry, path, copy in zip(
        files.select(["extra_files"]).to_pylist(),
        data_file_paths(source, files).to_pylist(),
        data_file_paths(target, own).to_pylist(),
        strict=True,
    ):
        pairs.append((path, copy))
        folder, copy_folder = path.rpartition("/")[0], copy.rpartition("/")[0]
        pairs += [
            (f"{folder}/{each}", f"{copy_folder}/{copy_name(each, operation_id)}")
            for each in entry["extra_files"]
        ]
    return tuple(pairs)


def messages_of(
    moves: FileMoves,
    arrivals: pa.Table,
    index: IndexMoves,
) -> tuple[CommitMessage, ...]:
    """Return one message a bucket that changes.

    Args:
        moves: The decided moves of files.
        arrivals: The files to add or to bring back, as the target's own.
        index: The decided moves of index files.
    """
    parts = {
        "new_files": by_place(arrivals),
        "deleted_files": by_place(moves.remove),
        "new_index_files": by_place(index.adopted),
        "deleted_index_files": by_place(index.given_up),
    }
    totals = _total_buckets(pa.concat_tables([arrivals, moves.remove]))
    return tuple(
        CommitMessage(
            partition=place[0],
            bucket=place[1],
            total_buckets=totals.get(place, -1),
            **{name: at[place] for name, at in parts.items() if place in at},
        )
        for place in sorted(set[Place]().union(*parts.values()))
    )


def moved_messages(
    moves: FileMoves,
    sides: tuple[FileStoreTable, FileStoreTable],
    heads: tuple[Snapshot, Snapshot],
    id_map: Mapping[int, int],
    mark: str | None,
) -> tuple[tuple[CommitMessage, ...], IndexMoves]:
    """Return the messages for the files that move, with their index files.

    Args:
        moves: The decided moves of files.
        sides: Target and source.
        heads: Of target and source.
        id_map: From schema ids of the source to those of the target.
        mark: The operation whose copies are meant; None names the files as they are now.
    """
    incoming = as_target_files(pa.concat_tables([moves.add, moves.replays]), id_map, mark)
    # Files that come back are copied too: other engines delete them with the snapshots that had
    # taken them away.
    arrivals = pa.concat_tables([incoming, as_copies(moves.restore, mark)])
    index = index_moves(moves, arrivals, sides, heads, mark)
    return messages_of(moves, arrivals, index), index


def _with(files: pa.Table, columns: Mapping[str, pa.Array]) -> pa.Table:
    for name, column in columns.items():
        at = files.schema.get_field_index(name)
        files = files.set_column(at, files.schema.field(at), column)
    return files


def _total_buckets(files: pa.Table) -> dict[Place, int]:
    columns = (files[name].to_pylist() for name in ("partition", "bucket", "total_buckets"))
    return {(partition, bucket): total for partition, bucket, total in zip(*columns, strict=True)}
