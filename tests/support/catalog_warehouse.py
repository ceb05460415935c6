"""A small warehouse with two databases, for branches of the whole catalog."""

from dataclasses import replace
from pathlib import Path

from branch_console.catalog.catalog_branch import CatalogOnBranch
from branch_console.format.manifest_list import MANIFEST_FILE_META, encode_manifest_list
from branch_console.format.receipt import Receipt
from branch_console.operations.argument import Argument
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Preview
from branch_console.procedures.call.row_engine import NoRowEngine
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.preview import preview_call
from branch_console.storage.file_io import FileIO
from tests.support.table_files import TableFiles, a_schema, a_snapshot

NAMES = ("air.flights", "air.planes", "lab.notes")


class CatalogWarehouse:
    """A folder with tables of one snapshot each, looked at anew by every question."""

    def __init__(self, folder: Path, names: tuple[str, ...] = NAMES) -> None:
        self.folder = folder
        self.file_io = FileIO.for_url(str(folder))
        self.calls = 0
        for number, name in enumerate(names):
            self.add(name, born=number)

    def add(self, name: str, *, born: int, snapshot: bool = True) -> TableFiles:
        """Make a table; `born` tells its first schema from that of other tables."""
        database, table = name.split(".")
        files = TableFiles(self.file_io, table, database)
        files.schema(replace(a_schema(), time_millis=1_000 + born))
        if snapshot:
            self.commit(name, 1)
        return files

    def commit(
        self, name: str, snapshot_id: int, branch: str = "main", *, schema_id: int = 0
    ) -> None:
        """Make a snapshot without a file in it."""
        database, table = name.split(".")
        files = TableFiles(self.file_io, table, database)
        lists = {
            "base_manifest_list": f"manifest-list-{name}-{branch}-{snapshot_id}-0",
            "delta_manifest_list": f"manifest-list-{name}-{branch}-{snapshot_id}-1",
        }
        for each in lists.values():
            empty = MANIFEST_FILE_META.empty_table()
            files.write(files.paths.manifest(each), encode_manifest_list(empty, "zstandard"))
        uuid = f"{name}-{branch}-{snapshot_id}"
        made = a_snapshot(snapshot_id, schema_id=schema_id, uuid=uuid, **lists)
        files.snapshots(made, branch=branch)

    @property
    def warehouse(self) -> Warehouse:
        """The warehouse as a new process opens it."""
        return Warehouse.open(str(self.folder))

    def call(self, name: str, role: str = "operator", **arguments: Argument) -> ProcedureCall:
        """A call under an id of its own."""
        self.calls += 1
        return ProcedureCall(
            name=name,
            arguments=arguments,
            actor="ann",
            operation_id=f"op-{self.calls}",
            role=role,
        )

    def run(self, name: str, role: str = "operator", **arguments: Argument) -> Receipt:
        """Run a procedure in this process."""
        return self.run_call(self.call(name, role, **arguments))

    def run_call(self, call: ProcedureCall) -> Receipt:
        """Run a call in this process."""
        return run_call(self.warehouse, NoRowEngine(), call, InlineStages())

    def preview(self, name: str, **arguments: Argument) -> Preview:
        """Tell what a procedure would do."""
        return preview_call(self.warehouse, self.call(name, **arguments))

    def create(self, branch: str = "dev", **arguments: Argument) -> Receipt:
        """Create a branch of the catalog."""
        return self.run("create_catalog_branch", branch=branch, **arguments)

    def on(self, branch: str = "dev") -> CatalogOnBranch:
        """The catalog seen from a branch."""
        return self.warehouse.on(branch)

    def files(self) -> dict[str, bytes]:
        """All files by their path below the warehouse."""
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file()
        }

    def of_main(self) -> dict[str, bytes]:
        """The files in which main has its schemas and snapshots."""
        return {
            path: data
            for path, data in self.files().items()
            if path.split("/")[2:3] in (["schema"], ["snapshot"])
        }
