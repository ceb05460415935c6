"""The compactions of a side: which files it holds in compacted ones, and how they come back."""

from collections.abc import Collection, Iterable

from branch_console.diff.changes.file_history import FileHistory
from branch_console.diff.changes.table_changes import TableChanges


def undo_compactions(wanted: Iterable[str], log: FileHistory) -> tuple[set[str], set[str]]:
    """Return which files come back, and which live ones go, so that the wanted ones are there.

    Raises:
        KeyError: A file was not taken away by a compaction; its identity is the argument.
    """
    reads = {each: done for done in log.compactions for each in done.before}
    restored: set[str] = set()
    going: set[str] = set()

    def bring_back(identity: str) -> None:
        compaction = reads[identity]
        for each in sorted(compaction.after):
            if each not in restored and each not in log.came:
                bring_back(each)
        for each in compaction.after:
            if each in restored:
                restored.discard(each)
            else:
                going.add(each)
        restored.update(compaction.before)

    for each in sorted(wanted):
        if each not in restored:
            bring_back(each)
    return restored, going


def live_files(identities: Collection[str], side: TableChanges) -> set[str]:
    """Return the files among some that are live at the head of a side."""
    # What came since was not there before, nor what the base alone got.
    came = side.log.new_files(identities) | side.base_log.added
    return {
        each
        for each in identities
        if each in side.log.came or not (each in side.log.went or each in came)
    }
