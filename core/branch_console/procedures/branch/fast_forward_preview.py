"""The plan of a fast-forward as the preview that all procedures have."""

from collections.abc import Sequence
from dataclasses import dataclass

from branch_console.diff.fast_forward import ForwardDecision, Verdict
from branch_console.diff.file_safety import FileSafety
from branch_console.diff.history_move import Arrivals, Removals, count
from branch_console.diff.rows.row_figure import with_sign
from branch_console.errors import ErrorKind, Refused
from branch_console.format.identifier import Identifier
from branch_console.format.lineage_event import LineageEvent
from branch_console.procedures.call.consequence import (
    NOTHING_TO_UNDO,
    Consequence,
    Preview,
    Weight,
    blocks,
    changes,
    keeps,
    loses,
)
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.history.file_sharing import sharing_consequences
from branch_console.procedures.history.protection import owner_blocks, protection_of, rule_text
from branch_console.procedures.run.quality_gate import rule_consequences
from branch_console.quality.rules import RuleSet


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardPreview(Preview):
    """The consequences of a fast-forward, which names the ways out where it is refused.

    Attributes:
        decision: The decision.
        force: Whether the target is replaced if it moved.
    """

    decision: ForwardDecision
    force: bool

    def raise_unless_runnable(self, plan_id: str | None) -> None:
        """Refuse as every preview does; a refused move with its ways out."""
        plan = self.decision
        if plan_id is not None and plan_id != plan.id:
            raise Refused(
                f"This preview is out of date: {plan.source!r} or {plan.target!r} changed. Nothing "
                "was done; look at the new preview.",
                kind=ErrorKind.HEAD_MOVED,
                plan_id=plan.id,
            )
        if plan.verdict is Verdict.REFUSED and not (self.force and plan.can_replace):
            reasons = " ".join(reason.text for reason in plan.reasons)
            ways = ", ".join(str(way) for way in plan.ways_out)
            raise Refused(
                f"Fast-forward of {plan.target!r} to {plan.source!r} is refused. {reasons} Nothing "
                f"was changed. What you can do: {ways}.",
                kind=plan.reasons[0].kind,
                plan=plan.to_object(),
            )
        Preview.raise_unless_runnable(self, plan_id)


def preview_of_forward(
    plan: ForwardDecision,
    events: tuple[LineageEvent, ...],
    *,
    force: bool,
    actor: str,
    sharing: FileSafety | None,
    rules: RuleSet | None,
) -> ForwardPreview:
    """Tell the consequences of a fast-forward, or of replacing the target.

    Args:
        plan: The decision.
        events: The ledger under the names of today, for the protection of the target.
        force: Whether the target is replaced where it moved.
        actor: The person who asks; only its owner may replace a protected target.
        sharing: What it takes that both hold the files; None if nothing comes.
        rules: The quality rules that judge the result.
    """
    replaces = force and plan.can_replace
    rule = protection_of(events, plan.target)
    table = Identifier.parse(plan.table)
    consequences: list[Consequence] = []
    if not replaces:
        consequences += [blocks(each.text, each.kind) for each in plan.reasons]
    if replaces:
        consequences += owner_blocks(events, plan.target, actor)
    if plan.can_run or replaces:
        consequences.append(arrival_of(plan.source, plan.target, plan.arrives))
    if replaces:
        consequences += removals_of(plan.target, plan.would_remove)
    if sharing is not None:
        consequences += sharing_of_history(sharing, plan.source, plan.target)
    undo = f"You can undo this until the next commit on {plan.target!r}."
    if plan.verdict is Verdict.UP_TO_DATE:
        undo = NOTHING_TO_UNDO
        consequences.append(keeps(f"Branch {plan.target!r} already contains {plan.source!r}."))
    consequences += [changes(note) for note in plan.notes]
    if rule is not None and not replaces:
        consequences.append(changes(f"Branch {plan.target!r} is protected by {rule_text(rule)}."))
    if not any(each.weight is Weight.BLOCKS for each in consequences):
        consequences += rule_consequences(rules)
    verb = "Replace" if replaces else "Fast-forward"
    return ForwardPreview(
        decision=plan,
        force=force,
        procedure="fast_forward",
        title=f"{verb} {plan.target!r} of {table} {'by' if replaces else 'to'} {plan.source!r}",
        plan_id=plan.id,
        consequences=tuple(consequences),
        typed_name=plan.target if replaces else None,
        role=Role.OPERATOR if force else Role.EDITOR if rule is None else Role.APPROVER,
        undo=undo,
    )


def sharing_of_history(sharing: FileSafety, source: str, target: str) -> list[Consequence]:
    """Tell what it takes that a target holds the files of a source, or that it may not."""
    if sharing.shares:
        return sharing_consequences(sharing)
    return [
        blocks(
            f"{target!r} would hold files that an expiry elsewhere removes. "
            f"{' '.join(sharing.reasons)} Or merge {source!r}: a merge copies the files.",
            ErrorKind.FILES_IN_USE,
        )
    ]


def arrival_of(source: str, target: str, arrives: Arrivals) -> Consequence:
    """Tell what comes to a target."""
    parts = [
        count(number, noun)
        for number, noun in (
            (len(arrives.snapshots), "snapshot"),
            (len(arrives.schema_ids), "schema"),
            (len(arrives.tags), "tag"),
        )
        if number
    ]
    return changes(
        f"{target!r} gets {', '.join(parts) or 'nothing'} of {source!r}: "
        f"{arrives.figure.words(with_sign)}.",
        tuple(f"snapshot {each.id}" for each in arrives.snapshots),
    )


def removals_of(target: str, removed: Removals) -> list[Consequence]:
    """Tell what leaves a target."""
    consequences = []
    if removed.snapshots:
        consequences.append(
            loses(
                f"The history of {target!r} is without "
                f"{count(len(removed.snapshots), 'commit')}: {removed.figure.words(_taken)}.",
                tuple(f"snapshot {each.id} by {each.commit_user}" for each in removed.snapshots),
            )
        )
    if removed.schema_ids:
        consequences.append(
            loses(
                f"{target!r} is without {count(len(removed.schema_ids), 'schema')} of its own.",
                tuple(f"schema {each}" for each in removed.schema_ids),
            )
        )
    if removed.tags:
        consequences.append(
            loses(
                f"{target!r} is without {count(len(removed.tags), 'tag')} of its own.",
                tuple(f"tag {each.name} at snapshot {each.snapshot.id}" for each in removed.tags),
            )
        )
    consequences += rewound_consumers(target, removed.consumers)
    consequences.append(keeps("A rescue branch keeps all that goes, byte for byte."))
    return consequences


def _taken(number: int) -> str:
    return with_sign(-number)


def rewound_consumers(target: str, consumers: Sequence[tuple[str, int]]) -> tuple[Consequence, ...]:
    """Tell which streaming readers of a target have read what leaves it.

    Args:
        target: The branch.
        consumers: Each by its id, with the snapshot that it reads next.
    """
    if not consumers:
        return ()
    return (
        loses(
            f"{count(len(consumers), 'consumer')} of {target!r} would read snapshots of another "
            "history.",
            tuple(f"consumer {name} reads {number} next" for name, number in consumers),
        ),
    )
