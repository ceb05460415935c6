"""Every option that Paimon documents is honoured by one read or write, or refused by its name."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from branch_console.errors import InvalidInput
from branch_console.format.identifier import Identifier
from branch_console.format.scan_options import READ_OPTIONS, SCAN_BRANCH, WRITE_OPTIONS, ScanOptions
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.statement.query_sources import open_query
from branch_console.spark.connector.data_source import ConnectorReader
from branch_console.spark.read.readers import plan_table
from branch_console.sql.query import parse_query
from branch_console.sql.writes import parse_write
from branch_console.storage.file_io import FileIO
from branch_console.table.scan_state import state_asked
from tests.support.java_paimon import JavaPaimon, JavaTable
from tests.support.java_vm import java_class
from tests.support.local_tables import rows_of

READS = (
    "SELECT * FROM db.t {}",
    "SELECT * FROM db.t VERSION AS OF 1 {}",
    "SELECT 1 FROM db.t a JOIN db.t {} AS b ON a.id = b.id",
    "SELECT * FROM (SELECT * FROM db.t {} x)",
    "WITH c AS (SELECT * FROM db.t {}) SELECT * FROM c",
    "SELECT * FROM db.`t$files` {}",
)
WRITES = (
    "INSERT INTO db.t {} SELECT 1, 'x'",
    "INSERT OVERWRITE db.t {} SELECT 1, 'x'",
    "UPDATE db.t {} SET name = 'x'",
    "DELETE FROM db.t {} WHERE id = 1",
    "MERGE INTO db.t {} USING db.t AS s ON t.id = s.id WHEN MATCHED THEN DELETE",
)


def documented() -> list[str]:
    return sorted(str(option.key()) for option in java_class("CoreOptions").getOptions())


def made(java: JavaPaimon) -> JavaTable:
    table = java.create_table("db.t", {"id": "INT", "name": "STRING"}, options={"bucket": "-1"})
    table.write([(1, "a")])
    table.create_tag("v1")
    table.create_branch("dev", tag="v1")
    table.write([(2, "b")])
    table.on("dev").write([(3, "c")])
    return table


def refusal(act: Callable[[], Any]) -> str:
    with pytest.raises(InvalidInput) as error:
        act()
    return error.value.message


def test_what_one_statement_does_not_honour_it_refuses(java: JavaPaimon, tmp_path: Path) -> None:
    made(java)
    warehouse = Warehouse.open(str(tmp_path / "java"), read_only=True)
    source = {"warehouse": str(tmp_path / "java"), "table": "db.t"}
    keys = documented()
    assert {*READ_OPTIONS} - {*keys} == {SCAN_BRANCH}, "there is no such option"
    # Each key in one shape of a statement: all shapes have their turn some sixty times.
    for number, key in enumerate(keys):
        clause = f"/*+ OPTIONS('{key}' = '1') */" if number % 2 else f"WITH ('{key}' = '1')"
        query = parse_query(READS[number % len(READS)].format(clause))
        write = WRITES[number % len(WRITES)].format(clause)
        acts: list[Callable[[], Any]] = []
        if key not in READ_OPTIONS:
            acts.append(partial(open_query, warehouse, query, "main", "op"))
        if key not in WRITE_OPTIONS:
            acts.append(partial(parse_write, write))
        # One more is our own: the folder of a table.
        if key not in (*READ_OPTIONS, "path"):
            acts.append(ConnectorReader({**source, key: "1"}).partitions)
        for act in acts:
            # Spark gives the options of a data source in lower case.
            assert repr(key).lower() in refusal(act).lower(), (number, key)


def ours(path: Path, options: dict[str, str], branch: str = "main") -> list[Any]:
    warehouse = Warehouse.open(str(path / "java"), read_only=True)
    assert isinstance(warehouse.file_io, FileIO)
    table = warehouse.table(Identifier(database="db", table="t").on_branch(branch))
    read = plan_table(warehouse.file_io, state_asked(table, ScanOptions.parse(options)))
    return sorted(tuple(row.values()) for row in rows_of(read).to_pylist())


def test_the_state_that_an_option_names_is_that_of_java(java: JavaPaimon, tmp_path: Path) -> None:
    table = made(java)
    first, _ = table.snapshots()
    states = [
        ("scan.snapshot-id", "1"),
        ("scan.snapshot-id", "2"),
        ("scan.tag-name", "v1"),
        ("scan.version", "v1"),
        ("scan.version", "2"),
        ("scan.timestamp-millis", str(first["timeMillis"])),
    ]
    for key, value in states:
        asked = {key: value}
        expected = sorted(map(tuple, table.rows(options=asked)))
        assert ours(tmp_path, asked) == expected, asked
        if key == "scan.version":
            continue  # Paimon lets no table have it
        # As an option of the table it holds for each read that names no state.
        table.set_options(asked)
        assert ours(tmp_path, {}) == expected == sorted(map(tuple, table.rows())), asked
        assert ours(tmp_path, {"scan.snapshot-id": "2"}) == [(1, "a"), (2, "b")]
        table.remove_options(key)
    assert ours(tmp_path, {}) == [(1, "a"), (2, "b")]


def test_what_the_options_of_a_table_ask_for_and_is_not_honoured_is_refused(
    java: JavaPaimon, tmp_path: Path
) -> None:
    table = made(java)
    for options in (
        {"incremental-to-auto-tag": "v1", "scan.mode": "incremental"},
        {"branch": "dev"},
    ):
        table.set_options(options)
        assert repr(next(iter(options))) in refusal(lambda: ours(tmp_path, {}))
        assert ours(tmp_path, {"scan.snapshot-id": "1"}) == [(1, "a")]
        table.remove_options(*options)
    assert ours(tmp_path, {}, "dev") == [(1, "a"), (3, "c")]
