"""Tags that were made to keep files for one branch, and that go with its files."""

from collections.abc import Iterator, Sequence
from typing import Final

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.metadata_copy import publish_once
from branch_console.commit.journal import Journal
from branch_console.commit.schema.tag_commit import remove_tag
from branch_console.errors import ErrorKind
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.branches import BranchTag, DropBranchJournal
from branch_console.format.journals.procedures import codec_of
from branch_console.format.lineage_event import LineageEvent, base_tag_of, born
from branch_console.maintenance.references import CatalogReferences
from branch_console.procedures.branch.tags import vital_blocks
from branch_console.procedures.call.consequence import Consequence, blocks
from branch_console.procedures.history.catalog_readers import catalog_blocks, catalog_readers
from branch_console.procedures.history.dependents import dependents_of, readable_tags, rescues_of
from branch_console.procedures.history.share_pins import branches_needing, is_share_pin, twin_of
from branch_console.table.file_store_table import FileStoreTable

_RELEASED: Final = "released"


def tags_made_for(
    branch: FileStoreTable, events: tuple[LineageEvent, ...]
) -> tuple[BranchTag, ...]:
    """Return the tags on other branches that keep files for a branch, and for it alone.

    They are its base tag and the twin of that, and the pins of files that it shares with main.

    Args:
        branch: The table on the branch.
        events: The ledger under the names of today.
    """
    birth, base_tag = born(events, branch.branch), base_tag_of(events, branch.branch)
    parent = MAIN_BRANCH if birth is None else birth.source_branch or MAIN_BRANCH
    own = set() if base_tag is None else {base_tag, twin_of(base_tag)}
    there = {MAIN_BRANCH, *branch.branches.names()}
    found = []
    for name in dict.fromkeys((MAIN_BRANCH, parent)):
        if name not in there or name == branch.branch:
            continue
        holder = branch.on_listed(name)
        for tag in readable_tags(holder):
            is_pin = is_share_pin(tag) and branches_needing(holder, events, tag.name) == (
                branch.branch,
            )
            if tag.name in own or is_pin:
                found.append(BranchTag(branch=name, name=tag.name))
    return tuple(found)


def standing_blocks(
    branch: FileStoreTable,
    events: tuple[LineageEvent, ...],
    going: Sequence[BranchTag],
    catalog: CatalogReferences,
) -> Iterator[Consequence]:
    """Refuse to take tags on which another branch stands, too, be it one of the catalog.

    Args:
        branch: The table on the branch that goes.
        events: The ledger under the names of today.
        going: The tags that would go with it.
        catalog: The snapshots that branches and tags of the catalog refer to.
    """
    for name in dict.fromkeys(each.branch for each in going):
        holder, names = branch.on_listed(name), {each.name for each in going if each.branch == name}
        standing = dependents_of(holder, events, readable_tags(holder))
        yield from catalog_blocks(holder, names, catalog, _RELEASED)
        for tag in sorted(names):
            others = {
                each.branch
                for each in standing.get(tag, ())
                if each.is_base_tag or names.issuperset(each.others)
            }
            others |= set(rescues_of(holder, events, tag)) if name == MAIN_BRANCH else set()
            others -= {branch.branch}
            if others:
                shown = ", ".join(map(repr, sorted(others)))
                yield blocks(
                    f"Tag {tag!r} of {name!r} keeps the snapshot that branch {shown} began at, "
                    "too, and expiry elsewhere would delete its files. Drop or release that branch "
                    "first.",
                    ErrorKind.FILES_IN_USE,
                    tuple(sorted(others)),
                )


def released_tags(
    table: FileStoreTable, journal: Journal, operation_id: str, catalog: CatalogReferences
) -> tuple[BranchTag, ...]:
    """Return the tags that go when the files of an operation go: those of a branch it took.

    What has come to need one since keeps it.
    """
    there = {MAIN_BRANCH, *table.branches.names()}
    return tuple(
        tag
        for tag in tags_noted(journal, operation_id)
        if tag.branch in there
        and (holder := table.on_listed(tag.branch)).tags.find(tag.name) is not None
        and not vital_blocks(holder, tag.name, _RELEASED)
        and not catalog_readers(holder, {tag.name}, catalog)
    )


def tags_noted(journal: Journal, operation_id: str) -> tuple[BranchTag, ...]:
    """Return the tags that an operation noted to go with the files of its branch."""
    intent = journal.find(operation_id)
    noted = None if intent is None else journal.decode(intent, codec_of(intent.procedure))
    if not isinstance(noted, DropBranchJournal) or noted.release is None:
        return ()
    return noted.release.tags


def retire_tags(
    table: FileStoreTable,
    store: CommitStore,
    journal: Journal,
    operation_id: str,
    catalog: CatalogReferences,
) -> None:
    """Take the tags whose files go with those of an operation.

    Raises:
        CommitConflict: One was changed in the meantime.
    """
    # One by one: of two on one snapshot the second may be needed once the first has gone.
    for tag in released_tags(table, journal, operation_id, catalog):
        if tag not in released_tags(table, journal, operation_id, catalog):
            continue
        holder = table.on_listed(tag.branch)
        data = store.files.read(holder.paths.tag(tag.name))
        publish_once(store, holder.paths.retired(operation_id).tag(tag.name), data)
        remove_tag(holder, store, tag.name, data)
