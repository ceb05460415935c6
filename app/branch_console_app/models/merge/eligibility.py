"""The conditions of a merge, fulfilled or not, each with a way to fulfil it."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

from branch_console.diff.health.finding import HazardSeverity
from branch_console.errors import ErrorKind
from branch_console.jobs.progress import JobState
from branch_console.merge.conflict import Conflict, ConflictKind
from branch_console.merge.file_moves import MergeRules
from branch_console.merge.plan import (
    FastForwardPlan,
    Plan,
    RefusedPlan,
    UpToDatePlan,
    conflicts_of,
    found_by,
)
from branch_console.procedures.browse.page_values import BranchItem, TableSummary
from branch_console.procedures.call.consequence import Consequence, Weight
from branch_console.quality.findings import GateVerdict, RuleFinding, findings_of
from branch_console.quality.rules import RuleSet
from branch_console_app.models.jobs.overridden_rules import OverriddenRules
from branch_console_app.models.merge.gate_run import passed_words, stopped_words
from branch_console_app.models.merge.merge_facts import (
    MergeAttempt,
    MergeFacts,
    RowsOfMerge,
    SettledByOptions,
)
from branch_console_app.models.merge.merge_preview import MergeDecision
from branch_console_app.models.merge.merge_state import MergeStanding, MergeState, NextStep
from branch_console_app.models.merge.remedies import BY_KIND, CheckRemedy
from branch_console_app.models.parts.wording import code, listed, plain, plural, prose

RULES: Final = "Quality rules"
"""The name of the check of a table's quality rules."""


class CheckState(IntEnum):
    """How a condition stands; the gravest first."""

    FAILS = 0
    WARNS = 1
    NOT_RUN = 2
    PASSES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One condition, in Markdown.

    Attributes:
        kind: The code of the failure.
        advice: The advice, a sentence.
        remedies: The pages on which that is done.
        name: The name of the check, if a line needs one.
    """

    standing: CheckState
    text: str
    name: str = ""
    kind: ErrorKind | None = None
    advice: str = ""
    remedies: tuple[CheckRemedy, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether it does not stand in the way."""
        return self.standing is not CheckState.FAILS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Circumstances:
    """The facts about both branches besides the plan.

    Attributes:
        lacks_role: Why the person may not merge, in the words of `lacks_role`; None if they may.
    """

    source: BranchItem
    target: BranchItem
    source_table: TableSummary
    target_table: TableSummary
    lacks_role: str | None = None


def checks_of_merge(
    decision: MergeDecision,
    found: Circumstances,
    state: MergeState,
    facts: MergeFacts,
    rules: RuleSet | None = None,
) -> tuple[Check, ...]:
    """Return the conditions of a merge, what fails first.

    Args:
        decision: The decided merge.
        found: What is known of both branches.
        state: The verdict.
        facts: The facts that the verdict depends on.
        rules: The quality rules of the table; None if it has none.
    """
    plan = decision.plan
    person: tuple[Check, ...] = (check_of_person(found.target, found.lacks_role),)
    if state.standing is MergeStanding.DONE and facts.merge is not None:
        # What is left to plan now is nothing: the checks are those of the plan that was merged.
        # Who may merge now is no condition of it.
        plan, person = facts.merge.merged or plan, ()
    checks = (
        *checks_of_draft(state, plan, facts, 0 if rules is None else len(rules.rules)),
        *_blocks(decision),
        *_history(plan),
        *_base(found),
        *_schemas(plan, found),
        *_at_work(decision),
        *_readers(found),
        *person,
    )
    return tuple(sorted(checks, key=lambda check: check.standing))


# A line of a check has no room for a whole id, and `recover` asks for none.
_LONG_ID: Final = re.compile(r"\b([0-9a-f]{8})[0-9a-f]{24}\b")
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
    """Yield the obstacles of the merge, except conflicts: these have a check of their own."""
    for block in decision.preview.blocks:
        if block.kind is ErrorKind.CONFLICTS_OPEN:
            continue
        yield check_of(block)


def checks_of_draft(
    state: MergeState, plan: Plan, facts: MergeFacts, rule_count: int
) -> tuple[Check, ...]:
    """Return the conditions that jobs of a draft and decisions on it meet, or have not met yet.

    Args:
        state: The verdict.
        plan: The plan of the merge.
        facts: The facts that the verdict depends on.
        rule_count: The quality rules of the table.
    """
    if state.standing is MergeStanding.DONE and facts.merge is not None:
        return tuple(_checks_of_done(facts.merge, plan, facts))
    if isinstance(plan, UpToDatePlan | RefusedPlan):
        return ()
    rows = facts.rows or RowsOfMerge.of_plan(plan)
    if facts.rules_ran(plan.id):
        rows = replace(rows, is_compared=True)
    return (
        *_conflicts(state, rows, facts.settled),
        *_comparison(rows, facts.comparison),
        *checks_of_rules(state, rule_count, facts),
        *_dry_run(state, facts, has_rules=bool(rule_count)),
    )


def _checks_of_done(merge: MergeAttempt, plan: Plan, facts: MergeFacts) -> Iterator[Check]:
    """Yield the same conditions of a merge that is done, as they were when it was published."""
    if merge.merged is not None:
        number, is_compared = merge.conflicts or 0, RowsOfMerge.of_plan(plan).is_needed
        if number or not _may_have_settled(merge.merged.rules, merge.conflicts, is_compared):
            settled = f"{plural(number, 'conflict')}, all settled." if number > 1 else "1, settled."
            text = settled if number else "none."
            yield Check(standing=CheckState.PASSES, name="Conflicts", text=text)
        if merge.conflicts is not None or is_compared:
            text = "done for the commits that were merged."
            yield Check(standing=CheckState.PASSES, name="Row comparison", text=text)
    yield from _rules_of_done(merge)
    if merge.merged is not None:
        tried = merge.tried_millis
        text = "not done; the merge built and checked its result itself."
        if tried is not None:
            text = f"passed, {facts.day_and_hour(tried)}."
        standing = CheckState.NOT_RUN if tried is None else CheckState.PASSES
        yield Check(standing=standing, name="Dry run", text=text)


def _may_have_settled(rules: MergeRules, conflicts: int | None, is_compared: bool) -> bool:
    """Whether a merge without a conflict on record may have settled some."""
    # What an option settles is no conflict of the plan that is made with it.
    defaults = MergeRules()
    chosen = (rules.isolation, rules.scope) != (defaults.isolation, defaults.scope)
    return chosen or bool(rules.kinds) or (is_compared and conflicts is None)


def _rules_of_done(merge: MergeAttempt) -> Iterator[Check]:
    """Yield what the rules found in the result that was published; nothing if none were run."""
    gate = None if merge.receipt is None else merge.receipt.gate
    if gate is None:
        return
    found = findings_of(gate["findings"])
    overridden = OverriddenRules.of_gate(gate)
    if overridden is not None:
        by = f"{overridden.mark} by {plain(overridden.actor)}"
        text = f"{passed_words(found)}; {by}: {plain(overridden.reason)}"
        yield Check(standing=CheckState.WARNS, name=RULES, text=text)
        return
    yield _ran(f"{passed_words(found)} on the result, before it was merged.", found)


def checks_title(checks: Sequence[Check]) -> str:
    """Return the title of the list: `Checks (1 failed)`, `Checks (5 passed, 1 not run)`."""
    counts = Counter(each.standing for each in checks)
    if counts[CheckState.FAILS]:
        return f"Checks ({counts[CheckState.FAILS]} failed)"
    words = (
        (CheckState.PASSES, "passed"),
        (CheckState.WARNS, "to look at"),
        (CheckState.NOT_RUN, "not run"),
    )
    said = [f"{counts[each]} {word}" for each, word in words if counts[each]]
    return f"Checks ({', '.join(said)})" if said else "Checks"


def _conflicts(
    state: MergeState, rows: RowsOfMerge, settled: SettledByOptions | None
) -> Iterator[Check]:
    name = "Conflicts"
    if state.standing is MergeStanding.CONFLICTS:
        yield Check(
            standing=CheckState.FAILS, name=name, text=state.sentence, kind=state.kind,
            remedies=(CheckRemedy.SETTLE,),
        )  # fmt: skip
    elif rows.number or settled is not None:
        number = rows.number + (0 if settled is None else settled.number)
        text = f"{plural(number, 'conflict')}, all settled." if number > 1 else "1, settled."
        yield Check(standing=CheckState.PASSES, name=name, text=text)
    elif rows.is_needed and not rows.is_compared and state.standing is not MergeStanding.STAGED:
        text = "known after the row comparison."
        yield Check(standing=CheckState.NOT_RUN, name=name, text=text)
    else:
        yield Check(standing=CheckState.PASSES, name=name, text="none.")


def _comparison(rows: RowsOfMerge, attempt: MergeAttempt | None) -> Iterator[Check]:
    if not rows.is_needed:
        return
    name = "Row comparison"
    if rows.is_compared:
        yield Check(standing=CheckState.PASSES, name=name, text="done for the newest commits.")
    else:
        text = "running." if _is_running(attempt) else "not done for the newest commits."
        yield Check(standing=CheckState.NOT_RUN, name=name, text=text)


def _is_running(attempt: MergeAttempt | None) -> bool:
    """Whether a job has not ended, nor lost its worker: that one has to be resumed."""
    if attempt is None or attempt.job.state is JobState.INTERRUPTED:
        return False
    return attempt.is_at_work


def checks_of_rules(state: MergeState, rule_count: int, facts: MergeFacts) -> Iterator[Check]:
    """Yield how the quality rules of the table stand; nothing if it has none.

    Args:
        state: The verdict.
        rule_count: The rules.
        facts: The facts that the verdict depends on.
    """
    if state.standing is MergeStanding.DONE and facts.merge is not None and facts.merge.receipt:
        yield from _rules_of_done(facts.merge)
        return
    if not rule_count or state.standing is MergeStanding.UNDONE:
        return
    name, number, run = RULES, plural(rule_count, "rule"), facts.gate
    match state.standing:
        case MergeStanding.GATE_RED:
            yield Check(
                standing=CheckState.FAILS, name=name, text=state.sentence, kind=state.kind,
                remedies=(CheckRemedy.ROWS,),
            )  # fmt: skip
        case MergeStanding.RULES_UNCHECKED:
            text = f"{number}, not {'' if rule_count == 1 else 'all of them '}checked."
            yield Check(standing=CheckState.NOT_RUN, name=name, text=text, kind=state.kind)
        case MergeStanding.DONE:
            text = f"{number}, run on the result before it was merged."
            yield Check(standing=CheckState.PASSES, name=name, text=text)
        case MergeStanding.STAGED:
            found = () if facts.dry_run is None else facts.dry_run.findings
            said = passed_words(found) if found else f"{number} passed"
            yield _ran(f"{said} on the result of the dry run.", found)
        case _ if run is not None and not run.outdated and not run.blocking:
            said = run.sentence(facts.day_and_hour(run.time_millis))
            yield _ran(f"{said}, on the result as it is now.", run.findings)
        case _:
            text = f"{number}, not run yet. They run on the result before it is merged."
            if run is not None:
                said = run.sentence(facts.day_and_hour(run.time_millis))
                text = f"{number}, not run on the result as it is now. {said}, {run.outdated}."
            yield Check(
                standing=CheckState.NOT_RUN, name=name, text=text, remedies=_dry_run_of(state)
            )


def _ran(text: str, found: Sequence[RuleFinding]) -> Check:
    warns = any(each.verdict == GateVerdict.WARN for each in found)
    standing = CheckState.WARNS if warns else CheckState.PASSES
    return Check(standing=standing, name=RULES, text=text)


def _dry_run_of(state: MergeState) -> tuple[CheckRemedy, ...]:
    """Return the way to a dry run where the verdict leads to the dialog that starts one."""
    is_offered = NextStep.MERGE in state.steps and state.standing is not MergeStanding.FAST_FORWARD
    return (CheckRemedy.DRY_RUN,) if is_offered else ()


def _dry_run(state: MergeState, facts: MergeFacts, *, has_rules: bool) -> Iterator[Check]:
    name, attempt, run = "Dry run", facts.dry_run, facts.gate
    if _is_running(attempt):
        yield Check(standing=CheckState.NOT_RUN, name=name, text="running.")
        return
    if state.standing is MergeStanding.STAGED:
        yield Check(standing=CheckState.PASSES, name=name, text="passed; its result can be merged.")
        return
    if state.standing in (MergeStanding.DONE, MergeStanding.UNDONE):
        return
    if (
        state.standing in (MergeStanding.RULES_UNCHECKED, MergeStanding.GATE_RED)
        and attempt is not None
        and attempt.is_unchecked
    ):
        text = "stopped, as the quality rules could not be checked."
        yield Check(standing=CheckState.NOT_RUN, name=name, text=text)
        return
    if (
        state.standing is MergeStanding.GATE_RED
        and attempt is not None
        and attempt.job.error is ErrorKind.GATE_FAILED
    ):
        ended = attempt.job.finished_millis
        when = "" if ended is None else f", {facts.day_and_hour(ended)}"
        text = f"{stopped_words(attempt.blocking)}{when}."
        yield Check(standing=CheckState.FAILS, name=name, text=text)
    elif run is not None and run.is_dry_run and not run.outdated:
        when = facts.day_and_hour(run.time_millis)
        if run.blocking:
            text = f"{stopped_words(run.blocking)}, {when}."
            yield Check(standing=CheckState.FAILS, name=name, text=text)
        else:
            text = f"passed, {when}; its result is no longer kept."
            yield Check(standing=CheckState.PASSES, name=name, text=text)
    else:
        text = "not done yet. A merge starts with one, unless you choose *Merge now*."
        # Of two lines with the same button one would be in the way.
        remedies = () if has_rules else _dry_run_of(state)
        yield Check(standing=CheckState.NOT_RUN, name=name, text=text, remedies=remedies)


def check_of(consequence: Consequence) -> Check:
    """Return the condition that a consequence of a command fails, or warns of."""
    text = plain(_LONG_ID.sub(r"\1", consequence.text))
    if consequence.weight is not Weight.BLOCKS:
        return Check(standing=CheckState.WARNS, text=text)
    advice, remedies = BY_KIND.get(consequence.kind or ErrorKind.UNEXPECTED, ("", ()))
    if consequence.excused_by is not None:
        advice, remedies = "The dialog asks for a reason.", ()
    return Check(
        standing=CheckState.FAILS,
        text=text,
        kind=consequence.kind,
        advice=advice,
        remedies=remedies,
    )


def _history(plan: Plan) -> Iterator[Check]:
    base = plan.heads.base
    if base is not None:
        yield _passes(shared_base(base.id))


def shared_base(snapshot_id: int) -> str:
    """Say that both branches contain a snapshot, the same one and not just one of its number."""
    return f"Merge base: snapshot {snapshot_id}, which both branches contain."


def _base(found: Circumstances) -> Iterator[Check]:
    source = found.source
    for finding in source.findings:
        if finding.severity is HazardSeverity.INFO:
            continue
        yield Check(
            standing=CheckState.WARNS,
            text=f"{code(source.name)}: {prose(finding.sentences)}",
            advice="Without its merge base the branch can no longer be merged."
            if finding.needs_pin
            else "",
            remedies=(CheckRemedy.PIN,) if finding.needs_pin else (),
        )
    if not source.needs_pin and source.fork is not None:
        yield _passes(f"The snapshot that {code(source.name)} started from is kept.")


def _schemas(plan: Plan, found: Circumstances) -> Iterator[Check]:
    collide = [each for each in conflicts_of(plan) if each.kind in _OF_SCHEMA]
    if collide:
        number = plural(len(collide), "column or option", "columns or options")
        yield Check(
            standing=CheckState.FAILS,
            text=f"Both sides changed {number} in different ways: {_named(collide)}.",
            kind=ErrorKind.CONFLICTS_OPEN,
            advice="Settle them, or change one of the branches.",
            remedies=(CheckRemedy.BOTH_SIDES,),
        )
        return
    if found_by(plan) is None:
        return
    ours, theirs = found.target_table.schema, found.source_table.schema
    if ours.fingerprint == theirs.fingerprint:
        yield _passes("Columns, keys and options are the same on both sides.")
    else:
        yield _passes("Columns are matched by their ids; keys and merge engine agree.")


def _at_work(decision: MergeDecision) -> Iterator[Check]:
    if not any(each.kind is ErrorKind.BRANCH_IN_USE for each in decision.preview.blocks):
        yield _passes(f"No other job is changing {code(decision.plan.target)}.")


def _readers(found: Circumstances) -> Iterator[Check]:
    names = [code(name) for name, _ in found.target_table.consumers]
    if names:
        target = code(found.target.name)
        who = plural(len(names), "consumer", "consumers")
        read = "reads" if len(names) == 1 else "read"
        shown = listed(names, most=6)
        yield _passes(f"{who} of {target} {read} the merge as one more snapshot: {shown}.")


def check_of_person(target: BranchItem, lacks_role: str | None) -> Check:
    """Return whether the person may merge.

    Args:
        target: The target.
        lacks_role: Why the person may not, in the words of `lacks_role`; None if they may.
    """
    name = code(target.name)
    protected = "is not protected" if target.protection is None else "is protected"
    return check_of_role(name, lacks_role, f"{name} {protected}, and you may merge into it.")


def check_of_role(target: str, lacks_role: str | None, passed: str) -> Check:
    """Return whether the role of the person suffices.

    Args:
        target: The target, in Markdown.
        lacks_role: Why it does not, in the words of `lacks_role`; None if it does.
        passed: The sentence if it does.
    """
    if lacks_role is None:
        return _passes(passed)
    return Check(
        standing=CheckState.FAILS,
        text=f"You may not merge into {target}. {lacks_role.removesuffix(_CODE)}",
        kind=ErrorKind.ROLE_REQUIRED,
        advice="You can share this preview by its link.",
    )


def paimon_note(plan: Plan, found: Circumstances) -> str:
    """Say why Paimon's own `merge_branch` would not take the merge; empty where it is none."""
    if isinstance(plan, UpToDatePlan | FastForwardPlan):
        return ""
    tables = (found.source_table, found.target_table)
    own = "Paimon's own `merge_branch`"
    late = next((each for each in tables if each.first_snapshot_id not in (None, 1)), None)
    if any(each.schema.primary_keys for each in tables):
        why = "it does not merge tables with a primary key"
    elif late is not None:
        why = (
            f"the history of {code(late.identifier.branch)} begins at snapshot "
            f"{late.first_snapshot_id}, and `merge_branch` needs one that begins at snapshot 1"
        )
    elif found.source_table.schema.fields != found.target_table.schema.fields:
        why = "it needs the same columns on both sides"
    else:
        return f"{own} would do this merge only where both branches only appended rows."
    return f"{own} cannot do this merge: {why}. The console does it itself."


def _named(conflicts: Sequence[Conflict]) -> str:
    return listed([code(each.subject.name or str(each.subject)) for each in conflicts], most=6)


def _passes(text: str) -> Check:
    return Check(standing=CheckState.PASSES, text=text)
