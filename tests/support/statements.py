"""Statements on a warehouse of their own, run as the worker runs them."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import uuid4

import pytest

from branch_console.commit.schema.schema_commit import create_table, new_schema
from branch_console.errors import InvalidInput, NotFound
from branch_console.format.data_types import parse_data_type
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.statement.query import answer_query
from branch_console.spark.engine import SparkRowEngine
from branch_console.spark.session.session import WarmSession
from branch_console.sql.parser import parse_statements
from branch_console.storage.table_paths import TablePaths
from tests.support.command_line import tree_of


class Statements:
    """Runs statements on a warehouse of its own, as the worker does."""

    def __init__(self, session: WarmSession, folder: Path) -> None:
        self.folder = folder
        self.engine = SparkRowEngine
        self._session = session

    @property
    def warehouse(self) -> Warehouse:
        return Warehouse.open(str(self.folder))

    def create(
        self,
        name: str,
        columns: dict[str, str],
        *,
        defaults: Mapping[str, str] = MappingProxyType({}),
        **settings: Any,
    ) -> None:
        paths = TablePaths(table=f"{self.folder}/db.db/{name}")
        fields = [(column, parse_data_type(kind)) for column, kind in columns.items()]
        schema = new_schema(fields, **settings)
        given = (replace(each, default_value=defaults.get(each.name)) for each in schema.fields)
        create_table(self.warehouse.store, paths, replace(schema, fields=tuple(given)))

    def __call__(self, text: str, branch: str = "main") -> str:
        """Run statements, and return what the last one says."""
        said = ""
        for statement in parse_statements(text, branch):
            said = self._run(statement.procedure, statement.arguments)
        return said

    def refused(self, marked: str) -> str:
        """What is said of a wrong statement, at the `^` in it; no file of a table is another."""
        text, before = marked.replace("^", "", 1), self.files
        with pytest.raises((InvalidInput, NotFound)) as error:
            self(text)
        message = error.value.message
        lines = marked.partition("^")[0].split("\n")
        place = f"Line {len(lines)}, column {len(lines[-1]) + 1}: "
        assert "^" not in marked or message.startswith(place), (marked, message)
        assert message.startswith("Line "), (marked, message)
        assert "\n" not in message, marked
        assert self.files == before, marked
        return message

    @property
    def files(self) -> dict[str, Any]:
        """The files of tables; journals tell of what was tried."""
        tree = tree_of(self.folder)
        return {path: content for path, content in tree.items() if "branch-console" not in path}

    def _run(self, procedure: str, arguments: Any) -> str:
        warehouse = self.warehouse
        rows = self.engine(lambda: self._session, warehouse.file_io)
        call = ProcedureCall(
            name=procedure, arguments=arguments, actor="test", operation_id=uuid4().hex
        )
        return " ".join(run_call(warehouse, rows, call, InlineStages()).notes)

    def rows(self, sql: str, branch: str = "main") -> list[tuple[Any, ...]]:
        warehouse = self.warehouse
        arguments: dict[str, Argument] = {"sql": sql, "branch": branch}
        call = ProcedureCall(name="query", arguments=arguments, actor="t", operation_id="q")
        rows = self.engine(lambda: self._session, warehouse.file_io)
        found = answer_query(warehouse, rows, call, lambda done, total: None).rows
        return [tuple(row.values()) for row in found.to_pylist()]
