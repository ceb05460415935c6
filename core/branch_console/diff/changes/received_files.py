"""Files that a branch received and did not revert; to delete rows is no taking back.

A merge tells what it builds on, a pick does not. So it is followed which files came with what,
until a revert takes that back, or a rollback goes back to before it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from branch_console.diff.lineage import OPERATION, RESTORES, REVERTS, TAKES_BACK
from branch_console.format.snapshot import Snapshot

_TAKES_BACK: Final = frozenset({"revert", "rollback"})
_SELECTIVE: Final = _TAKES_BACK | {"cherry_pick"}


def is_partial_history(snapshot: Snapshot) -> bool:
    """Whether a commit brought, or brought back, chosen changes: a pick, a revert or a rollback."""
    return snapshot.properties.get(OPERATION) in _SELECTIVE


def is_reverting(snapshot: Snapshot) -> bool:
    """Whether a commit, or the one that it picked, took earlier ones back."""
    properties = snapshot.properties
    return properties.get(OPERATION) in _TAKES_BACK or TAKES_BACK in properties


class Provenance:
    """The files that a history has taken in, by identity, one commit after the other.

    Args:
        snapshots: The history, oldest first.
    """

    def __init__(self, snapshots: Iterable[Snapshot]) -> None:
        restored = (each.properties.get(RESTORES) for each in snapshots)
        # Of what a rollback brings back from before the history nothing had been taken in.
        self._at = dict.fromkeys(filter(None, restored), frozenset[str]())
        self._brought: dict[str, frozenset[str]] = {}
        self.files: frozenset[str] = frozenset()

    def change(
        self,
        snapshot: Snapshot,
        added: frozenset[str],
        removed: frozenset[str],
        of_bucket: Mapping[str, Sequence[object]],
    ) -> None:
        """Follow a commit that changed rows.

        Args:
            snapshot: The commit.
            added: Files that came with it.
            removed: Files that went.
            of_bucket: Partition, bucket and more of each file that has been mentioned.
        """
        name, properties = snapshot.delta_manifest_list, snapshot.properties
        self._brought[name] = added - self.files
        reverted = properties.get(REVERTS)
        if reverted in self._brought:
            self.files -= self._brought[reverted]
        elif reverted is not None:
            # What it had brought came again since, and is taken back by rows of the same buckets.
            places = {tuple(of_bucket[each][:2]) for each in added}
            self.files -= {each for each in self.files if tuple(of_bucket[each][:2]) in places}
            self.files -= removed
        elif is_reverting(snapshot):
            self.files -= removed
        self.files |= added

    def pass_by(self, snapshot: Snapshot) -> None:
        """Go on behind a commit, whatever it did: a rollback forgets what came since then."""
        restored = snapshot.properties.get(RESTORES)
        if restored is not None:
            self.files = self._at[restored]
        if snapshot.delta_manifest_list in self._at:
            self._at[snapshot.delta_manifest_list] = self.files
