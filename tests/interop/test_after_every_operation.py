"""R10: Java and we take turns on the same tables; after every operation both read the same."""

import copy
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.commit.schema.schema_commit import (
    add_column,
    change_schema,
    drop_column,
    rename_column,
    retype_column,
    set_options,
)
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.diff.fast_forward import Verdict
from branch_console.errors import Refused
from branch_console.format.data_types import BIGINT, INT
from branch_console.procedures.branch.create_branch import create_branch
from branch_console.procedures.branch.fast_forward import preview_fast_forward
from branch_console.procedures.branch.tags import create_tag
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import NoRowEngine
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from branch_console.table.file_store_table import FileStoreTable
from tests.support.comparison import COMPARED, differences
from tests.support.examples import Examples
from tests.support.java_messages import to_our_messages
from tests.support.java_paimon import JavaPaimon, JavaTable
from tests.support.local_row_engine import LocalFiles

_NAME = "db.t"
_KEPT = {"write-only": "true", "snapshot.num-retained.min": "1000"}

Row = dict[str, Any]


@dataclass
class Content:
    """What a branch must hold: its columns, and its rows as dictionaries."""

    columns: dict[str, str]
    rows: list[Row] = field(default_factory=list)

    def tuples(self) -> list[tuple[Any, ...]]:
        return sorted(
            (tuple(row.get(name) for name in self.columns) for row in self.rows), key=repr
        )


class Walk:
    """A table that Java and we change in turns, beside a plain model of it."""

    def __init__(self, java: JavaPaimon, folder: Path, shape: "Shape", rng: Random) -> None:
        self.rng = rng
        self.shape = shape
        self.java = java
        self.warehouse_path = folder
        columns = {"id": "INT", "day": "STRING", "amount": "INT"}
        java.create_table(
            _NAME,
            columns,
            partition_keys=shape.partition_keys,
            primary_keys=shape.primary_keys,
            options={**_KEPT, **shape.options},
        )
        self.contents = {"main": Content(columns)}
        self.tags: dict[tuple[str, str], Content] = {}
        self.log: list[str] = []

    # ---- the two sides -------------------------------------------------------------------------

    def theirs(self, branch: str = "main") -> JavaTable:
        return self.java.table(_NAME).on(branch)

    def ours(self, branch: str = "main") -> FileStoreTable:
        return self.warehouse().table(_NAME).on(branch)

    def warehouse(self) -> Warehouse:
        return Warehouse.open(str(self.warehouse_path))

    def call(self, name: str, **arguments: str | int | bool | None) -> ProcedureCall:
        return ProcedureCall(
            name=name, arguments=arguments, actor="tester", operation_id=str(uuid.uuid4())
        )

    def commit(self, branch: str, messages: list[CommitMessage], *, overwrite: bool) -> None:
        committer = FileStoreCommit(self.ours(branch), self.warehouse().store)
        user = str(uuid.uuid4())
        if overwrite:
            committer.overwrite(messages, user=user)
        else:
            committer.commit(messages, user=user)

    # ---- operations ----------------------------------------------------------------------------

    def step(self) -> None:
        """Do one operation by one of the two, then compare."""
        by = self.rng.choice(("java", "us"))
        branch = self.rng.choice(list(self.contents))
        operation = self.rng.choice(self.shape.operations)
        self.log.append(f"{operation} on {branch} by {by}")
        getattr(self, operation)(branch, by)
        self.check(self.rng.sample(COMPARED, k=2))

    def check(self, system_tables: Sequence[str] = COMPARED) -> None:
        """Compare what Java and we say, and what Java reads with the model."""
        content = {branch: content.tuples() for branch, content in self.contents.items()}
        found = differences(self.ours(), self.theirs(), content, system_tables)
        assert found == {}, self.log

    def append(self, branch: str, by: str) -> None:
        rows = self.new_rows(branch)
        if by == "java":
            self.theirs(branch).write([tuple(row.values()) for row in rows])
        else:
            self.commit(branch, self.prepare(branch, rows), overwrite=False)
        self.put(branch, rows)

    def delete(self, branch: str, by: str) -> None:
        content = self.contents[branch]
        if not content.rows:
            return
        rows = self.rng.sample(content.rows, k=min(2, len(content.rows)))
        full = [{name: row.get(name) for name in content.columns} for row in rows]
        if by == "java":
            self.theirs(branch).delete([tuple(row.values()) for row in full])
        else:
            self.commit(branch, self.prepare(branch, full, kind="-D"), overwrite=False)
        content.rows = [row for row in content.rows if row not in rows]

    def overwrite(self, branch: str, by: str) -> None:
        rows = self.new_rows(branch)
        if by == "java":
            self.theirs(branch).write([tuple(row.values()) for row in rows], overwrite={})
        else:
            self.commit(branch, self.prepare(branch, rows), overwrite=True)
        content = self.contents[branch]
        replaced = {row["day"] for row in rows} if self.shape.partition_keys else None
        content.rows = [
            row for row in content.rows if replaced is not None and row["day"] not in replaced
        ]
        self.put(branch, rows)

    def compact(self, branch: str, by: str) -> None:
        if by == "java" or not self.shape.primary_keys:
            self.theirs(branch).compact(options={"compaction.min.file-num": "2"})
        else:
            messages = self.theirs(branch).prepare(compact=True)
            self.commit(branch, self.converted(branch, messages), overwrite=False)

    def tag(self, branch: str, by: str) -> None:
        head = self.ours(branch).head()
        # A branch from a tag has the schema of the tagged snapshot, which the model keeps no more.
        if head is None or head.schema_id != self.ours(branch).schema().id:
            return
        name = f"tag-{len(self.tags)}"
        if by == "java":
            self.theirs(branch).create_tag(name)
        else:
            call = self.call("create_tag", table=f"{_NAME}$branch_{branch}", tag=name)
            create_tag(self.warehouse(), NoRowEngine(), call, InlineStages())
        self.tags[branch, name] = copy.deepcopy(self.contents[branch])

    def branch(self, branch: str, by: str) -> None:
        candidates = [name for source, name in self.tags if source == branch]
        if len(self.contents) >= 4 or not candidates:
            return
        tag, name = self.rng.choice(candidates), f"b{len(self.contents)}"
        if by == "java":
            self.theirs(branch).create_branch(name, tag)
        else:
            table = f"{_NAME}$branch_{branch}"
            call = self.call("create_branch", table=table, branch=name, tag=tag)
            create_branch(self.warehouse(), NoRowEngine(), call, InlineStages())
        self.contents[name] = copy.deepcopy(self.tags[branch, tag])

    def forward(self, branch: str, by: str) -> None:
        if branch == "main":
            return
        warehouse = self.warehouse()
        identifier = self.ours().identifier
        plan = preview_fast_forward(warehouse, identifier, branch)
        call = self.call("fast_forward", table=_NAME, branch=branch, plan_id=plan.id)
        if plan.verdict is Verdict.REFUSED:
            before = self.metadata()
            with pytest.raises(Refused):
                run_call(warehouse, LocalFiles(), call, InlineStages())
            assert self.metadata() == before
            return
        run_call(warehouse, LocalFiles(), call, InlineStages())
        if plan.verdict is Verdict.FAST_FORWARD:
            self.contents["main"] = copy.deepcopy(self.contents[branch])

    def alter(self, branch: str, by: str) -> None:
        content = self.contents[branch]
        others = [name for name in content.columns if name not in ("id", "day")]
        kind = self.rng.choice(("add", "rename", "drop", "widen", "option"))
        name = self.rng.choice(others) if others else ""
        fresh = f"c{len(self.log)}"
        if kind == "add":
            if by == "java":
                self.theirs(branch).add_column(fresh, "INT", "added")
            else:
                self.change(branch, add_column(fresh, INT, comment="added"))
            content.columns[fresh] = "INT"
        elif kind == "option":
            if by == "java":
                self.theirs(branch).set_options({"snapshot.num-retained.max": "2000"})
            else:
                self.change(branch, set_options({"consumer.expiration-time": "9 d"}))
        elif name and kind == "rename":
            if by == "java":
                self.theirs(branch).rename_column(name, fresh)
            else:
                self.change(branch, rename_column(name, fresh))
            content.columns = {
                fresh if each == name else each: kept for each, kept in content.columns.items()
            }
            for row in content.rows:
                row[fresh] = row.pop(name, None)
        elif name and kind == "drop":
            if by == "java":
                self.theirs(branch).drop_column(name)
            else:
                self.change(branch, drop_column(name))
            del content.columns[name]
            for row in content.rows:
                row.pop(name, None)
        elif name and content.columns[name] == "INT":
            if by == "java":
                self.theirs(branch).retype_column(name, "BIGINT")
            else:
                self.change(branch, retype_column(name, BIGINT))
            content.columns[name] = "BIGINT"

    # ---- parts of operations -------------------------------------------------------------------

    def new_rows(self, branch: str) -> list[Row]:
        content = self.contents[branch]
        ids = self.rng.sample(range(40), k=self.rng.randint(1, 6))
        return [
            {
                name: number
                if name == "id"
                else self.rng.choice(("d1", "d2", "d/3"))
                if name == "day"
                else self.rng.choice((None, self.rng.randint(-100, 100)))
                for name in content.columns
            }
            for number in ids
        ]

    def put(self, branch: str, rows: list[Row]) -> None:
        content = self.contents[branch]
        if keys := self.shape.primary_keys:
            new = {tuple(row[key] for key in keys) for row in rows}
            content.rows = [
                row for row in content.rows if tuple(row[key] for key in keys) not in new
            ]
        content.rows = content.rows + rows

    def prepare(self, branch: str, rows: list[Row], kind: str = "+I") -> list[CommitMessage]:
        values = [tuple(row.values()) for row in rows]
        return self.converted(branch, self.theirs(branch).prepare(values, kind=kind))

    def converted(self, branch: str, messages: list[Any]) -> list[CommitMessage]:
        return to_our_messages(messages, self.ours(branch).schema().num_buckets)

    def change(self, branch: str, change: Any) -> None:
        table = self.ours(branch)
        change_schema(table, self.warehouse().store, [change], now_millis=1_700_000_000_000)

    def metadata(self) -> dict[Path, bytes]:
        root = self.warehouse_path / "db.db" / "t"
        folders = ("schema", "snapshot", "tag", "branch", "manifest")
        files = (path for name in folders for path in sorted((root / name).rglob("*")))
        return {path: path.read_bytes() for path in files if path.is_file()}


@dataclass(frozen=True)
class Shape:
    """A kind of table, and what may happen to it."""

    name: str
    primary_keys: tuple[str, ...] = ()
    partition_keys: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    can_delete: bool = False

    @property
    def operations(self) -> tuple[str, ...]:
        deletes = ("delete",) if self.can_delete else ()
        common = ("append", "append", "append", "overwrite", "compact", "alter")
        return (*common, *deletes, "tag", "tag", "branch", "forward", "forward")


_SHAPES = [
    Shape("append"),
    Shape("append in partitions", partition_keys=("day",)),
    Shape("append in buckets", options={"bucket": "2", "bucket-key": "id"}),
    Shape("keys", primary_keys=("id",), options={"bucket": "2"}, can_delete=True),
    Shape(
        "keys in partitions",
        primary_keys=("id", "day"),
        partition_keys=("day",),
        options={"bucket": "2"},
        can_delete=True,
    ),
    Shape(
        "keys in dynamic buckets", primary_keys=("id",), options={"bucket": "-1"}, can_delete=True
    ),
]


@pytest.mark.parametrize("shape", _SHAPES, ids=lambda shape: shape.name)
def test_java_and_we_agree_after_every_operation(
    shape: Shape,
    open_java: Callable[[Path], JavaPaimon],
    tmp_path: Path,
    rng: Random,
    examples: Examples,
) -> None:
    operations = examples(16, quick=2, long=2_500)
    for number in range(max(1, operations // 25)):
        folder = tmp_path / str(number)
        walk = Walk(open_java(folder), folder, shape, rng)
        for _ in range(min(operations, 25)):
            walk.step()
        walk.check()
