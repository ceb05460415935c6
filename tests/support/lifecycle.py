"""Calls of the lifecycle on the table of a BranchBench, and what they leave."""

from dataclasses import replace
from pathlib import Path

from branch_console.commit.base.commit_store import CommitStore
from branch_console.format.receipt import Receipt
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.preview import Preview, preview_call
from branch_console.procedures.undo.undo import UndoChance, find_undo_chance
from branch_console.storage.directory_mover import UnsupportedDirectoryMover
from tests.support.branch_bench import NOW, BranchBench, TrustingRows, store_of, tree


def without_renames(root: Path) -> CommitStore:
    """A store whose directories are only prefixes, as on object stores."""
    return replace(store_of(root), mover=UnsupportedDirectoryMover())


def undo_chance(bench: BranchBench, operation_id: str) -> UndoChance:
    """Whether an operation on the table of the bench can be undone."""
    return find_undo_chance(bench.warehouse(), bench.table().identifier, operation_id)


def run(
    bench: BranchBench,
    name: str,
    operation_id: str = "op",
    *,
    store: CommitStore | None = None,
    role: str = "operator",
    actor: str = "ann",
    now: int = NOW,
    **arguments: Argument,
) -> Receipt:
    """Run a verb through the store of the bench."""
    call = _call(name, operation_id, role, actor, arguments)
    warehouse = bench.warehouse(store or bench.store, lambda: now)
    return run_call(warehouse, TrustingRows(), call, InlineStages())


def preview(
    bench: BranchBench, name: str, operation_id: str = "op", **arguments: Argument
) -> Preview:
    """Ask for a preview, and see that it wrote nothing."""
    before = tree(Path(bench.file_io.root))
    call = _call(name, operation_id, "viewer", "ann", arguments)
    found = preview_call(bench.warehouse(bench.store), call)
    assert tree(Path(bench.file_io.root)) == before
    return found


def metadata(bench: BranchBench) -> dict[str, bytes]:
    """All files of the warehouse but the ledger."""
    found = tree(Path(bench.file_io.root))
    return {name: data for name, data in found.items() if "/branch-lineage/" not in name}


def without_hints(bench: BranchBench) -> dict[str, bytes]:
    """The same files but for hints, which cost a reader a listing and no more."""
    hints = ("LATEST", "EARLIEST")
    return {name: data for name, data in metadata(bench).items() if not name.endswith(hints)}


def _call(
    name: str, operation_id: str, role: str, actor: str, arguments: dict[str, Argument]
) -> ProcedureCall:
    return ProcedureCall(
        name=name,
        arguments={"table": "db.t", **arguments},
        actor=actor,
        operation_id=operation_id,
        role=role,
    )
