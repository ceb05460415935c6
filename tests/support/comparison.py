"""Our answers beside Java's, of one table as it stands: nothing may differ."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from branch_console.table.file_store_table import FileStoreTable
from tests.support.build_warehouses import SYSTEM_TABLES, describe_table
from tests.support.golden import to_plain
from tests.support.java_paimon import JavaTable
from tests.support.our_answers import (
    in_micros,
    known_to,
    our_index_files,
    our_live_files,
    our_schemas,
    our_snapshots,
    our_tags,
)
from tests.support.our_system_tables import our_system_table, row_differences

# The audit log needs the rows of the table, not only its metadata.
COMPARED: Final = tuple(name for name in SYSTEM_TABLES if name != "audit_log")


def differences(
    ours: FileStoreTable,
    theirs: JavaTable,
    content: Mapping[str, Sequence[tuple[Any, ...]]] | None = None,
    system_tables: Collection[str] = COMPARED,
) -> dict[str, Any]:
    """What our core and Java say differently of a table and all its branches; empty if nothing.

    Args:
        ours: The table as we see it.
        theirs: The table as Java sees it.
        content: The rows that Java must read on each branch, in any order, where they are known.
        system_tables: Which of the system tables are compared too.
    """
    described = describe_table(theirs.on("main"), system_tables)
    said = json.loads(json.dumps(to_plain(described)))
    found: dict[str, Any] = {}
    if list(ours.branches.names()) != said["branches"]:
        found["branches"] = (list(ours.branches.names()), said["branches"])
    for branch, rows in (content or {}).items():
        if sorted(described["on"][branch]["rows"], key=repr) != sorted(rows, key=repr):
            found[f"rows of {branch}"] = (described["on"][branch]["rows"], rows)
    for branch, answers in said["on"].items():
        for what, pair in _on_branch(ours.on(branch), answers, theirs.paimon.version).items():
            found[f"{what} of {branch}"] = pair
    return found


def _on_branch(ours: FileStoreTable, theirs: dict[str, Any], version: str) -> dict[str, Any]:
    head = ours.head()
    snapshots = [known_to(version, item) for item in our_snapshots(ours)]
    tags = {name: known_to(version, tag) for name, tag in our_tags(ours).items()}
    pairs = {
        "schemas": (our_schemas(ours), theirs["schemas"]),
        "snapshots": (snapshots, theirs["snapshots"]),
        "tags": (tags, {name: in_micros(tag) for name, tag in theirs["tags"].items()}),
        "live files": (our_live_files(ours, head), theirs["live_files"]),
        "index files": (our_index_files(ours, head), theirs["index_files"]),
    }
    for name, files in theirs["live_files_of_tags"].items():
        pairs[f"live files of tag {name}"] = (
            our_live_files(ours, ours.tags.get(name).snapshot),
            files,
        )
    found: dict[str, Any] = {what: pair for what, pair in pairs.items() if pair[0] != pair[1]}
    for name, answer in theirs["system"].items():
        if "error" in answer:
            continue
        if rows := row_differences(our_system_table(ours, name), answer):
            found[f"system table {name}"] = rows
    return found
