"""A branch that other software made under a name that nobody can open: it spoils itself only."""

import shutil
from pathlib import Path

import pytest

from branch_console.errors import ErrorKind, InvalidInput, Refused
from branch_console.procedures.browse.branches import list_branches
from branch_console.procedures.browse.graph import read_graph
from branch_console.procedures.browse.health import list_lost_commits
from branch_console.procedures.browse.page_values import Health
from branch_console.procedures.browse.tables import list_tables
from branch_console.procedures.call.call import Argument
from tests.support.branch_bench import BranchBench, tree
from tests.support.lifecycle import run

ODD = "a$b"


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """Main at 1 with tag t1, dev one commit ahead, and a copy of dev under an odd name."""
    bench = BranchBench(tmp_path)
    bench.append("a")
    bench.tag("t1")
    bench.branch("dev")
    bench.append("b", branch="dev")
    shutil.copytree(bench.table("dev").paths.root, odd_folder(bench))
    return bench


def odd_folder(bench: BranchBench) -> Path:
    return Path(bench.table().paths.on(ODD).root)


def test_it_alone_is_shown_as_broken_with_its_reason(bench: BranchBench) -> None:
    items = {each.name: each for each in list_branches(bench.warehouse(), bench.identifier)}
    assert {name: item.health for name, item in items.items()} == {
        "main": Health.HEALTHY,
        ODD: Health.BROKEN,
        "dev": Health.HEALTHY,
    }
    error = items[ODD].error
    assert error is not None
    assert error.kind is ErrorKind.INVALID_NAME
    assert repr(ODD) in error.message
    assert {lane.branch for lane in read_graph(bench.warehouse(), bench.identifier).lanes} == {
        "main",
        "dev",
        ODD,
    }
    (table,) = list_tables(bench.warehouse())
    assert (table.health, table.broken_branches) == (Health.AT_RISK, (ODD,))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("drop_branch", {"branch": "dev"}),
        ("rename_branch", {"branch": "dev", "to": "fix"}),
        ("fast_forward", {"branch": "dev"}),
        ("replace_main", {"branch": "dev"}),
        ("merge_branch", {"branch": "dev"}),
        ("delete_tag", {"tag": "t1"}),
        ("rollback", {"table": "db.t$branch_dev", "snapshot": 1, "cut": True}),
        ("protect_branch", {"branch": "*"}),
        ("alter_table", {"sql": "ALTER TABLE db.t RENAME TO db.u"}),
        ("drop_table", {"sql": "DROP TABLE db.t"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_other_branches_can_be_changed(
    bench: BranchBench, name: str, arguments: dict[str, Argument]
) -> None:
    before = tree(odd_folder(bench))
    run(bench, name, **arguments)
    left = odd_folder(bench)
    assert not left.exists() or tree(left) == before


def test_a_tag_that_it_stands_on_stays(bench: BranchBench) -> None:
    run(bench, "drop_branch", branch="dev")
    bench.store.remover.remove([bench.table().paths.tag("branch-base-dev")])
    with pytest.raises(Refused, match=r"branch 'a\$b', 'rescue-op' began at"):
        run(bench, "delete_tag", "delete", tag="t1")


def test_what_it_alone_names_is_not_lost(bench: BranchBench) -> None:
    run(bench, "drop_branch", branch="dev")
    shutil.rmtree(bench.table("rescue-op").paths.root)
    assert list_lost_commits(bench.warehouse(), bench.identifier).items == ()


def test_it_cannot_be_named_itself(bench: BranchBench) -> None:
    with pytest.raises(InvalidInput, match="is not a branch that can be opened"):
        run(bench, "drop_branch", branch=ODD)
