"""A branch that goes with its files takes none that Java reads on main or on another branch."""

from collections.abc import Callable
from pathlib import Path

import pytest

from branch_console.format.receipt import Receipt
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from tests.support.java_paimon import JavaPaimon, JavaTable
from tests.support.java_values import Value
from tests.support.local_row_engine import LocalFiles

pytestmark = [pytest.mark.shared_cells, pytest.mark.depth("full")]

_NAME = "db.t"
Call = Callable[..., Receipt]
_KINDS: dict[str, dict[str, object]] = {
    "keys": {"primary_keys": ["id", "pt"], "options": {"bucket": "1"}},
    "rows": {"options": {"bucket": "1", "bucket-key": "id"}},
    "vectors": {"options": {"deletion-vectors.enabled": "true"}},
}


@pytest.fixture
def call(java: JavaPaimon, tmp_path: Path) -> Call:
    def run(name: str, by: str, **arguments: Argument) -> Receipt:
        made = ProcedureCall(
            name=name,
            arguments={"table": _NAME, **arguments},
            actor="ann",
            operation_id=by,
            role="operator",
        )
        return run_call(Warehouse.open(str(tmp_path / "java")), LocalFiles(), made, InlineStages())

    return run


def read(table: JavaTable, *branches: str) -> dict[str, list[tuple[Value, ...]]]:
    return {each: sorted(table.on(each).rows(), key=repr) for each in branches}


def data_files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file() and "bucket-" in str(path)}


@pytest.mark.parametrize(
    "kind",
    [
        "keys",
        pytest.param("rows", marks=pytest.mark.depth("long")),
        pytest.param("vectors", marks=pytest.mark.depth("long")),
    ],
)
def test_java_reads_main_and_other_branches_after_a_branch_went(
    kind: str, java: JavaPaimon, call: Call, tmp_path: Path
) -> None:
    columns = {"id": "INT", "name": "STRING", "pt": "INT"}
    java.create_table(_NAME, columns, partition_keys=["pt"], **_KINDS[kind])  # type: ignore[arg-type]
    table = java.table(_NAME)
    table.write([(1, "ada", 1), (2, "bob", 2)])
    for name in ("dev", "other"):
        call("create_branch", f"make-{name}", branch=name)
        table.on(name).write([(3, name, 1)])
    call("merge_branch", "merge", branch="dev")
    table.on("dev").write([(4, "alone", 1), (1, "again", 1)])
    table.on("dev").compact()
    table.write([(5, "main", 2)])
    before, files = read(table, "main", "other"), data_files(tmp_path)

    grace = call("drop_branch", "drop", branch="dev", reclaim=True)
    assert (table.branches(), data_files(tmp_path)) == (["other"], files)
    assert grace.counts.files_removed == 0
    call("undo", "back", operation="drop")
    assert (sorted(table.branches()), data_files(tmp_path)) == (["dev", "other"], files)
    both = read(table, "main", "dev", "other")
    assert {each: both[each] for each in before} == before

    done = call("drop_branch", "again", branch="dev", reclaim=True, grace="0 s")
    assert done.counts.files_removed > 0
    assert data_files(tmp_path) < files
    assert not any(name.startswith(("branch-base-dev", "branch-pin")) for name in table.tags())
    assert read(table, "main", "other") == before
    # Whatever Java expires from here on, the two need nothing of the branch that went.
    for branch in ("main", "other"):
        table.on(branch).compact()
        table.on(branch).expire_snapshots(1)
    assert read(table, "main", "other") == before
