"""How conflicts are settled: a policy is a file that people keep, reuse and show in receipts.

    version: 1
    rows: cell
    kinds: {deleted and changed: ours}
    tables:
      flights.delays:
        kinds: {option: theirs}
        take: theirs
        columns: {minutes: max, note: concatenate with ; , status: newest by updated_at}
        where:
          - {when: "dt < '2026-11-01'", take: ours}
        choices:
          - {id: 5f0c…, key: {id: '7'}, column: note, take: value, value: late, base: a, ours: b,
             theirs: c, by: anna, at: '2026-11-21T15:00:00.000+00:00'}

The name `*` stands for every table, or every object. Errors name the line and the field.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import Any, ClassVar, Final

import pyarrow as pa
import pyarrow.compute as pc
import yaml

from branch_console.errors import InvalidInput
from branch_console.expr.predicate import parse_condition
from branch_console.format.values.arrow_types import no_rows
from branch_console.format.values.readable import readable
from branch_console.format.yaml_part import YamlPart
from branch_console.merge.catalog.object_rules import ObjectChoice
from branch_console.merge.conflict import FORMER_KINDS, OBJECT_KINDS, ConflictKind, Take

EVERY_TABLE: Final = "*"
_VERSION: Final = "1"
_KINDS_IN_TABLES: Final = (
    *(each for each in ConflictKind if each not in OBJECT_KINDS),
    *FORMER_KINDS,
)
_TOUCHED: Final = "touched"
"""A rule that was given up: it called equal changes of a row a conflict as well."""
_READ_AS_ROW: Final = (
    "The policy says 'rows: touched', which is read as 'rows: row': rows that both sides changed "
    "alike do not conflict. Write 'rows: row' in the policy."
)
_NEWEST_BY: Final = "newest by "
_CONCATENATE_WITH: Final = "concatenate with "
# The one in C writes 100,000 choices in seconds, the one in Python in minutes.
_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class RowRule(StrEnum):
    """When two changes of one row conflict."""

    CELL = "cell"
    ROW = "row"


class Settle(StrEnum):
    """The sides that a rule may settle a conflict to."""

    OURS = "ours"
    THEIRS = "theirs"
    BASE = "base"
    NON_NULL = "non-null"
    NEWEST = "newest"
    MAX = "max"
    MIN = "min"
    SUM_OF_DELTAS = "sum of deltas"
    CONCATENATE = "concatenate"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChoice:
    """A way to settle, with what it needs.

    Attributes:
        by: The column that says which row is newer.
        separator: The text between concatenated texts.
    """

    how: Settle
    by: str | None = None
    separator: str = ""

    @classmethod
    def parse(cls, text: str) -> "PolicyChoice":
        """Read what `str` of a settling gives.

        Raises:
            InvalidInput: It is no way to settle.
        """
        if text.startswith(_NEWEST_BY):
            return cls(how=Settle.NEWEST, by=text.removeprefix(_NEWEST_BY).strip())
        if text.startswith(_CONCATENATE_WITH):
            return cls(how=Settle.CONCATENATE, separator=text.removeprefix(_CONCATENATE_WITH))
        if text not in set(Settle) - {Settle.NEWEST}:
            known = ", ".join(each for each in Settle if each is not Settle.NEWEST)
            raise InvalidInput(
                f"{text!r} is no way to settle. Choose one of {known}, newest by COLUMN."
            )
        return cls(how=Settle(text))

    def __str__(self) -> str:
        if self.by is not None:
            return f"{_NEWEST_BY}{self.by}"
        return f"{_CONCATENATE_WITH}{self.separator}" if self.separator else str(self.how)


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRule:
    """Settles all conflicts of a kind."""

    kind: ConflictKind
    take: PolicyChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRule:
    """Settles the cells of a column."""

    column: str
    take: PolicyChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class PredicateRule:
    """Settles rows that a condition holds for, see `expr.predicate`; `column` narrows it."""

    when: str
    take: PolicyChoice
    column: str | None = None


CHOICE: Final = pa.schema(
    [
        pa.field("conflict_id", pa.string(), nullable=False),
        pa.field("key", pa.string(), nullable=False),
        pa.field("column", pa.string()),
        pa.field("take", pa.string(), nullable=False),
        pa.field("value", pa.string()),
        pa.field("base", pa.string()),
        pa.field("ours", pa.string()),
        pa.field("theirs", pa.string()),
        pa.field("decided_by", pa.string(), nullable=False),
        pa.field("time_millis", pa.int64(), nullable=False),
    ]
)
"""Choices by hand: of a cell, or where `column` is null of a row, with the values decided on.

`key` is a JSON object of texts by column of the primary key, `take` ours, theirs, base or value,
`value` the text of an edit.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TablePolicy:
    """How conflicts of one table are settled.

    Attributes:
        table: Its name, such as `flights.delays`, or `*` for every table that is not named.
        take: For all that nothing stronger settles.
        kinds: For conflicts of a kind, as those of the policy, in this table alone.
        columns: One rule a column at most.
        where: The first whose condition holds decides.
        choices: Columns of CHOICE.
    """

    table: str
    take: PolicyChoice | None = None
    kinds: tuple[KindRule, ...] = ()
    columns: tuple[ColumnRule, ...] = ()
    where: tuple[PredicateRule, ...] = ()
    choices: pa.Table = field(default_factory=partial(no_rows, CHOICE))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Policy:
    """When rows conflict and how conflicts are settled; nothing is settled unless it says so.

    Strongest first: cell, row, predicate, column, kind in a table, table, kind.

    Attributes:
        objects: How conflicts over databases and tables of a merge of the catalog are settled.
        notes: How its file was read where it says what is no more, in sentences.
    """

    rows: RowRule = RowRule.CELL
    kinds: tuple[KindRule, ...] = ()
    tables: tuple[TablePolicy, ...] = ()
    objects: tuple[ObjectChoice, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def from_yaml(cls, text: str) -> "Policy":
        """Read a policy file.

        Raises:
            InvalidInput: It is no YAML, or something in it is not known; it names line and field.
        """
        root = _Part.parse(text)
        return _policy(root) if root is not None else cls()

    def to_yaml(self) -> str:
        """Write a policy file; reading it gives an equal policy."""
        content: dict[str, Any] = {"version": int(_VERSION), "rows": str(self.rows)}
        if self.kinds:
            content["kinds"] = _kinds_object(self.kinds)
        if self.tables:
            content["tables"] = {each.table: _table_object(each) for each in self.tables}
        if self.objects:
            content["objects"] = _objects_object(self.objects)
        return str(yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True))

    @property
    def digest(self) -> str:
        """The same for policies that say the same."""
        return hashlib.sha256(self.to_yaml().encode()).hexdigest()[:16]

    def for_table(self, table: str) -> tuple[TablePolicy, ...]:
        """Return the layers of rules of a table, the stronger last."""
        names = (EVERY_TABLE, table)
        return tuple(each for name in names for each in self.tables if each.table == name)

    def with_choices(self, table: str, choices: pa.Table) -> "Policy":
        """Return this policy with choices of a table on top; one of the same conflict goes.

        Args:
            table: The table's name.
            choices: Columns of CHOICE, see `choose`.
        """
        before = next(
            (each for each in self.tables if each.table == table), TablePolicy(table=table)
        )
        is_new = pc.is_in(
            before.choices["conflict_id"], value_set=choices["conflict_id"].combine_chunks()
        )
        kept = before.choices.filter(pc.invert(is_new))
        after = replace(before, choices=pa.concat_tables([kept, choices.select(CHOICE.names)]))
        others = tuple(each for each in self.tables if each.table != table)
        return replace(self, tables=(*others, after))

    def decides_by_row(self, table: str) -> bool:
        """Whether somebody chose whole rows of a table."""
        return any(each.choices["column"].null_count for each in self.for_table(table))


def choose(
    conflicts: pa.Table, take: Take, *, value: str | None = None, decided_by: str, time_millis: int
) -> pa.Table:
    """Return choices for conflicts, with the values that they are decided on.

    Args:
        conflicts: Columns of `row_conflict_schema`.
        take: Ours, theirs, base or, with a text for the cell, value.
        value: The typed value; None is NULL.
        decided_by: The person who chose.
        time_millis: When.

    Returns:
        Columns of CHOICE.
    """
    shown = readable(conflicts.select(["key"]))["key"].to_pylist()
    keys = [{name: str(part) for name, part in key.items()} for key in shown]
    count = conflicts.num_rows
    names = ("conflict_id", "column", "base", "ours", "theirs")
    columns = {
        **{name: conflicts[name] for name in names},
        "key": pa.array([json.dumps(key, ensure_ascii=False) for key in keys], pa.string()),
        "take": pa.repeat(pa.scalar(str(take)), count),
        "value": pa.repeat(pa.scalar(value, pa.string()), count),
        "decided_by": pa.repeat(pa.scalar(decided_by), count),
        "time_millis": pa.repeat(pa.scalar(time_millis, pa.int64()), count),
    }
    return pa.table({name: columns[name] for name in CHOICE.names}, schema=CHOICE)


def _kinds_object(rules: tuple[KindRule, ...]) -> dict[str, str]:
    return {str(rule.kind): str(rule.take) for rule in rules}


def _objects_object(choices: tuple[ObjectChoice, ...]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for choice in choices:
        found.setdefault(choice.object_name, {})[str(choice.kind)] = str(choice)
    return found


def _table_object(policy: TablePolicy) -> dict[str, Any]:
    content: dict[str, Any] = {}
    if policy.take is not None:
        content["take"] = str(policy.take)
    if policy.kinds:
        content["kinds"] = _kinds_object(policy.kinds)
    if policy.columns:
        content["columns"] = {rule.column: str(rule.take) for rule in policy.columns}
    if policy.where:
        content["where"] = [
            {"when": rule.when, "take": str(rule.take)}
            | ({} if rule.column is None else {"column": rule.column})
            for rule in policy.where
        ]
    if policy.choices.num_rows:
        content["choices"] = [_choice_object(each) for each in policy.choices.to_pylist()]
    return content


def _choice_object(choice: dict[str, Any]) -> dict[str, Any]:
    at = datetime.fromtimestamp(choice["time_millis"] / 1000, UTC)
    given = ("column", "value", "base", "ours", "theirs")
    return {
        "id": choice["conflict_id"],
        "key": json.loads(choice["key"]),
        "take": choice["take"],
        **{name: choice[name] for name in given if choice[name] is not None},
        "by": choice["decided_by"],
        "at": at.isoformat(timespec="milliseconds"),
    }


# --- reading ------------------------------------------------------------------------------------


class _Part(YamlPart):
    """A part of a policy file."""

    what: ClassVar[str] = "the policy"

    def settling(self) -> PolicyChoice:
        """A way to settle."""
        try:
            return PolicyChoice.parse(self.text())
        except InvalidInput as error:
            raise self.error(f"cannot be read: {error.message}") from error

    def object_choice(self, object_name: str, kind: ConflictKind) -> ObjectChoice:
        """How conflicts of a kind over an object are settled."""
        try:
            return ObjectChoice.parse(object_name, kind, self.text())
        except InvalidInput as error:
            raise self.error(f"cannot be read: {error.message}") from error

    def condition(self) -> str:
        """The text of a condition that can be read."""
        try:
            parse_condition(self.text())
        except InvalidInput as error:
            raise self.error(f"cannot be read: {error.message}") from error
        return self.text()

    def millis(self) -> int:
        """A time with its zone, as milliseconds since 1970."""
        try:
            at = datetime.fromisoformat(self.text())
        except ValueError as error:
            raise self.error(f"is no time: {error}") from error
        if at.tzinfo is None:
            raise self.error("is a time without a zone")
        return round(at.timestamp() * 1000)


def _policy(root: _Part) -> Policy:
    fields = root.fields("version", "rows", "kinds", "tables", "objects")
    if root.get(fields, "version").text() != _VERSION:
        raise fields["version"].error(f"is not {_VERSION}, the one that is known")
    is_touched = "rows" in fields and fields["rows"].find_text() == _TOUCHED
    rule = fields["rows"].one_of(RowRule) if "rows" in fields and not is_touched else None
    return Policy(
        rows=RowRule.ROW if is_touched else rule or RowRule.CELL,
        kinds=_kind_rules(fields),
        tables=tuple(_table(name, part) for name, part in _items(fields, "tables")),
        objects=tuple(
            part.object_choice(name, ConflictKind(kind))
            for name, parts in _items(fields, "objects")
            for kind, part in parts.items(*OBJECT_KINDS)
        ),
        notes=(_READ_AS_ROW,) if is_touched else (),
    )


def _items(fields: Mapping[str, _Part], name: str, *known: str) -> Iterator[tuple[str, _Part]]:
    return fields[name].items(*known) if name in fields else iter(())


def _kind_rules(fields: Mapping[str, _Part]) -> tuple[KindRule, ...]:
    return tuple(
        KindRule(kind=ConflictKind(name), take=part.settling())
        for name, part in _items(fields, "kinds", *_KINDS_IN_TABLES)
    )


def _table(name: str, part: _Part) -> TablePolicy:
    fields = part.fields("take", "kinds", "columns", "where", "choices")
    rules = fields["where"].parts() if "where" in fields else ()
    choices = fields["choices"].parts() if "choices" in fields else ()
    return TablePolicy(
        table=name,
        take=fields["take"].settling() if "take" in fields else None,
        kinds=_kind_rules(fields),
        columns=tuple(
            ColumnRule(column=column, take=rule.settling())
            for column, rule in _items(fields, "columns")
        ),
        where=tuple(_predicate(each) for each in rules),
        choices=pa.Table.from_pylist([_choice(each) for each in choices], schema=CHOICE),
    )


def _predicate(part: _Part) -> PredicateRule:
    fields = part.fields("when", "take", "column")
    return PredicateRule(
        when=part.get(fields, "when").condition(),
        take=part.get(fields, "take").settling(),
        column=fields["column"].find_text() if "column" in fields else None,
    )


def _choice(part: _Part) -> dict[str, Any]:
    texts = ("column", "value", "base", "ours", "theirs")
    fields = part.fields("id", "key", "take", *texts, "by", "at")
    found = {name: fields[name].find_text() for name in texts if name in fields}
    take = part.get(fields, "take")
    if take.one_of(Take) not in _TAKES:
        raise take.error(f"may be {', '.join(_TAKES)} here")
    key = {name: value.text() for name, value in part.get(fields, "key").items()}
    return {
        "conflict_id": part.get(fields, "id").text(),
        "key": json.dumps(key, ensure_ascii=False),
        "take": take.text(),
        **dict.fromkeys(texts),
        **found,
        "decided_by": part.get(fields, "by").text(),
        "time_millis": part.get(fields, "at").millis(),
    }


_TAKES: Final = (Take.OURS, Take.THEIRS, Take.BASE, Take.VALUE)
