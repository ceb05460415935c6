"""The fast-forward preview as a page shows it: a sentence, figures, checks and ways out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from branch_console.diff.fast_forward import ForwardDecision, Verdict, WayOut
from branch_console.diff.rows.row_figure import FigureColumn, RowCounts, RowFigure, add_up
from branch_console.errors import ErrorKind
from branch_console.format.receipt import HeadMove
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console.format.tag import Tag
from branch_console.procedures.call.consequence import Preview, Weight
from branch_console_app.models.merge.eligibility import Check, CheckState, check_of, shared_base
from branch_console_app.models.parts.wording import (
    code,
    count,
    full_count,
    listed,
    plural,
    prose,
    signed,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedCommits:
    """The commits that are added to the target, or that it would lose.

    Attributes:
        consumers: Consumers that would be rewound, with the snapshot each reads next.
    """

    snapshots: tuple[Snapshot, ...]
    changes: tuple[RowFigure, ...]
    schema_ids: tuple[int, ...]
    tags: tuple[Tag, ...]
    consumers: tuple[tuple[str, int], ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing."""
        return not (self.snapshots or self.schema_ids or self.tags or self.consumers)

    @property
    def figure(self) -> RowFigure:
        """The changes of all commits together."""
        return add_up(self.changes)

    @property
    def rows_added(self) -> int | None:
        """How many rows the commits added; None unless each is known to have added rows alone."""
        counts = [each.rows for each in self.changes]
        if any(each.commit_kind != CommitKind.APPEND for each in self.snapshots):
            return None
        known = [each for each in counts if each is not None and each >= 0]
        return sum(known) if len(known) == len(counts) else None

    @property
    def needs_counting(self) -> bool:
        """Whether only reading files tells how many rows the commits add and remove."""
        return bool(self.snapshots) and self.figure.rows is None

    @property
    def words(self) -> str:
        """The counts in a sentence part: `12 commits and 2 tags`."""
        parts = [
            plural(len(self.snapshots), "commit") if self.snapshots else "",
            plural(len(self.tags), "tag") if self.tags else "",
            plural(len(self.schema_ids), "schema version") if self.schema_ids else "",
        ]
        return listed([part for part in parts if part]) or "nothing"

    @property
    def users(self) -> tuple[str, ...]:
        """The authors of the commits, by name."""
        return tuple(sorted({snapshot.commit_user for snapshot in self.snapshots}))


def commits_since(decision: ForwardDecision, base: Snapshot) -> MovedCommits:
    """Return the commits of a source after a merge base.

    Args:
        decision: Of which the commits are that the target lacks, those merged before included.
        base: The newest snapshot that both contain, by their histories or by an earlier merge.
    """
    snapshots, changes = decision.arrives.snapshots, decision.arrives.changes
    merged = (
        number
        for number, each in enumerate(snapshots, start=1)
        if each.identity.same_as(base.identity)
    )
    start = next(merged, 0)
    return MovedCommits(
        snapshots=snapshots[start:], changes=changes[start:], schema_ids=(), tags=()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FastForwardPreview:
    """A plan in words; `headline` and the lists of sentences are Markdown."""

    plan: ForwardDecision
    headline: str
    detail: str
    arrives: MovedCommits
    removes: MovedCommits
    checks: tuple[Check, ...]
    changes: tuple[str, ...]
    stays: tuple[str, ...]
    ways_out: tuple[WayOut, ...]

    @classmethod
    def of(cls, plan: ForwardDecision) -> "FastForwardPreview":
        """Put a plan into words."""
        arrives = MovedCommits(
            snapshots=plan.arrives.snapshots,
            changes=plan.arrives.changes,
            schema_ids=plan.arrives.schema_ids,
            tags=plan.arrives.tags,
        )
        removes = MovedCommits(
            snapshots=plan.would_remove.snapshots,
            changes=plan.would_remove.changes,
            schema_ids=plan.would_remove.schema_ids,
            tags=plan.would_remove.tags,
            consumers=plan.would_remove.consumers,
        )
        headline, detail = _headline(plan, arrives, removes)
        return cls(
            plan=plan,
            headline=headline,
            detail=detail,
            arrives=arrives,
            removes=removes,
            checks=tuple(sorted(_checks(plan), key=lambda check: check.standing)),
            changes=_changes(plan, arrives),
            stays=_stays(plan),
            ways_out=plan.ways_out,
        )

    def knowing(self, counts: RowCounts | None) -> "FastForwardPreview":
        """Return the same with the rows that were counted, in place of records of files."""
        if counts is None:
            return self
        return replace(self, changes=_changes(self.plan, self.arrives, counts.words))

    @property
    def code(self) -> ErrorKind | None:
        """The code of a refusal."""
        return self.plan.reasons[0].kind if self.plan.reasons else None

    def checks_with(self, preview: Preview | None) -> tuple[Check, ...]:
        """Return the conditions with those that the command itself has, what fails first.

        Args:
            preview: The preview of the command; None if it is not offered.
        """
        if preview is None:
            return self.checks
        reasons = {reason.text for reason in self.plan.reasons}
        others = (
            check_of(each)
            for each in preview.consequences
            if (each.weight is Weight.BLOCKS or each.excused_by) and each.text not in reasons
        )
        return tuple(sorted((*self.checks, *others), key=lambda check: check.standing))

    def checks_of_done(self, move: HeadMove, *, is_replaced: bool) -> tuple[Check, ...]:
        """Return the conditions as they were before it was done: since then both heads are one.

        Args:
            move: The move of the target's head, as the receipt has it.
            is_replaced: Whether the target lost commits, so that the source did not continue it.
        """
        names = (code(self.plan.source), code(self.plan.target))
        # Of a replacement no receipt has the merge base, nor the tags of that time.
        conditions = (ErrorKind.BRANCH_EMPTY,) if is_replaced else _CONDITIONS
        return tuple(
            Check(
                standing=CheckState.PASSES,
                text=_passed(condition, *names, move.after_id, move.before_id),
            )
            for condition in conditions
        )

    def counted_words(self, counts: RowCounts) -> str:
        """Say what was counted: `Rows of main 336,776 → 335,751: 1,025 rows removed`."""
        rows = f"{full_count(counts.before)} → {full_count(counts.after)}"
        return f"**Rows of** {code(self.plan.target)} **{rows}**: {counts.words}."


def _headline(
    plan: ForwardDecision, arrives: MovedCommits, removes: MovedCommits
) -> tuple[str, str]:
    source, target = code(plan.source), code(plan.target)
    match plan.verdict:
        case Verdict.FAST_FORWARD:
            since = f" since snapshot {plan.fork.id}" if plan.fork else ""
            return (
                f"Merge {source} ({arrives.words}) into {target}.",
                f"{target} has no commit{since}: nothing of it is removed, and no file is copied.",
            )
        case Verdict.UP_TO_DATE:
            return (
                f"Nothing to do: {target} already has every commit of {source}.",
                "Choose another source, or commit to it first.",
            )
        case Verdict.REFUSED:
            if removes.is_empty:
                return (f"Fast-forward of {source} into {target} refused.", "Nothing changed.")
            return (
                f"Fast-forward refused: it would remove {removes.words} of {target}.",
                "Nothing changed.",
            )


_CONDITIONS: Final = (
    ErrorKind.BRANCH_EMPTY,
    ErrorKind.NO_COMMON_HISTORY,
    ErrorKind.TARGET_MOVED,
    ErrorKind.SNAPSHOT_NOT_FOUND,
    ErrorKind.NAME_TAKEN,
)


def _checks(plan: ForwardDecision) -> Iterator[Check]:
    known = set(_CONDITIONS)
    for condition in _CONDITIONS:
        failed = [reason for reason in plan.reasons if reason.kind is condition]
        for reason in failed:
            yield Check(standing=CheckState.FAILS, text=prose(reason.text), kind=reason.kind)
        if not failed:
            yield Check(
                standing=CheckState.PASSES,
                text=_passed(
                    condition,
                    code(plan.source),
                    code(plan.target),
                    plan.source_head.id if plan.source_head else None,
                    plan.fork.id if plan.fork else None,
                ),
            )
        elif condition in {ErrorKind.BRANCH_EMPTY, ErrorKind.NO_COMMON_HISTORY}:
            # What comes after was not looked at: an unread check is not a passed one.
            break
    for reason in plan.reasons:
        if reason.kind not in known:
            yield Check(standing=CheckState.FAILS, text=prose(reason.text), kind=reason.kind)


def _passed(
    condition: ErrorKind, source: str, target: str, head_id: int | None, base_id: int | None
) -> str:
    match condition:
        case ErrorKind.BRANCH_EMPTY:
            return f"{source} has commits; its head is snapshot {head_id or 0}."
        case ErrorKind.NO_COMMON_HISTORY:
            if base_id is None:
                return f"{target} is empty, so any history continues it."
            return shared_base(base_id)
        case ErrorKind.TARGET_MOVED:
            return f"{source} contains every commit and schema of {target}."
        case ErrorKind.SNAPSHOT_NOT_FOUND:
            return f"No snapshot of {source} is missing between the merge base and its head."
        case _:
            return "No tag name is used for two different snapshots."


def _changes(
    plan: ForwardDecision, arrives: MovedCommits, counted: str | None = None
) -> tuple[str, ...]:
    if not plan.can_run:
        return ()
    target = code(plan.target)
    head = plan.source_head.id if plan.source_head else None
    lines = [
        f"{target} gets {plural(len(arrives.snapshots), 'snapshot')}: "
        f"{counted or arrives.figure.words(signed)}"
        + (f"; its head becomes snapshot {head}." if head is not None else ".")
    ]
    if arrives.schema_ids:
        ids = listed([str(each) for each in arrives.schema_ids], most=6)
        lines.append(f"{target} gets schema {ids}.")
    if arrives.tags:
        names = listed([code(tag.name) for tag in arrives.tags], most=6)
        lines.append(f"{target} gets the {'tag' if len(arrives.tags) == 1 else 'tags'} {names}.")
    return tuple(lines)


def _stays(plan: ForwardDecision) -> tuple[str, ...]:
    kept = f"All snapshots, schemas and tags that {code(plan.target)} has now."
    return (kept, f"{code(plan.source)} does not change; you can go on committing to it.")


def commit_column(moved: MovedCommits) -> FigureColumn:
    """Return what the commits changed, newest first."""
    return FigureColumn.of_changes(moved.changes[::-1], signed)


def commit_rows(moved: MovedCommits) -> list[tuple[int, str, str, str, int]]:
    """Return id, kind, what changed, user and time of commits, newest first."""
    return [
        (
            snapshot.id,
            snapshot.commit_kind.lower(),
            cell,
            snapshot.commit_user,
            snapshot.time_millis,
        )
        for snapshot, cell in zip(moved.snapshots[::-1], commit_column(moved).cells, strict=True)
    ]


def tag_words(tags: Sequence[Tag]) -> str:
    """Write tags with the snapshots they name."""
    return listed([f"{code(tag.name)} at {count(tag.snapshot.id)}" for tag in tags], most=8)
