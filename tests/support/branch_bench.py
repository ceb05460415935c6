"""A warehouse with one table and its branches, driven through the procedures."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from branch_console.catalog.filesystem_catalog import FilesystemCatalog
from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.fences import put_fence
from branch_console.commit.schema.schema_commit import add_column, change_schema
from branch_console.commit.schema.tag_commit import create_tag
from branch_console.format.data_types import INT
from branch_console.format.other_catalog import CatalogKind
from branch_console.format.receipt import Receipt
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.row_engine import Progress
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from branch_console.storage.file_io import FileIO
from branch_console.storage.store_probe import StoreVerdict
from branch_console.table.file_checks import FILE_PROBLEMS
from tests.support.commit_tables import CommitBench

NOW = 1_700_000_000_000


class TrustingRows:
    """A row engine that finds every data file in order, and remembers what it was asked."""

    def __init__(self, problems: pa.Table | None = None) -> None:
        self.verified: list[str] = []
        self._problems = FILE_PROBLEMS.empty_table() if problems is None else problems

    def verify_files(self, files: pa.Table, progress: Progress) -> pa.Table:
        self.verified += files["path"].to_pylist()
        progress(files.num_rows, files.num_rows)
        return self._problems

    def write_rows(self, *_: object) -> tuple[()]:
        raise NotImplementedError

    def cancel(self) -> None: ...


class BranchBench(CommitBench):
    """The table of a CommitBench, with procedures that know its warehouse."""

    def warehouse(
        self,
        store: CommitStore | None = None,
        clock: Callable[[], int] = lambda: NOW,
        catalog_kind: CatalogKind | None = None,
    ) -> Warehouse:
        used = store or CommitStore.of(self.file_io)
        return Warehouse(
            url=self.file_io.root,
            file_io=self.file_io,
            catalog=FilesystemCatalog(used.files, self.file_io.root),
            store=used,
            verdict=StoreVerdict(can_write=True),
            clock=clock,
            catalog_kind=catalog_kind,
        )

    def call(
        self,
        name: str,
        *,
        operation: str = "op",
        store: CommitStore | None = None,
        role: str = "operator",
        rows: TrustingRows | None = None,
        clock: Callable[[], int] = lambda: NOW,
        **arguments: Argument,
    ) -> Receipt:
        call = ProcedureCall(
            name=name,
            arguments={"table": "db.t", **arguments},
            actor="ann",
            operation_id=operation,
            role=role,
        )
        return run_call(self.warehouse(store, clock), rows or TrustingRows(), call, InlineStages())

    def branch(self, name: str, **arguments: Argument) -> Receipt:
        return self.call("create_branch", operation=f"make-{name}", branch=name, **arguments)

    def fence(self, branch: str = "main") -> None:
        """Fence a branch, so that files on it may be shared without a tag."""
        put_fence(self.table(branch), self.store)

    def hide_pins(self) -> None:
        """Give main a tag of another history, so that no pin holds and files are copied."""
        head = self.table().head()
        assert head is not None
        lists = {"base_manifest_list": "manifest-list-a", "delta_manifest_list": "manifest-list-b"}
        foreign = replace(head, id=1000, uuid=None, **lists)
        create_tag(self.table(), self.store, "foreign", foreign)

    def alter(self, branch: str = "main", column: str = "extra") -> None:
        table = self.table(branch)
        change_schema(table, self.store, [add_column(column, INT)], now_millis=NOW)

    def tag(self, name: str, branch: str = "main") -> None:
        table = self.table(branch)
        head = table.head()
        assert head is not None
        create_tag(table, self.store, name, head)


def tree(root: Path, *, without: str = ".tmp") -> dict[str, bytes]:
    """All files below a folder by their relative path, with their bytes."""
    # Crash tests compare many thousand trees: paths stay text.
    found = {}
    cut = len(str(root)) + 1
    for folder, _, names in os.walk(root):
        for name in names:
            if not name.endswith(without):
                path = os.path.join(folder, name)  # noqa: PTH118
                with open(path, "rb") as file:  # noqa: PTH123
                    found[path[cut:]] = file.read()
    return dict(sorted(found.items()))


def marks(root: Path, *, without: str = ".tmp") -> dict[str, tuple[int, int, int]]:
    """All files below a folder by path, with what is another one once somebody wrote to them.

    That says whether anything was written, without a byte read: the file itself, its size, and
    when it was changed.
    """
    found = {}
    folders = [str(root)]
    for folder in folders:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif not entry.name.endswith(without):
                    status = entry.stat(follow_symlinks=False)
                    found[entry.path] = (status.st_ino, status.st_size, status.st_ctime_ns)
    return found


def opened(root: Path) -> BranchBench:
    """The table of a copied warehouse."""
    return BranchBench(root)


def store_of(root: Path) -> CommitStore:
    return CommitStore.of(FileIO.for_url(str(root)))
