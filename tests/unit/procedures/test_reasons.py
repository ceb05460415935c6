"""A reason that a procedure takes stands in the ledger: who asks why is told."""

import os
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from branch_console.operations.declared import REQUESTS
from tests.support.branch_bench import BranchBench
from tests.support.lifecycle import run

Steps = Callable[[BranchBench], dict[str, str | int | bool]]


def _branch(bench: BranchBench) -> dict[str, str | int | bool]:
    bench.branch("dev")
    return {"branch": "dev"}


def _ahead(bench: BranchBench) -> dict[str, str | int | bool]:
    bench.branch("dev")
    bench.append("b", branch="dev")
    return {"branch": "dev"}


def _broken(bench: BranchBench) -> dict[str, str | int | bool]:
    bench.alter()
    bench.append("b")
    bench.branch("dev")
    bench.append("c", branch="dev")
    bench.store.remover.remove([bench.table("dev").paths.schema(0)])
    return {"branch": "dev"}


def _tagged(bench: BranchBench) -> dict[str, str | int | bool]:
    run(bench, "create_tag", "tag", tag="v1")
    return {"tag": "v1"}


def _undoable(bench: BranchBench) -> dict[str, str | int | bool]:
    return {"operation": run(bench, "create_tag", "tag", tag="v1").operation_id}


def _twice(bench: BranchBench) -> dict[str, str | int | bool]:
    bench.append("b")
    return {"snapshot": 1}


def _old(bench: BranchBench) -> dict[str, str | int | bool]:
    bench.append("b")
    return {"retain_max": 1, "retain_min": 1}


def _littered(bench: BranchBench) -> dict[str, str | int | bool]:
    orphan = Path(bench.table().paths.manifest(f"manifest-{UUID(int=7)}-0"))
    orphan.write_bytes(b"left")
    os.utime(orphan, (0, 0))
    return {}


def _kept(bench: BranchBench) -> dict[str, str | int | bool]:
    bench.branch("dev")
    kept = bench.table("rescue-dev").paths
    Path(bench.table("dev").paths.root).rename(kept.root)
    return {"branch": "rescue-dev"}


def _reading(bench: BranchBench) -> dict[str, str | int | bool]:
    path = Path(bench.table().paths.consumer("etl"))
    path.parent.mkdir()
    path.write_text('{"nextSnapshot" : 1}')
    return {}


def _gapped(bench: BranchBench) -> dict[str, str | int | bool]:
    bench.append("b")
    bench.append("c")
    bench.store.remover.remove([bench.table().paths.snapshot(2)])
    return {"snapshot": 3}


def _small_manifests(bench: BranchBench) -> dict[str, str | int | bool]:
    bench.append("b")
    return {}


def _tagged_long_ago(bench: BranchBench) -> dict[str, str | int | bool]:
    _tagged(bench)
    os.utime(bench.table().paths.tag("v1"), (0, 0))
    return {"older_than": "2000-01-01 00:00:00"}


# Their own tests ask for a reason, as they need tables of another kind.
ELSEWHERE = {"expire_changelogs", "expire_partitions", "trigger_tag_automatic_creation"}
CASES: dict[str, Steps] = {
    "create_branch": lambda bench: {"branch": "dev"},
    "drop_branch": _branch,
    "release_branch": _kept,
    "rename_branch": lambda bench: {**_branch(bench), "to": "fix"},
    "protect_branch": _branch,
    "archive_branch": _branch,
    "warn_branch": _branch,
    "fence_branch": lambda bench: {**_branch(bench), "fenced": False},
    "repair_branch": _broken,
    "replace_main": _ahead,
    "fast_forward": _ahead,
    "merge_branch": _ahead,
    "cherry_pick": lambda bench: {**_ahead(bench), "snapshot": 2},
    "revert": lambda bench: {**_twice(bench), "snapshot": 2},
    "delete_tag": _tagged,
    "rollback": _twice,
    "undo": _undoable,
    "expire_snapshots": _old,
    "remove_orphan_files": _littered,
    # No file of this table lies anywhere.
    "remove_unexisting_files": lambda _: {},
    "compact_manifest": _small_manifests,
    "purge_files": lambda _: {},
    "reset_consumer": lambda bench: {**_reading(bench), "consumer": "etl"},
    "clear_consumers": _reading,
    "expire_tags": _tagged_long_ago,
    "repair_earliest_snapshot": _gapped,
}


@pytest.mark.parametrize("procedure", CASES)
def test_a_reason_stands_in_the_ledger(procedure: str, tmp_path: Path) -> None:
    bench = BranchBench(tmp_path)
    bench.append("a")
    arguments = CASES[procedure](bench)
    run(bench, procedure, "asked", **arguments, reason="for a test")
    # Of the event that carries the receipt: a rescue branch has one of its own beside it.
    told = {
        each.reason
        for each in bench.table().ledger.whole()
        if each.operation_id == "asked" and each.receipt is not None
    }
    assert told == {"for a test"}


def test_every_procedure_that_takes_a_reason_is_tried() -> None:
    taking = {
        name
        for name, request in REQUESTS.items()
        if {"reason", "table"} <= {each.name for each in request.declared()}
    }
    # A dry run and a comparison change nothing that a ledger could tell.
    assert taking - {"dry_run_merge", "compare_rows"} == CASES.keys() | ELSEWHERE
