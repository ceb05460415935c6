"""A warehouse whose databases and tables statements change, and what they leave."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import uuid4

from branch_console.catalog.filesystem_catalog import FilesystemCatalog
from branch_console.commit.base.commit_store import CommitStore
from branch_console.format.catalog.database_file import DatabaseFile
from branch_console.format.other_catalog import CatalogKind
from branch_console.format.receipt import Receipt
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.consequence import Preview
from branch_console.procedures.call.row_engine import NoRowEngine, RowEngine
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.catalog_operation import paths_of
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.preview import preview_call
from branch_console.procedures.statement.query import answer_query
from branch_console.sql.parser import parse_statements
from branch_console.storage.file_io import FileIO
from branch_console.storage.store_probe import StoreVerdict
from branch_console.table.database_files import find_database_file
from tests.support.branch_bench import NOW, tree
from tests.support.local_row_engine import LocalRows


class _MetadataOnly(NoRowEngine):
    most_rows = 1_000


@dataclass(kw_only=True)
class CatalogBench:
    """A warehouse in a folder; each statement opens it anew, or one process stays.

    Attributes:
        store: Takes the place of the folder's own store.
        stays: Whether the warehouse is opened once, as by a process that goes on.
        last: The id of the operation that ran last.
    """

    root: Path
    store: CommitStore | None = None
    kind: CatalogKind | None = None
    stays: bool = False
    now: int = NOW
    last: str = field(default="", init=False)
    _opened: Warehouse | None = field(default=None, init=False)

    @property
    def engine(self) -> RowEngine:
        """What looks at files, and compares rows of merges."""
        return LocalRows(FileIO.for_url(str(self.root)))

    def warehouse(self, *, read_only: bool = False) -> Warehouse:
        """Open the warehouse."""
        if self._opened is not None:
            return self._opened
        self.root.mkdir(exist_ok=True)
        opened = Warehouse.open(
            str(self.root),
            read_only=read_only and not self.stays,
            catalog_kind=self.kind,
            clock=lambda: self.now,
        )
        if self.store is None:
            self._opened = opened if self.stays else None
            return opened
        catalog = FilesystemCatalog(self.store.files, str(self.root))
        writable = StoreVerdict(can_write=True)
        return replace(opened, store=self.store, catalog=catalog, verdict=writable)

    def run(
        self,
        text: str,
        *,
        operation_id: str | None = None,
        role: str = "operator",
        read_only: bool = False,
    ) -> Receipt:
        """Run statements; return the receipt of the last one."""
        warehouse = self.warehouse(read_only=read_only)
        for statement in parse_statements(text):
            call = self.call(
                statement.procedure, operation_id, role=role, **dict(statement.arguments)
            )
            receipt = run_call(warehouse, self.engine, call, InlineStages())
        return receipt

    def __call__(self, text: str) -> str:
        """Run statements; return what the last one told."""
        return " ".join(self.run(text).notes)

    def undo(self, operation_id: str) -> Receipt:
        """Undo an operation of the catalog."""
        return self.do("undo", operation=operation_id)

    def recover(self) -> Receipt:
        """Finish what was cut off, once nobody can be at work on it any more."""
        self.now += 3_600_000
        return self.do("recover")

    def do(self, name: str, **arguments: Argument) -> Receipt:
        """Call a procedure."""
        call = self.call(name, **arguments)
        return run_call(self.warehouse(), self.engine, call, InlineStages())

    def preview(self, text: str) -> Preview:
        """Ask what a statement would do, and see that it wrote nothing."""
        before = tree(self.root)
        (statement,) = parse_statements(text)
        call = self.call(statement.procedure, "asked", **dict(statement.arguments))
        found = preview_call(self.warehouse(), call)
        assert tree(self.root) == before
        return found

    def call(
        self,
        name: str,
        operation_id: str | None = None,
        /,
        role: str = "operator",
        **arguments: Argument,
    ) -> ProcedureCall:
        """Make a call, of a new operation where none is named."""
        self.last = operation_id or uuid4().hex
        return ProcedureCall(
            name=name, arguments=arguments, actor="ann", operation_id=self.last, role=role
        )

    def rows(self, text: str) -> list[tuple[object, ...]]:
        """Ask for rows that metadata tell."""
        (statement,) = parse_statements(text)
        call = self.call(statement.procedure, "asked", **dict(statement.arguments))
        warehouse = self.warehouse(read_only=True)
        found = answer_query(warehouse, _MetadataOnly(), call, lambda _done, _total: None).rows
        return [tuple(row.values()) for row in found.to_pylist()]

    def database(self, name: str) -> DatabaseFile:
        """Return what the files of a database say."""
        warehouse = self.warehouse(read_only=True)
        paths = paths_of(warehouse)
        found = find_database_file(warehouse.file_io, paths, paths.database(name))
        assert found is not None
        return found.content

    def databases(self) -> tuple[str, ...]:
        """Return the databases of main."""
        return self.warehouse(read_only=True).catalog.databases()

    def objects(self) -> dict[str, bytes]:
        """Return all files of databases and tables: not the journal, nor what was dropped."""
        return {
            name: data for name, data in tree(self.root).items() if not name.startswith(".branch")
        }

    def objects_of_main(self) -> dict[str, tuple[object, object, object]]:
        """Return every database with its id, its properties and the bytes of its tables."""
        files = self.objects()
        found: dict[str, tuple[object, object, object]] = {}
        for name in self.databases():
            inside = {
                path: data
                for path, data in files.items()
                if path.startswith(f"{name}.db/") and "/.branch-console/" not in path
            }
            has_file = any(path.startswith(f"{name}.db/.branch-console/") for path in files)
            told = self.database(name) if has_file else None
            found[name] = (told and told.id, told and dict(told.properties), inside)
        return found
