"""Facts about a table and its branches for the rules of health."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

from branch_console.diff.branch_trace import BranchTrace
from branch_console.diff.lineage import Lineage
from branch_console.diff.shared_files import CountTaken
from branch_console.format.snapshot import Snapshot, SnapshotIdentity

TAG_CREATION: Final = "tag.automatic-creation"
"""The option by which writers make tags, and make them on main."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HazardFork:
    """The fork of a branch from another one."""

    parent: str
    identity: SnapshotIdentity
    snapshot_id: int | None


@dataclass(frozen=True, kw_only=True)
class BranchFacts:
    """Facts about a branch for the rules of health.

    Attributes:
        fork: Where it began, None for main and what began with nothing.
        base_tag: The tag that the ledger calls its base tag.
        has_fence: Whether the file of a fence is there.
        is_fenced: Whether other engines heed that fence.
        fence_obstacles: Options of the branch by which they do not.
        was_fenced: Whether the ledger tells that it was fenced.
        kept_by: The option that keeps its writers from expiring snapshots.
        tag_option: The option by which its writers make tags, `tag.automatic-creation=…`.
        below_earliest: Ids of its snapshots below the hint EARLIEST, which Paimon does not see.
        began_empty: Whether it was made without a snapshot.
        broken_ids: Ids of snapshots that it lists and that cannot be decoded.
        missing_schemas: Ids of schemas that its files need and that it does not have.
        named_branches: Options of the branch that name another one, with its name.
    """

    trace: BranchTrace
    fork: HazardFork | None = None
    base_tag: str | None = None
    has_fence: bool = False
    is_fenced: bool = False
    fence_obstacles: tuple[str, ...] = ()
    was_fenced: bool = False
    kept_by: str | None = None
    tag_option: str | None = None
    below_earliest: tuple[int, ...] = ()
    began_empty: bool = False
    broken_ids: frozenset[int] = frozenset()
    missing_schemas: tuple[int, ...] = ()
    named_branches: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class TableFacts:
    """Facts about a table for the rules of health.

    Attributes:
        table: Its name, for remedies.
        branches: The readable branches, main first.
        unreadable: The names of the others.
        lineage: Their graph, with the ledger under the names of today.
        count_taken: Asked of the few commits that may be merges of Paimon's own.
        lost_commits: The files that tell of commits in no snapshot which are older than the file of
            a snapshot of main. Asked where another engine's fast-forward is seen, as it reads
            manifests.
        older_lists: The manifest lists that are older than main's first snapshot, and that no
            branch names. Asked where main has the whole history of a branch.
        lost_tips: The newest manifest list of each history that is in no snapshot, can be read and
            has one of some lists. Asked where commits are lost.
    """

    table: str
    branches: Mapping[str, BranchFacts]
    lineage: Lineage
    count_taken: CountTaken
    lost_commits: Callable[[Snapshot], tuple[str, ...]]
    older_lists: Callable[[], tuple[str, ...]]
    lost_tips: Callable[[Collection[str]], tuple[str, ...]]
    unreadable: frozenset[str] = frozenset()
