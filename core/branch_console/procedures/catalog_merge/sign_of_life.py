"""Marks by which a merge of the catalog says that it goes on, for recovery on another machine."""

import platform
from contextlib import suppress
from dataclasses import replace
from typing import Final

from branch_console.commit.journal import Journal
from branch_console.errors import FormatError
from branch_console.format.journals.catalog_merge import MERGE_SIGN, MergeSign
from branch_console.format.journals.intent import Intent
from branch_console.format.json_text import to_pretty_json
from branch_console.procedures.catalog_merge.step_actions import MergeOperation

_EVERY_MILLIS: Final = 30_000


class SignOfLife:
    """Gives a sign where the last one is half a minute old."""

    def __init__(self, merge: MergeOperation) -> None:
        self._merge = merge
        self._last = merge.operation.intent.time_millis
        self._count = 0

    def give(self) -> None:
        """Say that the merge goes on, unless it did so just now."""
        now, merge = self._merge.warehouse.clock(), self._merge
        if now - self._last < _EVERY_MILLIS:
            return
        while merge.journal.has_reached(merge.id, _step(self._count)):
            self._count += 1
        content = to_pretty_json(
            MERGE_SIGN.encode(MergeSign(time_millis=now, host=platform.node()))
        )
        merge.journal.mark(merge.id, _step(self._count), content.encode())
        self._last = now


def as_last_seen(journal: Journal, intent: Intent) -> Intent:
    """Return the intent of an operation as if it began where another machine last gave a sign.

    Of who is at work on this machine a lock tells.
    """
    found, count = intent, 0
    while (content := journal.find_step(intent.operation_id, _step(count))) is not None:
        # One that cannot be read says nothing; what it stands for is told by the operation.
        with suppress(FormatError):
            sign = journal.decode_step(intent.operation_id, _step(count), content, MERGE_SIGN)
            if sign.host != platform.node():
                found = replace(found, time_millis=sign.time_millis, host=sign.host)
        count += 1
    return found


def _step(count: int) -> str:
    return f"alive{count}"
