"""Merges while Java writes to both branches, twice a second each: they land, and no row is lost."""

import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from branch_console.diff.lineage import merge_source
from branch_console.errors import CommitConflict, ErrorKind, Refused
from branch_console.format.identifier import Identifier
from branch_console.format.receipt import Receipt
from branch_console.format.values.bucket import assign_buckets
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from tests.support.examples import Examples
from tests.support.java_paimon import JavaPaimon, JavaTable
from tests.support.local_row_engine import LocalRows

pytestmark = pytest.mark.depth("full")

NAME = "db.t"
SECONDS = 0.5
"""Between two commits to a branch."""


class LiveTable:
    """A table `db.t` of id, place and text on main and dev, which Java writes and we merge."""

    def __init__(self, java: JavaPaimon, folder: Path, *, keyed: bool, partitioned: bool) -> None:
        self.table = java.create_table(
            NAME,
            {"id": "INT", "place": "INT NOT NULL", "said": "STRING"},
            partition_keys=["place"] if partitioned else [],
            primary_keys=["id"] if keyed else [],
            options={"bucket": "4"} if keyed else {},
        )
        self.warehouse = Warehouse.open(str(folder))
        self.table.write([(each, 0, "base") for each in range(100)])
        self.call("create_branch", branch="dev")

    def call(
        self,
        name: str,
        on_stage: Callable[[str], None] = lambda _: None,
        **arguments: Argument,
    ) -> Receipt:
        call = ProcedureCall(
            name=name,
            arguments={"table": NAME, **arguments},
            actor="ada",
            operation_id=uuid.uuid4().hex,
        )
        stages = InlineStages(on_stage=lambda stage, _: on_stage(stage))
        return run_call(self.warehouse, LocalRows(self.warehouse.file_io), call, stages)

    def head_id(self, branch: str) -> int:
        head = self.warehouse.table(Identifier.parse(NAME).on_branch(branch)).head()
        assert head is not None
        return head.id

    def merged_id(self, receipt: Receipt) -> int:
        """The snapshot of dev that a merge took in."""
        main, dev = (
            self.warehouse.table(Identifier.parse(NAME).on_branch(each)) for each in ("main", "dev")
        )
        (move,) = receipt.moves
        assert move.after_id is not None
        taken = merge_source(main.snapshots.get(move.after_id))
        assert taken is not None
        return next(each.id for each in dev.snapshots.all() if each.identity.same_as(taken))

    def ids_in(self, buckets: Sequence[int]) -> list[int]:
        """The keys up to 400 that lie in some buckets."""
        schema = self.warehouse.table(NAME).schema()
        ids = pa.array(range(400), pa.int32())
        rows = pa.table({"id": ids, "place": pa.nulls(400, pa.int32()), "said": pa.nulls(400)})
        found = assign_buckets(rows, schema).to_pylist()
        return [each for each, bucket in zip(range(400), found, strict=True) if bucket in buckets]


@contextmanager
def writing(*writes: Callable[[int], None]) -> Iterator[list[int]]:
    """Have each branch written in a thread of its own, and tell how often that was done."""
    stopped, done = threading.Event(), [0] * len(writes)
    failures: list[Exception] = []

    def go_on(number: int) -> None:
        began = time.monotonic()
        while not stopped.is_set():
            try:
                writes[number](done[number])
            except Exception as failure:  # told in the thread of the test
                failures.append(failure)
                return
            done[number] += 1
            stopped.wait(max(0.0, began + SECONDS * done[number] - time.monotonic()))

    threads = [threading.Thread(target=go_on, args=(each,)) for each in range(len(writes))]
    for thread in threads:
        thread.start()
    try:
        while not all(done) and not failures:
            time.sleep(0.02)
        yield done
    finally:
        stopped.set()
        for thread in threads:
            thread.join()
    assert not failures, failures


def merge_often(live: LiveTable, count: int, **arguments: Argument) -> list[Receipt]:
    """Merge dev into main, each time with something that is new on dev."""
    receipts: list[Receipt] = []
    seen = 0
    while len(receipts) < count:
        while live.head_id("dev") <= seen:
            time.sleep(0.02)
        receipt = live.call("merge_branch", branch="dev", wait="60s", **arguments)
        if receipt.moves:
            receipts.append(receipt)
            seen = live.merged_id(receipt)
        else:  # what came was a compaction
            seen += 1
    return receipts


def carried(receipts: Sequence[Receipt]) -> int:
    return sum(any("carried over" in note for note in each.notes) for each in receipts)


def compacting(table: JavaTable, write: Callable[[int], None]) -> Callable[[int], None]:
    """Compact in place of each fifth write."""
    return lambda number: table.compact() if number % 5 == 4 else write(number)


@pytest.fixture
def count(examples: Examples) -> int:
    """How many merges a test makes."""
    return 50 if examples.depth == "long" else 2


def test_merges_of_rows_without_keys_land_beside_writers(
    java: JavaPaimon, tmp_path: Path, count: int
) -> None:
    live = LiveTable(java, tmp_path / "java", keyed=False, partitioned=False)
    main, dev = live.table, live.table.on("dev")
    written: Counter[tuple[Any, ...]] = Counter()

    def write(number: int) -> None:
        row = (1_000 + number, 1, "main")
        main.write([row])
        written[row] += 1

    def write_dev(number: int) -> None:
        dev.write([(5_000 + number, 2, "dev")])

    began = time.monotonic()

    with writing(compacting(main, write), write_dev) as done:
        receipts = merge_often(live, count)
        seconds = time.monotonic() - began
    print(
        f"append: {len(receipts)} of {count} merges landed in {seconds:.0f} s, {carried(receipts)} "
        f"carried over commits; main {done[0]}, dev {done[1]} commits of Java"
    )
    expected = Counter(dev.rows(snapshot=live.merged_id(receipts[-1]))) + written
    assert Counter(main.rows()) == expected


def test_merges_of_keys_land_beside_writers_of_other_buckets(
    java: JavaPaimon, tmp_path: Path, count: int
) -> None:
    live = LiveTable(java, tmp_path / "java", keyed=True, partitioned=False)
    main, dev = live.table, live.table.on("dev")
    ours, theirs = live.ids_in((0, 1)), live.ids_in((2, 3))
    held = {row[0]: row for row in main.rows()}

    def write(number: int) -> None:
        rows = [(each, number, "main") for each in ours[number % 7 :: 7]]
        main.write(rows)
        held.update({row[0]: row for row in rows})

    def write_dev(number: int) -> None:
        dev.write([(each, number, "dev") for each in theirs[number % 5 :: 5]])

    began = time.monotonic()
    with writing(compacting(main, write), write_dev) as done:
        receipts = merge_often(live, count)
        seconds = time.monotonic() - began
    print(
        f"keys: {len(receipts)} of {count} merges landed in {seconds:.0f} s, {carried(receipts)} "
        f"carried over commits; main {done[0]}, dev {done[1]} commits of Java"
    )
    taken = dev.rows(snapshot=live.merged_id(receipts[-1]))
    expected = [row for row in taken if row[0] in theirs] + [
        held[each] for each in held if each in ours
    ]
    assert sorted(main.rows()) == sorted(expected)


def test_merges_that_a_writer_touches_are_refused_and_lose_nothing(
    java: JavaPaimon, tmp_path: Path, count: int
) -> None:
    live = LiveTable(java, tmp_path / "java", keyed=True, partitioned=False)
    main, dev = live.table, live.table.on("dev")
    ids = live.ids_in((0,))
    held = {row[0]: row for row in main.rows()}

    def write(number: int, stage: str) -> None:
        if stage != "merge branch":
            return
        rows = [(each, number, "main") for each in ids[::2]]
        main.write(rows)
        held.update({row[0]: row for row in rows})

    dev.write([(each, 0, "dev") for each in ids[1::2]])
    write(-1, "merge branch")
    refused = 0
    for number in range(count):
        with pytest.raises((Refused, CommitConflict), match="wrote to bucket 0 of table") as found:
            live.call(
                "merge_branch",
                lambda stage, number=number: write(number, stage),
                branch="dev",
                wait="60s",
            )
        refused += found.value.kind is ErrorKind.HEAD_MOVED
    print(f"keys: {refused} of {count} merges refused")
    assert refused == count
    assert sorted(main.rows()) == sorted(held.values())


def test_merges_of_a_replaced_partition_are_refused_where_rows_come_to_it(
    java: JavaPaimon, tmp_path: Path, count: int
) -> None:
    live = LiveTable(java, tmp_path / "java", keyed=False, partitioned=True)
    main, dev = live.table, live.table.on("dev")
    dev.write([(7, 0, "dev")], overwrite={"place": "0"})
    main.write([(1, 1, "main")])
    written = Counter(main.rows())

    def write(number: int, stage: str) -> None:
        if stage == "merge branch":
            main.write([(1_000 + number, 0, "main")])
            written[1_000 + number, 0, "main"] += 1

    told = []
    for number in range(count):
        with pytest.raises((Refused, CommitConflict)) as found:
            live.call(
                "merge_branch",
                lambda stage, number=number: write(number, stage),
                branch="dev",
                scope="partition",
            )
        told.append(found.value.message)
    print(f"append: {len(told)} of {count} merges refused")
    assert "wrote to partition 'place=0', of which the source" in told[0]
    # From then on the plan itself finds the rows.
    assert all("conflict must be settled first" in each for each in told[1:])
    assert Counter(main.rows()) == written
