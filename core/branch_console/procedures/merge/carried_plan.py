"""Carrying the plan of a merge over commits that came to its target since it was made."""

from itertools import pairwise
from typing import NoReturn

from branch_console.commit.snapshot.commit_identity import snapshots_after_listed
from branch_console.diff.changes.file_history import Place, entry_difference
from branch_console.errors import CommitConflict, ErrorKind, NotFound
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.merge.plan import ThreeWayPlan
from branch_console.merge.plan_reach import CommitSince, find_overlap
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.unshared_manifests import unshared_entries


class CarriedPlan:
    """Compares later commits of a target with the plan of a merge, each commit once."""

    def __init__(
        self,
        target: FileStoreTable,
        plan: ThreeWayPlan,
        *,
        schema_id: int | None = None,
        is_judged: bool = False,
    ) -> None:
        """Begin with the head that a plan was made at.

        Args:
            target: The table on the branch that is merged into.
            plan: The plan of the merge.
            schema_id: The newest schema of the target once the merge has published its own, as that
                was decided; None if nobody is to see that it still is.
            is_judged: Whether rules were judged on what it comes to at that head.
        """
        self._target = target
        self._reach = plan.reach
        self._schema_id = schema_id
        # What strict asks for was judged without the rows that came since.
        self._counts_rows = plan.rules.strict and is_judged
        self._seen: Snapshot = plan.heads.ours

    def check(self, head: Snapshot | None, schema: TableSchema | None = None) -> None:
        """See that the plan holds on a head, which may be the one that it was made at.

        Args:
            head: The head of the target.
            schema: The newest schema of the target; None if that is not to be looked at.

        Raises:
            CommitConflict: It does not; the message names the commit and what it touched.
        """
        wanted = self._schema_id
        if schema is not None and wanted is not None and schema.id != wanted:
            # An altered table has no other head for it.
            self._stop(f"its schema is {schema.id} now")
        if head is not None and head.identity.same_as(self._seen.identity):
            return
        for before, commit in self._since(head):
            overlap = find_overlap(self._reach, self._read(before, commit))
            if overlap is None and self._counts_rows and commit.commit_kind is CommitKind.APPEND:
                overlap = "wrote rows, which the rules were not judged on, as strict asks for"
            if overlap is not None:
                self._stop(f"snapshot {commit.id} by {commit.commit_user} {overlap}")
            self._seen = commit

    def _since(self, head: Snapshot | None) -> list[tuple[Snapshot, Snapshot]]:
        """The commits after the planned head, each with the one before it."""
        seen = self._seen
        if head is None or head.id <= seen.id or not self._target.snapshots.holds(seen):
            where = "has no snapshot" if head is None else f"is at snapshot {head.id}"
            self._stop(f"it {where} now, which does not build on snapshot {seen.id}")
        try:
            line = (seen, *snapshots_after_listed(self._target, seen.id, head))
        except NotFound:
            self._stop(f"a snapshot between {seen.id} and {head.id} has expired")
        return list(pairwise(line))

    def _read(self, before: Snapshot, commit: Snapshot) -> CommitSince:
        # By what two states differ in, not by what the commit says: a writer may have renamed over
        # the snapshot that it was built on.
        table = self._target
        differing = unshared_entries(table.scan, table.paths, (before, commit))
        return CommitSince(
            snapshot=commit,
            entries=entry_difference(*differing.sides),
            index_places=_changed_index(table, before, commit),
        )

    def _stop(self, why: str) -> NoReturn:
        branch = self._target.branch
        raise CommitConflict(
            f"Branch {branch!r} moved since the merge was planned: {why}. Nothing was changed; "
            "plan again.",
            kind=ErrorKind.HEAD_MOVED,
            branch=branch,
        )


def _changed_index(table: FileStoreTable, before: Snapshot, commit: Snapshot) -> frozenset[Place]:
    """Return the partitions and buckets whose index files differ between two snapshots."""
    if before.index_manifest == commit.index_manifest:
        return frozenset()
    states = []
    for each in (before, commit):
        entries = table.index_entries(each)
        columns = (entries[name].to_pylist() for name in ("partition", "bucket", "file_name"))
        states.append(set(zip(*columns, strict=True)))
    return frozenset((partition, bucket) for partition, bucket, _ in states[0] ^ states[1])
