"""A merge of the catalog as a page shows it: one verdict, a line an object, conflicts, counts."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, assert_never

from branch_console.diff.rows.row_figure import RowFigure, add_up
from branch_console.errors import ErrorKind
from branch_console.merge.catalog.catalog_plan import CatalogMergePlan
from branch_console.merge.catalog.catalog_report import outcome_words
from branch_console.merge.catalog.catalog_steps import StepKind
from branch_console.merge.catalog.object_merge import ObjectMerge
from branch_console.merge.catalog.object_rules import ObjectChoice
from branch_console.merge.conflict import OBJECT_KINDS, Conflict, ConflictKind, Take
from branch_console.merge.known_rows import NOTHING_KNOWN, count_result
from branch_console.merge.plan import FastForwardPlan, MergeVerdict, Plan, found_by
from branch_console.merge.policy import KindRule, Policy, PolicyChoice
from branch_console.merge.policy_draft import (
    with_kind_rule,
    with_kind_rule_in,
    with_object_choice,
)
from branch_console_app.models.branches.head_checks import HeadCheck
from branch_console_app.models.merge.merge_state import (
    MergeAction,
    MergeStanding,
    MergeState,
    NextStep,
    blocked_by,
)
from branch_console_app.models.parts.wording import (
    code,
    count,
    listed,
    plain,
    plural,
    signed,
    size,
)

_JUST_NOW_MILLIS: Final = 10 * 60_000
# Rows are compared by the run of a merge of the catalog itself.
_STEPS: Final = {
    MergeStanding.STALE: NextStep.UPDATE,
    MergeStanding.CONFLICTS: NextStep.SETTLE,
    MergeStanding.NEEDS_ROWS: NextStep.MERGE,
    MergeStanding.SETTLED: NextStep.MERGE,
    MergeStanding.CLEAN: NextStep.MERGE,
}


class Extent(StrEnum):
    """The part of the source that a merge brings, as addresses name it; a table if left out."""

    CATALOG = "catalog"
    DATABASE = "database"


class ObjectVerdict(StrEnum):
    """The verdict on one object, in a word."""

    BLOCKED = "blocked"
    CONFLICT = "conflict"
    NEEDS_ROWS = "compare rows"
    READY = "ready"
    NOTHING = "nothing to do"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedObjectLine:
    """One object of the merge; texts are plain.

    Attributes:
        sentence: The effect on it, as a sentence.
        cells: The cells of the matrix, such as `table/rename.drop`.
    """

    merged: ObjectMerge
    verdict: ObjectVerdict
    sentence: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleChoice:
    """A way to settle a conflict, as a button or an option names it."""

    take: Take
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogConflictLine:
    """A conflict of any object, open or settled; texts are plain.

    Attributes:
        table: The object that it is about.
        decided_on: How a policy calls that object.
        choices: The choices that settle it.
        taken: How it was settled; None if it is open.
    """

    conflict: Conflict
    table: str
    decided_on: str
    subject: str
    kind: ConflictKind
    choices: tuple[SettleChoice, ...] = ()
    taken: str | None = None

    @property
    def needs_advice(self) -> bool:
        """Whether the choices do not say all: there is none, or one that people expect is not."""
        if self.taken is not None:
            return False
        is_without_name = self.kind is ConflictKind.NAME_OCCUPIED and Take.RENAME not in {
            each.take for each in self.choices
        }
        return not self.choices or is_without_name


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeCounts:
    """The numbers that the confirmation shows.

    Attributes:
        figure: What the merge changes of the rows of all tables; None if that is not known of each.
        busy: Tables of the target with a commit in the last ten minutes, by name.
    """

    source: str
    target: str
    snapshots: int
    new: int
    renamed: int
    dropped: int
    changed_databases: int
    bytes_copied: int
    figure: RowFigure | None
    busy: tuple[str, ...]

    @classmethod
    def of(cls, plan: CatalogMergePlan, now_millis: int) -> "MergeCounts":
        """Count a plan."""
        steps = plan.cost.steps
        heads = [each.plan.heads for each in plan.objects if each.plan is not None]
        return cls(
            source=plan.source,
            target=plan.target,
            snapshots=plan.cost.snapshots,
            new=_steps(steps, StepKind.CREATE_TABLE, StepKind.CREATE_DATABASE),
            renamed=_steps(steps, StepKind.MOVE_TABLE, StepKind.RENAME_DATABASE),
            dropped=_steps(steps, StepKind.DROP_TABLE, StepKind.DROP_DATABASE),
            changed_databases=_steps(steps, StepKind.SET_PROPERTIES),
            bytes_copied=plan.cost.bytes_to_copy,
            figure=_figure(plan),
            busy=tuple(
                each.table
                for each in heads
                if each.ours is not None and now_millis - each.ours.time_millis < _JUST_NOW_MILLIS
            ),
        )

    @property
    def sentence(self) -> str:
        """Say what happens on the target, in Markdown; counts that are zero are left out."""
        rows = "" if self.figure is None else f" ({self.figure.words(signed)})"
        found = {
            f"{plural(self.snapshots, 'table gets a snapshot', 'tables get a snapshot each')}"
            f"{rows}": self.snapshots,
            plural(self.new, "database or table is new", "databases and tables are new"): self.new,
            plural(self.renamed, "is renamed", "are renamed"): self.renamed,
            plural(self.dropped, "is dropped", "are dropped"): self.dropped,
            plural(
                self.changed_databases, "database gets other properties",
                "databases get other properties",
            ): self.changed_databases,
        }  # fmt: skip
        words = [text for text, number in found.items() if number]
        effect = f"On {code(self.target)}, {listed(words, most=len(words))}. " if words else ""
        copied = f"{size(self.bytes_copied)} of files are copied."
        return f"{effect}{copied if self.bytes_copied else 'No file is copied.'}"


def catalog_merge_state(
    plan: CatalogMergePlan,
    *,
    settled: int,
    seen: str | None = None,
    check: HeadCheck | None = None,
) -> MergeState:
    """Judge a merge of the catalog.

    Args:
        plan: The plan with all decisions.
        settled: How many conflicts were decided on.
        seen: The id of the plan that was shown, where a person has stayed on the page.
        check: The result of the quality rules for this merge; None if it is not known.
    """
    standing = _standing(plan, settled=settled, seen=seen)
    if check is not None and check.blocks and _STEPS.get(standing) is NextStep.MERGE:
        return MergeState(
            standing=MergeStanding.GATE_RED,
            sentence=blocked_by(check.report.blocking, plan.target),
            detail=f"{code(plan.target)} is unchanged.",
            primary=MergeAction(step=NextStep.VIEW_JOB, label="View job"),
            secondary=MergeAction(step=NextStep.OVERRIDE, label="Override…"),
            kind=ErrorKind.GATE_FAILED,
            job_id=check.job,
        )
    step = _STEPS.get(standing)
    return MergeState(
        standing=standing,
        sentence=_sentence(plan, standing, settled),
        primary=None if step is None else MergeAction(step=step, label=_label(plan, step)),
    )


def _label(plan: CatalogMergePlan, step: NextStep) -> str:
    match step:
        case NextStep.UPDATE:
            return "Update preview"
        case NextStep.SETTLE:
            return f"Settle {plural(len(plan.conflicts), 'conflict')}"
        case _:
            return f"Merge into {plain(plan.target)}…"


def object_lines(plan: CatalogMergePlan) -> tuple[MergedObjectLine, ...]:
    """Return a line an object, those first that keep the merge from running."""
    lines = [
        MergedObjectLine(
            merged=each, verdict=_verdict(each), sentence=_sentence_on(each), cells=each.cells
        )
        for each in plan.objects
    ]
    order = list(ObjectVerdict)
    return tuple(sorted(lines, key=lambda line: order.index(line.verdict)))


def conflict_lines(
    asked: CatalogMergePlan, plan: CatalogMergePlan, policy: Policy
) -> tuple[CatalogConflictLine, ...]:
    """Return the conflicts of all objects, open ones first.

    Args:
        asked: The merge without a decision: it has all conflicts.
        plan: With the decisions: what it has is open, also what only a decision brought up.
        policy: The decisions.
    """
    still_open = {each.id for _, each in _conflicts(plan)}
    known = {each.id for _, each in _conflicts(asked)}
    opened = [_conflict_line(merged, each) for merged, each in _conflicts(plan)]
    settled = [
        replace(line, taken=_taken(policy, line))
        for line in (
            _conflict_line(merged, each)
            for merged, each in _conflicts(asked)
            if each.id in known - still_open
        )
    ]
    lines = (*opened, *settled)
    together = Counter((line.decided_on, line.kind) for line in lines)
    return tuple(
        replace(line, choices=tuple(_choices(line, together[line.decided_on, line.kind])))
        for line in lines
    )


def choose_conflicts(
    lines: Iterable[CatalogConflictLine], *, table: str | None, kind: ConflictKind | None
) -> list[CatalogConflictLine]:
    """Return the conflicts of one object, of one kind, or both."""
    return [
        line
        for line in lines
        if (table is None or line.table == table) and (kind is None or line.kind is kind)
    ]


def settled_by(
    policy: Policy, line: CatalogConflictLine, take: Take, new_name: str | None = None
) -> Policy:
    """Return a policy that settles a conflict.

    Raises:
        InvalidInput: The new name cannot be used.
    """
    if line.kind in OBJECT_KINDS:
        text = f"{Take.RENAME}={new_name or ''}" if take is Take.RENAME else str(take)
        choice = ObjectChoice.parse(line.table, line.kind, text)
        return with_object_choice(policy, line.table, line.kind, choice)
    return with_kind_rule_in(policy, line.decided_on, line.kind, PolicyChoice.parse(str(take)))


def opened_again(policy: Policy, line: CatalogConflictLine) -> Policy:
    """Return a policy without the decision on a conflict."""
    if line.kind in OBJECT_KINDS:
        return with_object_choice(policy, line.table, line.kind, None)
    if _rule_in(policy, line) is not None:
        return with_kind_rule_in(policy, line.decided_on, line.kind, None)
    # A policy file may have settled the kind in every table: only without that rule it is open.
    return with_kind_rule(policy, line.kind, None)


def _figure(plan: CatalogMergePlan) -> RowFigure | None:
    """Add up what the tables of a merge get; None if that is not known of one of them."""
    changed = {each.id for each in plan.steps if each.kind is StepKind.MERGE_CONTENT}
    figures = [
        None if each.plan is None else _figure_of_table(each.plan)
        for each in plan.objects
        if each.id in changed
    ]
    known = [each for each in figures if each is not None and each.is_known]
    return add_up(known) if known and len(known) == len(figures) else None


def _figure_of_table(plan: Plan) -> RowFigure | None:
    if isinstance(plan, FastForwardPlan):
        return add_up(plan.move.decision.arrives.changes)
    found = found_by(plan)
    result = None if found is None else count_result(found, NOTHING_KNOWN)
    return None if result is None else result.figure


def _standing(plan: CatalogMergePlan, *, settled: int, seen: str | None) -> MergeStanding:
    if seen is not None and seen != plan.id:
        return MergeStanding.STALE
    match plan.verdict:
        case MergeVerdict.UP_TO_DATE:
            return MergeStanding.UP_TO_DATE
        case MergeVerdict.REFUSED:
            return MergeStanding.REFUSED
        case MergeVerdict.CONFLICTS:
            return MergeStanding.CONFLICTS
        case MergeVerdict.UNDECIDED:
            return MergeStanding.NEEDS_ROWS
        case MergeVerdict.CLEAN | MergeVerdict.FAST_FORWARD:
            return MergeStanding.SETTLED if settled else MergeStanding.CLEAN
        case _:
            assert_never(plan.verdict)


def _sentence(plan: CatalogMergePlan, standing: MergeStanding, settled: int) -> str:
    source, target = code(plan.source), code(plan.target)
    changed = plural(len(plan.objects), "object")
    match standing:
        case MergeStanding.STALE:
            return (
                f"{source} or {target} changed since you opened this page. Nothing was merged, "
                "and your decisions are kept."
            )
        case MergeStanding.UP_TO_DATE:
            return f"{target} already has every change of {source}."
        case MergeStanding.REFUSED:
            return f"{source} cannot be merged into {target}: {_first_block(plan)}"
        case MergeStanding.CONFLICTS:
            named = listed([code(name) for name in _in_conflict(plan)])
            return f"{plural(len(plan.conflicts), 'conflict')} to settle, in {named}."
        case MergeStanding.NEEDS_ROWS:
            tables = plural(plan.cost.undecided, "table")
            return (
                f"Both branches changed the same part of {tables}. Rows are compared first; if "
                f"any collide, the merge stops and {target} is not changed."
            )
        case MergeStanding.SETTLED:
            number = plural(settled, "conflict")
            return f"{number} settled. {source} merges into {target}: {changed}, all or none."
        case MergeStanding.CLEAN:
            return f"No conflicts. {source} merges into {target}: {changed}, all or none."
        case _:
            raise AssertionError(f"a merge of the catalog is never {standing}")


def _sentence_on(merged: ObjectMerge) -> str:
    words = outcome_words(merged)
    return f"{words[0].upper()}{words[1:]}."


def _first_block(plan: CatalogMergePlan) -> str:
    blocks = plan.blocks
    return plain(blocks[0].text) if blocks else "one of its objects cannot be merged."


def _in_conflict(plan: CatalogMergePlan) -> list[str]:
    return [each.name for each in plan.objects if each.conflicts]


def _verdict(merged: ObjectMerge) -> ObjectVerdict:
    if merged.blocks:
        return ObjectVerdict.BLOCKED
    if merged.conflicts:
        return ObjectVerdict.CONFLICT
    if merged.is_undecided:
        return ObjectVerdict.NEEDS_ROWS
    is_as_it_was = merged.names.ours == merged.merged_name and not merged.brings_content
    has_properties = bool({"set", "unset"} & set(merged.did.theirs))
    if is_as_it_was and not has_properties:
        return ObjectVerdict.NOTHING
    return ObjectVerdict.READY


def _conflicts(plan: CatalogMergePlan) -> Iterator[tuple[ObjectMerge, Conflict]]:
    for merged in plan.objects:
        for conflict in merged.conflicts:
            yield merged, conflict


def _conflict_line(merged: ObjectMerge, conflict: Conflict) -> CatalogConflictLine:
    table = conflict.subject.table if conflict.kind in OBJECT_KINDS else merged.name
    return CatalogConflictLine(
        conflict=conflict,
        table=table,
        # What a table holds is decided on under the name that the target has for it.
        decided_on=(
            table
            if conflict.kind in OBJECT_KINDS or merged.plan is None
            else merged.plan.heads.table
        ),
        subject=str(conflict.subject),
        kind=conflict.kind,
    )


def _choices(line: CatalogConflictLine, together: int) -> Iterator[SettleChoice]:
    """Yield what settles a conflict, and with it all of its kind that are about the same object."""
    every = f" in all {count(together)} '{line.kind}' conflicts" if together > 1 else ""
    words = {
        Take.OURS: f"Keep target{every}",
        Take.THEIRS: f"Take source{every}",
        Take.RENAME: "Bring it as…",
        Take.ISOLATION_SNAPSHOT: "Isolation snapshot",
        Take.SCOPE_PARTITION: "Insert scope partition",
    }
    for take in line.conflict.settle_with:
        if take in words:
            yield SettleChoice(take=take, label=words[take])


def _taken(policy: Policy, line: CatalogConflictLine) -> str:
    if line.kind in OBJECT_KINDS:
        found = [
            each
            for each in policy.objects
            if (each.object_name, each.kind) == (line.table, line.kind)
        ]
        return str(found[-1]) if found else "settled"
    everywhere = (rule for rule in policy.kinds if rule.kind is line.kind)
    rule = _rule_in(policy, line) or next(everywhere, None)
    return "settled" if rule is None else str(rule.take)


def _rule_in(policy: Policy, line: CatalogConflictLine) -> KindRule | None:
    rules = (
        rule
        for each in policy.tables
        if each.table == line.decided_on
        for rule in each.kinds
        if rule.kind is line.kind
    )
    return next(rules, None)


def _steps(steps: Mapping[str, int], *kinds: StepKind) -> int:
    return sum(steps.get(str(kind), 0) for kind in kinds)
