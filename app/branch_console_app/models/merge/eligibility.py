"""What stands in the way of a merge, and what does not: each with what to do about it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from branch_console.diff.health.finding import HazardSeverity
from branch_console.errors import ErrorKind
from branch_console.merge.conflict import Conflict, ConflictKind
from branch_console.merge.plan import (
    FastForwardPlan,
    Plan,
    UpToDatePlan,
    conflicts_of,
    found_by,
)
from branch_console.procedures.browse.page_values import BranchItem, TableSummary
from branch_console.procedures.call.consequence import Consequence, Weight
from branch_console_app.models.merge.merge_preview import MergeDecision
from branch_console_app.models.merge.remedies import BY_KIND, CheckRemedy
from branch_console_app.models.parts.wording import code, listed, plain, plural


class CheckState(IntEnum):
    """How a condition stands; the gravest first."""

    FAILS = 0
    WARNS = 1
    PASSES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One condition, in Markdown.

    Attributes:
        kind: The code of what fails.
        advice: What to do about it, a sentence.
        remedies: Where that is done.
    """

    standing: CheckState
    text: str
    kind: ErrorKind | None = None
    advice: str = ""
    remedies: tuple[CheckRemedy, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether it does not stand in the way."""
        return self.standing is not CheckState.FAILS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Circumstances:
    """What is known of both branches besides the plan.

    Attributes:
        lacks_role: Why the person may not merge; None where they may; as `lacks_role` says it.
    """

    source: BranchItem
    target: BranchItem
    source_table: TableSummary
    target_table: TableSummary
    lacks_role: str | None = None


def checks_of_merge(decision: MergeDecision, found: Circumstances) -> tuple[Check, ...]:
    """Return the conditions of a merge, what fails first.

    Conflicts of rows are none of them: these are settled afterwards.
    """
    plan = decision.plan
    checks = (
        *_blocks(decision),
        *_history(plan),
        *_base(found),
        *_schemas(plan, found),
        *_at_work(decision),
        *_readers(found),
        *_person(decision, found),
        *_paimon(plan, found),
    )
    return tuple(sorted(checks, key=lambda check: check.standing))


_CODE: Final = f" {ErrorKind.ROLE_REQUIRED}"
_OF_SCHEMA: Final = (
    ConflictKind.COLUMN,
    ConflictKind.COLUMN_TYPE,
    ConflictKind.COLUMN_NAME,
    ConflictKind.NOT_NULL,
    ConflictKind.OPTION,
    ConflictKind.KEYS,
    ConflictKind.PARTITION,
)


def _blocks(decision: MergeDecision) -> Iterator[Check]:
    """What stops the merge, but for conflicts: these have a check of their own."""
    for block in decision.preview.blocks:
        if block.kind is ErrorKind.CONFLICTS_OPEN:
            continue
        yield check_of(block)


def check_of(told: Consequence) -> Check:
    """Return the condition that a consequence of a command fails, or warns of."""
    if told.weight is not Weight.BLOCKS:
        return Check(standing=CheckState.WARNS, text=plain(told.text))
    advice, remedies = BY_KIND.get(told.kind or ErrorKind.UNEXPECTED, ("", ()))
    if told.excused_by is not None:
        advice, remedies = "The field for the reason stands below.", ()
    return Check(
        standing=CheckState.FAILS,
        text=plain(told.text),
        kind=told.kind,
        advice=advice,
        remedies=remedies,
    )


def _history(plan: Plan) -> Iterator[Check]:
    base = plan.heads.base
    if base is not None:
        yield _passes(f"Both hold snapshot {base.id}, by identity and not by number.")


def _base(found: Circumstances) -> Iterator[Check]:
    source = found.source
    for finding in source.findings:
        if finding.severity is HazardSeverity.INFO:
            continue
        yield Check(
            standing=CheckState.WARNS,
            text=f"{code(source.name)}: {plain(finding.sentences)}",
            advice="A merge works while its base can be read." if finding.needs_pin else "",
            remedies=(CheckRemedy.PIN,) if finding.needs_pin else (),
        )
    if not source.needs_pin and source.fork is not None:
        yield _passes(f"What {code(source.name)} began at is kept.")


def _schemas(plan: Plan, found: Circumstances) -> Iterator[Check]:
    collide = [each for each in conflicts_of(plan) if each.kind in _OF_SCHEMA]
    if collide:
        yield Check(
            standing=CheckState.FAILS,
            text=f"{plural(len(collide), 'column or option', 'columns or options')} cannot be what "
            f"both sides made of them: {_named(collide)}.",
            kind=ErrorKind.CONFLICTS_OPEN,
            advice="Settle them below, or change one of the branches.",
            remedies=(CheckRemedy.BOTH_SIDES,),
        )
        return
    if found_by(plan) is None:
        return
    ours, theirs = found.target_table.schema, found.source_table.schema
    if ours.fingerprint == theirs.fingerprint:
        yield _passes("Columns, keys and options are the same on both sides.")
    else:
        yield _passes("Columns are matched by their ids; keys, buckets and merge engine agree.")


def _at_work(decision: MergeDecision) -> Iterator[Check]:
    if not any(each.kind is ErrorKind.BRANCH_IN_USE for each in decision.preview.blocks):
        yield _passes(f"No other job is at work on {code(decision.plan.target)}.")


def _readers(found: Circumstances) -> Iterator[Check]:
    names = [code(name) for name, _ in found.target_table.consumers]
    if names:
        target = code(found.target.name)
        who = f"{plural(len(names), 'consumer reads', 'consumers read')} {target}"
        yield _passes(f"{who} and get the rows as one more snapshot: {listed(names, most=6)}.")


def _person(decision: MergeDecision, found: Circumstances) -> Iterator[Check]:
    target = code(decision.plan.target)
    protection = found.target.protection
    if found.lacks_role is not None:
        yield Check(
            standing=CheckState.FAILS,
            text=f"You may not merge into {target}. {found.lacks_role.removesuffix(_CODE)}",
            kind=ErrorKind.ROLE_REQUIRED,
            advice="The preview can be shared by its link.",
        )
    elif protection is None:
        yield _passes(f"{target} is not protected, and you may merge into it.")
    else:
        yield _passes(f"{target} is protected, and you may merge into it.")


def _paimon(plan: Plan, found: Circumstances) -> Iterator[Check]:
    """Whether Paimon's own `merge_branch` would take the merge, as far as metadata here tells."""
    if isinstance(plan, UpToDatePlan | FastForwardPlan):
        return
    tables = (found.source_table, found.target_table)
    own = "Paimon's own `merge_branch`"
    late = next((each for each in tables if each.first_snapshot_id not in (None, 1)), None)
    if any(each.schema.primary_keys for each in tables):
        why = "it takes no table with a primary key"
    elif late is not None:
        why = (
            f"the history of {code(late.identifier.branch)} begins at snapshot "
            f"{late.first_snapshot_id}, and it asks for one from snapshot 1"
        )
    elif found.source_table.schema.fields != found.target_table.schema.fields:
        why = "it asks for the same columns on both sides"
    else:
        yield _passes(f"{own} would take this only where both histories are appends alone.")
        return
    yield _passes(f"{own} would refuse this: {why}. This merge does not depend on that.")


def _named(conflicts: Sequence[Conflict]) -> str:
    return listed([code(each.subject.name or str(each.subject)) for each in conflicts], most=6)


def _passes(text: str) -> Check:
    return Check(standing=CheckState.PASSES, text=text)
