"""The measures that make it safe for branches to share files: read, shown, and carried out.

Fences are put before anything is published and pins right after it, because a tag of a snapshot
that another writer may replace is a risk of its own. A fence stays even if its operation fails:
others may rely on it by then, and it only costs storage, never a file.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from branch_console.commit.base.fences import fence_state, put_fence
from branch_console.commit.schema.tag_commit import put_tag, snapshot_bytes, without_retention
from branch_console.diff.file_safety import FileSafety, Holder, PinPlace, decide, hiding_tags
from branch_console.errors import FormatError
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.sharing import NO_SHARING, JournalledPin, JournalledSharing
from branch_console.format.snapshot import Snapshot
from branch_console.procedures.call.consequence import Consequence, changes
from branch_console.procedures.history.dependents import readable_tags
from branch_console.procedures.history.protection import protection_of
from branch_console.procedures.history.share_pins import is_share_pin, share_pin, twin_of
from branch_console.procedures.run.open_operation import Operation
from branch_console.table.file_store_table import FileStoreTable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Share:
    """Branches that are to hold the same files.

    Attributes:
        branches: The table on each of them.
        on_main: The snapshots to keep if main is one of them; None stands for the next snapshot of
            main, which the operation makes.
        for_rescue: Snapshots of main that a rescue branch of the operation holds too.
        history: The snapshots that main lists afterwards, as far as they are known now; None if it
            lists what it does today.
        leaving: Tags of main that leave with what they name.
        can_copy: Whether files may get other names instead.
    """

    branches: tuple[FileStoreTable, ...]
    on_main: tuple[Snapshot | None, ...] = ()
    for_rescue: tuple[Snapshot, ...] = ()
    history: tuple[Snapshot, ...] | None = None
    leaving: frozenset[str] = frozenset()
    can_copy: bool = True


def safety_of(share: Share) -> FileSafety:
    """Decide whether branches may share files, by their fences and by the tags of main.

    Raises:
        NotFound: A branch has no schema.
        FormatError: A schema or a snapshot of main cannot be decoded.
    """
    distinct = {branch.branch: branch for branch in share.branches}
    holders = [_holder(branch, share) for branch in distinct.values()]
    return decide(holders, can_copy=share.can_copy)


def _holder(branch: FileStoreTable, share: Share) -> Holder:
    state = fence_state(branch)
    is_pinned = branch.branch == MAIN_BRANCH and not state.is_effective
    return Holder(
        branch=branch.branch,
        is_fenced=state.is_effective,
        obstacles=state.obstacles,
        pins=tuple(_places(branch, share)) if is_pinned else (),
    )


def _places(main: FileStoreTable, share: Share) -> Iterator[PinPlace]:
    tags = tuple(tag for tag in readable_tags(main) if tag.name not in share.leaving)
    newest_id, history = main.snapshots.latest_id() or 0, share.history
    for snapshot in (*share.for_rescue, *share.on_main):
        number = newest_id + 1 if snapshot is None else snapshot.id
        identity = None if snapshot is None else snapshot.identity
        if history is None and number < newest_id:
            history = main.snapshots.all()
        yield PinPlace(
            snapshot_id=number,
            snapshot=snapshot,
            is_pinned=identity is not None
            and any(is_share_pin(tag) and tag.snapshot.identity.same_as(identity) for tag in tags),
            # A rescue branch is better off with a pin that a tag may hide than without.
            hidden_by=hiding_tags(number, identity, tags, history or ())
            if snapshot not in share.for_rescue
            else (),
        )


def sharing_consequences(safety: FileSafety) -> list[Consequence]:
    """Say what sharing adds to branches."""
    return [
        *(changes(_fence_text(branch)) for branch in safety.fences),
        *(
            changes(
                f"Snapshot {place.snapshot_id} of {MAIN_BRANCH!r} gets a tag, so that files which "
                f"other branches need stay when snapshots of {MAIN_BRANCH!r} expire."
            )
            for place in safety.pins
        ),
    ]


def _fence_text(branch: str) -> str:
    added = f"Adds a fence to {branch!r}, so that an expiry there cannot remove files that other"
    if branch != MAIN_BRANCH:
        return f"{added} branches read."
    return (
        f"{added} branches read: tags there would hide a pin. No other engine expires main until "
        "somebody removes the fence."
    )


def journal_of_sharing(
    safety: FileSafety, holder: FileStoreTable, operation_id: str, branches: Iterable[str]
) -> JournalledSharing:
    """Return the journal of the measures; a snapshot that exists is recorded by its bytes.

    Args:
        safety: The decision.
        holder: The table on a branch that has the snapshots of the pins.
        operation_id: The operation.
        branches: The branches that share files; a pin for a protected branch gets a twin.
    """
    if not (safety.fences or safety.pins):
        return NO_SHARING
    events = holder.ledger.events() if safety.pins else ()
    has_twin = any(protection_of(events, branch) is not None for branch in branches)
    pins = []
    for number, place in enumerate(safety.pins, start=1):
        name = share_pin(operation_id, number)
        found = None if place.snapshot is None else snapshot_bytes(holder, place.snapshot)
        pins.append(
            JournalledPin(
                tags=(name, twin_of(name)) if has_twin else (name,),
                snapshot_id=place.snapshot_id,
                content=None if found is None else without_retention(found).decode(),
            )
        )
    return JournalledSharing(fences=tuple(safety.fences), pins=tuple(pins))


def put_fences(operation: Operation, sharing: JournalledSharing) -> None:
    """Fence the branches that an operation noted; those that are gone need none.

    Raises:
        CommitConflict: Somebody else keeps changing a fence.
        StorageError: The store did not let the outcome be known.
    """
    for name in sharing.fences:
        branch = operation.table.on_listed(name)
        # A fence alone would make a branch of a folder that somebody has taken away.
        if branch.schemas.find_latest() is not None:
            put_fence(branch, operation.warehouse.store)


def put_pins(
    operation: Operation, sharing: JournalledSharing, made: Snapshot | None = None
) -> None:
    """Make the tags on main that an operation noted.

    Args:
        operation: The operation that was published.
        sharing: The journal of its measures.
        made: The snapshot that it made, for pins that keep it.

    Raises:
        CommitConflict: A tag of that name keeps something else.
        StorageError: The store did not let the outcome be known.
    """
    main = operation.table.on(MAIN_BRANCH)
    for pin in sharing.pins:
        for name in pin.tags:
            put_tag(main, operation.warehouse.store, name, _content(main, pin, made), replaces=None)


def _content(main: FileStoreTable, pin: JournalledPin, made: Snapshot | None) -> bytes:
    """The bytes of a tag: those that were noted, else those of the snapshot that was made."""
    if pin.content is not None:
        return pin.content.encode()
    if made is None:
        raise FormatError(
            f"Tag {pin.tags[0]!r} on main was to keep a snapshot that its operation never made: "
            "the journal of the operation is broken. Restore it from a copy."
        )
    return without_retention(snapshot_bytes(main, made))


def notes_of_sharing(sharing: JournalledSharing) -> tuple[str, ...]:
    """Return the sentences of a receipt about the measures."""
    return (
        *(f"Branch {name!r} is fenced: other engines do not expire it." for name in sharing.fences),
        *(f"Tag {pin.tags[0]!r} on main keeps snapshot {pin.snapshot_id}." for pin in sharing.pins),
    )
