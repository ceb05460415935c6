"""The files of rows that are written before anything is published, and the stages' results."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from branch_console.format.journals.arrow_stream import (
    ArrowStream,
    base64_bytes,
    perhaps_stream,
    stream,
)
from branch_console.format.journals.codec import Codec, Layout
from branch_console.format.journals.keys import (
    fixed_numbers,
    needed,
    part,
    perhaps,
    perhaps_parts,
    perhaps_texts,
    texts,
    values,
)
from branch_console.format.json_text import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenBucket:
    """The files that were written for one bucket.

    Attributes:
        partition: The BinaryRow of the partition.
        files: The data files that come, with the columns of MANIFEST_ENTRY.
        deleted_files: The data files that go.
        new_index_files, deleted_index_files: With the columns of INDEX_MANIFEST_ENTRY; None if
            an earlier release wrote this.
    """

    partition: bytes
    bucket: int
    total_buckets: int
    files: ArrowStream
    deleted_files: ArrowStream
    new_index_files: ArrowStream | None = None
    deleted_index_files: ArrowStream | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRows:
    """The result of the stage that writes the resolved rows of a merge; empty without such rows.

    Attributes:
        plan_id: The plan whose rows were written.
        row_messages: The files that the stage wrote.
        row_notes: Sentences about these files for the receipt.
        staged_rows: The journal entry that owns the files until an operation names them.
    """

    plan_id: str | None = None
    row_messages: tuple[WrittenBucket, ...] | None = None
    row_notes: tuple[str, ...] | None = None
    staged_rows: str | None = None


NOTHING_WRITTEN: Final = WrittenRows()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedResult:
    """The result of the stage that judges a merged result by the quality rules of the table.

    Attributes:
        plan_id: The plan whose result was judged.
        digest: The digest of the rules.
        gate: The verdict of the quality gate, as JSON values.
        notes: Sentences for the receipt.
        rows_counted: Numbers of rows of the target before and after; None if they cannot be read.
    """

    plan_id: str
    digest: str
    gate: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    rows_counted: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedResult:
    """The result of a plan, kept by a dry run for the run that publishes it.

    Attributes:
        plan_id: A digest of the identities of base, ours and theirs, and of the policy and
            resolutions.
        subject: The purpose, such as both branches; a newer result for it replaces this one.
        branch: The branch that would change.
        time_millis: When it was staged.
        written: The files of resolved rows, which no snapshot names yet.
        judged: The verdict of the quality gate on them; None if the gate did not run.
    """

    plan_id: str
    subject: str
    branch: str
    time_millis: int
    written: WrittenRows = NOTHING_WRITTEN
    judged: JudgedResult | None = None

    def to_json(self) -> str:
        """Encode; `from_json` reads it back."""
        return json.dumps(_STAGED_RESULT.write(self))

    @classmethod
    def from_json(cls, text: str | bytes) -> "StagedResult":
        """Decode what `to_json` wrote; raises FormatError."""
        return _STAGED_RESULT.read(JsonObject.parse(text, "staged result"))


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOverride:
    """The person who published a result that the gate blocks, with the reason."""

    reason: str
    actor: str
    time_millis: int

    @classmethod
    def of_gate(cls, gate: Mapping[str, Any]) -> "GateOverride | None":
        """Return what a gate of a journal tells of it; None if it was not overridden."""
        raw = JsonObject(gate, "verdict of the quality gate").find("override", dict)
        return None if not raw else _OVERRIDE.read(JsonObject(raw, "override of the quality gate"))

    def on(self, gate: Mapping[str, Any]) -> dict[str, Any]:
        """Return a gate with this in it."""
        return {**gate, "override": _OVERRIDE.write(self)}


def override_note(actor: str, reason: str) -> str:
    """Return the note of a receipt on who overrode the quality rules, and why."""
    return f"Quality rules overridden by {actor}: {reason}"


_BUCKET: Final = Layout(
    WrittenBucket,
    base64_bytes("partition"),
    needed("bucket", int),
    needed("totalBuckets", int),
    stream("files"),
    stream("deletedFiles"),
    perhaps_stream("newIndexFiles"),
    perhaps_stream("deletedIndexFiles"),
)
ROWS: Final = (perhaps_parts("rowMessages", _BUCKET), perhaps_texts("rowNotes"))
"""The codec of the files of rows, the same in all journals."""

_WRITTEN: Final = Layout(WrittenRows, perhaps("plan_id", str), *ROWS, perhaps("stagedRows", str))
WRITTEN_ROWS: Final = Codec(what="rows of a merge", reads={1: _WRITTEN})
JUDGED_RESULT: Final = Codec(
    what="verdict of the quality gate",
    reads={
        1: Layout(
            JudgedResult,
            needed("plan_id", str),
            needed("digest", str),
            needed("gate", dict),
            texts("notes"),
            fixed_numbers("rowsCounted", 2),
        )
    },
)


class _Judged:
    """The codec of a verdict as a JSON object of its own; an empty object means no verdict."""

    def read(self, raw: JsonObject) -> JudgedResult | None:
        return JUDGED_RESULT.decode(raw.values) if raw.values else None

    def write(self, judged: JudgedResult | None) -> dict[str, object]:
        return {} if judged is None else JUDGED_RESULT.encode(judged)


_JUDGED: Final = _Judged()
_OVERRIDE: Final = Layout(
    GateOverride, needed("reason", str), needed("actor", str), needed("timeMillis", int)
)
_STAGED_RESULT: Final = Layout(
    StagedResult,
    needed("planId", str),
    needed("subject", str),
    needed("branch", str),
    needed("timeMillis", int),
    part("written", _WRITTEN),
    values(
        "judged",
        lambda raw, key: _JUDGED.read(JsonObject(raw.get(key, dict), raw.what)),
        _JUDGED.write,
    ),
)
