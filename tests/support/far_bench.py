"""The table of a BranchBench in an object store, and what a user is told of it there."""

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.schema.schema_commit import create_table, new_schema
from branch_console.format.identifier import Identifier
from branch_console.storage.file_io import FileIO
from branch_console.storage.table_paths import TablePaths
from tests.support.branch_bench import BranchBench
from tests.support.commit_tables import COLUMNS


class FarBench(BranchBench):
    """The table of a BranchBench, in a bucket."""

    def __init__(self, file_io: FileIO) -> None:
        self.file_io = file_io
        self.store = CommitStore.of(file_io)
        self.path = f"{file_io.root}/db.db/t"
        self.identifier = Identifier(database="db", table="t")
        paths = TablePaths(table=self.path)
        if not file_io.exists(paths.schema(0)):
            create_table(self.store, paths, new_schema(COLUMNS))


def history(bench: BranchBench) -> None:
    """A branch that is a snapshot, a schema and a tag ahead of main."""
    bench.append("a")
    bench.append("b")
    bench.tag("v1")
    bench.branch("dev")
    bench.append("c", branch="dev")
    bench.alter("dev")
    bench.append("d", branch="dev")
    bench.tag("v2", "dev")


def answers(bench: BranchBench) -> dict[str, object]:
    """What a user is told of a table and its branches, without names that are random."""
    return {
        "branches": bench.table().branches.names(),
        **{branch: _branch(bench, branch) for branch in ("main", *bench.table().branches.names())},
    }


def _branch(bench: BranchBench, branch: str) -> tuple[object, ...]:
    table = bench.table(branch)
    return (
        [
            (each.id, each.schema_id, each.commit_kind, each.total_record_count)
            for each in table.snapshots.all()
        ],
        [each.name for each in table.tags.all()],
        [[field.name for field in schema.fields] for schema in table.schemas.all()],
        sorted(bench.live_names(branch)),
    )
