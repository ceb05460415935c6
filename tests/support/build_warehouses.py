"""Builds the fixture warehouses with real Paimon, and writes down what Paimon says of them.

`python -m tests.support.build_warehouses --paimon 1.4.2` writes `paimon-1.4.2.tar.gz` and
`expected-1.4.2.json` into tests/data/warehouses; `--paimon pypaimon-2.1.0` does the same with the
Python implementation. File names hold random uuids, so both files are written together, and a new
build replaces both.
"""

import argparse
import json
import os
import re
import tarfile
import tempfile
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

import jpype

from tests.support.fetch import JARS
from tests.support.fixture_tables import build_all, build_with_pypaimon
from tests.support.golden import to_plain
from tests.support.java_paimon import JavaPaimon, JavaTable
from tests.support.pypaimon_peer import Pypaimon

FOLDER: Final = Path(__file__).resolve().parents[1] / "data" / "warehouses"

# Absolute paths in Paimon's answers are written with this word for the warehouse.
WAREHOUSE: Final = "{warehouse}"
NEWEST: Final = "2.0.0"
PYPAIMON: Final = "pypaimon-2.1.0"
BINARY: Final = "[B@address"

SYSTEM_TABLES: Final = (
    "snapshots",
    "schemas",
    "options",
    "branches",
    "tags",
    "manifests",
    "files",
    "partitions",
    "buckets",
    "consumers",
    "statistics",
    "table_indexes",
    "file_key_ranges",
    "aggregation_fields",
    "audit_log",
)


def describe(paimon: JavaPaimon, warehouse: Path) -> dict[str, Any]:
    """All that Paimon says of a warehouse, as JSON can hold it.

    Per `database.table`, per branch: schemas, snapshots and tags as their JSON, the rows, the live
    files of the head and of each tag, the names of the live files of each snapshot, the index
    files, and each system table as columns, types and rows, or as the error that Paimon raised.
    """
    tables = {
        f"{database}.{table}": describe_table(paimon.table(f"{database}.{table}"))
        for database in paimon.databases()
        for table in paimon.tables(database)
    }
    described = {"paimon": paimon.version, "tables": tables}
    text = json.dumps(to_plain(described), ensure_ascii=False)
    # Where Paimon shows a binary value it prints where the array lay in its memory.
    text = re.sub(r"\[B@[0-9a-f]+", BINARY, text.replace(str(warehouse), WAREHOUSE))
    result: dict[str, Any] = json.loads(text)
    return result


def archive_path(writer: str) -> Path:
    """The archive of a version of Paimon, or of pypaimon."""
    return FOLDER / f"{writer if writer == PYPAIMON else f'paimon-{writer}'}.tar.gz"


def expected_path(writer: str) -> Path:
    """What Paimon says of the archive of a writer; of pypaimon's, the newest Java version."""
    return FOLDER / f"expected-{writer}.json"


def build(writer: str) -> tuple[Path, Path]:
    """Build the warehouse of a writer; the paths of archive and expectation."""
    archive, expected = archive_path(writer), expected_path(writer)
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        warehouse = Path(scratch) / "warehouse"
        paimon = JavaPaimon(warehouse, NEWEST if writer == PYPAIMON else writer)
        if writer == PYPAIMON:
            with Pypaimon(warehouse) as peer:
                build_with_pypaimon(peer)
        else:
            build_all(paimon)
        _round_times(warehouse)
        expected.write_text(_dump(describe(paimon, warehouse)) + "\n", encoding="utf-8")
        with tarfile.open(archive, "w:gz") as tar:
            tar.add(warehouse, arcname="warehouse", filter=_anonymous)
    return archive, expected


def describe_table(
    table: JavaTable, system_tables: Collection[str] = SYSTEM_TABLES
) -> dict[str, Any]:
    """All that Paimon says of a table: its branches, and what it says on each of them."""
    branches = ("main", *table.branches())
    return {
        "branches": list(branches[1:]),
        "on": {name: _describe_branch(table.on(name), system_tables) for name in branches},
    }


def _describe_branch(table: JavaTable, system_tables: Collection[str]) -> dict[str, Any]:
    snapshots = table.snapshots()
    tags = table.tags()
    rows = table.rows()
    return {
        "schemas": table.schemas(),
        "snapshots": snapshots,
        "tags": tags,
        "row_count": len(rows),
        "rows": rows,
        "live_files": table.live_files(),
        "index_files": table.index_files(),
        "live_files_of_tags": {name: table.live_files(tag=name) for name in tags},
        "live_file_names_of_snapshots": {
            item["id"]: [file["file_name"] for file in table.live_files(snapshot=item["id"])]
            for item in snapshots
        },
        "system": {name: _describe_system_table(table, name) for name in system_tables},
    }


def _describe_system_table(table: JavaTable, name: str) -> dict[str, Any]:
    try:
        found = table.system_table(name)
    except jpype.JException as failure:
        # Paimon itself cannot show some tables, such as partitions by certain types.
        return {"error": str(failure).split(":", maxsplit=1)[0]}
    return {"columns": found.columns, "types": found.types, "rows": found.rows}


def _round_times(warehouse: Path) -> None:
    # `$branches` tells the time of a directory; archives keep whole seconds exactly.
    for path in sorted(warehouse.rglob("*"), reverse=True):
        seconds = int(path.stat().st_mtime)
        os.utime(path, (seconds, seconds))


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    if member.name.endswith(".crc"):
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _dump(value: Any, depth: int = 0) -> str:
    """JSON with a line for each record, so that a difference can be read."""
    is_object = isinstance(value, dict)
    is_records = isinstance(value, list) and any(isinstance(item, dict | list) for item in value)
    if not value or not (is_object or is_records):
        return json.dumps(value, ensure_ascii=False)
    if is_object:
        opening, closing = "{", "}"
        items = [f"{json.dumps(key)}: {_dump(item, depth + 1)}" for key, item in value.items()]
    else:
        opening, closing = "[", "]"
        items = [json.dumps(item, ensure_ascii=False) for item in value]
    indent = "\n" + " " * (depth + 1)
    return opening + indent + f",{indent}".join(items) + "\n" + " " * depth + closing


def main() -> None:
    """Build one version, as the command line says."""
    parser = argparse.ArgumentParser(description="Build a fixture warehouse with real Paimon.")
    parser.add_argument("--paimon", choices=[*JARS, PYPAIMON], required=True)
    # Paimon shows times in the zone of the machine; the fixtures are written in UTC.
    os.environ["TZ"] = "UTC"
    time.tzset()
    for path in build(parser.parse_args().paimon):
        print(path, path.stat().st_size)


if __name__ == "__main__":
    main()
