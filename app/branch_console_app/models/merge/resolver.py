"""The conflicts of a merge as a person settles them: groups, one page of cells, what was typed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.partition_path import text_words
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.readable import readable
from branch_console.merge.conflict import ConflictKind, Take
from branch_console.merge.policy import Policy, choose
from branch_console.merge.policy_draft import without_choices
from branch_console.merge.reapply_policy import row_level_conflicts
from branch_console.merge.row_text import cell_texts, parse_cells
from branch_console.merge.row_work import ROWS_OF_SIDES, without_rows
from branch_console_app.models.compare.rows import cell_text

WHOLE_ROW: Final = "whole row"
TAKE: Final = "Decision"
RESULT: Final = "Result"
_NOT_THERE: Final = "not there"


class Shown(StrEnum):
    """The conflicts that a page lists."""

    ALL = "all"
    OPEN = "open"
    SETTLED = "settled"
    CHECK_AGAIN = "look"


class Choice(StrEnum):
    """The choice of a person for a conflict; keep and delete are for rows that one side deleted."""

    OPEN = "undecided"
    OURS = "target"
    THEIRS = "source"
    BASE = "base"
    EDIT = "edit"
    KEEP = "keep"
    DELETE = "delete"


_TAKES: Final = {Choice.OURS: Take.OURS, Choice.THEIRS: Take.THEIRS, Choice.BASE: Take.BASE}
_CHOICES: Final = {take: choice for choice, take in _TAKES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Conflicts of one kind in one column and partition; what is None is not told apart.

    Attributes:
        column: WHOLE_ROW for conflicts of whole rows.
        number, open_number: How many there are, and how many nothing settles.
    """

    kind: str | None = None
    column: str | None = None
    partition: str | None = None
    number: int = 0
    open_number: int = 0

    @property
    def view(self) -> dict[str, str | None]:
        """The parameters of an address that list this group."""
        return {"cf_kind": self.kind, "cf_col": self.column, "cf_part": self.partition}


@dataclass(frozen=True, slots=True, kw_only=True)
class CellLine:
    """One conflict as a line of the editor; texts as they are shown.

    Attributes:
        result: The raw text, to be typed over; None is NULL, blank while it is open.
        take: A Choice.
        by: The decider: a name, or a layer of the policy.
    """

    key: str
    column: str
    base: str
    ours: str
    theirs: str
    result: str | None
    take: str
    by: str


def partition_texts(conflicts: pa.Table, schema: TableSchema) -> pa.Array:
    """The partition of each conflict, as `day=2013-03-08`; blank if there are none.

    NULL and the text `'NULL'` are written as `format.partition_path` writes them.
    """
    rows = [conflicts[name].combine_chunks() for name in ROWS_OF_SIDES]
    parts = []
    for name in schema.partition_keys:
        base, ours, theirs = (cell_texts(pc.struct_field(each, name)) for each in rows)
        found = pc.coalesce(ours, theirs, base).dictionary_encode()
        words = [text_words(text) for text in found.dictionary.to_pylist()]
        text = pc.fill_null(pa.array(words, pa.string()).take(found.indices), text_words(None))
        parts.append(pc.binary_join_element_wise(name, text, "="))
    if not parts:
        return pa.repeat("", conflicts.num_rows)
    return pc.binary_join_element_wise(*parts, "/")


def groups_of(conflicts: pa.Table, partitions: pa.Array | None = None) -> tuple[Group, ...]:
    """Count conflicts by kind, column and partition, those with the most open ones first.

    Args:
        conflicts: Columns of `row_conflict_schema`.
        partitions: As `partition_texts` gives them; None does not tell them apart.
    """
    flat = pa.table(
        {
            "kind": conflicts["kind"],
            "column": pc.fill_null(conflicts["column"], WHOLE_ROW),
            "partition": pa.repeat("", conflicts.num_rows) if partitions is None else partitions,
            "open": pc.cast(pc.is_null(conflicts["take"]), pa.int64()),
        }
    )
    sums = flat.group_by(["kind", "column", "partition"]).aggregate(
        [([], "count_all"), ("open", "sum")]
    )
    groups = (
        Group(
            kind=each["kind"],
            column=each["column"],
            partition=each["partition"] or None,
            number=each["count_all"],
            open_number=each["open_sum"],
        )
        for each in sums.to_pylist()
    )
    return tuple(
        sorted(
            groups, key=lambda e: (-e.open_number, e.kind or "", e.column or "", e.partition or "")
        )
    )


def of_group(conflicts: pa.Table, partitions: pa.Array, group: Group, shown: Shown) -> pa.Table:
    """Return the conflicts of a group that are to be listed, in their order."""
    is_meant = [
        None if group.kind is None else pc.equal(conflicts["kind"], group.kind),
        None if group.column is None else _is_column(conflicts, group.column),
        None if group.partition is None else pc.equal(partitions, group.partition),
    ]
    match shown:
        case Shown.OPEN:
            is_meant.append(pc.is_null(conflicts["take"]))
        case Shown.SETTLED:
            is_meant.append(pc.is_valid(conflicts["take"]))
        case Shown.CHECK_AGAIN:
            is_meant.append(conflicts["needs_another_look"])
        case Shown.ALL:
            pass
    found = conflicts
    mask: pa.ChunkedArray | pa.Array | None = None
    for each in is_meant:
        if each is not None:
            mask = each if mask is None else pc.and_(mask, each)
    return found if mask is None else found.filter(mask)


def _is_column(conflicts: pa.Table, column: str) -> pa.ChunkedArray:
    # A column may be called like whole rows are.
    named = pc.fill_null(pc.equal(conflicts["column"], column), False)
    if column != WHOLE_ROW:
        return named
    return pc.or_(named, pc.is_null(conflicts["column"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyParts:
    """Which columns of the key tell listed conflicts apart.

    Attributes:
        shared: The columns that have one value in all of them, with it; empty where that would
            leave no column.
        differing: The other columns of the key.
    """

    shared: Mapping[str, Any]
    differing: tuple[str, ...]

    @classmethod
    def of(cls, conflicts: pa.Table) -> "KeyParts":
        """Compare the keys of conflicts; there is at least one."""
        keys = conflicts["key"]
        names = [field.name for field in keys.type]
        values = {name: pc.struct_field(keys, name).unique() for name in names}
        differing = tuple(name for name in names if len(values[name]) > 1)
        if not differing:
            return cls(shared={}, differing=tuple(names))
        (first,) = readable(conflicts.select(["key"]).slice(0, 1)).to_pylist()
        shared = {name: first["key"][name] for name in names if name not in differing}
        return cls(shared=shared, differing=differing)

    @property
    def words(self) -> str:
        """The columns as a caption names them: `time_hour · carrier; month = 2013-12 in all`."""
        named = " · ".join(self.differing)
        return f"{named}; {key_text(self.shared)} in all" if self.shared else named


def cell_lines(conflicts: pa.Table, parts: KeyParts | None = None) -> tuple[CellLine, ...]:
    """Return conflicts as lines; a page of them, not all.

    Args:
        conflicts: Columns of `row_conflict_schema`.
        parts: Has keys written as the values of the columns that differ; None writes them whole.
    """
    shown = readable(without_rows(conflicts))
    return tuple(_line(row, parts) for row in shown.to_pylist())


def _line(row: Mapping[str, Any], parts: KeyParts | None) -> CellLine:
    by = "a value changed since" if row["needs_another_look"] else row["decided_by"] or ""
    if row["take"] is None and row["decided_by"]:
        by = f"{by}: no effect, readers would not see it"
    result = "" if row["take"] is None else row["result"]
    is_gone = row["column"] is None and result is None
    return CellLine(
        key=key_text(row["key"]) if parts is None else _short_key(row["key"], parts),
        column=row["column"] or WHOLE_ROW,
        base=side_text(row, "base"),
        ours=side_text(row, "ours"),
        theirs=side_text(row, "theirs"),
        result=_NOT_THERE if is_gone else result,
        take=_shown_take(row),
        by=by,
    )


def side_text(row: Mapping[str, Any], side: str) -> str:
    """Write what a side of a conflict, or its result, has: a value, or whether the row is there."""
    if row["column"] is None and row[side] is None:
        return _NOT_THERE
    return cell_text(row[side])


def key_text(key: Mapping[str, Any]) -> str:
    """Write a key, as `day = 2013-03-08, flight = 7`."""
    return ", ".join(f"{name} = {cell_text(value)}" for name, value in key.items())


def _short_key(key: Mapping[str, Any], parts: KeyParts) -> str:
    return " · ".join(cell_text(key[name]) for name in parts.differing)


def _shown_take(row: Mapping[str, Any]) -> str:
    take = row["take"]
    if take is None:
        return str(Choice.OPEN)
    if take == Take.VALUE:
        return str(Choice.EDIT)
    if row["kind"] == ConflictKind.DELETE_MODIFY and take in (Take.OURS, Take.THEIRS):
        return str(Choice.DELETE if row[take] is None else Choice.KEEP)
    # What a rule does, such as `max`, is shown and can be chosen over.
    return str(_CHOICES.get(take, take))


def choices_for(conflicts: pa.Table, *, by_row: bool) -> tuple[str, ...]:
    """Return the choices for some conflicts, with choices that rules have made already."""
    is_deleted = pc.equal(conflicts["kind"], str(ConflictKind.DELETE_MODIFY))
    choices = [Choice.OPEN]
    if pc.any(is_deleted).as_py():
        choices += [Choice.KEEP, Choice.DELETE]
    if not pc.all(is_deleted).as_py() or not conflicts.num_rows:
        choices += [Choice.OURS, Choice.THEIRS, Choice.BASE]
        if not by_row:
            choices.append(Choice.EDIT)
    taken = pc.unique(conflicts["take"]).drop_null().to_pylist()
    known = [str(each) for each in choices]
    usual = {*known, str(Take.VALUE), str(Take.OURS), str(Take.THEIRS)}
    return (*known, *(take for take in taken if take not in usual))


# --- what was typed -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One line that a person changed; a field that is None was left as it was.

    Attributes:
        types: Whether something was typed as the result; then `result` None is NULL.
    """

    at: int
    take: str | None = None
    result: str | None = None
    types: bool = False


def edits_of(edited_rows: Mapping[int, Mapping[str, Any]]) -> tuple[Edit, ...]:
    """Read what the editor of the browser tells."""
    return tuple(
        Edit(
            at=int(at),
            take=cells.get(TAKE),
            result=None if cells.get(RESULT) is None else str(cells[RESULT]),
            types=RESULT in cells,
        )
        for at, cells in edited_rows.items()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """The person, time and table of a decision.

    Attributes:
        table: Its name in the policy.
        schema: The target's schema, which says which columns may be NULL.
        by_row: Whether a choice is for the whole row of its line.
    """

    table: str
    schema: TableSchema
    actor: str
    time_millis: int
    by_row: bool = False


def decided(policy: Policy, lines: pa.Table, edits: Sequence[Edit], decider: Decider) -> Policy:
    """Return a policy with what was chosen for some conflicts.

    Args:
        policy: The draft that was looked at.
        lines: The conflicts of the page, with the columns of `row_conflict_schema`.
        edits: The changed lines.
        decider: The person who decides.

    Raises:
        InvalidInput: The typed text is no value of its column, or cannot be chosen there.
    """
    for edit in edits:
        line = lines.slice(edit.at, 1)
        conflict = row_level_conflicts(line) if decider.by_row else line
        found = _taken(conflict, edit, decider)
        if found is None:
            policy = _reopened(policy, conflict, decider)
            continue
        take, value = found
        choices = choose(
            conflict, take, value=value, decided_by=decider.actor, time_millis=decider.time_millis
        )
        policy = policy.with_choices(decider.table, choices)
    return policy


def _reopened(policy: Policy, conflict: pa.Table, decider: Decider) -> Policy:
    ids = conflict["conflict_id"].combine_chunks()
    own = [each for each in policy.tables if each.table == decider.table]
    if not any(pc.any(pc.is_in(each.choices["conflict_id"], ids)).as_py() for each in own):
        by = conflict["decided_by"][0].as_py() or "nobody"
        raise InvalidInput(
            f"This was decided by {by}, which is not a choice for this conflict alone. Take a side "
            "here, or change the rule below the list.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )
    return without_choices(policy, decider.table, ids)


def _taken(conflict: pa.Table, edit: Edit, decider: Decider) -> tuple[Take, str | None] | None:
    """Return the take of an edit and its typed value; None if the edit opens the conflict again."""
    (row,) = readable(conflict).to_pylist()
    where = f"{row['column'] or WHOLE_ROW} of {key_text(row['key'])}"
    if row["kind"] == ConflictKind.HIDDEN:
        raise InvalidInput(
            f"{where}: the sequence field of the table ranks another row higher, so a choice here "
            "would have no effect. Change the row on a branch.",
            kind=ErrorKind.UNSUPPORTED,
        )
    if edit.types:
        if row["column"] is None:
            raise InvalidInput(
                f"{where}: a whole row cannot be typed as one text. Take a side.",
                kind=ErrorKind.INVALID_ARGUMENT,
            )
        return Take.VALUE, _checked(conflict, row["column"], edit.result, decider)
    match edit.take:
        case None | Choice.OPEN:
            return None
        case Choice.OURS | Choice.THEIRS | Choice.BASE:
            return _TAKES[Choice(edit.take)], None
        case Choice.KEEP | Choice.DELETE if row["kind"] == ConflictKind.DELETE_MODIFY:
            is_ours_gone = row["ours"] is None
            takes_ours = is_ours_gone == (edit.take == Choice.DELETE)
            return (Take.OURS if takes_ours else Take.THEIRS), None
        case Choice.EDIT:
            raise InvalidInput(
                f"{where}: type the value into the column {RESULT}.",
                kind=ErrorKind.INVALID_ARGUMENT,
            )
    raise InvalidInput(
        f"{where}: {edit.take!r} cannot be taken there. Rules are made below the list.",
        kind=ErrorKind.INVALID_ARGUMENT,
    )


def _checked(conflict: pa.Table, column: str, text: str | None, decider: Decider) -> str | None:
    """The text of an edit; raises InvalidInput if it is no value of its column."""
    kind = conflict.schema.field(ROWS_OF_SIDES[0]).type.field(column).type
    parse_cells(pa.array([text], pa.string()), kind, column)
    field = next((each for each in decider.schema.fields if each.name == column), None)
    if text is None and field is not None and not field.type.nullable:
        raise InvalidInput(
            f"Column {column!r} may not be NULL. Type a value, or take a side.", column=column
        )
    return text
