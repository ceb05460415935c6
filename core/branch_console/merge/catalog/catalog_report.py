"""The report of a merge of the catalog in sentences: what becomes of each object, and why."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, assert_never

from branch_console.diff.three_way import ThreeWay
from branch_console.merge.catalog.catalog_plan import CatalogMergePlan
from branch_console.merge.catalog.object_merge import ObjectKind, ObjectMerge
from branch_console.merge.conflict import Conflict
from branch_console.merge.plan import MergeVerdict, PlanCost, cost_of, verdict_of
from branch_console.merge.side_work import SideWork, change_words

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
"""A side's change, as words that complete "the source …"."""
_DONE_TO_KEYS: Final[Mapping[str, str]] = MappingProxyType({"insert": "wrote rows"})
"""The same of a table with a primary key, where an insert may update: no metadata tells."""
_OF_SCHEMA: Final = frozenset({"column", "properties"})
_NAMED: Final = 5


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
    return f"{str(merged.kind).capitalize()} {merged.name}: {outcome_words(merged)}."


def outcome_words(merged: ObjectMerge) -> str:
    """Say the same without its name, as the end of a sentence."""
    did, text = did_words(merged), _became(merged)
    # Of names and properties it is told what becomes of them: that says what the source did.
    is_read = merged.brings_content and bool(merged.work.theirs.operations)
    if is_read and not _is_open(merged):
        text += f"; the source {did.theirs}"
    if did.ours:
        text += f"; the target {did.ours} since the base"
    return text


def reported_words(plan: CatalogMergePlan) -> tuple[str, ...]:
    """Say what the rules or a choice decided against a side, as a receipt keeps it."""
    of_objects = (
        f"{str(each.kind).capitalize()} {each.name}: {text}"
        for each in plan.objects
        for text in each.reported
    )
    return (*plan.reported, *of_objects)


def did_words(merged: ObjectMerge) -> ThreeWay[str]:
    """Say what each side did to an object since the base; nothing if it left it alone."""
    did, work = merged.did, merged.work
    return ThreeWay(base="", ours=_done(did.ours, work.ours), theirs=_done(did.theirs, work.theirs))


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
    """Say in a sentence how much a run would do; empty if it would do nothing."""
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
    if _is_open(merged):
        return f"the source {did_words(merged).theirs or 'left it as it was'}"
    if before is None and after is None:
        return "it stays out" if merged.names.base is None else "it stays dropped"
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
        return "a fast-forward adds the commits of the source"
    return f"it gets 1 snapshot{_counts(cost_of(merged.plan))}"


def _counts(cost: PlanCost) -> str:
    """Say how many files and records a snapshot adds and removes; zeros are left out."""
    files = [
        f"{number:,} {what}"
        for number, what in ((cost.files_added, "added"), (cost.files_removed, "removed"))
        if number
    ]
    parts = [f"files: {', '.join(files)}"] if files else []
    parts += [f"records: {cost.records_added:+,}"] if cost.records_added else []
    return f" ({'; '.join(parts)})" if parts else ""


def _is_open(merged: ObjectMerge) -> bool:
    return bool(merged.conflicts or merged.blocks)


def _done(words: tuple[str, ...], work: SideWork) -> str:
    """Say what a side did: to the object in a word each, to columns and options one by one."""
    named = _OF_SCHEMA if work.schema else frozenset()
    done = {**_DONE, **_DONE_TO_KEYS} if work.has_key else _DONE
    texts = [done[word] for word in words if word not in named]
    texts += [change_words(each) for each in work.schema[:_NAMED]]
    more = len(work.schema) - _NAMED
    texts += [f"made {more:,} more changes to the schema"] if more > 0 else []
    commits = "1 commit" if work.commits == 1 else f"{work.commits:,} commits"
    return ", ".join(texts) + (f" ({commits})" if work.commits else "")


def _tables(number: int) -> str:
    return "1 table" if number == 1 else f"{number:,} tables"
