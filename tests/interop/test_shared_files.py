"""What the health of branches tells of shared files is what Java's expiry does to them."""

from collections.abc import Callable
from pathlib import Path

import jpype
import pytest

from core.format.identifier import Identifier
from core.procedures.browse_branches import list_branches
from core.procedures.call import Argument, ProcedureCall
from core.procedures.registry import run_call
from core.procedures.stages import InlineStages
from core.procedures.warehouse import Warehouse
from tests.support.java_paimon import JavaPaimon, JavaTable
from tests.support.local_row_engine import LocalFiles

_NAME = "db.shared"
_ROWS = [(1, "ada"), (2, "bob")]
# A commit that is not write-only leaves one snapshot of its branch.
_EXPIRES = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"}


@pytest.fixture
def table(java: JavaPaimon) -> JavaTable:
    """Main at 1, with two rows."""
    java.create_table(_NAME, {"id": "INT", "name": "STRING"})
    table = java.table(_NAME)
    table.write(_ROWS)
    return table


@pytest.fixture
def call(table: JavaTable, tmp_path: Path) -> Callable[..., None]:
    """Calls a procedure of ours on the table."""

    def run(name: str, **arguments: Argument) -> None:
        made = ProcedureCall(
            name=name,
            arguments={"table": _NAME, **arguments},
            actor="ann",
            operation_id=f"{name}-{len(arguments)}-{'-'.join(map(str, arguments.values()))}",
            role="operator",
        )
        run_call(Warehouse.open(str(tmp_path / "java")), LocalFiles(), made, InlineStages())

    return run


def findings(folder: Path) -> dict[str, str]:
    items = list_branches(Warehouse.open(str(folder / "java")), Identifier.parse(_NAME))
    return {item.name: each.text for item in items for each in item.findings}


def replace_all(table: JavaTable) -> None:
    """Write over all rows, and leave none of the older snapshots."""
    table.write([(9, "zoe")], overwrite={})
    table.expire_snapshots(1)


def is_whole(table: JavaTable, tag: str | None = None) -> bool:
    """Whether Java can read the head of a branch, or a tag."""
    try:
        table.rows(tag=tag)
    except jpype.JException as error:
        if "FileNotFound" in error.stacktrace():
            return False
        raise
    return True


@pytest.mark.parametrize("is_tagged", [False, True], ids=["as it is", "with the tag"])
def test_what_a_fast_forward_brought(
    is_tagged: bool, table: JavaTable, call: Callable[..., None], tmp_path: Path
) -> None:
    call("create_branch", branch="dev")
    table.on("dev").write([(3, "cas")])
    call("fast_forward", branch="dev")
    assert "Tag snapshot 2 of main for good" in findings(tmp_path)["dev"]
    if is_tagged:
        call("create_tag", tag="shared", snapshot=2)
        assert findings(tmp_path) == {}
    replace_all(table)
    assert is_whole(table.on("dev")) == is_tagged


def test_a_base_tag_on_a_branch(
    table: JavaTable, call: Callable[..., None], tmp_path: Path
) -> None:
    call("create_branch", branch="dev")
    table.on("dev").write([(3, "cas")])
    call("create_branch", branch="sub", from_branch="dev")
    assert "stands on 'dev'" in findings(tmp_path)["sub"]
    replace_all(table.on("dev"))
    assert not is_whole(table.on("sub"))


@pytest.mark.parametrize("is_pinned", [False, True], ids=["as it is", "with the pin"])
def test_a_tag_of_another_history(
    is_pinned: bool, table: JavaTable, call: Callable[..., None], tmp_path: Path
) -> None:
    call("create_tag", tag="v1")
    call("create_branch", branch="dev")
    table.on("dev").write([(9, "zoe")], overwrite={})
    call("create_branch", branch="sub", from_branch="dev")
    if is_pinned:
        call("pin_branch", branch="sub")
        assert "may delete files of tags" in findings(tmp_path)["main"]
    table.write([(4, "dan")])
    replace_all(table)
    assert is_whole(table, tag="v1") != is_pinned


@pytest.mark.parametrize("is_kept", [False, True], ids=["as it is", "with write-only"])
def test_a_later_tag_of_main(
    is_kept: bool, table: JavaTable, call: Callable[..., None], tmp_path: Path
) -> None:
    call("create_branch", branch="dev")
    call("create_branch", branch="other")
    table.write([(9, "zoe")], overwrite={})
    call("create_tag", tag="later")
    assert findings(tmp_path) == {}
    dev = table.on("dev")
    dev.write([(3, "cas")])
    assert "tag 'later'" in findings(tmp_path)["dev"]
    if is_kept:
        dev.set_options({"write-only": "true"})
        assert findings(tmp_path) == {}
    dev.write([(4, "dan")], overwrite={}, options=_EXPIRES)
    dev.write([(5, "eve")], options=_EXPIRES)
    assert is_whole(table.on("other")) == is_kept
    assert is_whole(table, tag="branch-base-dev") == is_kept
    assert is_whole(dev)
    assert is_whole(table)


@pytest.mark.parametrize("is_kept", [False, True], ids=["as it is", "with write-only"])
def test_what_java_merged(
    is_kept: bool, table: JavaTable, tmp_path: Path, paimon_version: str
) -> None:
    if paimon_version == "1.4.2":
        pytest.skip("Paimon 1.4.2 has no merge; the run with the newest one has")
    table.create_tag("v1")
    table.create_branch("dev", "v1")
    dev = table.on("dev")
    dev.write([(3, "cas")])
    dev.write([(4, "dan")])
    table.write([(5, "eve")])
    assert findings(tmp_path) == {}
    table.merge_branch("dev")
    assert "Paimon's own merge made it share 2 data files" in findings(tmp_path)["dev"]
    dev.write([(6, "fay")])
    assert "share 2 data files with 'main'" in findings(tmp_path)["dev"]
    if is_kept:
        table.set_options({"write-only": "true"})
        dev.set_options({"write-only": "true"})
        assert findings(tmp_path) == {}
    for name in ("gus", "hal"):
        table.write([(9, name)], overwrite={}, options=_EXPIRES)
    assert is_whole(table)
    assert is_whole(dev) == is_kept
