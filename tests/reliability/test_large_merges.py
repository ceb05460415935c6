"""What a merge of a table with a primary key costs: by what changed, not by what there is."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.dispatch import run_call
from tests.support.large_keys import TABLE, call_of, make_branch, make_table, rows_of
from tests.support.local_row_engine import LocalRows

_ROWS: Final = 1_000_000
_CHANGED: Final = 1_000
_POLICY: Final = f"version: 1\ntables: {{{TABLE}: {{take: base}}}}"


def test_what_is_written_follows_the_settled_rows(tmp_path: Path) -> None:
    warehouse = make_table(tmp_path, _ROWS)
    # Spread over all keys, so that the ranges of no two files tell them apart.
    keys = np.random.default_rng(1).permutation(_ROWS)
    make_branch(warehouse, "theirs", rows_of(np.sort(keys[:_CHANGED]), more=1))
    for both in (0, 10, 100, 1_000):
        start = _CHANGED - both
        target = f"ours-{both}"
        make_branch(warehouse, target, rows_of(np.sort(keys[start : start + _CHANGED]), more=2))
        before = _data_files(tmp_path)
        call = call_of("merge_branch", branch="theirs", target=target, policy=_POLICY)
        run_call(warehouse, LocalRows(warehouse.file_io), call, InlineStages())
        table = warehouse.table(f"{TABLE}$branch_{target}")
        head = table.head()
        assert head is not None
        counts = {
            row["file_name"]: row["row_count"]
            for row in table.live_files(head).select(["file_name", "row_count"]).to_pylist()
        }
        written = _data_files(tmp_path).keys() - before.keys()
        # What both sides made of these rows is replaced by what they were.
        assert sum(counts[name] for name in written) == both
        assert sum(_data_files(tmp_path)[name] for name in written) <= both * 60 + 16_000
        assert sum(counts.values()) == _ROWS + 2 * _CHANGED + both


@pytest.mark.depth("full")
def test_half_a_million_conflicts_are_counted_shown_and_settled(tmp_path: Path) -> None:
    count = 500_000
    run = subprocess.run(
        [sys.executable, "-m", "tests.support.many_conflicts_child", str(tmp_path), str(count)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    said = json.loads(run.stdout)
    print(said)
    assert said["open"] == said["settled"] == count
    assert said["page"] == list(range(count // 2, count // 2 + 100))
    assert said["page_seconds"] < 1
    assert said["peak_bytes"] < 2 << 30


def _data_files(root: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in root.rglob("data-*")}
