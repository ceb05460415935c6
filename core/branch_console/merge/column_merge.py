"""The columns of two branches merged by field id, with rows inside rows.

All ids are the target's by now, so that one id is one column. What a side did to a column is
replayed on the other: a rename, a wider type, a default, a comment, a place, a drop.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from branch_console.diff.three_way import ThreeWay, Unresolved, each_side, settle
from branch_console.format.data_types import (
    ArrayType,
    DataField,
    DataType,
    MapType,
    MultisetType,
    RowType,
    with_nullable,
)
from branch_console.merge.conflict import ConflictKind, Take
from branch_console.merge.schema_findings import EITHER_SIDE, SchemaFindings, comment_text
from branch_console.merge.type_lattice import can_widen, join_types

_COLUMNS: Final = "M6"
_TYPES: Final = "M6.1"
_NO_NULLS: Final = "M6.2"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRules:
    """Further facts about the sides.

    Attributes:
        ours_wrote: Whether the target wrote rows since the base.
        theirs_wrote: Whether the source did.
        findings: Collects conflicts and notes.
    """

    ours_wrote: bool
    theirs_wrote: bool
    findings: SchemaFindings


def merge_columns(
    sides: ThreeWay[tuple[DataField, ...]], rules: ColumnRules, path: str = ""
) -> tuple[DataField, ...]:
    """Merge the columns of a table or of a row inside it.

    Args:
        sides: The columns, with field ids of the target.
        rules: The rules of the merge and other known facts.
        path: The row's name with a dot behind it, empty for the table.

    References:
        Merge rules M6, M6.1 and M6.2.
    """
    base, ours, theirs = (_by_id(each) for each in (sides.base, sides.ours, sides.theirs))
    merged: dict[int, DataField] = {}
    for number in (*ours, *(each for each in theirs if each not in ours)):
        column = ThreeWay(base=base.get(number), ours=ours.get(number), theirs=theirs.get(number))
        kept = _merge_presence(column, rules, path)
        if kept is not None:
            merged[number] = kept
    _check_names(merged, ThreeWay(base=base, ours=ours, theirs=theirs), rules, path)
    order = _merge_order(
        ThreeWay(base=[*base], ours=[*ours], theirs=[*theirs]), merged, rules, path
    )
    return tuple(merged[number] for number in order)


def _by_id(fields: tuple[DataField, ...]) -> dict[int, DataField]:
    return {field.id: field for field in fields}


def _merge_presence(
    column: ThreeWay[DataField | None], rules: ColumnRules, path: str
) -> DataField | None:
    base, ours, theirs = column.base, column.ours, column.theirs
    if ours is not None and theirs is not None:
        # Added on both sides as one: what only one of them says about it stands.
        first = base or replace(ours, default_value=None, description=None)
        return _merge_column(ThreeWay(base=first, ours=ours, theirs=theirs), rules, path)
    if ours is not None:
        return ours if base is None else _dropped_by_theirs(base, ours, rules, path)
    if theirs is not None:
        return theirs if base is None else _dropped_by_ours(base, theirs, rules, path)
    return None


def _dropped_by_theirs(
    base: DataField, ours: DataField, rules: ColumnRules, path: str
) -> DataField | None:
    name = path + ours.name
    if ours == base and not rules.ours_wrote:
        return None
    did = "written" if ours == base else "altered"
    take = rules.findings.stands(
        Take.THEIRS,
        ConflictKind.COLUMN,
        _COLUMNS,
        name,
        ThreeWay(
            base=_column_text(base),
            ours=_column_text(ours) if did == "altered" else did,
            theirs="dropped",
        ),
        f"Column {name!r} was dropped on the source and {did} on the target: it is dropped.",
        "If you keep it, it is empty in rows that the source rewrote.",
    )
    return ours if take is Take.OURS else None


def _dropped_by_ours(
    base: DataField, theirs: DataField, rules: ColumnRules, path: str
) -> DataField | None:
    name = path + theirs.name
    sides = ThreeWay(base=_column_text(base), ours="dropped", theirs=_column_text(theirs))
    if theirs != base:
        take = rules.findings.conflict(
            ConflictKind.COLUMN,
            _COLUMNS,
            name,
            sides,
            f"The target dropped {name!r} and the source altered it. Drop it on the source too, or "
            "let it come back, empty in rows that the target rewrote.",
            EITHER_SIDE,
        )
        return theirs if take is Take.THEIRS else None
    if not rules.theirs_wrote:
        return None
    take = rules.findings.stands(
        Take.OURS,
        ConflictKind.COLUMN,
        _COLUMNS,
        name,
        replace(sides, theirs="written"),
        f"Column {name!r} was dropped on the target and written on the source: it stays dropped.",
        "If you take it back, it is empty in rows that the target rewrote.",
    )
    return theirs if take is Take.THEIRS else None


def _merge_column(column: ThreeWay[DataField], rules: ColumnRules, path: str) -> DataField:
    name = _merge_name(column, rules, path)
    subject = path + name
    return DataField(
        id=column.ours.id,
        name=name,
        type=_merge_type(each_side(column, lambda side: side.type), rules, subject),
        description=_merge_comment(column, rules, subject),
        default_value=_merge_default(column, rules, subject),
    )


def _merge_name(column: ThreeWay[DataField], rules: ColumnRules, path: str) -> str:
    names = each_side(column, lambda side: side.name)
    name = settle(names)
    if name is not Unresolved.CONFLICT:
        return name
    take = rules.findings.stands(
        Take.THEIRS,
        ConflictKind.COLUMN_NAME,
        _COLUMNS,
        path + names.base,
        names,
        f"Column {path + names.base!r} was renamed on both sides: it becomes {names.theirs!r}, as "
        f"on the source; {names.ours!r} is gone.",
    )
    return names.ours if take is Take.OURS else names.theirs


def _merge_comment(column: ThreeWay[DataField], rules: ColumnRules, subject: str) -> str | None:
    comments = each_side(column, lambda side: side.description)
    comment = settle(comments)
    if comment is not Unresolved.CONFLICT:
        return comment
    take = rules.findings.stands(
        Take.THEIRS,
        ConflictKind.COLUMN,
        _COLUMNS,
        subject,
        each_side(comments, comment_text),
        f"The comment of column {subject!r} was changed on both sides: the source's stands.",
    )
    return comments.ours if take is Take.OURS else comments.theirs


def _merge_default(column: ThreeWay[DataField], rules: ColumnRules, subject: str) -> str | None:
    defaults = each_side(column, lambda side: side.default_value)
    default = settle(defaults)
    if default is not Unresolved.CONFLICT:
        return default
    take = rules.findings.conflict(
        ConflictKind.COLUMN,
        _COLUMNS,
        subject,
        each_side(defaults, lambda text: "no default" if text is None else f"default {text!r}"),
        f"Each side gave {subject!r} its own default: choose one.",
        EITHER_SIDE,
    )
    return defaults.theirs if take is Take.THEIRS else defaults.ours


def _merge_type(types: ThreeWay[DataType], rules: ColumnRules, subject: str) -> DataType:
    nullable = _merge_nullable(types)
    match types.base, types.ours, types.theirs:
        case RowType() as base, RowType() as ours, RowType() as theirs:
            rows = ThreeWay(base=base.fields, ours=ours.fields, theirs=theirs.fields)
            return RowType(fields=merge_columns(rows, rules, f"{subject}."), nullable=nullable)
        case ArrayType() as base, ArrayType() as ours, ArrayType() as theirs:
            parts = ThreeWay(base=base.element, ours=ours.element, theirs=theirs.element)
            element = _merge_part(parts, rules, f"{subject}.element")
            return ArrayType(element=element, nullable=nullable)
        case MultisetType() as base, MultisetType() as ours, MultisetType() as theirs:
            parts = ThreeWay(base=base.element, ours=ours.element, theirs=theirs.element)
            element = _merge_part(parts, rules, f"{subject}.element")
            return MultisetType(element=element, nullable=nullable)
        case MapType() as base, MapType() as ours, MapType() as theirs:
            keys = ThreeWay(base=base.key, ours=ours.key, theirs=theirs.key)
            values = ThreeWay(base=base.value, ours=ours.value, theirs=theirs.value)
            return MapType(
                key=_merge_part(keys, rules, f"{subject}.key"),
                value=_merge_part(values, rules, f"{subject}.value"),
                nullable=nullable,
            )
        case _:
            whole = each_side(types, lambda side: with_nullable(side, True))
            return with_nullable(_merge_whole_type(whole, rules, subject), nullable)


def _merge_nullable(types: ThreeWay[DataType]) -> bool:
    nullable = settle(each_side(types, lambda side: side.nullable))
    # Of two values both sides can only have changed to the same one.
    return nullable is not Unresolved.CONFLICT and nullable


def _merge_part(types: ThreeWay[DataType], rules: ColumnRules, subject: str) -> DataType:
    merged = _merge_type(types, rules, subject)
    wrote_nulls = (rules.ours_wrote and types.ours.nullable) or (
        rules.theirs_wrote and types.theirs.nullable
    )
    if not merged.nullable and wrote_nulls:
        rules.findings.conflict(
            ConflictKind.NOT_NULL,
            _NO_NULLS,
            subject,
            each_side(types, str),
            f"Rows that the other side wrote may hold null in {subject!r}. Allow null again.",
        )
    return merged


def _merge_whole_type(types: ThreeWay[DataType], rules: ColumnRules, subject: str) -> DataType:
    """Types without parts, or with parts of different kinds; widened, never narrowed."""
    base, ours, theirs = types.base, types.ours, types.theirs
    if ours == theirs:
        return ours
    if theirs == base:
        # Nobody reads the source's files by the narrower type if it wrote none.
        if can_widen(base, ours) or not rules.theirs_wrote:
            return ours
        problem = f"The target's new type does not hold what the source wrote into {subject!r}."
    elif can_widen(ours, theirs):
        return theirs
    elif can_widen(theirs, ours):
        problem = f"The target has the wider type of {subject!r}."
    else:
        problem = f"Values of {subject!r} on the target are not all values of the source's type."
    take = rules.findings.conflict(
        ConflictKind.COLUMN_TYPE,
        _TYPES,
        subject,
        each_side(types, str),
        f"{problem} {_way_out(types, subject)}",
        tuple(
            take
            for take, narrow, wide in ((Take.OURS, theirs, ours), (Take.THEIRS, ours, theirs))
            if can_widen(narrow, wide)
        ),
    )
    return theirs if take is Take.THEIRS else ours


def _way_out(types: ThreeWay[DataType], subject: str) -> str:
    joined = join_types(types.ours, types.theirs)
    if joined is None:
        return f"No type holds both: rename {subject!r} on one side."
    return f"{joined} holds the values of both: alter the column to it on the side that differs."


def _check_names(
    merged: dict[int, DataField],
    sides: ThreeWay[dict[int, DataField]],
    rules: ColumnRules,
    path: str,
) -> None:
    by_name: dict[str, list[int]] = {}
    for number, field in merged.items():
        by_name.setdefault(field.name, []).append(number)
    for name, numbers in by_name.items():
        if len(numbers) == 1:
            continue
        are_new = all(number not in sides.base for number in numbers)
        texts = each_side(sides, partial(_column_texts, tuple(numbers)))
        if are_new:
            kind, rule, text = ConflictKind.COLUMN_TYPE, _TYPES, "Each side added its own column"
        else:
            kind, rule, text = ConflictKind.COLUMN_NAME, _COLUMNS, "Two columns would be called"
        advice = f"{text} {path + name!r}. Rename one of them."
        rules.findings.conflict(kind, rule, path + name, texts, advice)
    if not merged and sides.ours:
        texts = each_side(sides, lambda side: ", ".join(field.name for field in side.values()))
        rules.findings.conflict(
            ConflictKind.COLUMN,
            _COLUMNS,
            path.rstrip(".") or None,
            texts,
            "Together the two sides dropped all columns. Keep one.",
        )


def _column_text(field: DataField) -> str:
    default = "" if field.default_value is None else f" DEFAULT {field.default_value!r}"
    return f"{field.name} {field.type}{default}"


def _column_texts(numbers: tuple[int, ...], side: dict[int, DataField]) -> str:
    return ", ".join(_column_text(side[each]) for each in numbers if each in side) or "none"


def _merge_order(
    orders: ThreeWay[list[int]], merged: dict[int, DataField], rules: ColumnRules, path: str
) -> list[int]:
    """Place the columns: the order of the side that moved some, others behind their neighbour."""
    common = set(orders.base) & set(orders.ours) & set(orders.theirs)
    moves = each_side(orders, lambda side: [each for each in side if each in common])
    order = settle(moves)
    take = Take.OURS if order == moves.ours else Take.THEIRS
    if order is Unresolved.CONFLICT:
        take = rules.findings.stands(
            Take.THEIRS,
            ConflictKind.COLUMN,
            _COLUMNS,
            path.rstrip(".") or None,
            each_side(orders, lambda side: ", ".join(merged[n].name for n in side if n in merged)),
            f"Columns{' of ' + repr(path[:-1]) if path else ''} were moved on both sides: the "
            "source's order stands.",
        )
    first, second = orders.theirs, orders.ours
    if take is Take.OURS:
        first, second = second, first
    placed = [each for each in first if each in merged]
    return _placed(placed, [each for each in second if each in merged])


def _placed(order: list[int], others: list[int]) -> list[int]:
    """Put those of `others` that `order` lacks behind the same neighbour, the last ones last."""
    known = set(order)
    placed = list(order)
    for position, number in enumerate(others):
        if number in known:
            continue
        if known.isdisjoint(others[position:]):
            placed.append(number)
        else:
            behind = placed.index(others[position - 1]) + 1 if position else 0
            placed.insert(behind, number)
    return placed


def find_gaps(
    merged: tuple[DataField, ...],
    sides: ThreeWay[tuple[DataField, ...]],
    rules: ColumnRules,
    path: str = "",
) -> ThreeWay[tuple[str, ...]]:
    """Find columns that forbid null if a side wrote rows that may have none.

    Returns:
        Names of columns whose default the rows need that each side wrote; those without a default
        are conflicts among the findings. Nothing for the base.

    References:
        Merge rule M6.2, both ways.
    """
    gaps: dict[Take, list[str]] = {Take.OURS: [], Take.THEIRS: []}
    by_id = each_side(sides, _by_id)
    ours, theirs = by_id.ours, by_id.theirs
    for field in merged:
        name = path + field.name
        texts = each_side(by_id, partial(_column_texts, (field.id,)))
        for take, side, wrote in (
            (Take.OURS, ours, rules.ours_wrote),
            (Take.THEIRS, theirs, rules.theirs_wrote),
        ):
            has = side.get(field.id)
            if not wrote or field.type.nullable or (has and not has.type.nullable):
                continue
            if field.default_value is not None:
                gaps[take].append(name)
                continue
            who = "target" if take is Take.OURS else "source"
            rules.findings.conflict(
                ConflictKind.NOT_NULL,
                _NO_NULLS,
                name,
                texts,
                f"The {who} wrote rows that may have no {name!r}, which must not be null. Allow "
                "nulls in it, then merge.",
            )
        inner = [
            _inner_rows(each, name) for each in (field, ours.get(field.id), theirs.get(field.id))
        ]
        for row, fields in inner[0].items():
            parts = ThreeWay(
                base=(), ours=inner[1].get(row, fields), theirs=inner[2].get(row, fields)
            )
            found = find_gaps(fields, parts, rules, f"{row}.")
            gaps[Take.OURS] += found.ours
            gaps[Take.THEIRS] += found.theirs
    return ThreeWay(base=(), ours=tuple(gaps[Take.OURS]), theirs=tuple(gaps[Take.THEIRS]))


def _inner_rows(field: DataField | None, name: str) -> dict[str, tuple[DataField, ...]]:
    """The fields of the rows right inside a column, by the row's name."""
    if field is None:
        return {}
    rows: dict[str, tuple[DataField, ...]] = {}
    parts: list[tuple[str, DataType]] = [(name, field.type)]
    while parts:
        subject, data_type = parts.pop()
        match data_type:
            case RowType(fields=fields):
                rows[subject] = fields
            case ArrayType(element=element) | MultisetType(element=element):
                parts.append((f"{subject}.element", element))
            case MapType(key=key, value=value):
                parts += [(f"{subject}.value", value), (f"{subject}.key", key)]
            case _:
                pass
    return rows
