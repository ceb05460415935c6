"""Whether branches may hold files in common, what that takes, or whether files are copied.

Other engines expire one branch by looking at that branch and at the tags of main. So a branch that
holds files of others must never expire: it needs a fence. Main expires, and needs a tag that keeps
what it holds in common. `write-only` and retention options protect nothing: a dedicated compaction
job and the arguments of `expire_snapshots` override both.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.snapshot import Snapshot, SnapshotIdentity
from branch_console.format.tag import Tag


@dataclass(frozen=True, slots=True, kw_only=True)
class PinPlace:
    """A snapshot of main that a tag has to keep.

    Attributes:
        snapshot: That snapshot; None for the one that the operation is about to make.
        is_pinned: Whether a pin names it already.
        hidden_by: Tags of main that take the place of a pin there, because of their ids.
    """

    snapshot_id: int
    snapshot: Snapshot | None
    is_pinned: bool = False
    hidden_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A branch that is to share files with another.

    Attributes:
        is_fenced: Whether it has a fence that other engines heed.
        obstacles: Options by which other engines would expire it in spite of a fence.
        pins: The snapshots to be kept if it is main and has no fence: the newest one of each part
            of its history that holds the files.
    """

    branch: str
    is_fenced: bool
    obstacles: tuple[str, ...] = ()
    pins: tuple[PinPlace, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSafety:
    """Whether all holders may share files, and the steps that it takes.

    Attributes:
        fences: The branches to fence, before anything is published.
        pins: The snapshots of main to pin, right after it is published.
        reasons: Why files are copied, in sentences; empty if they are shared.
    """

    fences: tuple[str, ...] = ()
    pins: tuple[PinPlace, ...] = ()
    reasons: tuple[str, ...] = ()

    @property
    def shares(self) -> bool:
        """Whether files keep their names."""
        return not self.reasons


NOTHING_TO_DO: Final = FileSafety()


def decide(holders: Iterable[Holder], *, can_copy: bool = True) -> FileSafety:
    """Decide for the branches that are to hold the same files.

    Args:
        holders: The branches.
        can_copy: Whether files may get other names; those of a history that moves may not. Main is
            fenced then if no pin would hold.
    """
    fences: list[str] = []
    pins: list[PinPlace] = []
    reasons: list[str] = []
    for holder in holders:
        # Other engines expire nothing on a fenced branch, so its files stay (decision 0024).
        if holder.is_fenced:
            continue
        is_main = holder.branch == MAIN_BRANCH
        hiding = sorted({name for place in holder.pins for name in place.hidden_by})
        if is_main and not hiding:
            pins += [place for place in holder.pins if not place.is_pinned]
        elif is_main and can_copy:
            reasons.append(_hidden_text(hiding))
        elif holder.obstacles:
            reasons.append(_obstacle_text(holder))
        else:
            fences.append(holder.branch)
    if reasons:
        return FileSafety(reasons=tuple(reasons))
    return FileSafety(fences=tuple(fences), pins=tuple(pins))


def hiding_tags(
    place_id: int, identity: SnapshotIdentity | None, tags: Iterable[Tag], own: Iterable[Snapshot]
) -> tuple[str, ...]:
    """Name the tags of main that would hide a pin from the expiry of other engines.

    Expiry spares what the newest tag up to the removed snapshot holds, and goes by ids alone: a tag
    of another history takes the place of a pin with a lower id (F06).

    Args:
        place_id: The id of the snapshot to pin.
        identity: The identity of that snapshot; None for one that is not made yet.
        tags: The tags of main.
        own: The snapshots of main's own history, as far as they are listed.

    References:
        Paimon SnapshotDeletion.createDataFileSkipperForTags.
    """
    known = {each.id: each.identity for each in own}
    if identity is not None:
        known[place_id] = identity
    return tuple(
        tag.name
        for tag in tags
        if tag.snapshot.id >= place_id
        and not (
            (there := known.get(tag.snapshot.id)) is not None
            and tag.snapshot.identity.same_as(there)
        )
    )


def _hidden_text(hiding: list[str]) -> str:
    tags = ", ".join(repr(each) for each in hiding)
    noun, verb = ("Tag", "names") if len(hiding) == 1 else ("Tags", "name")
    return (
        f"{noun} {tags} of main {verb} snapshots that are not of main's history, and would hide a "
        "pin on main from other engines. Fence main, or delete what no branch stands on."
    )


def _obstacle_text(holder: Holder) -> str:
    options = " and ".join(repr(each) for each in holder.obstacles)
    verb = "lets" if len(holder.obstacles) == 1 else "let"
    return (
        f"Option {options} of {holder.branch!r} {verb} other engines expire the branch in spite "
        "of a fence. Unset it to share files."
    )
