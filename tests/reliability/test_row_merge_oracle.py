"""R8: random three-way row merges give the verdicts and rows of another implementation."""

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from branch_console.diff.three_way import ThreeWay
from branch_console.merge.conflict import ConflictKind
from branch_console.merge.policy import Policy
from branch_console.merge.row_merge import MergedRows, merge_rows
from branch_console.merge.row_work import RowVerdict
from tests.support.examples import Examples
from tests.support.requirements import need_doltlite
from tests.unit.merge.merged_rows import TABLE, keyed, rows_of, tuples

_CHILD = Path(__file__).parents[1] / "support" / "doltlite_child.py"
_ROWS_AT_ONCE = 1_000
_SCHEMA = keyed({"id": "INT NOT NULL", "a": "BIGINT", "b": "STRING", "c": "DOUBLE"})
_KINDS = {
    ("added", "added"): ConflictKind.ADD_ADD,
    ("modified", "modified"): ConflictKind.MODIFY_MODIFY,
    ("modified", "removed"): ConflictKind.DELETE_MODIFY,
    ("removed", "modified"): ConflictKind.DELETE_MODIFY,
}

Row = tuple[Any, ...]
Rows = list[Row]


def values(rng: random.Random) -> Row:
    # Few values, so that both sides often do the same.
    return (
        rng.choice([None, 0, 1, 2**40]),
        rng.choice([None, "", "x", "é"]),
        rng.choice([None, 0.5, -1.0]),
    )


def changed(rng: random.Random, base: Row | None) -> Row | None:
    if rng.random() < 0.2:
        return base
    if rng.random() < 0.2:
        return None
    new = values(rng)
    if base is None or rng.random() < 0.2:
        return new
    keeps = [rng.random() < 0.6 for _ in new]
    return tuple(old if keep else value for keep, old, value in zip(keeps, base, new, strict=True))


def schedule(rng: random.Random, count: int) -> ThreeWay[Rows]:
    base, ours, theirs = [], [], []
    for key in range(count):
        old = values(rng) if rng.random() < 0.7 else None
        sides = ((base, old), (ours, changed(rng, old)), (theirs, changed(rng, old)))
        for rows, row in sides:
            if row is not None:
                rows.append((key, *row))
    return ThreeWay(base=base, ours=ours, theirs=theirs)


def merged_rows(sides: ThreeWay[Rows], merged: MergedRows) -> dict[int, Row]:
    """What the target holds after replay of theirs and what the merge writes, by key."""
    found = {row[0]: row for row in sides.theirs}
    found |= {row[0]: row for row in tuples(merged.upserts)}
    gone = {row[0] for row in tuples(merged.deletes)}
    return {key: row for key, row in found.items() if key not in gone}


def oracle(schedules: list[ThreeWay[Rows]]) -> Iterator[dict[str, Any]]:
    asked = "\n".join(
        json.dumps({"base": each.base, "ours": each.ours, "theirs": each.theirs})
        for each in schedules
    )
    said = subprocess.run(
        [sys.executable, _CHILD], input=asked, capture_output=True, text=True, check=True
    )
    return map(json.loads, said.stdout.splitlines())


def test_random_row_merges_agree_with_doltlite(rng: random.Random, examples: Examples) -> None:
    need_doltlite()
    batches = max(1, examples(5_000, long=1_000_000) // _ROWS_AT_ONCE)
    schedules = [schedule(rng, _ROWS_AT_ONCE) for _ in range(batches)]
    tried = conflicting = 0
    for sides, expected in zip(schedules, oracle(schedules), strict=True):
        tables = [rows_of(_SCHEMA, rows) for rows in (sides.base, sides.ours, sides.theirs)]
        merged = merge_rows(
            ThreeWay(base=tables[0], ours=tables[1], theirs=tables[2]),
            _SCHEMA,
            Policy(),
            table=TABLE,
        )
        kinds = {row["key"]["id"]: row["kind"] for row in merged.conflicts.to_pylist()}
        assert kinds == {key: _KINDS[ours, theirs] for key, ours, theirs in expected["conflicts"]}
        assert merged.verdicts[RowVerdict.CONFLICT] == len(kinds)
        rows = {row[0]: tuple(row) for row in expected["rows"] if row[0] not in kinds}
        found = merged_rows(sides, merged)
        assert {key: row for key, row in found.items() if key not in kinds} == rows
        tried += sum(merged.verdicts.values())
        conflicting += len(kinds)
    # Some keys are on no side; of the others each verdict is common enough to mean something.
    assert tried > batches * _ROWS_AT_ONCE * 0.8
    assert batches * _ROWS_AT_ONCE * 0.2 < conflicting < batches * _ROWS_AT_ONCE * 0.8
