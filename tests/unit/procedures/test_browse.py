from dataclasses import replace
from pathlib import Path

import pytest

from core.commit.schema_commit import SchemaChange, change_schema, set_options
from core.errors import ErrorKind
from core.procedures.browse_branches import list_branches
from core.procedures.browse_history import compare_schemas, list_schemas
from core.procedures.browse_tables import list_tables
from core.procedures.browse_values import Health
from tests.support.branch_bench import NOW, BranchBench


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """Main at 1, and dev one commit ahead."""
    bench = BranchBench(tmp_path)
    bench.append("a")
    bench.branch("dev")
    bench.append("b", branch="dev")
    return bench


def test_a_branch_whose_head_lost_a_manifest_list_is_broken_and_main_is_not(
    bench: BranchBench,
) -> None:
    dev = bench.table("dev")
    head = dev.head()
    assert head is not None
    Path(dev.paths.manifest(head.delta_manifest_list)).unlink()
    main, broken = list_branches(bench.warehouse(), bench.identifier)
    assert main.health is Health.HEALTHY
    assert broken.health is Health.BROKEN
    assert broken.error is not None
    assert broken.error.kind is ErrorKind.FILES_MISSING
    assert head.delta_manifest_list in broken.error.message
    assert broken.fork is not None
    assert (broken.fork.parent, broken.fork.snapshot_id) == ("main", 1)
    (table,) = list_tables(bench.warehouse())
    assert table.health is Health.AT_RISK
    assert table.broken_branches == ("dev",)


def test_columns_that_two_branches_added_under_one_id_are_two_columns(bench: BranchBench) -> None:
    bench.alter("main", column="delay")
    bench.alter("dev", column="carrier")
    found = compare_schemas(bench.warehouse(), bench.identifier, "main", "dev")
    told = [(str(change.kind), change.subject) for change in found.changes]
    assert told == [("dropped", "delay"), ("added", "carrier")]


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
