"""The figures of a write of rows, and the receipt made of them."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.journal import Journal
from branch_console.errors import InvalidInput
from branch_console.format.journals.intent import Intent
from branch_console.format.json_text import JsonObject
from branch_console.format.receipt import Counts, HeadMove, Receipt
from branch_console.table.file_store_table import FileStoreTable

RESULT: Final = "result"
"""The step of a write that has ended."""

_RECEIPT: Final = "receipt"


def encode_result(
    table: FileStoreTable, intent: Intent, figures: Mapping[str, int | None], now_millis: int
) -> bytes:
    """Encode the result of a write that was published.

    Args:
        table: The table on the branch that was written.
        intent: The intent of the write.
        figures: `snapshot_id`, None if nothing changed, and counts of rows and files.
        now_millis: When it ended.
    """
    content: dict[str, object] = dict(figures)
    snapshot_id = figures.get("snapshot_id")
    if snapshot_id is not None:
        content[_RECEIPT] = _receipt(table, intent, snapshot_id, figures, now_millis).to_object()
    return json.dumps(content).encode()


def figures_in(result: bytes) -> Mapping[str, int | None]:
    """Return the figures of a write."""
    found = json.loads(result)
    found.pop(_RECEIPT, None)
    return dict(found)


def find_receipt_of_write(
    table: FileStoreTable, store: CommitStore, operation_id: str
) -> Receipt | None:
    """Return the receipt of a write to any branch of a table, None if it made no snapshot."""
    result = None
    with suppress(InvalidInput):  # of a name that no operation has
        result = Journal(store, table.paths).find_step(operation_id, RESULT)
    if result is None:
        return None
    raw = JsonObject.parse(result, "result of a write").find(_RECEIPT, dict)
    return None if raw is None else Receipt.from_object(JsonObject(raw, "receipt"))


def _receipt(
    table: FileStoreTable,
    intent: Intent,
    snapshot_id: int,
    figures: Mapping[str, int | None],
    now_millis: int,
) -> Receipt:
    before, after = (table.snapshots.find(each) for each in (snapshot_id - 1, snapshot_id))
    counts = {key: figures.get(key) or 0 for key in ("rows", "files_added", "files_removed")}
    return Receipt(
        operation_id=intent.operation_id,
        statement=intent.statement,
        actor=intent.actor,
        plan_id=intent.operation_id,
        moves=(
            HeadMove(
                branch=intent.branch,
                before=None if before is None else before.identity,
                before_id=None if before is None else before.id,
                after=None if after is None else after.identity,
                after_id=snapshot_id,
            ),
        ),
        counts=Counts(snapshots_added=1),
        notes=(
            f"Rows written or changed: {counts['rows']:,}. Data files added: "
            f"{counts['files_added']:,}, removed: {counts['files_removed']:,}.",
        ),
        started_millis=intent.time_millis,
        finished_millis=now_millis,
    )
