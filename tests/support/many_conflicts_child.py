"""Merges half a million conflicts in a process of its own, so that its memory can be told.

Prints one JSON object: what was counted, shown and settled, and the most memory in bytes.
"""

import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from branch_console.errors import ErrorKind, Refused
from branch_console.format.identifier import Identifier
from branch_console.merge.policy import Policy
from branch_console.merge.reapply_policy import reapply_policy
from branch_console.procedures.browse.conflicts import read_row_conflicts
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.dispatch import run_call
from tests.support.large_keys import TABLE, call_of, make_branch, make_table, rows_of
from tests.support.local_row_engine import LocalRows

_POLICY = f"version: 1\ntables: {{{TABLE}: {{take: base}}}}"


def main(folder: str, count: str) -> None:
    keys = np.arange(int(count))
    warehouse = make_table(Path(folder), len(keys), buckets=1)
    for number, name in enumerate(("ours", "theirs"), 1):
        make_branch(warehouse, name, rows_of(keys, more=number))
    engine = LocalRows(warehouse.file_io)
    merge = call_of("merge_branch", branch="theirs", target="ours")
    started = time.perf_counter()
    refused = _refused(lambda: run_call(warehouse, engine, merge, InlineStages()))
    assert refused.kind is ErrorKind.CONFLICTS_OPEN
    plan_id = str(refused.facts["plan_id"])
    found = read_row_conflicts(warehouse, Identifier.parse(TABLE), plan_id)
    assert found is not None
    said = {"open": refused.facts["conflicts"]}
    said["found_seconds"] = time.perf_counter() - started
    started = time.perf_counter()
    page = found.slice(len(keys) // 2, 100).to_pylist()
    said["page"] = [row["key"]["id"] for row in page]
    said["page_seconds"] = time.perf_counter() - started
    started = time.perf_counter()
    settled = reapply_policy(found, Policy.from_yaml(_POLICY), TABLE)
    said["settled"] = settled.num_rows - settled["take"].null_count
    said["settled_seconds"] = time.perf_counter() - started
    said["peak_bytes"] = _peak_bytes()
    sys.stdout.write(json.dumps(said) + "\n")


def _peak_bytes() -> int:
    # What `getrusage` tells starts at what the process held that started this one.
    status = Path("/proc/self/status").read_text()
    peak = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    assert peak is not None, "this system does not tell"
    return int(peak[1]) * 1024


def _refused(act: Callable[[], object]) -> Refused:
    try:
        act()
    except Refused as refused:
        return refused
    raise AssertionError("it was not refused")


if __name__ == "__main__":
    main(*sys.argv[1:])
