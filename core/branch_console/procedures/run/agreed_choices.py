"""The decisions of a person in a preview, to check later whether they still apply.

A head that moves makes a new plan. If the same conflicts appear and the same changes are overruled,
a person would decide the same again: a run that was allowed to do so plans again and continues.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from branch_console.commit.rows.row_conflicts import find_row_conflicts
from branch_console.commit.snapshot.commit_identity import snapshots_after_listed
from branch_console.errors import ErrorKind, InvalidInput, NotFound, Refused
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.target_branch import target_table
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.run.planned_heads import HEADS, PlannedHeads
from branch_console.table.file_store_table import FileStoreTable

DECISIONS: Final = "decisions"
"""The argument that says what was decided on, as `AgreedChoices.to_text` writes it."""

_COMPARED: Final = ("conflict_id", "kind", "base", "ours", "theirs")
_PARTS: Final[Mapping[str, str]] = {
    "source": "the source moved too",
    "base": "both sides build on another snapshot now",
    "rules": "other rules hold",
    "schema": "the schema would become another one",
    "conflicts": "other things collide",
    "overruled": "the rules overrule other changes",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreedChoices:
    """The plan, heads and decisions of a preview.

    Attributes:
        plan_id: The plan that was shown.
        target_id: The head of the target at that time; None if it had none.
        source_id: The head of the source at that time: later commits are for the next merge. None
            for a fast-forward.
        parts: A digest of each decision, by the name of its subject.
        rows: The digest of the row conflicts; empty if none were found or rows were not compared.
    """

    plan_id: str
    target_id: int | None
    parts: Mapping[str, str]
    rows: str = ""
    source_id: int | None = None

    def to_text(self) -> str:
        """Encode as one line; `from_text` reads it back."""
        found = [self.plan_id, self.target_id, dict(self.parts), self.rows, self.source_id]
        return json.dumps(found, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> "AgreedChoices":
        """Decode what `to_text` wrote; raises InvalidInput."""
        try:
            plan_id, target_id, parts, rows, *more = json.loads(text)
            # Those of before say nothing of the source.
            (source_id,) = more or (None,)
            return cls(
                plan_id=plan_id,
                target_id=target_id,
                parts=dict(parts),
                rows=rows,
                source_id=source_id,
            )
        except (ValueError, TypeError) as error:
            raise InvalidInput(
                f"What was decided on cannot be read: {error}. Look at the preview again.",
                kind=ErrorKind.INVALID_ARGUMENT,
                argument=DECISIONS,
            ) from error

    def differences(self, now: "AgreedChoices") -> list[str]:
        """Return what is another thing now, in words; conflicts of rows are not compared here."""
        return [words for name, words in _PARTS.items() if self.parts.get(name) != now.parts[name]]


def choices_now(
    warehouse: Warehouse,
    call: ProcedureCall,
    decisions: Callable[[Warehouse, ProcedureCall], AgreedChoices],
) -> AgreedChoices:
    """Return the current decisions, for a call that does not name any.

    Raises:
        Refused: The preview that the call names is another one by now.
    """
    now = decisions(warehouse, call)
    if call.agreement.plan_id not in (None, now.plan_id):
        raise Refused(
            "A branch moved before the run began. Nothing was changed; look at the new preview.",
            kind=ErrorKind.HEAD_MOVED,
            plan_id=now.plan_id,
        )
    return now


def plan_again(
    warehouse: Warehouse,
    call: ProcedureCall,
    decided: AgreedChoices,
    decisions: Callable[[Warehouse, ProcedureCall], AgreedChoices],
) -> dict[str, object]:
    """Return the plan for the heads as they are now, where what was decided still stands.

    Returns:
        `plan_id`, the `heads` that it was made at, and a `note` for the receipt that tells the
        commits which came in between.

    Raises:
        Refused: Something would have to be decided anew.
    """
    heads = PlannedHeads(source_id=decided.source_id)
    now, target = decisions(warehouse, heads.named_in(call)), target_table(warehouse, call)
    moved = f"{target.branch!r} moved {_commits_since(target, decided.target_id)}"
    others = decided.differences(now)
    if others:
        raise Refused(
            f"{moved}, and {' and '.join(others)}. Nothing was changed and every decision is "
            "kept; look at the new preview.",
            kind=ErrorKind.HEAD_MOVED,
            plan_id=now.plan_id,
        )
    return {
        "plan_id": now.plan_id,
        HEADS: replace(heads, target_id=now.target_id).to_text(),
        "note": f"Planned again: {moved}; what collides and what is overruled stayed the same.",
    }


def rows_of_plan(warehouse: Warehouse, target: FileStoreTable, plan_id: str) -> str:
    """Return the digest of the conflicts of rows that a run has found for a plan."""
    found = find_row_conflicts(warehouse.store.files, target.paths, plan_id)
    return "" if found is None else _rows_digest(found)


def _commits_since(target: FileStoreTable, seen_id: int | None) -> str:
    """The commits that the target got since one, as they complete "'main' moved …"."""
    head = target.head()
    if head is None or seen_id is None:
        return "to another history"
    try:
        came = snapshots_after_listed(target, seen_id, head)
    except NotFound:
        came = ()
    text = ", ".join(f"{each.id} by {each.commit_user}" for each in came)
    return f"from snapshot {seen_id} to {head.id}" + (f" ({text})" if text else "")


def _rows_digest(found: pa.Table) -> str:
    if not found.num_rows:
        return ""
    rows = zip(*(found[name].to_pylist() for name in _COMPARED), strict=True)
    return digest(repr(sorted(map(repr, rows))))


def digest(text: str) -> str:
    """Return a short digest of what somebody decided on."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
