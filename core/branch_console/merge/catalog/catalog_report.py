"""The report of a merge of the catalog in sentences: what becomes of each object, and why."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, assert_never

from branch_console.diff.three_way import ThreeWay
from branch_console.merge.catalog.catalog_plan import CatalogMergePlan
from branch_console.merge.catalog.object_merge import ObjectKind, ObjectMerge
from branch_console.merge.conflict import Conflict
from branch_console.merge.plan import MergeVerdict, cost_of, verdict_of

_DONE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "create": "created it",
        "drop": "dropped it",
        "rename": "renamed it",
        "set": "set properties",
        "unset": "removed properties",
        "content": "changed its content",
        "lost": "lost its table branch",
        "properties": "changed options",
        "column": "changed columns",
        "partition": "changed partitions",
        "insert": "inserted rows",
        "delete": "deleted rows",
        "update": "updated rows",
        "overwrite": "overwrote rows",
        "compaction": "compacted files",
    }
)
"""What a side did, as it completes "the source …"."""


def verdict_words(plan: CatalogMergePlan) -> str:
    """Say what the merge as a whole would be."""
    source, target = plan.source, plan.target
    match plan.verdict:
        case MergeVerdict.CLEAN | MergeVerdict.FAST_FORWARD:
            return f"{source} merges into {target}, and nothing collides."
        case MergeVerdict.CONFLICTS:
            number = len(plan.conflicts)
            what = "1 conflict is" if number == 1 else f"{number:,} conflicts are"
            return f"{what} to be settled before {source} merges into {target}."
        case MergeVerdict.UNDECIDED:
            return f"Rows of {_tables(plan.cost.undecided)} have to be compared first."
        case MergeVerdict.UP_TO_DATE:
            return f"{target} holds all that {source} changed."
        case MergeVerdict.REFUSED:
            return f"{source} cannot be merged into {target}."
        case _:
            assert_never(plan.verdict)


def object_words(merged: ObjectMerge) -> str:
    """Say what becomes of one object on the target."""
    became = _became(merged)
    did = merged.did
    both = f"; the target {_listed(did.ours)} since the base" if did.ours else ""
    return f"{str(merged.kind).capitalize()} {merged.name}: {became}{both}."


def conflict_words(conflict: Conflict) -> str:
    """Say what collides, with the sides and what settles it."""
    sides: ThreeWay[str] = conflict.sides
    takes = " or ".join(str(each) for each in conflict.settle_with)
    settled = f"Settle it with {takes}. {conflict.advice}" if takes else conflict.advice
    return (
        f"{str(conflict.kind).capitalize()}, {conflict.subject} ({conflict.rule}): base "
        f"{sides.base or 'absent'}, target {sides.ours}, source {sides.theirs}. {settled}"
    ).rstrip()


def cost_words(plan: CatalogMergePlan) -> str:
    """Say in a sentence how much a run would do; empty where it would do nothing."""
    if not plan.steps:
        return ""
    kinds = ", ".join(f"{name} {number:,}" for name, number in plan.cost.steps.items())
    copied = f" {plan.cost.bytes_to_copy:,} bytes are copied." if plan.cost.bytes_to_copy else ""
    snapshots = plan.cost.snapshots
    get = "gets 1 snapshot" if snapshots == 1 else "get 1 snapshot each"
    new = f" {_tables(snapshots)} {get}." if snapshots else ""
    return f"{len(plan.steps):,} steps: {kinds}.{new}{copied}"


def _became(merged: ObjectMerge) -> str:
    before, after = merged.names.ours, merged.merged_name
    if merged.conflicts or merged.blocks:
        return f"the source {_listed(merged.did.theirs) or 'left it as it was'}"
    if before is None and after is None:
        return "it stays out"
    if before is None:
        return "it is new" if after == merged.name else f"it is new, as {after}"
    if after is None:
        return "it is dropped"
    moved = f"it is renamed from {before} to {after}" if before != after else ""
    parts = [part for part in (moved, _content(merged)) if part]
    return " and ".join(parts) or "it stays as it is"


def _content(merged: ObjectMerge) -> str:
    if merged.kind is ObjectKind.DATABASE:
        changed = {"set", "unset"} & set(merged.did.theirs)
        return "its properties change" if changed else ""
    if not merged.brings_content:
        return ""
    if merged.is_adopted:
        return "its branch is made at the head of the source"
    verdict = MergeVerdict.UNDECIDED if merged.plan is None else verdict_of(merged.plan)
    if merged.plan is None or verdict is MergeVerdict.UNDECIDED:
        return "its rows have to be compared"
    if verdict is MergeVerdict.FAST_FORWARD:
        return "it takes over the history of the source"
    cost = cost_of(merged.plan)
    return (
        f"it gets 1 snapshot ({cost.files_added:,} files come, {cost.files_removed:,} go, "
        f"{cost.records_added:+,} records)"
    )


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(_DONE[word] for word in words)


def _tables(number: int) -> str:
    return "1 table" if number == 1 else f"{number:,} tables"
