"""A commit that was computed from rows stands only where nobody wrote their keys since."""

from collections.abc import Callable
from pathlib import Path

import pytest

from branch_console.commit.base.commit_queue import NoQueue
from branch_console.commit.rows.row_commit import RowCommit
from branch_console.commit.snapshot.conflict_detection import CommitRule
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.errors import CommitConflict
from branch_console.format.data_types import INT
from branch_console.format.journals.rows import WRITE_STEP, ReadAt
from branch_console.format.snapshot import CommitKind
from branch_console.format.values.binary_row import encode_row
from tests.support.commit_tables import CommitBench, data_files, message

_KEYED = {"primary_keys": ["id"], "options": {"bucket": "2"}}
_OURS = [message(new_files=data_files(["ours"], keys=(10, 20), total_buckets=2), total_buckets=2)]


@pytest.fixture
def bench(tmp_path: Path) -> CommitBench:
    bench = CommitBench(tmp_path, **_KEYED)  # type: ignore[arg-type]
    write(bench, "base", (0, 100))
    return bench


def write(bench: CommitBench, name: str, keys: tuple[int, int], **where: int) -> None:
    files = data_files([name], keys=keys, total_buckets=2, **where)
    messages = [message(new_files=files, total_buckets=2, bucket=where.get("bucket", 0))]
    assert bench.committer().commit(messages, user="bob", identifier=hash(name) % 1000)


def compact(bench: CommitBench) -> None:
    before, after = (
        data_files([name], keys=(0, 100), total_buckets=2, level=level)
        for name, level in (("base", 0), ("compacted", 5))
    )
    messages = [message(compact_before=before, compact_after=after, total_buckets=2)]
    assert bench.committer().commit(messages, user="bob", identifier=77)


def truncate(bench: CommitBench) -> None:
    bench.committer().overwrite([], user="bob", identifier=78)


def roll_back(bench: CommitBench) -> None:
    first = bench.table().snapshots.get(1)
    write(bench, "between", (15, 15))
    bench.committer().restore(first, user="bob", identifier=79)


def commit_what_was_read(bench: CommitBench, read_at: ReadAt) -> None:
    bench.committer().commit(_OURS, user="alice", identifier=1, read_at=read_at)


@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda bench: write(bench, "below", (0, 9)),
        lambda bench: write(bench, "above", (21, 30)),
        lambda bench: write(bench, "beside", (10, 20), bucket=1),
        compact,
        lambda bench: None,
    ],
    ids=["lower keys", "higher keys", "another bucket", "a compaction", "nobody"],
)
def test_who_wrote_other_keys_is_no_conflict(
    bench: CommitBench, meanwhile: Callable[[CommitBench], None]
) -> None:
    read_at = ReadAt.of(bench.table().head())
    meanwhile(bench)
    commit_what_was_read(bench, read_at)
    assert "data-ours.parquet" in bench.live_names()


@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda bench: write(bench, "first", (0, 10)),
        lambda bench: write(bench, "last", (20, 90)),
        lambda bench: write(bench, "within", (12, 13)),
        lambda bench: (write(bench, "same", (15, 15)), write(bench, "other", (50, 60))),
        truncate,
        roll_back,
    ],
    ids=["first key", "last key", "within", "not the last", "an overwrite", "a rollback"],
)
def test_who_wrote_the_same_keys_is_a_conflict_by_name(
    bench: CommitBench, meanwhile: Callable[[CommitBench], None]
) -> None:
    read_at = ReadAt.of(bench.table().head())
    meanwhile(bench)
    before = bench.live_names()
    with pytest.raises(CommitConflict, match="Snapshot 2 of 'bob' wrote rows") as caught:
        commit_what_was_read(bench, read_at)
    assert caught.value.facts["rule"] == CommitRule.ROWS_CHANGED
    assert bench.live_names() == before


def test_it_is_looked_again_when_the_head_moves_before_the_publish(bench: CommitBench) -> None:
    read_at = ReadAt.of(bench.table().head())
    link, calls = bench.store.publisher, []

    class Meanwhile:
        def __getattr__(self, name: str) -> object:
            return getattr(link, name)

        def publish_in_order(self, *arguments: object) -> object:
            if not calls:
                calls.append(1)
                write(bench, "before us", (15, 15))
            return link.publish_in_order(*arguments)  # type: ignore[arg-type]

    store = type(bench.store)(
        files=bench.store.files,
        publisher=Meanwhile(),  # type: ignore[arg-type]
        remover=bench.store.remover,
        mover=bench.store.mover,
    )
    committer = FileStoreCommit(bench.table(), store, queue=NoQueue())
    with pytest.raises(CommitConflict, match="Snapshot 2 of 'bob' wrote rows"):
        committer.commit(_OURS, user="alice", identifier=1, read_at=read_at)
    assert calls == [1]


def test_a_history_that_was_replaced_is_a_conflict(bench: CommitBench, tmp_path: Path) -> None:
    other = CommitBench(tmp_path, name="other", **_KEYED)  # type: ignore[arg-type]
    write(other, "elsewhere", (0, 1))
    write(bench, "later", (50, 60))
    with pytest.raises(CommitConflict, match="not in the history any more"):
        commit_what_was_read(bench, ReadAt.of(other.table().head()))


def test_what_has_expired_in_between_cannot_be_told_and_is_a_conflict(bench: CommitBench) -> None:
    read_at = ReadAt.of(bench.table().head())
    write(bench, "below", (0, 1))
    write(bench, "above", (50, 60))
    table = bench.table()
    Path(f"{table.paths.snapshot(2)}").unlink()
    with pytest.raises(CommitConflict, match="has expired: whether they changed cannot be told"):
        commit_what_was_read(bench, read_at)


def test_without_keys_every_file_of_the_partition_counts(tmp_path: Path) -> None:
    bench = CommitBench(tmp_path, partition_keys=["pt"])
    one, two = (encode_row([value], [INT]) for value in (1, 2))

    def write_to(partition: bytes, name: str, read_at: ReadAt | None = None) -> None:
        files = data_files([name], partition=partition, total_buckets=-1)
        messages = [message(partition=partition, total_buckets=-1, new_files=files)]
        bench.committer().commit(
            messages, user=name, identifier=1, read_at=read_at, kind=CommitKind.APPEND
        )

    empty = ReadAt.of(None)
    write_to(one, "first")
    write_to(two, "beside", empty)
    with pytest.raises(CommitConflict, match="Snapshot 1 of 'first' wrote rows"):
        write_to(one, "again", empty)


def test_it_travels_through_the_journal(bench: CommitBench) -> None:
    read_at = ReadAt.of(bench.table().head())
    for known in (None, read_at, ReadAt.of(None)):
        commit = RowCommit(messages=(), read_at=known)
        step = WRITE_STEP.decode(WRITE_STEP.encode(commit.to_step(3)))
        assert RowCommit.from_step(step).read_at == known
