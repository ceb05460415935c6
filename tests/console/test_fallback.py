"""What a batch read takes from where, told by the command line on a table of two branches."""

from pathlib import Path

import pytest

from branch_console.commit.schema.schema_commit import change_schema, set_options
from branch_console.format.data_types import INT
from branch_console.format.identifier import Identifier
from branch_console.format.values.binary_row import encode_row
from branch_console.merge.plan import MergeVerdict, blocks_of, verdict_of
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.merge.inputs import preview_merge
from tests.support.branch_bench import NOW, BranchBench
from tests.support.command_line import CommandLine
from tests.support.commit_tables import data_files, message


@pytest.fixture
def console(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """Main with partition 1; dev with 1, 2 and 3, read where main has nothing."""
    bench = BranchBench(tmp_path, partition_keys=["pt"])
    bench.branch("dev", empty=True)
    for branch, days in (("main", (1,)), ("dev", (1, 2, 3))):
        for day in days:
            partition = encode_row([day], [INT])
            files = data_files([f"{branch}-{day}"], partition=partition)
            bench.committer(branch).commit(
                [message(partition, new_files=files)], user="alice", identifier=day
            )
    rule = set_options({"scan.fallback-branch": "dev"})
    change_schema(bench.table(), bench.store, [rule], now_millis=NOW)
    return CommandLine(tmp_path, capsys)


def test_show_says_what_is_read_from_where(console: CommandLine) -> None:
    words = "Batch reads take 2 partitions from 'dev' and 1 from 'main', by scan.fallback-branch."
    assert words in console("show", "db.t").out
    found = console.json("show", "db.t")["fallback"]
    assert found["other_partitions"] == ["pt=2", "pt=3"]
    assert found["own_partitions"] == 1
    assert console.json("show", "db.t", "--branch", "dev")["fallback"] is None


def test_branches_says_it_for_the_branch_with_the_option(console: CommandLine) -> None:
    lines = [line for line in console("branches", "db.t").lines if "Batch reads" in line]
    assert [line.partition(":")[0] for line in lines] == ["main"]


@pytest.fixture
def chained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """A chain table whose rows all lie on its branches."""
    bench = BranchBench(tmp_path, partition_keys=["pt"])
    for branch in ("full", "changes"):
        bench.branch(branch, empty=True)
        partition = encode_row([1], [INT])
        files = data_files([branch], partition=partition)
        bench.committer(branch).commit(
            [message(partition, new_files=files)], user="alice", identifier=1
        )
    rule = set_options(
        {
            "chain-table.enabled": "true",
            "scan.fallback-snapshot-branch": "full",
            "scan.fallback-delta-branch": "changes",
        }
    )
    change_schema(bench.table(), bench.store, [rule], now_millis=NOW)
    return CommandLine(tmp_path, capsys)


def test_a_chain_table_says_where_its_rows_lie_and_is_not_merged(chained: CommandLine) -> None:
    assert "This is a chain table" in chained("show", "db.t").out
    assert chained.json("show", "db.t")["fallback"]["other"] == "full"
    assert chained.json("show", "db.t", "--branch", "full")["fallback"] is None
    warehouse = Warehouse.open(str(chained.warehouse), read_only=True)
    plan = preview_merge(warehouse, Identifier.parse("db.t"), "full", "main")
    assert verdict_of(plan) is MergeVerdict.REFUSED
    assert ["chain table" in block.text for block in blocks_of(plan)] == [True]
