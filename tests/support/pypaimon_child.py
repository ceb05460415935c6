"""Runs in the environment of pypaimon: one JSON request a line in, one JSON answer a line out.

Nothing of the project but the plain form of values is imported here: pypaimon pins other versions
of what the project needs.
"""

import json
import sys
from typing import Any

import pyarrow as pa
from pypaimon import CatalogFactory, Schema

from tests.support.golden import to_plain

_ARROW = {"INT": pa.int32(), "BIGINT": pa.int64(), "STRING": pa.string()}


class Child:
    """Carries out requests on one warehouse."""

    def __init__(self, warehouse: str) -> None:
        self.catalog = CatalogFactory.create({"warehouse": warehouse})

    def rows(self, table: str, options: dict[str, str]) -> list[list[Any]]:
        """The rows of a table, with dynamic options."""
        opened = self.catalog.get_table(table)
        opened = opened.copy(options) if options else opened
        builder = opened.new_read_builder()
        found = builder.new_read().to_arrow(builder.new_scan().plan().splits())
        return [[_unnamed(value) for value in row.values()] for row in found.to_pylist()]

    def create_table(
        self,
        table: str,
        fields: dict[str, str],
        partition_keys: list[str],
        primary_keys: list[str],
        options: dict[str, str],
        comment: str,
    ) -> None:
        """Make a table, and its database if need be."""
        self.catalog.create_database(table.split(".", maxsplit=1)[0], True)
        schema = Schema.from_pyarrow_schema(
            _arrow_schema(fields, primary_keys), partition_keys, primary_keys, options, comment
        )
        self.catalog.create_table(table, schema, False)

    def write(self, table: str, fields: dict[str, str], rows: list[list[Any]]) -> None:
        """Commit rows as one batch."""
        opened = self.catalog.get_table(table)
        builder = opened.new_batch_write_builder()
        write, commit = builder.new_write(), builder.new_commit()
        schema = _arrow_schema(fields, opened.primary_keys)
        columns = [
            pa.array(list(values), field.type)
            for values, field in zip(zip(*rows, strict=True), schema, strict=True)
        ]
        write.write_arrow(pa.Table.from_arrays(columns, schema=schema))
        commit.commit(write.prepare_commit())
        write.close()
        commit.close()

    def create_tag(self, table: str, tag: str) -> None:
        """Tag the head."""
        self.catalog.get_table(table).create_tag(tag)

    def create_branch(self, table: str, branch: str, tag: str | None) -> None:
        """Make a branch from a tag, or an empty one."""
        self.catalog.get_table(table).branch_manager().create_branch(branch, tag)

    def branches(self, table: str) -> list[str]:
        """All branches but main."""
        return sorted(self.catalog.get_table(table).branch_manager().branches())


def _arrow_schema(fields: dict[str, str], primary_keys: list[str]) -> pa.Schema:
    return pa.schema(
        [pa.field(name, _ARROW[kind], name not in primary_keys) for name, kind in fields.items()]
    )


def _unnamed(value: Any) -> Any:
    if isinstance(value, dict):
        return [_unnamed(item) for item in value.values()]
    if isinstance(value, list):
        return [_unnamed(item) for item in value]
    return value


def main() -> None:
    """Serve requests until the input ends."""
    answers = sys.stdout
    # What the library prints must not get between the answers.
    sys.stdout = sys.stderr
    child = Child(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"answer": to_plain(getattr(child, request.pop("do"))(**request))}
        except Exception as failure:  # whatever the library raises is its answer
            answer = {"error": f"{type(failure).__name__}: {failure}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
