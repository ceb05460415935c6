"""Random histories of one bucket on two branches, merged by row work, give what the rules say.

The commits of both sides and the sequence numbers that meet are those of real files; now and then
the originals are kept from the merge, as after a compaction. Only the tasks run here instead of in
Spark, so that hundreds of histories can be tried.
"""

import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from branch_console.diff.three_way import ThreeWay, Unresolved, settle
from branch_console.format.index_manifest import NO_INDEX_FILES
from branch_console.format.manifest_entry import MANIFEST_ENTRY
from branch_console.format.values.binary_row import EMPTY_ROW
from branch_console.merge.policy import Policy
from branch_console.merge.row_work import BucketFiles, RowScope, RowWork
from branch_console.spark.files.conform import conform
from branch_console.spark.files.data_files import WriteTarget, write_bucket
from branch_console.spark.merge.bucket_sides import BucketReader, units_of
from branch_console.spark.merge.reconcile_rows import MergeTask
from branch_console.spark.session.arrow_bytes import from_bytes
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable
from tests.spark.test_writers import make_table
from tests.support.examples import Examples

_FIELDS = {"id": "INT NOT NULL", "a": "INT", "b": "STRING"}
_COLUMNS = pa.schema(
    [("id", pa.int32()), ("a", pa.int32()), ("b", pa.string()), ("_VALUE_KIND", pa.int8())]
)
_ENGINES: Mapping[str, Mapping[str, str]] = {
    "deduplicate": {},
    "partial-update": {},
    "aggregation": {
        "fields.a.aggregate-function": "sum",
        "fields.b.aggregate-function": "last_non_null_value",
    },
}
_KEYS = range(20)
_POLICY = "version: 1\ntables: {db.t: {take: theirs}}"

Row = tuple[Any, ...]
State = dict[int, Row]


class History:
    """One bucket whose files are written and read as tasks do it."""

    def __init__(self, folder: Path, engine: str, rng: random.Random) -> None:
        options = {"bucket": "1", "merge-engine": engine, **_ENGINES[engine]}
        self.table: FileStoreTable = make_table(folder, _FIELDS, keys=("id",), options=options)
        self.engine = engine
        self.rng = rng
        self.store = FileIO.for_url(str(folder))
        self.schema = self.table.schema()
        self.target = WriteTarget(
            schema=self.schema,
            paths=self.table.data_paths(),
            store=self.store,
            created=datetime(2026, 11, 21),
        )
        schemas = {0: self.schema}
        self.reader = BucketReader(
            store=self.store,
            scope=RowScope(
                table="db.t",
                schema=self.schema,
                ours_schemas=schemas,
                theirs_schemas=schemas,
            ),
        )
        self._written = 0

    def write(self, files: pa.Table) -> pa.Table:
        """The files after one more commit of random rows."""
        state = self.state(files)
        rows = [self._change(key, state.get(key)) for key in self.rng.sample(_KEYS, 8)]
        rows = rows[: self.rng.randrange(1, 9)]
        self._written += 1
        found = write_bucket(
            self.target,
            EMPTY_ROW,
            0,
            [conform(pa.Table.from_pylist(rows, schema=_COLUMNS), self.schema)],
            next_sequence=(pc.max(files["max_sequence_number"]).as_py() or 0) + 1,
            file_id=str(self._written),
        )
        return pa.concat_tables([files, found.new_files])

    def state(self, files: pa.Table) -> State:
        """What readers find in files, by key."""
        work = _work(MANIFEST_ENTRY.empty_table(), files, files)
        (unit,) = units_of(self.store, self.table, [work])
        keys = self.reader.ours_keys(unit)
        rows = self.reader.rows(unit, keys, Policy()).sides().ours
        return {row["id"]: (row["a"], row["b"]) for row in rows.to_pylist()}

    def merge(self, work: RowWork) -> pa.Table:
        """The files of the target after replay and row work."""
        (unit,) = units_of(self.store, self.table, [work])
        policy = Policy.from_yaml(_POLICY)
        task = MergeTask(reader=self.reader, policy=policy, target=self.target, writes=True)
        found = task.do(unit)
        assert from_bytes(found["conflicts"])["take"].null_count == 0
        parts = [work.ours.entries]
        if work.theirs_changed is not None:
            parts.append(work.theirs_changed)
        if found["new_files"] is not None:
            parts.append(from_bytes(found["new_files"]))
        return pa.concat_tables(parts)

    def _change(self, key: int, row: Row | None) -> dict[str, Any]:
        if row is not None and self.engine == "deduplicate" and self.rng.random() < 0.3:
            return {"id": key, "a": row[0], "b": row[1], "_VALUE_KIND": 3}
        if row is not None and self.engine != "aggregation" and self.rng.random() < 0.25:
            return {"id": key, "a": row[0], "b": row[1], "_VALUE_KIND": 0}  # the row as it is
        a, b = self.rng.choice([None, 1, 2]), self.rng.choice([None, "x", "y"])
        return {"id": key, "a": a, "b": b, "_VALUE_KIND": 0}


def _work(base: pa.Table, ours: pa.Table, theirs: pa.Table) -> RowWork:
    there = base["identity"].combine_chunks()
    changed = [
        files.filter(pc.invert(pc.is_in(files["identity"], value_set=there)))
        for files in (ours, theirs)
    ]
    return RowWork(
        partition=EMPTY_ROW,
        bucket=0,
        base=BucketFiles(entries=base, marks=NO_INDEX_FILES, in_target=True),
        ours=BucketFiles(entries=ours, marks=NO_INDEX_FILES, in_target=True),
        theirs=BucketFiles(entries=theirs, marks=NO_INDEX_FILES, in_target=False),
        ours_changed=changed[0],
        theirs_changed=changed[1],
    )


def merged_row(engine: str, base: Row | None, ours: Row | None, theirs: Row | None) -> Row | None:
    """A row by the rules as they are told, a conflict going to theirs."""
    if engine == "deduplicate":
        row = settle(ThreeWay(base=base, ours=ours, theirs=theirs))
        if not isinstance(row, Unresolved):
            return row
        if base is None or ours is None or theirs is None:
            return theirs
    elif ours is None and theirs is None:
        return None
    sides = [row or (None, None) for row in (base, ours, theirs)]
    cells = [settle(ThreeWay(base=b, ours=o, theirs=t)) for b, o, t in zip(*sides, strict=True)]
    found = [
        sides[2][at] if isinstance(cell, Unresolved) else cell for at, cell in enumerate(cells)
    ]
    if engine == "aggregation":
        b, o, t = (side[0] for side in sides)
        found[0] = None if o is None and t is None else (o or 0) + (t or 0) - (b or 0)
    return tuple(found)


@pytest.mark.parametrize("engine", _ENGINES)
def test_random_histories_of_a_bucket_merge_by_the_rules(
    engine: str, memory_path: Path, rng: random.Random, examples: Examples
) -> None:
    for number in range(examples(8, quick=6, long=6_000)):
        history = History(memory_path / f"{engine} {number}", engine, rng)
        base = history.write(history.write(MANIFEST_ENTRY.empty_table()))
        sides = []
        for _ in range(2):
            files = base
            for _ in range(rng.randrange(1, 4)):
                files = history.write(files)
            sides.append(files)
        work = _work(base, *sides)
        if rng.random() < 0.3:
            work = replace(work, ours_changed=None)
        if rng.random() < 0.3:
            work = replace(work, theirs_changed=None)
        states = [history.state(files) for files in (base, *sides)]
        found = history.state(history.merge(work))
        merged = {key: merged_row(engine, *(state.get(key) for state in states)) for key in _KEYS}
        assert found == {key: row for key, row in merged.items() if row is not None}, number
