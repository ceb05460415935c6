"""A merge as a page shows it: a verdict, figures, buckets, conflicts and what would settle them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from branch_console.diff.schema_diff import SchemaDiff, diff_schemas
from branch_console.errors import ErrorKind
from branch_console.format.partition_path import partition_words
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.binary_row import decode_row
from branch_console.merge.conflict import Conflict, ConflictKind, Subject, Take
from branch_console.merge.file_moves import BucketMove, MergeRules, Strategy
from branch_console.merge.plan import (
    Plan,
    RefusedPlan,
    can_run,
    conflicts_of,
    found_by,
    schema_of,
)
from branch_console.procedures.call.consequence import Preview
from branch_console.procedures.merge.row_consequences import preview_knowing
from branch_console_app.models.merge.merge_facts import MergeFacts, RowsOfMerge
from branch_console_app.models.merge.merge_figures import (
    FileSums,
    bounds_reasons,
    file_figures,
    files_by_place,
    merge_figures,
)
from branch_console_app.models.merge.merge_state import MergeState
from branch_console_app.models.parts.exactness import Figure
from branch_console_app.models.parts.wording import code, count, plain, plural, prose


class How(StrEnum):
    """The way that a person wants a branch to come in, as addresses have it."""

    AUTO = "auto"
    FAST_FORWARD = "ff"
    THREE_WAY = "three-way"


HOW_WORDS: Final[Mapping[How, str]] = {
    How.AUTO: "Automatic",
    How.FAST_FORWARD: "Fast-forward",
    How.THREE_WAY: "Three-way",
}

_DONE_WORDS: Final[Mapping[Strategy, str]] = {
    Strategy.KEEP: "kept",
    Strategy.ADOPT: "reused",
    Strategy.REPLAY: "with files added",
    Strategy.DELTA: "to compare",
    Strategy.REWRITE: "rewritten",
    Strategy.CONFLICT: "in conflict",
}
_STRATEGY_REASONS: Final[Mapping[Strategy, str]] = {
    Strategy.KEEP: "kept: the source changed no row of it",
    Strategy.ADOPT: "reused as is: only the source changed this bucket",
    Strategy.REPLAY: "files added: both sides changed it, in different rows",
    Strategy.DELTA: "needs row comparison: both sides may have changed the same keys",
    Strategy.REWRITE: "rewritten: both sides changed rows of the same file",
    Strategy.CONFLICT: "in conflict: nothing happens until that is settled",
}
"""The words for what a merge does with a bucket, and why."""


def strategy_reason(strategy: Strategy, *, is_compared: bool) -> str:
    """Say what a merge does with a bucket, and why.

    Args:
        strategy: The strategy.
        is_compared: Whether somebody has compared the rows of buckets that must be.
    """
    if is_compared and strategy is Strategy.DELTA:
        return "compared: its rows are merged one by one"
    return _STRATEGY_REASONS[strategy]


def strategies_words(plan: Plan, *, is_compared: bool = False) -> str:
    """Write how many buckets go each way: `3 adopted, 1 replayed`.

    Args:
        plan: The merge.
        is_compared: Whether somebody has compared the rows of those that must be.
    """
    words = {**_DONE_WORDS, **({Strategy.DELTA: "compared"} if is_compared else {})}
    found = found_by(plan)
    counts = {} if found is None else found.strategies
    return ", ".join(f"{count(number)} {words[Strategy(name)]}" for name, number in counts.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeDecision:
    """The plan of a merge, with what the command says it would do."""

    plan: Plan
    preview: Preview

    def knowing(self, rows: RowsOfMerge | None) -> "MergeDecision":
        """Return the same, previewed with what is known of rows; None if nobody asked."""
        if rows is None:
            return self
        return replace(self, preview=preview_knowing(self.preview, self.plan, rows.known))

    def state(self, facts: MergeFacts | None = None) -> MergeState:
        """Judge the merge; what blocks the command besides conflicts is known from its preview.

        Args:
            facts: The other known facts.
        """
        # Conflicts have states of their own, and a refused plan says by itself why.
        blocks = tuple(
            each for each in self.preview.blocks if each.kind is not ErrorKind.CONFLICTS_OPEN
        )
        return MergeState.of(self.plan, replace(facts or MergeFacts(), blocks=blocks))


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenPlan:
    """The plan that a person saw, the heads of both branches, and the policy for conflicts."""

    plan_id: str
    ours_id: int | None
    theirs_id: int | None
    policy: str = ""

    @classmethod
    def of(cls, plan: Plan) -> "SeenPlan":
        """Remember a plan."""
        return cls(
            plan_id=plan.id,
            ours_id=None if plan.heads.ours is None else plan.heads.ours.id,
            theirs_id=None if plan.heads.theirs is None else plan.heads.theirs.id,
            policy=plan.rules.policy,
        )

    def staleness(self, plan: Plan, since: str = "you opened this page") -> str | None:
        """Say in Markdown what has moved since, or None if the plan is the one that was seen."""
        if self.plan_id == plan.id:
            return None
        moved = [
            _moved(branch, before, head)
            for branch, before, head in (
                (plan.target, self.ours_id, plan.heads.ours),
                (plan.source, self.theirs_id, plan.heads.theirs),
            )
            if head is not None and head.id != before
        ]
        if not moved and self.policy != plan.rules.policy:
            moved = ["somebody has changed what settles the conflicts"]
        what = " and ".join(moved) or "the table has changed"
        return f"{what[0].upper()}{what[1:]} since {since}."


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketLine:
    """The strategy for one bucket, and the files that are added to it and removed."""

    partition: str
    bucket: int
    strategy: Strategy
    files_added: int
    files_removed: int
    records: int
    known_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleOption:
    """An option of a merge that may settle conflicts, and the parameters of an address that set it.

    Attributes:
        label: The words after "Settle:" on its button.
        cost: Its effect on rows, as a sentence with `{source}`, `{target}` and `{added}`.
        number: How many conflicts fewer the planner found with it.
    """

    label: str
    view: Mapping[str, str | None]
    cost: str
    number: int = 0

    def cost_on(self, plan: Plan, added: int | None) -> str:
        """Say what it does to rows, as Markdown.

        Args:
            plan: The merge.
            added: How many rows the target added since the merge base; None if that is not known.
        """
        target = code(plan.target)
        rows = "the rows" if added is None else f"the {plural(added, 'row')}"
        return self.cost.format(
            source=code(plan.source), target=target, added=f"{rows} that {target} added"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictLine:
    """One conflict in words: Markdown, but for the three sides.

    Attributes:
        settled_by: Options of the merge that settle it.
        otherwise: The way to settle it if no option does.
        is_act: Whether the sides say what their branches did, and not a value.
    """

    kind: str
    subject: str
    rule: str
    base: str
    ours: str
    theirs: str
    advice: str
    settled_by: tuple[SettleOption, ...]
    otherwise: str
    is_act: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePreview:
    """A plan in words; the notes are Markdown.

    Attributes:
        state: The verdict, and the step that comes next.
        is_compared: Whether somebody has compared the rows that both sides changed.
        figures: The changes of the merge, in at most four counts.
        file_figures: The counts of its data files.
        reasons: Why figures are not exact.
        settlings: The options that were tried and settle conflicts, the one that settles most
            first.
    """

    plan: Plan
    command: Preview
    state: MergeState
    is_compared: bool
    heads: str
    figures: tuple[Figure, ...] = ()
    file_figures: tuple[Figure, ...] = ()
    reasons: tuple[str, ...] = ()
    schema: SchemaDiff | None = None
    buckets: tuple[BucketLine, ...] = ()
    conflicts: tuple[ConflictLine, ...] = ()
    settlings: tuple[SettleOption, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        decision: MergeDecision,
        schema: TableSchema | None,
        *,
        facts: MergeFacts | None = None,
        settlings: Sequence[SettleOption] = (),
    ) -> "MergePreview":
        """Put a plan into words.

        Args:
            decision: The plan, and the preview of the command.
            schema: The newest one of the target.
            facts: The other known facts.
            settlings: The options that were tried and settle conflicts.
        """
        plan, rows = decision.plan, None if facts is None else facts.rows
        state = decision.knowing(rows).state(facts)
        if rows is not None and state.takes_override:
            rows = rows.stopped()
        is_compared = rows is not None and rows.is_compared
        decision = decision.knowing(rows)
        command = decision.preview
        if state.takes_override:
            # The rules have run: what they found is among the checks.
            left = tuple(each for each in command.consequences if each.rules_of is None)
            command = replace(command, consequences=left)
        changed, conflicts = schema_change(plan, schema), conflicts_of(plan)
        return cls(
            plan=plan,
            command=command,
            state=state,
            is_compared=is_compared,
            heads=_heads(plan),
            figures=merge_figures(plan, changed, rows),
            file_figures=file_figures(plan, rows),
            reasons=bounds_reasons(plan, schema, rows),
            schema=changed,
            buckets=bucket_lines(plan, schema),
            conflicts=tuple(_conflict_line(each, plan) for each in conflicts),
            settlings=tuple(settlings),
            notes=tuple(prose(note) for note in plan.notes),
        )

    @property
    def can_run(self) -> bool:
        """Whether there is something to do and nothing stands in the way."""
        return can_run(self.plan) and self.command.can_run


def _heads(plan: Plan) -> str:
    parts = [
        f"base {_snapshot(plan.heads.base)}",
        f"target {code(plan.target)} at {_snapshot(plan.heads.ours)}",
        f"source {code(plan.source)} at {_snapshot(plan.heads.theirs)}",
    ]
    return ", ".join(parts)


def _snapshot(snapshot: Snapshot | None) -> str:
    return "no snapshot" if snapshot is None else f"snapshot {snapshot.id}"


def _moved(branch: str, before: int | None, head: Snapshot) -> str:
    user = f"by {code(head.commit_user)}"
    if before is None or head.id <= before:
        return f"{code(branch)} moved to snapshot {head.id} ({user})"
    new = plural(head.id - before, "snapshot")
    ids = str(head.id) if head.id == before + 1 else f"{before + 1} to {head.id}"
    return f"{code(branch)} got {new} ({ids}, the newest {user})"


def schema_change(plan: Plan, schema: TableSchema | None) -> SchemaDiff | None:
    """Return what the merge makes of the target's schema; None if that stays.

    Args:
        plan: The merge.
        schema: The newest one of the target.
    """
    merged = schema_of(plan)
    if merged is None or not merged.schemas or schema is None:
        return None
    diff = diff_schemas(schema, merged.schemas[-1])
    return None if diff.is_empty else diff


def bucket_lines(plan: Plan, schema: TableSchema | None) -> tuple[BucketLine, ...]:
    """Return what happens to each bucket, by partition and number."""
    found = found_by(plan)
    if found is None:
        return ()
    moves = found.moves
    added = files_by_place(moves.add, moves.replays, moves.restore)
    removed = files_by_place(moves.remove)
    lines = (_bucket_line(move, added, removed, schema) for move in moves.buckets)
    return tuple(sorted(lines, key=lambda line: (line.partition, line.bucket)))


def parts_to_compare(plan: Plan, schema: TableSchema | None) -> tuple[str, ...]:
    """Return the partitions whose rows have to be compared, each once."""
    found = found_by(plan)
    moves = () if found is None else found.moves.buckets
    places = {move.place[0] for move in moves if move.strategy is Strategy.DELTA}
    return tuple(sorted(filter(None, (_partition_words(each, schema) for each in places))))


def _bucket_line(
    move: BucketMove, added: FileSums, removed: FileSums, schema: TableSchema | None
) -> BucketLine:
    partition, bucket = move.place
    come, go = added.get(move.place, (0, 0)), removed.get(move.place, (0, 0))
    return BucketLine(
        partition=_partition_words(partition, schema),
        bucket=bucket,
        strategy=move.strategy,
        files_added=come[0],
        files_removed=go[0],
        records=come[1] - go[1],
        known_by=str(move.knowledge),
    )


def _partition_words(partition: bytes, schema: TableSchema | None) -> str:
    if schema is None or not schema.partition_keys:
        return ""
    return partition_words(decode_row(partition, schema.partition_type.types), schema)


def _conflict_line(conflict: Conflict, plan: Plan) -> ConflictLine:
    # Of whole files a side says what it did with rows: its branch is the subject of a sentence.
    is_act = conflict.kind is ConflictKind.FILE_RULE
    ours, theirs = (f"{plan.target} ", f"{plan.source} ") if is_act else ("", "")
    return ConflictLine(
        kind="compared by files, not by rows" if is_act else str(conflict.kind),
        subject=_subject(conflict.subject),
        rule=conflict.rule,
        base=conflict.sides.base,
        ours=f"{ours}{conflict.sides.ours}",
        theirs=f"{theirs}{conflict.sides.theirs}",
        advice=_with_names(prose(conflict.advice), plan),
        settled_by=options_of(conflict),
        otherwise=otherwise_words(conflict.settle_with),
        is_act=is_act,
    )


def rules_in_words(conflicts: Iterable[ConflictLine]) -> tuple[str, ...]:
    """Return what both sides did, as Markdown, for each rule that found conflicts; its id last."""
    said: dict[str, str] = {}
    for line in conflicts:
        both = f"{plain(line.theirs)}, {plain(line.ours)}" if line.is_act else plain(line.kind)
        said.setdefault(line.rule, f"{both} ({code(line.rule)})")
    return tuple(said.values())


def _with_names(text: str, plan: Plan) -> str:
    """Name both branches in a sentence that speaks of the source and the target."""
    names = {"source": code(plan.source), "target": code(plan.target)}
    return _SIDE.sub(lambda found: names[found[1]], text)


def _subject(subject: Subject) -> str:
    """Name what a conflict is about; in which bucket its files lie is told by the buckets."""
    return str(replace(subject, bucket=None))


_OPTIONS: Final[Mapping[Take, SettleOption]] = {
    Take.SCOPE_PARTITION: SettleOption(
        label="check added rows by partition",
        view={"scope": "partition"},
        cost="Keeps rows as they are that {target} added to partitions that {source} did not "
        "change (insert scope `partition`).",
    ),
    Take.ISOLATION_SNAPSHOT: SettleOption(
        label="keep added rows as they are",
        view={"isolation": "snapshot"},
        cost="Leaves {added} unchanged (isolation `snapshot`).",
    ),
}


_WITHOUT_STRICT: Final = SettleOption(
    label="merge without strict",
    view={"strict": None},
    cost="Changes of {source} or {target} that the merge rules drop are then listed, and stop "
    "nothing.",
)
_MOST_TRIED: Final = 4
_SIDE: Final = re.compile(r"\b[Tt]he (source|target)\b")


def options_of(conflict: Conflict) -> tuple[SettleOption, ...]:
    """Return the options of a merge that settle one conflict, as `plan_merge` has tried.

    What an option does to all conflicts of the merge, `proven` counts.
    """
    return tuple(_OPTIONS[take] for take in conflict.settle_with if take in _OPTIONS)


def options_set(view: Mapping[str, object]) -> tuple[SettleOption, ...]:
    """Return the options that an address sets; they may have settled conflicts."""
    return tuple(
        option
        for option in _OPTIONS.values()
        if all(view.get(name) == value for name, value in option.view.items())
    )


def left_by(plan: Plan) -> int | None:
    """Return how many conflicts a plan leaves; None if it cannot be merged at all."""
    return None if isinstance(plan, RefusedPlan) else len(conflicts_of(plan))


def candidates(conflicts: Sequence[Conflict], rules: MergeRules) -> tuple[SettleOption, ...]:
    """Return the options that are worth a try, at most four: only the planner knows what they do.

    Args:
        conflicts: The conflicts of the plan, without these options.
        rules: By which they were found.
    """
    found = [
        option
        for take, option in _OPTIONS.items()
        if any(take in each.settle_with for each in conflicts)
    ]
    if rules.strict and conflicts:
        found.append(_WITHOUT_STRICT)
    return tuple(found[:_MOST_TRIED])


def proven(
    options: Sequence[SettleOption], number: int, left_with: Callable[[SettleOption], int | None]
) -> tuple[SettleOption, ...]:
    """Return the options with which the planner leaves fewer conflicts, the best first.

    Args:
        options: Those to try.
        number: The conflicts without them.
        left_with: Plans with an option, and returns how many conflicts are left; None if it cannot
            be merged at all then.
    """
    tried = [(each, left_with(each)) for each in options]
    helpful = [
        replace(each, number=number - left)
        for each, left in tried
        if left is not None and left < number
    ]
    return tuple(sorted(helpful, key=lambda each: -each.number))


def otherwise_words(takes: Sequence[Take]) -> str:
    """Say what settles a conflict that no option of the merge settles."""
    if any(take in _OPTIONS for take in takes):
        return ""
    sides = [str(take) for take in takes]
    return f"take {' or '.join(sides)}" if sides else "change one of the branches"
