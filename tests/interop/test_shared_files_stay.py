"""What our verbs share stays readable when Java expires either side down to one snapshot."""

from collections.abc import Callable
from pathlib import Path

import jpype
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

_NAME = "db.shared"
Call = Callable[..., Receipt]

# Neither is heeded by an expiry that is asked for: they must not be what protects.
_KEPT = {"write-only": "true", "snapshot.num-retained.min": "100"}
_KINDS: dict[str, dict[str, object]] = {
    "keys": {"primary_keys": ["id", "pt"], "options": {"bucket": "1", **_KEPT}},
    "rows": {"options": {"bucket": "1", "bucket-key": "id", **_KEPT}},
    "vectors": {"options": {"deletion-vectors.enabled": "true", **_KEPT}},
}


def merge(call: Call) -> None:
    call("merge_branch", branch="dev")


def update(call: Call) -> None:
    call("merge_branch", branch="main", target="dev")


def pick(call: Call) -> None:
    call("cherry_pick", branch="dev", snapshot=2)


def force(call: Call) -> None:
    call("fast_forward", branch="dev", force=True)


def replace_main(call: Call) -> None:
    call("replace_main", branch="dev")


def roll_back(call: Call) -> None:
    call("rollback", table=f"{_NAME}$branch_dev", snapshot=1)


def cut(call: Call) -> None:
    call("rollback", snapshot=1, cut=True)


def revert(call: Call) -> None:
    call("revert", table=f"{_NAME}$branch_dev", snapshot=2)


@pytest.fixture
def call(java: JavaPaimon, tmp_path: Path) -> Call:
    """Calls a procedure of ours on the table."""

    def run(name: str, **arguments: Argument) -> Receipt:
        made = ProcedureCall(
            name=name,
            arguments={"table": _NAME, **arguments},
            actor="ann",
            operation_id=f"op-{name.replace('_', '-')}",
            role="operator",
        )
        return run_call(Warehouse.open(str(tmp_path / "java")), LocalFiles(), made, InlineStages())

    return run


def diverged(java: JavaPaimon, kind: str) -> JavaTable:
    """Main and a branch that Java made, each with a commit of its own."""
    columns = {"id": "INT", "name": "STRING", "pt": "INT"}
    java.create_table(_NAME, columns, partition_keys=["pt"], **_KINDS[kind])  # type: ignore[arg-type]
    table = java.table(_NAME)
    table.write([(1, "ada", 1), (2, "bob", 1)])
    table.create_tag("base")
    table.create_branch("dev", "base")
    table.on("dev").write([(3, "dev", 1), (4, "dev", 2)])
    table.write([(10, "main", 1), (11, "main", 2)])
    return table


def branches(table: JavaTable, folder: Path) -> list[str]:
    there = folder / "java" / "db.db" / "shared" / "branch"
    return ["main", *sorted(each.name.removeprefix("branch-") for each in there.iterdir())]


def data_files(folder: Path) -> dict[Path, tuple[int, int, int, int]]:
    """Which files of rows there are: inode, number of names, size and time of each."""
    found = {path: path.stat() for path in folder.rglob("data-*") if path.is_file()}
    return {
        path: (each.st_ino, each.st_nlink, each.st_size, each.st_mtime_ns)
        for path, each in found.items()
    }


def rows(table: JavaTable, branch: str) -> list[tuple[Value, ...]]:
    return sorted(table.on(branch).rows(), key=repr)


def write_over_and_expire(table: JavaTable) -> None:
    """Write over all rows, compact, and leave the last snapshot, whatever options say."""
    for name in ("zoe", "yan"):
        table.write([(9, name, 1), (9, name, 2)], overwrite={})
    table.compact()
    table.expire_snapshots(1)


@pytest.mark.parametrize("expires", ["dev", "main"])
@pytest.mark.parametrize(
    ("verb", "kind"),
    [
        (merge, "keys"),
        (merge, "rows"),
        (update, "keys"),
        (pick, "rows"),
        (force, "keys"),
        (force, "vectors"),
        (replace_main, "rows"),
        (replace_main, "vectors"),
        (roll_back, "keys"),
        (cut, "vectors"),
        (revert, "rows"),
    ],
)
def test_what_is_shared_outlives_the_expiry_of_either_side(
    java: JavaPaimon,
    call: Call,
    tmp_path: Path,
    verb: Callable[[Call], None],
    kind: str,
    expires: str,
) -> None:
    table = diverged(java, kind)
    made = data_files(tmp_path)
    verb(call)
    # Files are shared by their names: no byte of them is written or moved, and none has two names.
    assert data_files(tmp_path) == made
    before = {name: rows(table, name) for name in branches(table, tmp_path)}
    write_over_and_expire(table.on(expires))
    others = {name: rows(table, name) for name in before if name != expires}
    assert others == {name: found for name, found in before.items() if name != expires}
    assert rows(table, expires) == [(9, "yan", 1), (9, "yan", 2)]
    assert len(table.rows(tag="base")) == 2


@pytest.mark.parametrize("expires", ["dev", "main"])
def test_without_the_fence_and_the_pin_the_other_side_is_lost(
    java: JavaPaimon, call: Call, tmp_path: Path, expires: str
) -> None:
    table = diverged(java, "rows")
    call("merge_branch", branch="dev")
    root = tmp_path / "java" / "db.db" / "shared"
    (root / "branch" / "branch-dev" / "consumer" / "consumer-branch-console-fence").unlink()
    (root / "tag" / "tag-branch-pin-op-merge-branch").unlink()
    write_over_and_expire(table.on(expires))
    with pytest.raises(jpype.JException):
        table.on("main" if expires == "dev" else "dev").rows()


def test_what_no_fence_keeps_has_a_second_name(
    java: JavaPaimon, call: Call, tmp_path: Path
) -> None:
    table = diverged(java, "keys")
    table.on("dev").set_options({"consumer.expiration-time": "1 s"})
    call("merge_branch", branch="dev")
    before = rows(table, "main")
    copies = [each for each in tmp_path.rglob("data-*") if each.stat().st_nlink == 2]
    assert len(copies) == 4
    write_over_and_expire(table.on("dev"))
    assert rows(table, "main") == before
    # Java's expiry took the first names.
    assert [each.stat().st_nlink for each in copies if each.exists()] == [1, 1]
