"""Rules that settle conflicts, as a page lists, tries and makes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format import options as table_options
from branch_console.format.table_schema import TableSchema
from branch_console.merge.conflict import ConflictKind
from branch_console.merge.policy import EVERY_TABLE, Policy, PolicyChoice, PredicateRule, Settle
from branch_console.merge.policy_draft import (
    with_column_rule,
    with_kind_rule,
    with_table_rule,
    without_predicate,
)
from branch_console.merge.reapply_policy import without_effect
from branch_console.merge.row_text import cell_texts
from branch_console.merge.row_work import FIRST_RANKED, ROWS_OF_SIDES
from branch_console_app.models.merge.resolver import WHOLE_ROW, Group
from branch_console_app.models.parts.wording import code, listed, plural

SIDES: Final = (Settle.OURS, Settle.THEIRS, Settle.BASE)
"""The choices that settle whole rows as well as cells."""

_SIDE_WORDS: Final = {Settle.OURS: "target", Settle.THEIRS: "source"}
_ROWS_OF_KIND: Final[Mapping[str, str]] = {
    ConflictKind.ADD_ADD: "rows that both branches added",
    ConflictKind.MODIFY_MODIFY: "rows that both branches changed",
    ConflictKind.DELETE_MODIFY: "rows that one branch deleted and the other changed",
}


class RuleScope(StrEnum):
    """The scope of a rule; the strongest first."""

    PREDICATE = "condition"
    COLUMN = "column"
    TABLE = "table"
    KIND = "kind"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleLine:
    """A rule of a draft.

    Attributes:
        subject: Its subject: a condition, a column, a table or a kind of conflicts.
        take: How it settles.
        number: How many conflicts it decides.
        table: The table that it is said of; `*` for all.
        predicate: The rule, where it is one by condition.
    """

    scope: RuleScope
    subject: str
    take: str
    number: int
    table: str
    predicate: PredicateRule | None = None

    def removed_from(self, policy: Policy) -> Policy:
        """Return a policy without this rule."""
        match self.scope:
            case RuleScope.COLUMN:
                return with_column_rule(policy, self.table, self.subject, None)
            case RuleScope.TABLE:
                return with_table_rule(policy, self.table, None)
            case RuleScope.KIND:
                return with_kind_rule(policy, ConflictKind(self.subject), None)
            case RuleScope.PREDICATE:
                assert self.predicate is not None
                return without_predicate(policy, self.table, self.predicate)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleEffect:
    """The effect of a change of the draft on the conflicts.

    Attributes:
        settles: The number of open conflicts that it settles.
        changes: The number of settled conflicts that get another result, or another rule.
        opens: The number of settled conflicts that it opens.
        overturns: The number of settled conflicts that it opens, or gives another result.
    """

    settles: int
    changes: int
    opens: int
    overturns: int

    @property
    def does_anything(self) -> bool:
        """Whether any conflict is settled otherwise than before."""
        return bool(self.settles or self.changes or self.opens)


def effect_of(before: pa.Table, after: pa.Table) -> RuleEffect:
    """Compare conflicts as one draft and another settle them, both in one order."""
    was, now = pc.is_valid(before["take"]), pc.is_valid(after["take"])
    same_result = pc.or_(
        pc.fill_null(pc.equal(before["result"], after["result"]), False),
        pc.and_(pc.is_null(before["result"]), pc.is_null(after["result"])),
    )
    same_layer = pc.fill_null(pc.equal(before["decided_by"], after["decided_by"]), False)
    is_other = pc.invert(pc.and_(same_result, same_layer))
    return RuleEffect(
        settles=_number(pc.and_not(now, was)),
        changes=_number(pc.and_(pc.and_(was, now), is_other)),
        opens=_number(pc.and_not(was, now)),
        overturns=_number(pc.and_(was, pc.invert(pc.and_(now, same_result)))),
    )


def _number(mask: pa.ChunkedArray) -> int:
    return int(pc.sum(mask).as_py() or 0)


def left_open_words(conflicts: pa.Table) -> str:
    """Say what settles the open ones of conflicts that no rule settles."""
    hidden = _number(pc.equal(conflicts["kind"], str(ConflictKind.HIDDEN)))
    outdated = _number(conflicts["needs_another_look"])
    ways = []
    if outdated:
        ways.append(
            f"Decide again on {plural(outdated, 'conflict')} under *To be checked again*: "
            f"{'its' if outdated == 1 else 'their'} values changed since the decision."
        )
    no_effect = _number(without_effect(conflicts))
    if no_effect:
        ways.append(
            f"Decide otherwise on {plural(no_effect, 'conflict')}: the sequence field ranks "
            "another row first, so readers would not see what was decided."
        )
    if hidden:
        ways.append(
            f"Change the {'row' if hidden == 1 else 'rows'} of {plural(hidden, 'hidden result')} "
            "on a branch: readers would not see what a decision takes."
        )
    return " ".join(ways)


def sequence_words(schema: TableSchema, conflicts: pa.Table) -> str | None:
    """Say that a decision can have no effect where a sequence field ranks rows; None without one.

    Args:
        schema: The schema of the target.
        conflicts: Columns of `row_conflict_schema`; of a merge engine that joins rows they do not
            tell which results are hidden, so that only a run does.
    """
    names = schema.options.read(table_options.SEQUENCE_FIELD)
    if not names or schema.skips_level_0:
        return None
    ranks = f"Readers see the row that the sequence field {listed([code(name) for name in names])} "
    if FIRST_RANKED in conflicts.column_names:
        return f"{ranks}ranks first: a decision for another row has no effect and settles nothing."
    return (
        f"{ranks}ranks first. If that is not the row you decide for, the dry run reports a "
        "*hidden result* and nothing is merged."
    )


def open_without_base(conflicts: pa.Table) -> int:
    """Return how many open conflicts the base cannot settle: both branches added their rows."""
    is_added = pc.equal(conflicts["kind"], str(ConflictKind.ADD_ADD))
    return _number(pc.and_(is_added, pc.is_null(conflicts["take"])))


def no_base_words(number: int) -> str:
    """Say why the base leaves conflicts open; blank without any."""
    if not number:
        return ""
    them, their = ("it", "its row") if number == 1 else ("them", "their rows")
    return (
        f"The base cannot settle {plural(number, 'conflict')}: both branches added {their}, so "
        f"there is no value to go back to. Take the source or keep the target for {them}."
    )


def effect_words(settles: int, most: int, without_base: int = 0) -> str | None:
    """Say that a side settles fewer conflicts than another one does; None if it does not.

    Args:
        settles: The number of open conflicts that it settles.
        most: The number that the side settles which settles most.
        without_base: The number of open conflicts that lack the value that it takes.
    """
    if settles >= most:
        return None
    if without_base:
        return no_base_words(without_base)
    settled = f"Settles {settles} of them only" if settles else "Settles none of them"
    return f"{settled}: readers would not see its rows, as the sequence field ranks others first"


def overturn_words(number: int, instead: str) -> str | None:
    """Say why a button for open conflicts is not offered; None if it overturns no settled one.

    Args:
        number: The number of settled conflicts that it overturns.
        instead: What settles the open ones without that, as a sentence.
    """
    if not number:
        return None
    them = "it" if number == 1 else "them"
    return (
        f"Another rule has settled {plural(number, 'conflict')} in another way, and this button "
        f"would change {them}. {instead}"
    )


def rule_lines(policy: Policy, table: str, settled: pa.Table) -> tuple[RuleLine, ...]:
    """Return the rules of a draft for a table, the strongest first.

    Args:
        policy: The draft.
        table: The table's name in it.
        settled: Its conflicts as the draft settles them.
    """
    by_rules = settled.filter(pc.and_not(pc.is_valid(settled["take"]), settled["is_choice"]))
    counted = by_rules.group_by(["decided_by", "column"]).aggregate([([], "count_all")]).to_pylist()
    lines: list[RuleLine] = []
    # The stronger table comes last, and is listed first.
    tables = policy.for_table(table)[::-1]

    def number(decided_by: str, column: str | None = None) -> int:
        return sum(
            each["count_all"]
            for each in counted
            if each["decided_by"] == decided_by and column in (None, each["column"])
        )

    for each in tables:
        lines += (
            RuleLine(
                scope=RuleScope.PREDICATE,
                subject=rule.when if rule.column is None else f"{rule.column} where {rule.when}",
                take=take_words(rule.take),
                number=number(f"where {rule.when}", rule.column),
                table=each.table,
                predicate=rule,
            )
            for rule in each.where
        )
    for each in tables:
        lines += (
            RuleLine(
                scope=RuleScope.COLUMN,
                subject=rule.column,
                take=take_words(rule.take),
                number=number(f"column {rule.column}"),
                table=each.table,
            )
            for rule in each.columns
        )
    lines += (
        RuleLine(
            scope=RuleScope.TABLE,
            subject=each.table,
            take=take_words(each.take),
            number=number(f"table {each.table}"),
            table=each.table,
        )
        for each in tables
        if each.take is not None
    )
    lines += (
        RuleLine(
            scope=RuleScope.KIND,
            subject=str(rule.kind),
            take=take_words(rule.take),
            number=number(f"kind {rule.kind}"),
            table=EVERY_TABLE,
        )
        for rule in policy.kinds
    )
    return tuple(lines)


def side_word(side: Settle) -> str:
    """Return how pages name a way to settle: target and source, where policies say ours, theirs."""
    return _SIDE_WORDS.get(side, str(side))


def sides_of_kind(kind: str | None) -> tuple[Settle, ...]:
    """Return the sides that can settle conflicts of a kind; all for None, which is any kind."""
    is_added = kind == ConflictKind.ADD_ADD
    return tuple(side for side in SIDES if not (is_added and side is Settle.BASE))


def take_words(take: PolicyChoice) -> str:
    """Return how a page names a choice of a rule, with what it needs."""
    return side_word(take.how) if take.how in _SIDE_WORDS else str(take)


def rows_of_group(group: Group) -> str:
    """Name the rows that the rule of a group is for."""
    named = _ROWS_OF_KIND.get(group.kind or "", "rows in conflict")
    column = "" if group.column in (None, WHOLE_ROW) else f", column {group.column}"
    partition = "" if group.partition is None else f", partition {group.partition}"
    return f"{named}{column}{partition}"


def current_rule(policy: Policy, table: str, rule: PredicateRule) -> PredicateRule | None:
    """Return the rule of a policy with the same condition and column; None if it has none."""
    rules = (each for part in policy.for_table(table) for each in part.where)
    return next((e for e in rules if (e.when, e.column) == (rule.when, rule.column)), None)


def settling_of(how: Settle, *, by: str | None = None, separator: str = "") -> PolicyChoice | None:
    """Return a way to settle, None while it lacks the column that tells what is newer."""
    if how is Settle.NEWEST:
        return None if by is None else PolicyChoice(how=how, by=by)
    return PolicyChoice(how=how, separator=separator if how is Settle.CONCATENATE else "")


def rule_of_group(
    group: Group, some: pa.Table, schema: TableSchema, take: PolicyChoice
) -> PredicateRule:
    """Return the rule that settles a group, however many conflicts it holds.

    Args:
        group: Its kind, column and partition.
        some: Conflicts of it, one at least: its rows tell the values of the partition.
        schema: The schema of the target.
        take: How it settles.

    Raises:
        InvalidInput: A condition cannot say the partition or the kind.
    """
    parts = [_kind_words(group.kind, schema.primary_keys[0])]
    if group.partition is not None:
        parts += [_value_words(some, name, schema.primary_keys) for name in schema.partition_keys]
    return PredicateRule(
        when=" and ".join(parts),
        take=take,
        column=None if group.column in (None, WHOLE_ROW) else group.column,
    )


def _kind_words(kind: str | None, key: str) -> str:
    """The condition that holds for conflicts of a kind: a row without a key is not there."""
    name = _quoted(key)
    base, ours, theirs = (f"{side}.{name}" for side in ("base", "ours", "theirs"))
    match kind:
        case ConflictKind.ADD_ADD:
            return f"{base} is null"
        case ConflictKind.DELETE_MODIFY:
            return f"({ours} is null or {theirs} is null)"
        case ConflictKind.MODIFY_MODIFY:
            return f"{base} is not null and {ours} is not null and {theirs} is not null"
        case _:
            raise InvalidInput(
                f"No rule settles conflicts of the kind {kind!r} at once. Change the rows on a "
                "branch.",
                kind=ErrorKind.UNSUPPORTED,
            )


def _value_words(some: pa.Table, name: str, keys: Sequence[str]) -> str:
    """The condition that holds for rows of the partition that one conflict lies in."""
    rows = (some[side].combine_chunks().slice(0, 1) for side in ROWS_OF_SIDES)
    base, ours, theirs = (pc.struct_field(each, name) for each in rows)
    if _is_bytes(ours.type):
        raise InvalidInput(
            f"A condition cannot name the partition by {name!r}. Settle its cells, or a column.",
            kind=ErrorKind.UNSUPPORTED,
        )
    (text,) = pc.coalesce(*(cell_texts(each) for each in (ours, theirs, base))).to_pylist()
    quoted = _quoted(name)
    is_it = "is null" if text is None else "= '{}'".format(text.replace("'", "''"))
    if name in keys:
        return f"{quoted} {is_it}"
    # A row that one side deleted lies where the other has it.
    if text is None:
        return " and ".join(f"{side}.{quoted} is null" for side in ("ours", "theirs", "base"))
    theirs_too = f"ours.{quoted} is null and theirs.{quoted}"
    return (
        f"(ours.{quoted} {is_it} or {theirs_too} {is_it} "
        f"or {theirs_too} is null and base.{quoted} {is_it})"
    )


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind))


def _quoted(name: str) -> str:
    if "`" in name:
        raise InvalidInput(
            f"A condition cannot name column {name!r}. Settle its cells one by one.",
            kind=ErrorKind.UNSUPPORTED,
        )
    return f"`{name}`"
