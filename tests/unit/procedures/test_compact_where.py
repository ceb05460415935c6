"""A compaction is of the partitions for which a condition holds, as in Paimon."""

from collections.abc import Collection
from pathlib import Path

import pytest

from branch_console.commit.rows.row_commit import PreparedRows
from branch_console.errors import InvalidInput
from branch_console.format.data_types import INT
from branch_console.format.values.binary_row import decode_row, encode_row
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.dispatch import run_call
from tests.support.branch_bench import BranchBench, TrustingRows
from tests.support.commit_tables import CommitBench, data_files, message


class NotingRows(TrustingRows):
    """An engine that notes which partitions it is to compact, None for all, and writes none."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: set[object] | None = set()

    def compact(
        self, _: object, buckets: Collection[tuple[bytes, int]] | None, **__: object
    ) -> PreparedRows:
        self.asked = (
            None if buckets is None else {decode_row(each, [INT])[0] for each, _ in buckets}
        )
        return PreparedRows(messages=(), row_count=0)

    insert = delete = update = merge = compact


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """Partitions 1 to 4, and one without a value."""
    bench = BranchBench(tmp_path, partition_keys=["pt"])
    for number, value in enumerate((1, 2, 3, 4, None)):
        partition = encode_row([value], [INT])
        files = data_files([f"file-{number}"], partition=partition)
        bench.committer().commit(
            [message(partition, new_files=files)], user="alice", identifier=number
        )
    return bench


def compacted(bench: CommitBench, **arguments: Argument) -> set[object] | None:
    """The partitions that a call has written anew."""
    assert isinstance(bench, BranchBench)
    rows = NotingRows()
    call = ProcedureCall(
        name="compact",
        arguments={"table": "db.t", **arguments},
        actor="ann",
        operation_id="op",
        role="operator",
    )
    run_call(bench.warehouse(), rows, call, InlineStages())
    return rows.asked


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("pt > 2", {3, 4}),
        ("pt in (1, 4) or pt is null", {1, 4, None}),
        ("not (pt = 2)", {1, 3, 4}),
        ("pt = 9", set()),
    ],
)
def test_only_partitions_for_which_the_condition_holds_are_compacted(
    bench: BranchBench, where: str, found: set[object]
) -> None:
    assert compacted(bench, where=where) == found


def test_without_a_condition_all_are(bench: BranchBench) -> None:
    assert compacted(bench) is None


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"where": "id > 2"}, "speaks of 'id', which is no partition column; the table has pt."),
        ({"where": "ours.pt > 2"}, "speaks of 'pt', which is no partition column"),
        ({"where": "pt > 2", "partitions": "pt=1"}, "'partitions' and 'where' both say"),
        ({"where": "pt >"}, ""),
        ({"where": "pt = 'x'"}, ""),
    ],
)
def test_a_condition_on_anything_else_is_refused(
    bench: BranchBench, arguments: dict[str, str], told: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        compacted(bench, **arguments)
    assert told in refused.value.message


def test_a_table_without_partitions_has_no_such_condition(tmp_path: Path) -> None:
    plain = BranchBench(tmp_path)
    plain.append("a")
    with pytest.raises(InvalidInput, match="the table has none"):
        compacted(plain, where="pt > 2")
