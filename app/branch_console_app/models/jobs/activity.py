"""The activity feed: ledgers, the catalog and jobs, with one sentence for each operation.

An operation and its undo are one entry. A job is an entry only if no ledger has it: it changed rows
by a statement, is still running, or failed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from types import MappingProxyType
from typing import Final, assert_never

from branch_console.errors import PaimonError
from branch_console.format.catalog.catalog_version import CatalogVersion, VersionKind
from branch_console.format.identifier import BRANCH_MARK, MAIN_BRANCH, RESERVED_PREFIXES, Identifier
from branch_console.format.lineage_event import LineageEvent, LineageKind, undone_by
from branch_console.jobs.progress import JobState, JobView
from branch_console.procedures.browse.page_values import TableEvents
from branch_console_app.models.jobs.before_after import BeforeAfter, before_and_after
from branch_console_app.models.jobs.job_titles import full_title
from branch_console_app.models.jobs.overridden_rules import OverriddenRules
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import code, plain, shortened

READING_JOBS: Final = frozenset(
    {"check_rules", "compare_quality", "compare_rows", "compare_states", "count_rows",
     "dry_run_merge", "query"}
)  # fmt: skip
"""Jobs that change no table: they leave the feed once they are done."""

CATALOG: Final = "the catalog"

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
_NO_OVERRIDES: Final[Mapping[str, OverriddenRules]] = MappingProxyType({})

# A name of the console's own, with the id of the operation: its beginning tells it from others.
_RESCUE_LENGTH: Final = 20
_HOUR_MILLIS: Final = 3_600_000


class ActivityKind(StrEnum):
    """The subject of an entry, to filter by."""

    MERGES = "merges"
    BRANCHES = "branches"
    TAGS = "tags"
    UNDO = "undo"
    UPKEEP = "maintenance"
    CATALOG = "catalog"
    JOBS = "jobs"


class ActivityTime(StrEnum):
    """The time of entries, to filter by."""

    HOUR = "last hour"
    TODAY = "today"
    WEEK = "last 7 days"

    def since_millis(self, now_millis: int, zone: tzinfo | None) -> int:
        """Return when it begins.

        Args:
            now_millis: The time.
            zone: The time zone of the person, whose day it is.
        """
        match self:
            case ActivityTime.TODAY:
                now = datetime.fromtimestamp(now_millis / 1000, zone or UTC)
                return (
                    int(now.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()) * 1000
                )
            case ActivityTime.HOUR:
                return now_millis - _HOUR_MILLIS
            case ActivityTime.WEEK:
                return now_millis - 7 * 24 * _HOUR_MILLIS
            case _:
                assert_never(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """One entry of the feed.

    Attributes:
        table: The full name of the table; None for the catalog, or a job without a table.
        branch: The branch it happened to.
        people: The persons who did it and who took it back.
        sentence: The activity as Markdown: ``bo merged `fix` into `main` of air.weather``.
        operation: The operation, whose receipt can be read if `has_receipt`.
        undo: The operation that took it back.
        undone: The person who took it back, as Markdown: `undone by bo`.
        reason: Why it was done, as its person wrote it.
        overridden: The quality rules that were overridden, as Markdown: ``rule `tail` overridden``.
        job: The job to show if there is no receipt.
        sides: The states of the branch before and after a merge; None of others, and of one that
            was taken back.
    """

    time_millis: int
    kind: ActivityKind
    sentence: str
    people: tuple[str, ...]
    table: str | None = None
    branch: str | None = None
    operation: str | None = None
    has_receipt: bool = False
    undo: str | None = None
    undone: str | None = None
    reason: str | None = None
    overridden: str | None = None
    job: str | None = None
    sides: BeforeAfter | None = None


def activity_feed(
    tables: Sequence[TableEvents],
    catalog: Sequence[CatalogVersion] = (),
    jobs: Sequence[JobView] = (),
    undoes: Mapping[str, str] = _NOTHING,
    overrides: Mapping[str, OverriddenRules] = _NO_OVERRIDES,
) -> tuple[Activity, ...]:
    """Return all entries, the newest first.

    Args:
        tables: The ledgers.
        catalog: Versions of main and of branches of the catalog.
        jobs: Jobs of the warehouse.
        undoes: The operation of the catalog that an undo took back, by the operation of the undo.
        overrides: The rules that a merge of the catalog overrode, by its operation.
    """
    whole = tuple(_of_catalog(catalog, undoes, overrides))
    # A merge of the catalog is one entry; what it did to each table is told by its receipt.
    parts = tuple(f"{entry.operation}-" for entry in whole if entry.operation)
    found = [*whole]
    for each in tables:
        found += (
            entry
            for entry in _of_table(each)
            if not (parts and entry.operation and entry.operation.startswith(parts))
        )
    texts = {name for entry in found for name in (entry.operation, entry.undo) if name}
    found += _of_jobs(jobs, texts)
    return tuple(sorted(found, key=lambda entry: -entry.time_millis))


def place_of_entry(entry: Activity, place: Location) -> Location:
    """Return where the table of an entry is looked at; the warehouse if it is about no table."""
    home = Location(warehouse=place.warehouse)
    if entry.table is None:
        return home
    with suppress(PaimonError):
        table = Identifier.parse(entry.table)
        return home.at_table(table.database, table.table)
    return home


def chosen_activity(
    entries: Iterable[Activity],
    *,
    table: str | None = None,
    person: str | None = None,
    kind: ActivityKind | None = None,
    since_millis: int | None = None,
) -> list[Activity]:
    """Return the entries of a table, by a person, of a kind, from a time on; None takes any."""
    return [
        entry
        for entry in entries
        if table in (None, entry.table)
        and (person is None or person in entry.people)
        and kind in (None, entry.kind)
        and (since_millis is None or entry.time_millis >= since_millis)
    ]


def _of_table(ledger: TableEvents) -> Iterator[Activity]:
    name = ledger.table.table_name
    taken_back = undone_by(ledger.events)
    known = {event.operation_id for event in ledger.events}
    takers = {event.id for done, event in taken_back.items() if done in known}
    texts = {event.operation_id for event in ledger.events if event.kind is not LineageKind.RESCUED}
    left = _names_left(ledger.events)
    for number, event in enumerate(ledger.events):
        # What an operation rescues on its way is no operation of its own.
        is_part = event.kind is LineageKind.RESCUED and event.operation_id in texts
        if event.id in takers or is_part:
            continue
        receipt = event.receipt
        overridden = OverriddenRules.find_in(None if receipt is None else receipt.gate)
        kind = _KINDS.get(event.kind, ActivityKind.UPKEEP)
        merge = receipt if kind is ActivityKind.MERGES else None
        sides = None if merge is None else before_and_after(merge)
        # A link by a name that went since would lead to an error.
        if sides is not None and any(left.get(each, -1) > number for each in sides.branches):
            sides = None
        entry = Activity(
            time_millis=event.time_millis,
            kind=kind,
            sentence=_sentence(event, name),
            people=(event.actor,),
            table=name,
            branch=event.branch,
            operation=event.operation_id,
            has_receipt=receipt is not None,
            reason=event.reason or (None if overridden is None else overridden.reason),
            overridden=None if overridden is None else overridden.mark,
            sides=sides,
        )
        undo = taken_back.get(event.operation_id)
        yield entry if undo is None else _taken_back(entry, undo, undo.operation_id)


def _names_left(events: Sequence[LineageEvent]) -> dict[str, int]:
    """Return the names that no branch has any more, with the number of the event they left by."""
    left: dict[str, int] = {}
    for number, event in enumerate(events):
        if event.kind is LineageKind.DROPPED:
            left[event.branch] = number
        elif event.kind in (LineageKind.RENAMED, LineageKind.RESTORED):
            left.pop(event.branch, None)
            if event.source_branch is not None:
                left[event.source_branch] = number
    return left


def _sentence(event: LineageEvent, table: str) -> str:
    kept = ""
    rescue = _rescue_of(event)
    if event.kind is LineageKind.DROPPED and rescue:
        kept = f", kept as {code(shortened(rescue, _RESCUE_LENGTH))}"
    return f"{plain(event.actor)} {_deed(event)} of {plain(table)}{kept}"


def _rescue_of(event: LineageEvent) -> str | None:
    """Return the rescue branch that an operation made, None without one."""
    return None if event.receipt is None else event.receipt.rescue_branch


def _taken_back(entry: Activity, undo: LineageEvent | CatalogVersion, operation: str) -> Activity:
    verb = "reverted" if undo.kind is LineageKind.REVERTED else "undone"
    return replace(
        entry,
        time_millis=max(entry.time_millis, undo.time_millis),
        people=tuple(dict.fromkeys((*entry.people, undo.actor))),
        undo=operation,
        undone=f"{verb} by {plain(undo.actor)}",
        sides=None,
    )


_KINDS: Final = {
    LineageKind.MERGED: ActivityKind.MERGES,
    LineageKind.FAST_FORWARDED: ActivityKind.MERGES,
    LineageKind.REPLACED: ActivityKind.MERGES,
    LineageKind.CHERRY_PICKED: ActivityKind.MERGES,
    LineageKind.REVERTED: ActivityKind.UNDO,
    LineageKind.UNDONE: ActivityKind.UNDO,
    LineageKind.ROLLED_BACK: ActivityKind.UNDO,
    LineageKind.CREATED: ActivityKind.BRANCHES,
    LineageKind.FORKED: ActivityKind.BRANCHES,
    LineageKind.RENAMED: ActivityKind.BRANCHES,
    LineageKind.DROPPED: ActivityKind.BRANCHES,
    LineageKind.RESCUED: ActivityKind.BRANCHES,
    LineageKind.RESTORED: ActivityKind.BRANCHES,
    LineageKind.PINNED: ActivityKind.BRANCHES,
    LineageKind.PROTECTED: ActivityKind.BRANCHES,
    LineageKind.UNPROTECTED: ActivityKind.BRANCHES,
    LineageKind.WARNED: ActivityKind.BRANCHES,
    LineageKind.ARCHIVED: ActivityKind.BRANCHES,
    LineageKind.UNARCHIVED: ActivityKind.BRANCHES,
    LineageKind.FENCED: ActivityKind.BRANCHES,
    LineageKind.UNFENCED: ActivityKind.BRANCHES,
    LineageKind.TAGGED: ActivityKind.TAGS,
    LineageKind.UNTAGGED: ActivityKind.TAGS,
    LineageKind.TAG_RENAMED: ActivityKind.TAGS,
}


def _deed(event: LineageEvent) -> str:
    """Say what was done to a branch, to be followed by `of` and the table."""
    branch = code(event.branch)
    source = code(event.source_branch) if event.source_branch else None
    tag = code(event.tag) if event.tag else None
    match event.kind:
        case LineageKind.CREATED | LineageKind.FORKED:
            return f"created branch {branch}{f' from {source}' if source else ''}"
        case LineageKind.MERGED:
            return f"merged {source or 'a branch'} into {branch}"
        case LineageKind.FAST_FORWARDED:
            return f"merged {source or 'a branch'} into {branch} (fast-forward)"
        case LineageKind.REPLACED:
            return f"replaced {branch} by {source or 'another branch'}"
        case LineageKind.RENAMED:
            return f"renamed branch {source or 'a branch'} to {branch}"
        case LineageKind.DROPPED:
            is_released = event.branch.startswith(RESERVED_PREFIXES) and not _rescue_of(event)
            return f"{'released' if is_released else 'dropped'} branch {branch}"
        case LineageKind.REVERTED:
            return f"reverted a commit on {branch}"
        case LineageKind.RESCUED:
            return f"kept the earlier state of {source or 'a branch'} as {branch}"
        case LineageKind.PINNED:
            return f"pinned the merge base of {branch}"
        case LineageKind.PROTECTED:
            return f"protected {branch}"
        case LineageKind.UNPROTECTED:
            return f"removed the protection of {branch}"
        case LineageKind.RESTORED:
            return f"restored branch {branch}"
        case LineageKind.ROLLED_BACK:
            return f"rolled {branch} back"
        case LineageKind.UNDONE:
            return f"undid an operation on {branch}"
        case LineageKind.TAGGED:
            return f"created tag {tag} on {branch}" if tag else f"created tags on {branch}"
        case LineageKind.UNTAGGED:
            return f"deleted tag {tag} of {branch}" if tag else f"deleted tags of {branch}"
        case LineageKind.TAG_RENAMED:
            earlier = code(event.source_tag) if event.source_tag else "a tag"
            return f"renamed tag {earlier} to {tag or 'another name'} on {branch}"
        case LineageKind.CHERRY_PICKED:
            return f"picked a snapshot of {source or 'a branch'} into {branch}"
        case LineageKind.FENCED:
            return f"fenced {branch}"
        case LineageKind.UNFENCED:
            return f"removed the fence of {branch}"
        case LineageKind.REPAIRED:
            return f"repaired branch {branch}"
        case LineageKind.ALTERED:
            return f"altered {branch}"
        case LineageKind.EXPIRED:
            return f"expired snapshots on {branch}"
        case LineageKind.RELEASED:
            return f"released the files of branch {branch}"
        case LineageKind.CLEANED:
            return "removed orphan files"
        case LineageKind.WARNED:
            return f"warned of the stale branch {branch}"
        case LineageKind.ARCHIVED:
            return f"archived branch {branch}"
        case LineageKind.UNARCHIVED:
            return f"took branch {branch} out of the archive"
        case LineageKind.CONSUMERS_RESET:
            return f"reset consumers on {branch}"
        case LineageKind.COMPACTED:
            return f"compacted the manifests on {branch}"
        case LineageKind.PARTITIONS_EXPIRED:
            return f"expired partitions on {branch}"
        case LineageKind.MARKED_DONE:
            return f"marked partitions as done on {branch}"
        case LineageKind.MISSING_FILES_REMOVED:
            return f"removed unexisting files from {branch}"
        case _:
            assert_never(event.kind)


def _of_catalog(
    versions: Sequence[CatalogVersion],
    undoes: Mapping[str, str],
    overrides: Mapping[str, OverriddenRules],
) -> Iterator[Activity]:
    by_operation = {
        each.operation: each
        for each in versions
        if each.operation and each.kind is not VersionKind.UNDONE
    }
    undos = {each.operation: each for each in versions if each.operation in undoes}
    # An undo that was undone stands for itself, as does the operation that came back by it.
    taken_back = {
        done: undos[name]
        for name, done in undoes.items()
        if name in undos and done in by_operation and name not in undoes.values()
    }
    takers = {each.operation for each in taken_back.values()}
    for version in versions:
        if version.operation in takers:
            continue
        deed = _deed_of(version, by_operation, undoes)
        if deed is None:
            continue
        undo = taken_back.get(version.operation or "")
        overridden = overrides.get(version.operation)
        entry = Activity(
            time_millis=version.time_millis,
            kind=ActivityKind.CATALOG,
            sentence=f"{plain(version.actor)} {deed} of {CATALOG}",
            people=(version.actor,),
            branch=version.branch,
            operation=version.operation,
            has_receipt=True,
            reason=version.reason or (None if overridden is None else overridden.reason),
            overridden=None if overridden is None else overridden.mark,
        )
        yield entry if undo is None else _taken_back(entry, undo, undo.operation)


def _deed_of(
    version: CatalogVersion,
    by_operation: Mapping[str, CatalogVersion],
    undoes: Mapping[str, str],
) -> str | None:
    """Say what made a version; None if no person asked for it.

    Args:
        version: The version.
        by_operation: The versions that an undo may have taken back, or a part of them.
        undoes: The operation that an undo took back, by the operation of the undo.
    """
    branch = code(version.branch)
    match version.kind:
        case VersionKind.SIGHTED | VersionKind.VOID | VersionKind.TURNED_BACK:
            return None
        case VersionKind.FORKED:
            return f"created branch {branch}"
        case VersionKind.CHANGED:
            return f"changed branch {branch}"
        case VersionKind.MERGED:
            return f"merged {_merged_from(version)} into {branch}"
        case VersionKind.UNDONE:
            part = undoes.get(version.operation or "", "")
            merged = (
                each
                for name, each in by_operation.items()
                if each.kind is VersionKind.MERGED and part.startswith(f"{name}-")
            )
            merge = next(merged, None)
            if merge is None:
                return f"undid an operation on {branch}"
            return f"undid a part of the merge of {_merged_from(merge)} into {branch}"
        case VersionKind.DROPPED:
            return f"dropped branch {branch}"
        case _:
            assert_never(version.kind)


def _merged_from(version: CatalogVersion) -> str:
    came = [each.branch for each in version.parents if each.branch != version.branch]
    return code(came[0]) if came else "a branch"


def _of_jobs(jobs: Sequence[JobView], texts: set[str]) -> Iterator[Activity]:
    for job in jobs:
        is_listed = job.id in texts or (job.receipt_id is not None and job.receipt_id in texts)
        if is_listed or (job.state is JobState.DONE and job.name in READING_JOBS):
            continue
        table = (job.table or "").partition(BRANCH_MARK)[0] or None
        yield Activity(
            time_millis=job.finished_millis or job.created_millis,
            kind=ActivityKind.JOBS,
            sentence=_job_sentence(job, table),
            people=(job.actor,),
            table=table,
            branch=MAIN_BRANCH,
            operation=job.receipt_id,
            has_receipt=job.receipt_id is not None,
            job=job.id,
        )


# Verb phrases of jobs that no ledger records; the name of the table follows.
_DEEDS: Final = {
    "alter_table": "altered table",
    "build_demo": "built the demo",
    "compact": "compacted",
    "compact_database": "compacted the tables of a database",
    "create_table": "created table",
    "delete_rows": "deleted rows from",
    "drop_table": "dropped table",
    "insert_rows": "inserted rows into",
    "merge_into": "merged rows into",
    "overwrite_rows": "overwrote rows of",
    "set_policy": "set the maintenance policy of",
    "update_rows": "updated rows of",
}


def _job_sentence(job: JobView, table: str | None) -> str:
    name = f" {plain(table)}" if table else ""
    if job.state is JobState.DONE and job.name in _DEEDS:
        return f"{plain(job.actor)} {_DEEDS[job.name]}{name}"
    on = f" on{name}" if table else ""
    return f"{plain(job.actor)} asked for “{full_title(job)}”{on}: it {_ended(job)}"


def _ended(job: JobView) -> str:
    match job.state:
        case JobState.QUEUED | JobState.WAITING:
            return "is waiting"
        case JobState.RUNNING | JobState.PUBLISHING:
            return "is running"
        case JobState.DONE:
            return "is done"
        case JobState.REFUSED:
            return "was refused"
        case JobState.FAILED:
            return "failed"
        case JobState.CANCELLED:
            return "was cancelled"
        case JobState.INTERRUPTED:
            return "was interrupted"
        case _:
            assert_never(job.state)
