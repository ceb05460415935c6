from dataclasses import replace
from pathlib import Path

import pytest

from branch_console.commit.schema.schema_commit import SchemaChange, change_schema, set_options
from branch_console.errors import ErrorKind
from branch_console.format.identifier import Identifier
from branch_console.procedures.browse.branches import list_branches
from branch_console.procedures.browse.graph import read_graph
from branch_console.procedures.browse.history import compare_schemas, list_schemas
from branch_console.procedures.browse.page_values import Health
from branch_console.procedures.browse.tables import list_tables, read_names
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.maintenance.doctor import examine
from tests.support.branch_bench import NOW, BranchBench, TrustingRows

DAY = 86_400_000


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """Main at 1, and dev one commit ahead."""
    bench = BranchBench(tmp_path)
    bench.append("a")
    bench.branch("dev")
    bench.append("b", branch="dev")
    return bench


def lose_manifest_list(bench: BranchBench) -> str:
    """Remove one that the head of `dev` needs, and return its name."""
    dev = bench.table("dev")
    head = dev.head()
    assert head is not None
    Path(dev.paths.manifest(head.delta_manifest_list)).unlink()
    return head.delta_manifest_list


def test_a_branch_whose_head_lost_a_manifest_list_is_broken_and_main_is_not(
    bench: BranchBench,
) -> None:
    lost = lose_manifest_list(bench)
    main, broken = list_branches(bench.warehouse(), bench.identifier)
    assert main.health is Health.HEALTHY
    assert broken.health is Health.BROKEN
    assert broken.error is not None
    assert broken.error.kind is ErrorKind.FILES_MISSING
    assert lost in broken.error.message
    assert broken.fork is not None
    assert (broken.fork.parent, broken.fork.snapshot_id) == ("main", 1)
    (table,) = list_tables(bench.warehouse())
    assert table.health is Health.AT_RISK
    assert table.broken_branches == ("dev",)


def test_a_broken_branch_that_was_dropped_is_no_risk_and_told_until_it_is_released(
    bench: BranchBench,
) -> None:
    lose_manifest_list(bench)
    rescue = bench.call("drop_branch", branch="dev").rescue_branch
    (table,) = list_tables(bench.warehouse())
    assert (table.health, table.broken_branches) == (Health.HEALTHY, ())
    assert table.broken_rescues == (rescue,)
    # It can still be restored, and its own line says that it cannot be read.
    items = {item.name: item for item in list_branches(bench.warehouse(), bench.identifier)}
    assert rescue is not None
    assert items[rescue].health is Health.BROKEN
    bench.call("release_branch", operation="away", branch=rescue)
    (table,) = list_tables(bench.warehouse())
    assert table.broken_rescues == ()
    # Undo can bring it back for 10 minutes, and no file leaves the table before.
    released = table.last_event
    assert released is not None
    assert released.receipt is not None
    end = released.receipt.finished_millis + 600_000
    assert table.blocked_until == end
    later = bench.warehouse(clock=lambda: end)
    assert [each.blocked_until for each in list_tables(later)] == [None]


@pytest.mark.parametrize("is_kept", [True, False])
def test_expiry_is_told_as_blocked_to_the_end_of_a_grace_of_any_length(
    bench: BranchBench, is_kept: bool
) -> None:
    """Health tells it all that time, so the list of tables must not fall silent before."""
    lose_manifest_list(bench)
    if is_kept:
        rescue = bench.call("drop_branch", branch="dev").rescue_branch
        gone = bench.call("release_branch", operation="away", branch=rescue, grace="30 d")
    else:
        gone = bench.call("drop_branch", branch="dev", reclaim=True, grace="30 d")
    end = gone.finished_millis + 30 * DAY
    for now, told in (
        *((end - days * DAY, end) for days in (29, 24, 22, 10)),
        (end - 1, end),
        (end, None),
    ):
        later = bench.warehouse(clock=lambda now=now: now)
        assert [each.blocked_until for each in list_tables(later)] == [told]
        rules = {each.rule for each in examine(later, bench.identifier).findings}
        assert ("F34" in rules) is (told is not None)


def test_a_released_branch_that_can_be_read_blocks_no_expiry(bench: BranchBench) -> None:
    bench.call("drop_branch", branch="dev", reclaim=True)
    (table,) = list_tables(bench.warehouse())
    assert table.blocked_until is None


def test_columns_that_two_branches_added_under_one_id_are_two_columns(bench: BranchBench) -> None:
    bench.alter("main", column="delay")
    bench.alter("dev", column="carrier")
    found = compare_schemas(bench.warehouse(), bench.identifier, "main", "dev")
    told = [(str(change.kind), change.subject) for change in found.changes]
    assert told == [("dropped", "delay"), ("added", "carrier")]


def test_names_are_listed_of_the_tables_that_there_are(bench: BranchBench) -> None:
    gone = Identifier.parse("db.gone")
    (found,) = read_names(bench.warehouse(), (gone, bench.identifier))
    assert (found.table, found.branches) == (bench.identifier, ("dev",))
    assert found.tags == bench.table().tags.names()


def comment(text: str | None) -> SchemaChange:
    return lambda schema: replace(schema, comment=text)


def test_the_history_of_a_schema_is_told_in_sentences(bench: BranchBench) -> None:
    bench.alter("main", column="delay")
    changes = [
        set_options({"write-only": "true"}),
        comment("Flights"),
        comment("Flights out of New York"),
        comment(None),
    ]
    for change in changes:
        change_schema(bench.table(), bench.store, [change], now_millis=NOW)
    told = [item.changes for item in list_schemas(bench.warehouse(), bench.identifier)]
    assert told == [
        ("The table's comment was unset; it was 'Flights out of New York'.",),
        ("The table's comment went from 'Flights' to 'Flights out of New York'.",),
        ("The table's comment was set to 'Flights'.",),
        ("Option 'write-only' was set to 'true'.",),
        ("Column 'delay' INT was added.",),
        (),
    ]


def undo(bench: BranchBench, operation_id: str) -> None:
    call = ProcedureCall(
        name="undo",
        arguments={"table": "db.t", "operation": operation_id},
        actor="ann",
        operation_id="back",
    )
    run_call(bench.warehouse(), TrustingRows(), call, InlineStages())


def test_a_dropped_branch_can_be_restored_until_it_is(bench: BranchBench) -> None:
    before = list_branches(bench.warehouse(), bench.identifier)[1]
    bench.call("drop_branch", operation="gone", branch="dev", reason="done with it")
    (dropped,) = read_graph(bench.warehouse(), bench.identifier).dropped
    assert (dropped.name, dropped.operation_id) == ("dev", "gone")
    assert (dropped.reason, dropped.actor) == ("done with it", "ann")
    undo(bench, "gone")
    assert read_graph(bench.warehouse(), bench.identifier).dropped == ()
    after = list_branches(bench.warehouse(), bench.identifier)[1]
    assert (after.name, after.head) == (before.name, before.head)


def test_a_rule_protects_the_branches_it_matches(bench: BranchBench) -> None:
    bench.call("protect_branch", operation="rule", branch="de*", reason="release")
    main, dev = list_branches(bench.warehouse(), bench.identifier)
    assert main.protection is None
    assert dev.protection is not None
    assert (dev.protection.branch, dev.protection.reason) == ("de*", "release")


def test_only_the_ledger_records_when_a_branch_was_made(bench: BranchBench) -> None:
    assert list_branches(bench.warehouse(), bench.identifier)[1].is_recorded
    for path in Path(bench.file_io.root).rglob("branch-lineage/event-*"):
        path.unlink()
    dev = list_branches(bench.warehouse(), bench.identifier)[1]
    assert dev.created_millis is not None
    assert not dev.is_recorded


def test_a_renamed_branch_keeps_owner_reason_and_fork(bench: BranchBench) -> None:
    bench.branch("fix", owner="ada", reason="Delays are off")
    bench.call("rename_branch", operation="new-name", branch="fix", to="delays")
    found = {item.name: item for item in list_branches(bench.warehouse(), bench.identifier)}
    assert "fix" not in found
    assert (found["delays"].owner, found["delays"].reason) == ("ada", "Delays are off")
    fork = found["delays"].fork
    assert fork is not None
    assert (fork.parent, fork.snapshot_id) == ("main", 1)
    assert found["delays"].findings == ()
