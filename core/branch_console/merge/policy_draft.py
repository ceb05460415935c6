"""The draft of a policy: what people have decided so far on the conflicts of a merge to come.

Several people may decide at a time. A change is what differs between the draft that somebody saw
and the one that they want; it is laid on the newest draft, unless somebody else has decided the
very same thing otherwise in the meantime.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.errors import ErrorKind, Refused
from branch_console.format.snapshot import SnapshotIdentity
from branch_console.merge.catalog.object_rules import ObjectChoice
from branch_console.merge.conflict import ConflictKind
from branch_console.merge.policy import (
    CHOICE,
    ColumnRule,
    KindRule,
    Policy,
    PolicyChoice,
    PredicateRule,
    TablePolicy,
)

_Subject: TypeAlias = tuple[str, ...]
_ROWS: Final = "rows"
_KIND: Final = "kind"
_TABLE: Final = "table"
_KIND_IN_TABLE: Final = "kind in table"
_COLUMN: Final = "column"
_WHERE: Final = "where"
_CHOICE: Final = "choice"
_OBJECT: Final = "object"
_SAID: Final = ("take", "value", "base", "ours", "theirs")
_ROW_KINDS: Final = frozenset(
    {ConflictKind.ADD_ADD, ConflictKind.MODIFY_MODIFY, ConflictKind.DELETE_MODIFY}
)
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PolicyDraft:
    """A draft as it stands.

    Attributes:
        id: As `draft_id` makes it.
        version: Counts from 1; 0 if nothing was decided yet.
    """

    id: str
    version: int = 0
    policy: Policy = field(default_factory=Policy)

    @property
    def decisions(self) -> int:
        """How many rules and choices there are."""
        return len(_subjects(self.policy))


def draft_id(source: str, target: str, base: SnapshotIdentity | str) -> str:
    """Return the name of a merge's draft: moving heads keep it, another base changes it.

    Args:
        source: The branch that comes in.
        target: The branch that changes.
        base: In a merge of the catalog, the versions that are the bases of objects.
    """
    return hashlib.sha256(repr((source, target, base)).encode()).hexdigest()[:16]


def policy_to_compare_by(policy: Policy) -> str | None:
    """Return as YAML the part of a policy that bears on which rows conflict; the rest settles them.

    None if it says nothing of that.
    """
    tables = (
        TablePolicy(table=each.table, kinds=_not_of_rows(each.kinds)) for each in policy.tables
    )
    by = Policy(
        rows=policy.rows,
        kinds=_not_of_rows(policy.kinds),
        tables=tuple(each for each in tables if each.kinds),
    )
    return by.to_yaml() if _subjects(by) else None


def _not_of_rows(rules: tuple[KindRule, ...]) -> tuple[KindRule, ...]:
    return tuple(rule for rule in rules if rule.kind not in _ROW_KINDS)


# --- changes ------------------------------------------------------------------------------------


def with_column_rule(policy: Policy, table: str, column: str, take: PolicyChoice | None) -> Policy:
    """Settle the cells of a column; None takes its rule away."""

    def change(before: TablePolicy) -> TablePolicy:
        others = tuple(rule for rule in before.columns if rule.column != column)
        added = () if take is None else (ColumnRule(column=column, take=take),)
        return replace(before, columns=(*others, *added))

    return _changed(policy, table, change)


def with_table_rule(policy: Policy, table: str, take: PolicyChoice | None) -> Policy:
    """Settle all that nothing stronger does; None takes that away."""
    return _changed(policy, table, lambda before: replace(before, take=take))


def with_kind_rule(policy: Policy, kind: ConflictKind, take: PolicyChoice | None) -> Policy:
    """Settle a kind of conflicts in every table; None takes that away."""
    return replace(policy, kinds=_with_kind(policy.kinds, kind, take))


def with_kind_rule_in(
    policy: Policy, table: str, kind: ConflictKind, take: PolicyChoice | None
) -> Policy:
    """Settle a kind of conflicts in one table; None takes that away."""
    return _changed(
        policy,
        table,
        lambda before: replace(before, kinds=_with_kind(before.kinds, kind, take)),
    )


def _with_kind(
    rules: tuple[KindRule, ...], kind: ConflictKind, take: PolicyChoice | None
) -> tuple[KindRule, ...]:
    others = tuple(rule for rule in rules if rule.kind is not kind)
    return others if take is None else (*others, KindRule(kind=kind, take=take))


def with_object_choice(
    policy: Policy, object_name: str, kind: ConflictKind, choice: ObjectChoice | None
) -> Policy:
    """Settle the conflicts of a kind over one object; None opens them again."""
    others = tuple(
        each for each in policy.objects if (each.object_name, each.kind) != (object_name, kind)
    )
    added = () if choice is None else (choice,)
    return replace(policy, objects=(*others, *added))


def with_predicate(policy: Policy, table: str, rule: PredicateRule) -> Policy:
    """Settle where a condition holds, after the conditions that there are."""

    def change(before: TablePolicy) -> TablePolicy:
        return replace(before, where=(*_others(before, rule), rule))

    return _changed(policy, table, change)


def without_predicate(policy: Policy, table: str, rule: PredicateRule) -> Policy:
    """Take a condition away."""
    return _changed(policy, table, lambda before: replace(before, where=_others(before, rule)))


def without_choices(policy: Policy, table: str, conflict_ids: pa.Array) -> Policy:
    """Take choices of cells or rows away."""

    def change(before: TablePolicy) -> TablePolicy:
        is_meant = pc.is_in(before.choices["conflict_id"], value_set=conflict_ids)
        return replace(before, choices=before.choices.filter(pc.invert(is_meant)))

    return _changed(policy, table, change)


def laid_over(policy: Policy, other: Policy) -> Policy:
    """Lay another policy over one: where both say something, the other counts."""
    subjects = {**_subjects(policy), **_subjects(other)}
    return _policy_of({**subjects, (_ROWS,): other.rows})


def rebase(seen: Policy, wanted: Policy, newest: Policy) -> Policy:
    """Lay a change on the newest policy.

    Args:
        seen: The draft that the change was made on.
        wanted: The changed draft.
        newest: The current draft, changed by others meanwhile.

    Raises:
        Refused: They decided the same thing otherwise; it tells what and who.
    """
    before, after, now = _subjects(seen), _subjects(wanted), _subjects(newest)
    changed = [
        subject
        for subject in dict.fromkeys([*before, *after])
        if _said(before.get(subject)) != _said(after.get(subject))
    ]
    others = [
        subject
        for subject in changed
        if _said(now.get(subject)) != _said(before.get(subject))
        and _said(now.get(subject)) != _said(after.get(subject))
    ]
    if others:
        text = "; ".join(_choice_text(subject, now.get(subject)) for subject in others[:_SHOWN])
        more = f"; and {len(others) - _SHOWN:,} more" if len(others) > _SHOWN else ""
        raise Refused(
            f"Somebody has decided this in the meantime: {text}{more}. That stands, and your "
            "choice was not kept; look at it, then choose again.",
            kind=ErrorKind.COMMIT_CONFLICT,
        )
    for subject in changed:
        if subject in after:
            now[subject] = after[subject]
        else:
            now.pop(subject, None)
    return _policy_of(now)


# --- policies as what they say of each subject --------------------------------------------------


def _changed(policy: Policy, table: str, change: Callable[[TablePolicy], TablePolicy]) -> Policy:
    before = next((each for each in policy.tables if each.table == table), TablePolicy(table=table))
    others = tuple(each for each in policy.tables if each.table != table)
    return replace(policy, tables=(*others, change(before)))


def _others(policy: TablePolicy, rule: PredicateRule) -> tuple[PredicateRule, ...]:
    meant = (rule.when, rule.column)
    return tuple(each for each in policy.where if (each.when, each.column) != meant)


def _subjects(policy: Policy) -> dict[_Subject, Any]:
    """Return the decisions of a policy by their subjects; predicates keep their order."""
    found: dict[_Subject, Any] = {}
    if policy.rows is not Policy().rows:
        found[_ROWS,] = policy.rows
    found |= {(_KIND, str(rule.kind)): rule for rule in policy.kinds}
    for each in policy.tables:
        if each.take is not None:
            found[_TABLE, each.table] = each.take
        found |= {(_KIND_IN_TABLE, each.table, str(rule.kind)): rule for rule in each.kinds}
        found |= {(_COLUMN, each.table, rule.column): rule for rule in each.columns}
        found |= {
            (_WHERE, each.table, rule.when, *_given(rule.column)): rule for rule in each.where
        }
        choices = each.choices.to_pylist()
        found |= {(_CHOICE, each.table, choice["conflict_id"]): choice for choice in choices}
    found |= {(_OBJECT, each.object_name, str(each.kind)): each for each in policy.objects}
    return found


def _policy_of(subjects: Mapping[_Subject, Any]) -> Policy:
    def said(what: str, table: str) -> Sequence[Any]:
        return [value for key, value in subjects.items() if key[:2] == (what, table)]

    of_tables = (_TABLE, _KIND_IN_TABLE, _COLUMN, _WHERE, _CHOICE)
    tables = dict.fromkeys(key[1] for key in subjects if key[0] in of_tables)
    return Policy(
        rows=subjects.get((_ROWS,), Policy().rows),
        kinds=tuple(value for key, value in subjects.items() if key[0] == _KIND),
        tables=tuple(
            TablePolicy(
                table=table,
                take=subjects.get((_TABLE, table)),
                kinds=tuple(said(_KIND_IN_TABLE, table)),
                columns=tuple(said(_COLUMN, table)),
                where=tuple(said(_WHERE, table)),
                choices=pa.Table.from_pylist(list(said(_CHOICE, table)), schema=CHOICE),
            )
            for table in tables
        ),
        objects=tuple(value for key, value in subjects.items() if key[0] == _OBJECT),
    )


def _said(value: Any) -> object:
    """Return the decision without its author and time."""
    return tuple(value[name] for name in _SAID) if isinstance(value, dict) else value


def _choice_text(subject: _Subject, value: Any) -> str:
    if isinstance(value, dict):
        what = value["column"] or "the whole row"
        took = value["value"] if value["take"] == "value" else value["take"]
        return f"{what} of {value['key']} by {value['decided_by']}, as {took!r}"
    name = " ".join(part for part in subject if part)
    if value is None:
        return f"{name} was taken away"
    taken = value.take if isinstance(value, ColumnRule | PredicateRule | KindRule) else value
    return f"{name}, as {taken}"


def _given(text: str | None) -> tuple[str, ...]:
    return () if text is None else (text,)
