"""Whether readers would see as many rows less or more as a statement says that it writes.

Rows of a table with a primary key go and come by what is written on top of them. Where files lie
otherwise than is known here, a file that deletes hides nothing, and nobody is told. So the keys
that a statement writes are counted in what its commit would leave, before it is published: see
decision 0020.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.errors import ErrorKind, Refused
from branch_console.format import options as table_options
from branch_console.format.manifest_entry import NO_FILES
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.binary_row import decode_row
from branch_console.format.values.key_order import key_range
from branch_console.spark.read.readers import read_staged
from branch_console.spark.session.session import Progress, WarmSession
from branch_console.storage.file_io import FileIO
from branch_console.table.manifest_scan import filter_by_key, filter_entries
from branch_console.table.scan_filter import ScanFilter
from branch_console.table.table_state import ReadState, StagedState


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """By how many rows a table grows at least and at most; below zero if it shrinks."""

    least: int
    most: int

    @classmethod
    def of(cls, messages: Sequence[CommitMessage], *, inserts: bool) -> "Growth":
        """Return the growth that readers must see, by the written files.

        Args:
            messages: Files of rows that go, get new values or come.
            inserts: Whether rows come; these may have keys that are there already.
        """
        files = _added(messages)
        gone = pc.sum(files["delete_row_count"], min_count=0).as_py()
        come = pc.sum(files["row_count"], min_count=0).as_py() - gone
        # An inserted key may be there already; then the row replaces one and the table does not
        # grow.
        return cls(least=-gone, most=come - gone if inserts else -gone)

    def __str__(self) -> str:
        if self.least == self.most:
            return _rows(self.least)
        return f"between {_rows(self.least)} and {_rows(self.most)}"


def check_growth(
    session: WarmSession,
    store: FileIO,
    state: ReadState,
    messages: Sequence[CommitMessage],
    growth: Growth,
    *,
    progress: Progress = lambda done, total: None,
) -> None:
    """Compare what readers would see of some keys, before and after, with what is announced.

    Args:
        session: The Spark session for the tasks.
        store: The store of the table.
        state: The head that the rows were read at.
        messages: The files that would be added to it.
        growth: The announced growth.
        progress: Called with tasks done and tasks known; what it raises stops the run.

    Raises:
        Refused: Readers would see another number of rows.
    """
    added = _added(messages)
    if not added.num_rows:
        return
    schema = _as_after_compaction(state.schema)
    before = StagedState.of_snapshot(state.table, state.snapshot, schema)
    before = replace(before, files=_beside(before.files, added, schema))
    after = replace(before, files=pa.concat_tables([before.files, added]))
    counts = _count(session, store, {"before": before, "after": after}, progress)
    grown = counts.get("after", 0) - counts.get("before", 0)
    if not growth.least <= grown <= growth.most:
        raise Refused(
            f"Readers of {state.table.identifier} would see {_rows(grown)} after this statement, "
            f"which announces {growth}: rows of the table lie otherwise than is known here. "
            "Nothing was published; write the table with Paimon.",
            kind=ErrorKind.UNSUPPORTED,
            announced=str(growth),
            found=grown,
        )


def _added(messages: Sequence[CommitMessage]) -> pa.Table:
    return pa.concat_tables([NO_FILES, *(each.new_files for each in messages)])


def _count(
    session: WarmSession, store: FileIO, states: Mapping[str, StagedState], progress: Progress
) -> dict[str, int]:
    def act(spark: object) -> dict[str, int]:
        frames = [
            read_staged(session.spark, store, state, columns=state.schema.primary_keys[:1]).select(
                functions.lit(name).alias("state")
            )
            for name, state in states.items()
        ]
        both = frames[0].unionAll(frames[1]).groupBy("state").count()
        return {row["state"]: row["count"] for row in both.collect()}

    return session.run(act, description="count the keys that were written", progress=progress)


def _as_after_compaction(schema: TableSchema) -> TableSchema:
    """The schema by which files count that readers only see once they are compacted."""
    merging = {table_options.DELETION_VECTORS_MERGE_ON_READ.key: "true"}
    return replace(schema, options=schema.options.merged(merging))


def _beside(files: pa.Table, added: pa.Table, schema: TableSchema) -> pa.Table:
    """The files whose keys may be among those of added ones; the others stay as they are."""
    types = schema.key_type.types
    parts = [NO_FILES]
    places = added.group_by(["partition", "bucket"]).aggregate(
        [("min_key", "list"), ("max_key", "list")]
    )
    for place in places.to_pylist():
        keys = [decode_row(key, types) for key in (*place["min_key_list"], *place["max_key_list"])]
        own = ScanFilter(
            partitions=frozenset([place["partition"]]), buckets=frozenset([place["bucket"]])
        )
        parts.append(filter_by_key(filter_entries(files, own), key_range(keys), schema.key_type))
    return pa.concat_tables(parts)


def _rows(growth: int) -> str:
    if not growth:
        return "as many rows"
    count = abs(growth)
    return f"{count:,} row{'' if count == 1 else 's'} {'fewer' if growth < 0 else 'more'}"
