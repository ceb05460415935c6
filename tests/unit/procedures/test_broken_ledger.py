"""A broken event of the ledger: pages go on, and nothing that it may forbid is done."""

from pathlib import Path

import pytest

from branch_console.errors import ErrorKind, Refused
from branch_console.procedures.browse.branches import list_branches, read_branches
from branch_console.procedures.browse.tables import read_table
from branch_console.procedures.call.call import Argument
from tests.support.branch_bench import BranchBench
from tests.support.lifecycle import metadata, preview, run


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """Main at 1, dev one commit ahead and protected, and a tag."""
    bench = BranchBench(tmp_path)
    bench.append("a")
    bench.tag("v1")
    bench.branch("dev")
    bench.append("b", branch="dev")
    run(bench, "create_tag", "make-tag", tag="v2")
    run(bench, "protect_branch", "protect", branch="dev")
    return bench


def break_event(bench: BranchBench, operation_id: str = "protect") -> Path:
    (path,) = Path(bench.table().paths.lineage_dir).glob(f"event-*-{operation_id}.json")
    path.write_bytes(path.read_bytes()[:100])
    return path


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("drop_branch", {"branch": "dev"}),
        ("rename_branch", {"branch": "dev", "to": "fix"}),
        ("fast_forward", {"branch": "dev"}),
        ("fast_forward", {"branch": "dev", "force": True}),
        ("replace_main", {"branch": "dev"}),
        ("merge_branch", {"branch": "dev"}),
        ("rollback", {"table": "db.t$branch_dev", "snapshot": 1}),
        ("rollback", {"table": "db.t$branch_dev", "snapshot": 1, "cut": True}),
        ("undo", {"operation": "make-tag"}),
        ("protect_branch", {"branch": "dev", "protected": False}),
        ("delete_tag", {"tag": "v1"}),
    ],
    ids=str,
)
def test_what_a_rule_may_forbid_is_refused_and_the_file_named(
    bench: BranchBench, name: str, arguments: dict[str, Argument]
) -> None:
    broken, before = break_event(bench), metadata(bench)
    for ask in (preview, run):
        with pytest.raises(Refused) as caught:
            ask(bench, name, **arguments)
        assert caught.value.kind is ErrorKind.BROKEN_FILE
        assert caught.value.facts["path"] == str(broken)
        assert str(broken) in caught.value.message
    assert metadata(bench) == before
    broken.unlink()
    preview(bench, name, **arguments)


@pytest.mark.parametrize(
    ("name", "sql"),
    [
        ("alter_table", "ALTER TABLE db.t SET TBLPROPERTIES ('write-only' = 'true')"),
        ("alter_table", "ALTER TABLE db.t RENAME TO db.u"),
        ("drop_table", "DROP TABLE db.t"),
    ],
)
def test_so_are_statements(bench: BranchBench, name: str, sql: str) -> None:
    broken, before = break_event(bench), metadata(bench)
    with pytest.raises(Refused, match=broken.name):
        run(bench, name, sql=sql)
    assert metadata(bench) == before


def test_pages_go_on_and_tell_that_the_history_is_incomplete(bench: BranchBench) -> None:
    assert read_branches(bench.warehouse(), bench.identifier).broken_events == ()
    whole = read_table(bench.warehouse(), bench.identifier)
    assert whole.broken_events == ()
    broken = break_event(bench)
    summary = read_table(bench.warehouse(), bench.identifier)
    assert summary.events == tuple(e for e in whole.events if e.operation_id != "protect")
    (error,) = summary.broken_events
    assert error.facts["path"] == str(broken)
    (told,) = read_branches(bench.warehouse(), bench.identifier).broken_events
    assert told.message == error.message
    items = list_branches(bench.warehouse(), bench.identifier)
    assert [item.error for item in items] == [None, None]


def test_a_branch_can_still_be_made(bench: BranchBench) -> None:
    break_event(bench)
    run(bench, "create_branch", branch="fix")
