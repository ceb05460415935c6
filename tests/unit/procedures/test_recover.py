"""Recovery, and what goes on beside an intent of the journal that cannot be read."""

from pathlib import Path

import pytest

from branch_console.commit.journal import Journal
from branch_console.errors import ErrorKind, FormatError, Refused
from branch_console.format.journals.intent import Intent
from branch_console.procedures.browse.branches import list_branches
from branch_console.procedures.browse.page_values import Health
from branch_console.procedures.browse.tables import list_tables, read_table
from branch_console.procedures.preview import Weight
from branch_console.procedures.recover import recover_table
from branch_console.procedures.run.open_operation import FRESH_MILLIS
from tests.support.branch_bench import NOW, BranchBench
from tests.support.faulty_store import At, FaultyStore, Killed
from tests.support.lifecycle import preview, run

LATER = NOW + 2 * FRESH_MILLIS


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """Main at 1, and dev one commit ahead."""
    bench = BranchBench(tmp_path)
    bench.append("a")
    bench.branch("dev")
    bench.append("b", branch="dev")
    return bench


def break_intent(bench: BranchBench, operation_id: str = "torn") -> Path:
    path = Path(f"{bench.table().paths.lineage_dir}/intent-{operation_id}.json")
    path.write_text('{"operationId": "to')
    return path


def test_a_table_with_a_broken_intent_is_listed_with_all_its_branches(bench: BranchBench) -> None:
    break_intent(bench)
    items = list_branches(bench.warehouse(), bench.identifier)
    assert [(item.name, item.health) for item in items] == [
        ("main", Health.HEALTHY),
        ("dev", Health.HEALTHY),
    ]
    (table,) = list_tables(bench.warehouse())
    assert table.error is None
    assert read_table(bench.warehouse(), bench.identifier).branches == ("dev",)


def test_recovery_names_a_broken_intent_and_finishes_the_others(bench: BranchBench) -> None:
    # The intent is the first change.
    faulty = FaultyStore(inner=bench.store, fault=At(call=2))
    with pytest.raises(Killed):
        run(bench, "drop_branch", "cut-off", store=faulty.store, branch="dev")
    broken = break_intent(bench)
    warehouse = bench.warehouse(clock=lambda: LATER)
    found = {each.operation_id: each for each in recover_table(warehouse, bench.table())}
    assert set(found) == {"torn", "cut-off"}
    assert found["cut-off"].ending == "done"
    assert isinstance(found["torn"].error, FormatError)
    assert found["torn"].ending is None
    assert found["torn"].error.facts["path"] == str(broken)
    assert str(broken) in found["torn"].message
    notes = run(bench, "recover", "again", now=LATER).notes
    assert [str(broken) in note for note in notes] == [True]
    assert broken.exists()


def test_no_branch_is_moved_while_an_intent_cannot_be_read(bench: BranchBench) -> None:
    broken = break_intent(bench)
    found = preview(bench, "drop_branch", branch="dev")
    (block,) = [each for each in found.consequences if each.weight is Weight.BLOCKS]
    assert (block.kind, str(broken) in block.text) == (ErrorKind.BROKEN_FILE, True)
    with pytest.raises(Refused, match="intent-torn"):
        run(bench, "rename_branch", branch="dev", to="fix")
    broken.unlink()
    run(bench, "rename_branch", branch="dev", to="fix")


def test_an_operation_whose_own_intent_is_broken_names_the_file(bench: BranchBench) -> None:
    broken = break_intent(bench)
    with pytest.raises(FormatError, match="intent-torn") as caught:
        run(bench, "drop_branch", "torn", branch="dev")
    assert caught.value.facts["path"] == str(broken)


def test_an_operation_that_has_ended_needs_no_intent(bench: BranchBench) -> None:
    break_intent(bench, "make-dev")
    assert recover_table(bench.warehouse(), bench.table()) == ()
    run(bench, "drop_branch", branch="dev")


def test_open_intents_are_told_apart(bench: BranchBench) -> None:
    broken, journal = break_intent(bench), Journal(bench.store, bench.table().paths)
    intent = Intent(
        operation_id="whole",
        procedure="create_branch",
        actor="ann",
        branch="fix",
        statement="",
        time_millis=NOW,
        event_millis=NOW,
        plan={"makes": ["fix"]},
    )
    journal.begin(intent)
    found = journal.open_intents()
    assert found.readable == (intent,)
    assert [(each.operation_id, each.error.facts["path"]) for each in found.broken] == [
        ("torn", str(broken))
    ]
    assert journal.being_made() == {"fix"}
